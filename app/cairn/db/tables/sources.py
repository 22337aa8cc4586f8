"""Sources that a collection is kept in step with, and what was seen of their files."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Double,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, UUID

from cairn.db.tables.base import (
    NOW,
    col,
    collection_id,
    collection_key,
    count,
    json_object,
    metadata,
    moment,
    refers,
    tenant_id,
)

sources = Table(
    "sources",
    metadata,
    tenant_id(),
    col("id", UUID, "Source id (UUIDv7)."),
    collection_id(),
    col("address", Text, "Where its files are, without credentials."),
    col("prefix", Text, "What the external ids of its documents begin with, before a slash; empty: nothing."),
    json_object("options", "Options of its kind."),
    col("secret_names", ARRAY(Text), "Which secrets it needs.", server_default=text("'{}'")),
    col("interval_seconds", Integer, "Seconds between two synchronisations; 0: only when somebody asks."),
    json_object("access", "Who may read, by folder of the source; the empty name: all of it."),
    col("most_deleted", Double, "Share of its files that may be gone at once; more pauses it."),
    col("requests_per_second", Double, "How many files are read in a second at most; null: no limit.", nullable=True),
    col("replaces", Boolean, "Its files take the place of documents that came otherwise."),
    col("paused", Boolean, "The schedule leaves it alone.", server_default=text("false")),
    col("note", Text, "Why it is paused, or what was left undone.", nullable=True),
    moment("created_at", "When it was added.", server_default=NOW),
    moment("due_at", "When the schedule starts it next.", nullable=True),
    moment("last_started_at", "When the last synchronisation began.", nullable=True),
    moment("last_finished_at", "When one last came to its end.", nullable=True),
    col("last_error", Text, "Why the last synchronisation failed.", nullable=True),
    count("failures", "Synchronisations that failed one after the other."),
    count("empty_listings", "Listings without a file one after the other."),
    col("counts", JSONB, "What the last synchronisation that came to its end did.", nullable=True),
    col("job_id", UUID, "The job of the last synchronisation.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    UniqueConstraint("tenant_id", "collection_id", "prefix"),
    collection_key(),
    CheckConstraint("interval_seconds >= 0", name="interval"),
    CheckConstraint("most_deleted BETWEEN 0 AND 1", name="most_deleted"),
    Index("sources_due_at_idx", "due_at", postgresql_where=text("NOT paused")),
    comment="Sources of documents that a collection is kept in step with.",
)


source_secrets = Table(
    "source_secrets",
    metadata,
    tenant_id(),
    col("source_id", UUID, "The source."),
    col("sealed", LargeBinary, "Its secrets, encrypted with the key of CAIRN_SECRETS_KEY."),
    PrimaryKeyConstraint("tenant_id", "source_id"),
    refers(["tenant_id", "source_id"], "sources", ["tenant_id", "id"]),
    comment="Secrets of sources. They are in no file, no view and no answer.",
)


source_files = Table(
    "source_files",
    metadata,
    tenant_id(),
    col("source_id", UUID, "The source."),
    col("path", Text, "Relative to the source."),
    col("external_id", Text, "Of its document."),
    col("version", Text, "Of the content that was read; changes when the file may have changed."),
    col("content_id", Text, "The same for the same bytes, wherever they lie; null: not read.", nullable=True),
    col("state", Text, "reading, indexed, failed, or foreign: the document of that id is of somebody else."),
    col("error", Text, "Why it is not indexed.", nullable=True),
    moment("seen_at", "When this was written.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "source_id", "path"),
    refers(["tenant_id", "source_id"], "sources", ["tenant_id", "id"]),
    comment="Files of sources, as they were read.",
)
