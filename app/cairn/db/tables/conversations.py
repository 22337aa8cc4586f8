"""Conversations, and sessions of the iterative strategy."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, UUID

from cairn.db.tables.base import (
    NOW,
    col,
    collection_key,
    count,
    json_object,
    metadata,
    moment,
    passage_key,
    refers,
    tenant_id,
)

sessions = Table(
    "sessions",
    metadata,
    tenant_id(),
    col("id", Text, "Session id as the client gave it, or a UUID made for it."),
    col("collection", Text, "Name of the collection that was asked last; it may be gone by now.", nullable=True),
    col("title", Text, "What its user calls it; null: shown by what was said first.", nullable=True),
    count("message_count", "Messages so far; gives each its position."),
    moment("created_at", "When its first message was saved.", server_default=NOW),
    moment("last_used_at", "When its last message was saved.", server_default=NOW),
    col("asked_by", ARRAY(Text), "Callers that have asked in it; null: from before that was noted.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("sessions_recent_idx", "tenant_id", "last_used_at", "id"),
    comment="Conversations; their row is the one lock between writers of one conversation.",
)


messages = Table(
    "messages",
    metadata,
    tenant_id(),
    col("session_id", Text, "The conversation (rag.sessions.id)."),
    col("position", Integer, "Place in the conversation, from 1, without gaps."),
    col("id", UUID, "Message id (UUIDv7)."),
    col("role", Text, "user or assistant."),
    col("content", Text, "What was said; empty once a document that an answer cites is deleted."),
    json_object(
        "metadata", "Of an answer: sources, confidence, grounded; of a question without one: outcome and error."
    ),
    col("document_ids", ARRAY(UUID), "Documents of the sources; their deletion blanks what is quoted."),
    col("run_id", UUID, "The run that the message belongs to (rag.runs.id).", nullable=True),
    moment("created_at", "When it was saved.", server_default=text("clock_timestamp()")),
    col(
        "asked_as",
        ARRAY(Text),
        "Names of who asked that access lists named then; who has not all of them sees nothing of it.",
        server_default=text("'{}'"),
    ),
    PrimaryKeyConstraint("tenant_id", "id"),
    UniqueConstraint("tenant_id", "session_id", "position"),
    ForeignKeyConstraint(
        ["tenant_id", "session_id"], ["rag.sessions.tenant_id", "rag.sessions.id"], ondelete="CASCADE"
    ),
    CheckConstraint("role IN ('user', 'assistant')", name="role"),
    Index("messages_asked_as_idx", "tenant_id", postgresql_where=text("asked_as <> '{}'::text[]")),
    Index(None, "document_ids", postgresql_using="gin"),
    comment="What was said in conversations, and what answers stood on.",
)


def _qa_session() -> tuple[Any, ...]:
    """Columns and key of what belongs to a session of the iterative strategy."""
    return (
        tenant_id(),
        col("collection_id", UUID, "Collection that is asked (rag.collections.id)."),
        col("session_id", Text, "The session (rag.qa_sessions.id)."),
        refers(["tenant_id", "collection_id", "session_id"], "qa_sessions", ["tenant_id", "collection_id", "id"]),
    )


qa_sessions = Table(
    "qa_sessions",
    metadata,
    tenant_id(),
    col("collection_id", UUID, "Collection that is asked (rag.collections.id)."),
    col("id", Text, "Session id as the client gave it."),
    moment("created_at", "When it began.", server_default=NOW),
    moment(
        "last_accessed_at", "When it was last used; it is forgotten iterative.idleMinutes later.", server_default=NOW
    ),
    col("asked_by", ARRAY(Text), "Callers that have asked in it; null: from before that was noted.", nullable=True),
    collection_key(),
    PrimaryKeyConstraint("tenant_id", "collection_id", "id"),
    comment="Sessions of the iterative strategy: what it has read is at hand for the next question.",
)
Index("qa_sessions_idle_idx", qa_sessions.c.tenant_id, qa_sessions.c.last_accessed_at)


qa_nodes = Table(
    "qa_nodes",
    metadata,
    *_qa_session(),
    col("passage_id", UUID, "A passage that was read (rag.passages.id)."),
    moment("used_at", "When it was last read; the least recently read ones make room.", server_default=NOW),
    passage_key(),
    PrimaryKeyConstraint("tenant_id", "collection_id", "session_id", "passage_id"),
    comment="Passages that a session has read; their text is in rag.passages alone.",
)
Index("qa_nodes_passage_idx", qa_nodes.c.tenant_id, qa_nodes.c.passage_id)


qa_edges = Table(
    "qa_edges",
    metadata,
    *_qa_session(),
    col("relation_id", UUID, "A relation that was followed (rag.relations.id)."),
    refers(["tenant_id", "relation_id"], "relations", ["tenant_id", "id"]),
    PrimaryKeyConstraint("tenant_id", "collection_id", "session_id", "relation_id"),
    comment="Relations between symbols that a session has followed.",
)
Index("qa_edges_relation_idx", qa_edges.c.tenant_id, qa_edges.c.relation_id)


qa_gaps = Table(
    "qa_gaps",
    metadata,
    *_qa_session(),
    col("gap", Text, "What was looked for in vain, in its normal form."),
    col("epoch", BigInteger, "State of the collection then; in another one it may be found."),
    PrimaryKeyConstraint("tenant_id", "collection_id", "session_id", "gap"),
    comment="What a session did not find; gone as soon as a document of the collection changes or goes.",
)
