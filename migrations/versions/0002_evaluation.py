"""Evaluation: runs over data sets, and their results per query."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.create_table(
        "eval_runs",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Evaluation run id (UUIDv7)."),
        sa.Column("kind", sa.Text(), nullable=False, comment="What was measured: retrieval."),
        sa.Column("name", sa.Text(), nullable=False, comment="Name given to the run; empty where none was."),
        sa.Column("data_set", sa.Text(), nullable=False, comment="Name of the data set."),
        sa.Column(
            "data_hash",
            sa.Text(),
            nullable=False,
            comment="SHA-256 of the queries and judgements; equal hashes compare like with like.",
        ),
        sa.Column(
            "collection_id", sa.UUID(), nullable=False, comment="The collection searched; it may be gone by now."
        ),
        sa.Column("collection", sa.Text(), nullable=False, comment="Its name."),
        sa.Column(
            "epochs",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Collection name to epoch that was searched.",
        ),
        sa.Column(
            "settings",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="All settings in force.",
        ),
        sa.Column("settings_revision", sa.Text(), nullable=False, comment="Revision of these settings."),
        sa.Column("code_version", sa.Text(), nullable=False, comment="Version of cairn-rag that searched."),
        sa.Column(
            "parameters",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Mode, legs, top_k, reranking and what else the searches were asked for.",
        ),
        sa.Column(
            "started_at", sa.DateTime(timezone=True), nullable=False, comment="When the first query was sent."
        ),
        sa.Column(
            "finished_at", sa.DateTime(timezone=True), nullable=False, comment="When the last one was answered."
        ),
        sa.Column("query_count", sa.Integer(), nullable=False, comment="Queries that were searched and judged."),
        sa.Column(
            "metrics",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Metric to {mean, low, high}: mean over queries with its 95 percent bootstrap interval.",
        ),
        sa.Column(
            "timings_ms",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Milliseconds per search: mean, p50, p95.",
        ),
        sa.Column(
            "degraded",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            comment="What did not work as asked, each with the number of queries it concerned.",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("eval_runs_pkey")),
        schema="rag",
        comment="Evaluation runs: a data set searched with one state of collection, settings and code.",
    )
    op.create_table(
        "eval_results",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("run_id", sa.UUID(), nullable=False, comment="The evaluation run."),
        sa.Column("query_id", sa.Text(), nullable=False, comment="Id of the query in the data set."),
        sa.Column("query", sa.Text(), nullable=False, comment="The query."),
        sa.Column(
            "ranking",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            comment="External ids of the documents found, best first, at most 100.",
        ),
        sa.Column(
            "judgements",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="External id of each judged document to its grade; above 0 is relevant.",
        ),
        sa.Column(
            "metrics",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Metric to value for this query.",
        ),
        sa.Column("total_ms", sa.Double(), nullable=False, comment="Milliseconds that the search took."),
        sa.ForeignKeyConstraint(
            ["tenant_id", "run_id"],
            ["rag.eval_runs.tenant_id", "rag.eval_runs.id"],
            name=op.f("eval_results_tenant_id_run_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "run_id", "query_id", name=op.f("eval_results_pkey")),
        schema="rag",
        comment="What an evaluation run found for each query, and how well.",
    )
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
