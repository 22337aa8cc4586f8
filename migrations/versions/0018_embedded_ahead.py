"""Vectors of large documents that are not published yet: a crash on the way costs what was not embedded, no more.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: it embeds again, and
its deletions take them along by the foreign key.
"""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.create_table(
        "embedded_ahead",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column(
            "document_id", sa.UUID(), nullable=False,
            comment="The document that is being indexed; what was embedded of it goes with it.",
        ),
        sa.Column(
            "model_id", sa.SmallInteger(), nullable=False, comment="The embedding model (rag.embedding_models.id)."
        ),
        sa.Column("content_hash", sa.LargeBinary(), nullable=False, comment="SHA-256 of what was embedded."),
        sa.Column(
            "embedding", HALFVEC(), nullable=False, comment="L2-normalised vector of the model's dimension."
        ),
        sa.ForeignKeyConstraint(
            ["model_id"], ["rag.embedding_models.id"], name=op.f("embedded_ahead_model_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "document_id"],
            ["rag.documents.tenant_id", "rag.documents.id"],
            name=op.f("embedded_ahead_tenant_id_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "tenant_id", "document_id", "model_id", "content_hash", name=op.f("embedded_ahead_pkey")
        ),
        schema="rag",
        comment="Vectors of large documents not yet published, so that none is made again after a crash.",
    )  # fmt: skip
    op.create_index(
        "embedded_ahead_reuse_idx", "embedded_ahead", ["tenant_id", "model_id", "content_hash"], unique=False, schema="rag"
    )
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
