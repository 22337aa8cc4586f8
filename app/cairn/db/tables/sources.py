"""Sources that collections follow, and their files as they were last read."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    Boolean,
    Double,
    Integer,
    Interval,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import UUID

from cairn.db.tables.base import (
    NOW,
    ORDERED,
    col,
    collection_id,
    collection_key,
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
    col("address", Text, "Where it is: a URL without credentials."),
    col("prefix", ORDERED, "Folder of external ids under which its documents stand; empty: none."),
    json_object("options", "What its kind takes besides, such as include and branch."),
    col("sealed", LargeBinary, "Its secrets, encrypted with CAIRN_SECRETS_KEY; null: none.", nullable=True),
    col("secrets", ARRAY(Text), "Names of these.", server_default=text("'{}'::text[]")),
    col("every", Interval, "Between two looks; null: only when asked.", nullable=True),
    col("most_deleted", Double, "Share of its documents that may go at one look, 0 to 1."),
    col("paused", Text, "Why it is not looked at; null: it is.", nullable=True),
    col(
        "emptied",
        Boolean,
        "Whether the last listing held nothing where there was something.",
        server_default=text("false"),
    ),
    col("failures", Integer, "Looks that failed, in a row.", server_default=text("0")),
    col("error", Text, "Why the last look failed, or kept documents; null: it did not.", nullable=True),
    json_object("counts", "What the last look found and did, in files."),
    moment("created_at", "When it was made.", server_default=NOW),
    moment("started_at", "When the last look began.", nullable=True),
    moment("finished_at", "When the last look ended.", nullable=True),
    moment("next_at", "When it is looked at next; null: when asked.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    collection_key(),
    UniqueConstraint("tenant_id", "collection_id", "prefix"),
    comment="Sources that collections keep in step with.",
)

source_files = Table(
    "source_files",
    metadata,
    tenant_id(),
    col("source_id", UUID, "The source."),
    col("path", ORDERED, "Of the file within the source."),
    col("version", Text, "As the source gave it when the file was read."),
    col("content_id", Text, "The same for the same bytes; null: the source does not tell.", nullable=True),
    col("error", Text, "Why it is no document; null: it is one.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "source_id", "path"),
    refers(["tenant_id", "source_id"], "sources", ["tenant_id", "id"]),
    comment="Files of sources as they were last read.",
)
