"""Requests that are made once (Idempotency-Key).

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: it takes no such keys.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("caller", sa.Text(), nullable=False, comment="Who sent it: two callers may use the same key."),
        sa.Column("key", sa.Text(), nullable=False, comment="What the caller named the request."),
        sa.Column(
            "fingerprint", sa.LargeBinary(), nullable=False,
            comment="SHA-256 of method, path, query and body: another request must not take the key.",
        ),
        sa.Column("claim", sa.UUID(), nullable=False, comment="Of whoever carries it out."),
        sa.Column(
            "claimed_until", sa.DateTime(timezone=True), nullable=False,
            comment="Until when nobody else may begin; renewed while it is carried out.",
        ),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False,
            comment="When it came first.",
        ),
        sa.Column(
            "status", sa.SmallInteger(), nullable=True, comment="HTTP status of the answer; null while it is carried out."
        ),
        sa.Column(
            "headers", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'::jsonb"), nullable=False,
            comment="Headers that the answer had.",
        ),
        sa.Column("body", sa.LargeBinary(), nullable=True, comment="Body of the answer."),
        sa.CheckConstraint(
            "octet_length(key) <= 255 AND octet_length(caller) <= 2000", name=op.f("idempotency_keys_size_check")
        ),
        sa.CheckConstraint("(status IS NULL) = (body IS NULL)", name=op.f("idempotency_keys_answer_check")),
        sa.PrimaryKeyConstraint("tenant_id", "caller", "key", name=op.f("idempotency_keys_pkey")),
        schema="rag",
        comment="Requests that are made once, with the answers that their repetitions get too.",
    )  # fmt: skip
    op.create_index(
        "idempotency_keys_created_at_idx", "idempotency_keys", ["tenant_id", "created_at"], unique=False, schema="rag"
    )
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
