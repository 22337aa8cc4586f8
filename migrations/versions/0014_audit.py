"""The audit log.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: it records nothing.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.create_table(
        "audit_events",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Event id."),
        sa.Column(
            "occurred_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False,
            comment="When, by the clock of the database; no role can say another time.",
        ),
        sa.Column(
            "caller", sa.Text(), nullable=False,
            comment="Who: local, key:<id>, token:<subject>, or database:<login> for what was done in SQL.",
        ),
        sa.Column(
            "caller_name", sa.Text(), server_default=sa.text("''"), nullable=False,
            comment="The name of that caller at that time.",
        ),
        sa.Column(
            "action", sa.Text(), nullable=False,
            comment="What was done, as <what>.<deed>: collection.delete, key.create.",
        ),
        sa.Column("target", sa.Text(), nullable=False, comment="What it was done to: a name or an id."),
        sa.Column(
            "detail", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'::jsonb"), nullable=False,
            comment="What else belongs to it: counts, what it was before and after.",
        ),
        sa.CheckConstraint(r"action ~ '^[a-z_]+\.[a-z_]+$'", name=op.f("audit_events_action_check")),
        sa.CheckConstraint(
            "octet_length(target) <= 2000 AND octet_length(detail::text) <= 16000", name=op.f("audit_events_size_check")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("audit_events_pkey")),
        schema="rag",
        comment="Deeds that matter afterwards. The serving role adds and reads; rag.expire_audit takes away what is old.",
    )  # fmt: skip
    op.create_index(
        "audit_events_occurred_at_idx", "audit_events", ["tenant_id", sa.text("occurred_at DESC"), sa.text("id DESC")],
        unique=False, schema="rag",
    )  # fmt: skip
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
