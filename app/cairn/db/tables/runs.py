"""Traces, resumable runs, feedback, evaluations, jobs and uploads."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Double,
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

from cairn.db.tables.base import NOW, col, count, json_object, metadata, moment, tenant_id, uncompressed

runs = Table(
    "runs",
    metadata,
    tenant_id(),
    moment("started_at", "When the run began; daily partitions."),
    col("id", UUID, "Run id = trace id."),
    col("kind", Text, "search or query."),
    col("collections", ARRAY(Text), "Names of the collections searched."),
    col("question", Text, "What was asked."),
    col("strategy", Text, "Strategy that ran; null for a plain search.", nullable=True),
    json_object("plan", "Routing decision: legs, weights, factors, request parameters."),
    json_object("timings_ms", "Milliseconds per stage, and total."),
    col("legs_used", ARRAY(Text), "Legs that answered."),
    json_object("legs_failed", "Leg to reason."),
    col("degraded", ARRAY(Text), "What did not work as asked."),
    col("settings_revision", Text, "Revision of the settings in force."),
    json_object("epochs", "Collection name to epoch that was read."),
    col("outcome", Text, "ok, error or cancelled."),
    col("error", Text, "Why it failed.", nullable=True),
    json_object("answer", "Answer with citations, confidence and groundedness; empty for a search."),
    json_object("usage", "Model, tokens and cost."),
    col("document_ids", ARRAY(UUID), "Documents that the answer cites; their deletion blanks it."),
    col("session_id", Text, "Conversation that the question was asked in; null: none.", nullable=True),
    col("asked_by", Text, "Caller that asked; null: from before that was noted.", nullable=True),
    col(
        "asked_as",
        ARRAY(Text),
        "Names of who asked that access lists named then; who has not all of them sees nothing of it.",
        server_default=text("'{}'"),
    ),
    PrimaryKeyConstraint("tenant_id", "id", "started_at"),
    Index(None, "document_ids", postgresql_using="gin"),
    Index("runs_asked_as_idx", "tenant_id", postgresql_where=text("asked_as <> '{}'::text[]")),
    Index("runs_session_idx", "tenant_id", "session_id", postgresql_where=text("session_id IS NOT NULL")),
    postgresql_partition_by="RANGE (started_at)",
    comment="One row per search or question.",
)


run_legs = Table(
    "run_legs",
    metadata,
    tenant_id(),
    moment("started_at", "Start of the run; daily partitions."),
    col("run_id", UUID, "The run."),
    col("leg", Text, "vector, lexical, graph, or fused (what fusion made of them)."),
    col("passage_ids", ARRAY(UUID), "Candidates, best first."),
    col("chunk_ids", ARRAY(UUID), "Best chunk of each candidate; empty where the leg ranks passages."),
    col("scores", ARRAY(Double), "Raw score of the leg; for fused the RRF score."),
    col("shares", ARRAY(Double), "Contribution to the fused score; for fused the rerank score; empty: none."),
    col("fates", ARRAY(Text), "For fused: kept, or why it was dropped; those after its end are below top_k."),
    PrimaryKeyConstraint("tenant_id", "run_id", "leg", "started_at"),
    postgresql_partition_by="RANGE (started_at)",
    comment="Candidates of each leg of a run as parallel arrays; analyst.retrieval_hits unnests them.",
)
uncompressed(run_legs, "passage_ids", "chunk_ids", "scores", "shares")


resumable_runs = Table(
    "resumable_runs",
    metadata,
    tenant_id(),
    col("id", UUID, "Run id; its trace is rag.runs.id, written when it has ended."),
    col("surface", Text, "How its events are shown: query or chat."),
    col("session_id", Text, "Conversation that the question was asked in; null: none.", nullable=True),
    col("owner", UUID, "The task that runs it; nobody else may add events."),
    col("status", Text, "running, ok, error or cancelled.", server_default=text("'running'")),
    moment("started_at", "When it began.", server_default=text("clock_timestamp()")),
    moment("ended_at", "When its last event was stored.", nullable=True),
    moment(
        "lease_until",
        "When a running one is taken for lost, unless its owner says otherwise; by the clock of the database.",
    ),
    col("cancel_requested", Boolean, "Whether somebody asked for its end.", server_default=text("false")),
    count("last_seq", "Events stored so far."),
    col(
        "document_ids",
        ARRAY(UUID),
        "Documents that its events quote; their deletion blanks them.",
        server_default=text("'{}'"),
    ),
    moment(
        "blanked_at",
        "When such a document, or the conversation, was deleted; no text is kept from then on.",
        nullable=True,
    ),
    col("asked_by", Text, "Caller that sees it while it runs; null: everybody in the tenant.", nullable=True),
    col(
        "asked_as",
        ARRAY(Text),
        "Names of who asked that access lists named then; who has not all of them sees nothing of it.",
        server_default=text("'{}'"),
    ),
    PrimaryKeyConstraint("tenant_id", "id"),
    CheckConstraint("status IN ('running', 'ok', 'error', 'cancelled')", name="status"),
    Index(None, "document_ids", postgresql_using="gin"),
    Index("resumable_runs_session_idx", "tenant_id", "session_id", postgresql_where=text("session_id IS NOT NULL")),
    Index("resumable_runs_asked_as_idx", "tenant_id", postgresql_where=text("asked_as <> '{}'::text[]")),
    comment="Runs that go on without their client; their row is the one lock between who writes and who deletes.",
)


run_events = Table(
    "run_events",
    metadata,
    tenant_id(),
    col("run_id", UUID, "The run (rag.resumable_runs.id)."),
    col("seq", Integer, "Place among its events, from 1, without gaps."),
    col("kind", Text, "What happened: name of the event."),
    col("terminal", Boolean, "Whether it is the last one; every run has one."),
    col("data", Text, "Its fields (JSON object); null once what it quotes is deleted.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "run_id", "seq"),
    ForeignKeyConstraint(
        ["tenant_id", "run_id"], ["rag.resumable_runs.tenant_id", "rag.resumable_runs.id"], ondelete="CASCADE"
    ),
    Index("run_events_terminal_idx", "tenant_id", "run_id", unique=True, postgresql_where=text("terminal")),
    comment="What resumable runs said, to be read again and on any process; pieces of text are merged.",
)


feedback = Table(
    "feedback",
    metadata,
    tenant_id(),
    col("run_id", UUID, "The run that is judged (rag.runs.id)."),
    moment("run_started_at", "When that run began."),
    col("session_id", Text, "The conversation of the run; null: none.", nullable=True),
    col("rating", SmallInteger, "-1 bad, 0 neither, 1 good."),
    col(
        "comment",
        Text,
        "In the user's words; null: none, or a document that the answer cites was deleted.",
        nullable=True,
    ),
    moment("created_at", "When the run was first judged.", server_default=NOW),
    moment("updated_at", "When the judgement was last replaced.", server_default=NOW),
    col("rated_by", Text, "Caller whose judgement it is; null: from before that was noted.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "run_id"),
    CheckConstraint("rating IN (-1, 0, 1)", name="rating"),
    comment="What users think of answers, one judgement per run.",
)


# --- Runs of evaluations and their results ---

eval_runs = Table(
    "eval_runs",
    metadata,
    tenant_id(),
    col("id", UUID, "Evaluation run id (UUIDv7)."),
    col("kind", Text, "What was measured: retrieval."),
    col("name", Text, "Name given to the run; empty where none was."),
    col("data_set", Text, "Name of the data set."),
    col("data_hash", Text, "SHA-256 of the queries and judgements; equal hashes compare like with like."),
    # no foreign key: what was measured stays when the collection goes
    col("collection_id", UUID, "The collection searched; it may be gone by now."),
    col("collection", Text, "Its name."),
    json_object("epochs", "Collection name to epoch that was searched."),
    json_object("settings", "All settings in force."),
    col("settings_revision", Text, "Revision of these settings."),
    col("code_version", Text, "Version of Cairn that searched."),
    json_object("parameters", "Mode, legs, top_k, reranking and what else the searches were asked for."),
    moment("started_at", "When the first query was sent."),
    moment("finished_at", "When the last one was answered."),
    col("query_count", Integer, "Queries that were searched and judged."),
    json_object("metrics", "Metric to {mean, low, high}: mean over queries with its 95 percent bootstrap interval."),
    json_object("timings_ms", "Milliseconds per search: mean, p50, p95."),
    col("degraded", ARRAY(Text), "What did not work as asked, each with the number of queries it concerned."),
    PrimaryKeyConstraint("tenant_id", "id"),
    comment="Evaluation runs: a data set searched with one state of collection, settings and code.",
)


eval_results = Table(
    "eval_results",
    metadata,
    tenant_id(),
    col("run_id", UUID, "The evaluation run."),
    col("query_id", Text, "Id of the query in the data set."),
    col("query", Text, "The query."),
    col("ranking", ARRAY(Text), "External ids of the documents found, best first, at most 100."),
    json_object("judgements", "External id of each judged document to its grade; above 0 is relevant."),
    json_object("metrics", "Metric to value for this query."),
    col("total_ms", Double, "Milliseconds that the search took."),
    PrimaryKeyConstraint("tenant_id", "run_id", "query_id"),
    ForeignKeyConstraint(["tenant_id", "run_id"], ["rag.eval_runs.tenant_id", "rag.eval_runs.id"], ondelete="CASCADE"),
    comment="What an evaluation run found for each query, and how well.",
)


# --- Jobs and uploads ---

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
    Index(  # the last ones of a source
        "jobs_key_idx", "tenant_id", "dedupe_key", "id", postgresql_where=text("dedupe_key IS NOT NULL")
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
    col(
        "access",
        ARRAY(Text),
        "Who may read the document; null: as it is, or everybody in the tenant.",
        nullable=True,
    ),
    PrimaryKeyConstraint("tenant_id", "id"),
    ForeignKeyConstraint(["tenant_id", "job_id"], ["rag.jobs.tenant_id", "rag.jobs.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    Index(None, "tenant_id", "job_id"),
    comment="Files waiting for a worker.",
)
uncompressed(uploads, "content")
