"""Jobs and uploads."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, UUID

from app.db.tables.base import NOW, col, count, json_object, metadata, moment, tenant_id

jobs = Table(
    "jobs",
    metadata,
    tenant_id(),
    col("id", UUID, "Job id (UUIDv7)."),
    col("kind", Text, "Which handler runs it."),
    json_object("payload", "Arguments of the handler."),
    col("status", Text, "queued, running, succeeded, failed, parked or cancelled.", server_default=text("'queued'")),
    count("attempts", "Claims so far; counted when claimed, so that a job which kills its worker is parked."),
    col("max_attempts", Integer, "Claims after which it is parked.", server_default=text("3")),
    json_object("progress", "{done, total, message} as the handler reports it."),
    col("result", JSONB, "What the handler returned.", nullable=True),
    col("error", Text, "Why the last attempt failed.", nullable=True),
    col("dedupe_key", Text, "At most one unfinished job per key.", nullable=True),
    col("cancel_requested", Boolean, "The handler stops at its next step.", server_default=text("false")),
    moment("run_at", "Not before this time (backoff).", server_default=NOW),
    moment("lease_until", "Until when its worker owns it.", nullable=True),
    col("worker", Text, "Who owns it.", nullable=True),
    moment("created_at", "When it was enqueued.", server_default=NOW),
    moment("started_at", "When it was first claimed.", nullable=True),
    moment("finished_at", "When it ended.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    CheckConstraint("status IN ('queued', 'running', 'succeeded', 'failed', 'parked', 'cancelled')", name="status"),
    Index("jobs_claim_idx", "run_at", postgresql_where=text("status IN ('queued', 'running')")),
    Index(
        "jobs_dedupe_idx",
        "tenant_id",
        "dedupe_key",
        unique=True,
        postgresql_where=text("status IN ('queued', 'running')"),
    ),
    comment="Durable jobs: claimed with a lease, resumed when the lease runs out, parked after too many claims.",
)


uploads = Table(
    "uploads",
    metadata,
    tenant_id(),
    col("id", UUID, "Upload id (UUIDv7)."),
    col("collection_id", UUID, "Where it will be indexed."),
    col("job_id", UUID, "The job that indexes it."),
    col("external_id", Text, "Identity of the document."),
    col("name", Text, "File name."),
    col("title", Text, "Title given by the caller.", nullable=True),
    col("media_type", Text, "Media type given by the caller.", nullable=True),
    json_object("metadata", "Metadata given by the caller."),
    col("content", LargeBinary, "The bytes; deleted with the row when the job is done."),
    moment("created_at", "When it arrived.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "id"),
    ForeignKeyConstraint(["tenant_id", "job_id"], ["rag.jobs.tenant_id", "rag.jobs.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    Index(None, "tenant_id", "job_id"),
    comment="Files waiting for a worker.",
)
