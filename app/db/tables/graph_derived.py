"""Communities, extraction by models, and vectors of names."""

from __future__ import annotations

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    REAL,
    BigInteger,
    Date,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, UUID

from app.db.tables.base import (
    NOW,
    col,
    collection_id,
    collection_key,
    count,
    document_key,
    entity_key,
    metadata,
    moment,
    passage_key,
    tenant_id,
)

communities = Table(
    "communities",
    metadata,
    tenant_id(),
    collection_id(),
    col("id", UUID, "Community id."),
    col("level", Integer, "0: not part of a larger one; 1: part of one of level 0, ..."),
    col("parent_id", UUID, "Community of the level before that it is part of; null at level 0.", nullable=True),
    count("entity_count", "Entities in it when made."),
    count("sentence_count", "Sentences chosen for it; when fewer are left, it is summarised anew."),
    col(
        "fingerprint", LargeBinary, "Hash of its entities and of the weights between them.",
        server_default=text("''::bytea"),
    ),
    col("title", Text, "What a model calls it; empty: none did.", server_default=text("''")),
    col("summary", Text, "What a model wrote; empty: none did.", server_default=text("''")),
    col(
        "document_ids", ARRAY(UUID), "Documents that the model read; the deletion of one blanks what it wrote.",
        server_default=text("'{}'::uuid[]"),
    ),
    col("epoch", BigInteger, "Epoch of the collection that it was made from."),
    moment("summarised_at", "When a model summarised it; null: not yet, or blanked.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    collection_key(),
    Index("communities_collection_idx", "tenant_id", "collection_id"),
    comment="Groups of closely related entities, with summaries.",
)  # fmt: skip


def _community_key() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", "community_id"], ["rag.communities.tenant_id", "rag.communities.id"], ondelete="CASCADE"
    )


community_members = Table(
    "community_members",
    metadata,
    tenant_id(),
    collection_id(),
    col("community_id", UUID, "The community."),
    col("entity_id", UUID, "The entity."),
    col("weight", REAL, "Sum of the weights of its relations within the community."),
    PrimaryKeyConstraint("tenant_id", "community_id", "entity_id"),
    _community_key(),
    entity_key(),
    Index("community_members_entity_idx", "tenant_id", "entity_id"),
    comment="Which entity belongs to which community.",
)


community_sentences = Table(
    "community_sentences",
    metadata,
    tenant_id(),
    collection_id(),
    col("community_id", UUID, "The community."),
    col("place", Integer, "Place in the summary, from 0."),
    col("passage_id", UUID, "The passage that it stands in; it goes with it."),
    col("char_start", Integer, "First code point in the document text."),
    col("char_end", Integer, "One past its last code point."),
    PrimaryKeyConstraint("tenant_id", "community_id", "place"),
    _community_key(),
    passage_key(),
    Index("community_sentences_passage_idx", "tenant_id", "passage_id"),
    comment="Sentences that sum up a community: places in passages, no text of their own.",
)


community_refreshes = Table(
    "community_refreshes",
    metadata,
    tenant_id(),
    collection_id(),
    col("attempt", BigInteger, "Number of refreshes begun; an older one that still runs writes nothing any more."),
    col(
        "epoch", BigInteger, "Epoch of the collection that the last finished one read.", server_default=text("0")
    ),
    moment("refreshed_at", "When the last one finished; null: none did.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "collection_id"),
    collection_key(),
    comment="How far the communities of a collection follow its documents.",
)  # fmt: skip


extractions = Table(
    "extractions",
    metadata,
    tenant_id(),
    collection_id(),
    col("document_id", UUID, "The document; what a model said of it goes with it."),
    col("content_hash", LargeBinary, "SHA-256 of the passage that the model read."),
    col("extractor", Text, "Model, checks and prompt."),
    col("result", JSONB, "Entities, relations and aliases of the passage that passed the checks, and what did not."),
    moment("created_at", "When.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "document_id", "content_hash", "extractor"),
    document_key(),
    Index("extractions_reuse_idx", "tenant_id", "content_hash", "extractor"),
    comment="What models extracted, kept so that no text is sent twice.",
)


extraction_usage = Table(
    "extraction_usage",
    metadata,
    tenant_id(),
    col("day", Date, "Day of the calls (UTC)."),
    col("job_id", UUID, "Job that made them; it may be gone by now."),
    col("model", Text, "The chat model."),
    count("calls", "Calls that were answered."),
    count("input_tokens", "Tokens that it read, as reported or estimated.", BigInteger),
    count("output_tokens", "Tokens that it wrote, likewise.", BigInteger),
    PrimaryKeyConstraint("tenant_id", "day", "job_id", "model"),
    comment="What extraction with models has cost, for the caps of graph.model.",
)


entity_vectors = Table(
    "entity_vectors",
    metadata,
    tenant_id(),
    collection_id(),
    col("entity_id", UUID, "The entity; its vector goes with it."),
    col("model_id", SmallInteger, "Embedding model."),
    col("name", Text, "What was embedded."),
    col("embedding", HALFVEC, "Unit vector of the name."),
    PrimaryKeyConstraint("tenant_id", "collection_id", "model_id", "entity_id"),
    entity_key(),
    Index("entity_vectors_entity_idx", "tenant_id", "entity_id"),
    comment="Vectors of names of entities, for questions that name none.",
)
