"""Sentences of context that chat models wrote for chunks, and which documents are embedded with them.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: it embeds without
contexts, and its deletions take them along by the foreign key.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.create_table(
        "chunk_contexts",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column(
            "document_id", sa.UUID(), nullable=False, comment="The document; what a model wrote of it goes with it."
        ),
        sa.Column(
            "content_hash", sa.LargeBinary(), nullable=False, comment="rag.context_key of all that the model read."
        ),
        sa.Column("writer", sa.Text(), nullable=False, comment="Model, checks and prompt."),
        sa.Column("context", sa.Text(), nullable=False, comment="The sentence; empty where none passed the checks."),
        sa.Column("reason", sa.Text(), nullable=True, comment="Why there is none; null where there is one."),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False, comment="When."
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "document_id"],
            ["rag.documents.tenant_id", "rag.documents.id"],
            name=op.f("chunk_contexts_tenant_id_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "document_id", "content_hash", "writer", name=op.f("chunk_contexts_pkey")),
        schema="rag",
        comment="A sentence of context for each chunk by a model, kept so that none is paid for twice.",
    )
    op.create_index(
        "chunk_contexts_reuse_idx", "chunk_contexts", ["tenant_id", "content_hash", "writer"], unique=False, schema="rag"
    )
    op.add_column(
        "documents",
        sa.Column(
            "enrichment", postgresql.JSONB(astext_type=sa.Text()), nullable=True,
            comment="Who wrote the contexts that its chunks are embedded with, for how many of them, and why not for the "
            "others; null: embedded without.",
        ),
        schema="rag",
    )  # fmt: skip
    op.add_column(
        "extraction_usage",
        sa.Column(
            "purpose", sa.Text(), server_default=sa.text("'graph_model'"), nullable=False,
            comment="Kind of the job: each has caps of its own.",
        ),
        schema="rag",
    )  # fmt: skip
    op.execute(
        "COMMENT ON TABLE rag.extraction_usage IS "
        "'What jobs have cost that ask chat models, for the caps of graph.model and enrichment.'"
    )
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
