"""Runs of evaluations and their results."""

from __future__ import annotations

from sqlalchemy import (
    Double,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import ARRAY, UUID

from app.db.tables.base import col, json_object, metadata, moment, tenant_id

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
    col("code_version", Text, "Version of cairn-rag that searched."),
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
