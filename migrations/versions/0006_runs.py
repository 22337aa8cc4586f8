"""Runs that outlive their request, with their events; what users think of answers.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: what older code
deletes is forgotten here too, because functions do that, and they are as new as the database.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.create_table(
        "resumable_runs",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Run id; its trace is rag.runs.id, written when it has ended."),
        sa.Column("surface", sa.Text(), nullable=False, comment="How its events are shown: query or chat."),
        sa.Column(
            "session_id", sa.Text(), nullable=True, comment="Conversation that the question was asked in; null: none."
        ),
        sa.Column("owner", sa.UUID(), nullable=False, comment="The task that runs it; nobody else may add events."),
        sa.Column(
            "status",
            sa.Text(),
            server_default=sa.text("'running'"),
            nullable=False,
            comment="running, ok, error or cancelled.",
        ),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
            comment="When it began.",
        ),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True, comment="When its last event was stored."),
        sa.Column(
            "lease_until",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When a running one is taken for lost, unless its owner says otherwise; by the clock of the database.",
        ),
        sa.Column(
            "cancel_requested",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="Whether somebody asked for its end.",
        ),
        sa.Column(
            "last_seq", sa.Integer(), server_default=sa.text("0"), nullable=False, comment="Events stored so far."
        ),
        sa.Column(
            "document_ids",
            postgresql.ARRAY(sa.UUID()),
            server_default=sa.text("'{}'"),
            nullable=False,
            comment="Documents that its events quote; their deletion blanks them.",
        ),
        sa.Column(
            "blanked_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When such a document, or the conversation, was deleted; no text is kept from then on.",
        ),
        sa.CheckConstraint("status IN ('running', 'ok', 'error', 'cancelled')", name=op.f("resumable_runs_status_check")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("resumable_runs_pkey")),
        schema="rag",
        comment="Runs that go on without their client; their row is the one lock between who writes and who deletes.",
    )
    op.create_index(
        op.f("resumable_runs_document_ids_idx"),
        "resumable_runs",
        ["document_ids"],
        unique=False,
        schema="rag",
        postgresql_using="gin",
    )
    op.create_index(
        "resumable_runs_session_idx",
        "resumable_runs",
        ["tenant_id", "session_id"],
        unique=False,
        schema="rag",
        postgresql_where=sa.text("session_id IS NOT NULL"),
    )
    op.create_table(
        "run_events",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("run_id", sa.UUID(), nullable=False, comment="The run (rag.resumable_runs.id)."),
        sa.Column("seq", sa.Integer(), nullable=False, comment="Place among its events, from 1, without gaps."),
        sa.Column("kind", sa.Text(), nullable=False, comment="What happened: name of the event."),
        sa.Column("terminal", sa.Boolean(), nullable=False, comment="Whether it is the last one; every run has one."),
        sa.Column(
            "data", sa.Text(), nullable=True, comment="Its fields (JSON object); null once what it quotes is deleted."
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "run_id"],
            ["rag.resumable_runs.tenant_id", "rag.resumable_runs.id"],
            name=op.f("run_events_tenant_id_run_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "run_id", "seq", name=op.f("run_events_pkey")),
        schema="rag",
        comment="What resumable runs said, to be read again and on any process; pieces of text are merged.",
    )
    op.create_index(
        "run_events_terminal_idx",
        "run_events",
        ["tenant_id", "run_id"],
        unique=True,
        schema="rag",
        postgresql_where=sa.text("terminal"),
    )
    op.create_table(
        "feedback",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("run_id", sa.UUID(), nullable=False, comment="The run that is judged (rag.runs.id)."),
        sa.Column("run_started_at", sa.DateTime(timezone=True), nullable=False, comment="When that run began."),
        sa.Column("session_id", sa.Text(), nullable=True, comment="The conversation of the run; null: none."),
        sa.Column("rating", sa.SmallInteger(), nullable=False, comment="-1 bad, 0 neither, 1 good."),
        sa.Column(
            "comment",
            sa.Text(),
            nullable=True,
            comment="In the user's words; null: none, or a document that the answer cites was deleted.",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When the run was first judged.",
        ),
        sa.Column(
            "updated_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When the judgement was last replaced.",
        ),
        sa.CheckConstraint("rating IN (-1, 0, 1)", name=op.f("feedback_rating_check")),
        sa.PrimaryKeyConstraint("tenant_id", "run_id", name=op.f("feedback_pkey")),
        schema="rag",
        comment="What users think of answers, one judgement per run.",
    )

    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
