"""Conversations: sessions and their messages, and the session of a run.

BREAKING says whether code that does not know this revision must refuse to serve the database.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:

    op.create_table(
        "sessions",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.Text(), nullable=False, comment="Session id as the client gave it, or a UUID made for it."),
        sa.Column(
            "collection",
            sa.Text(),
            nullable=True,
            comment="Name of the collection that was asked last; it may be gone by now.",
        ),
        sa.Column(
            "message_count",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Messages so far; gives each its position.",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When its first message was saved.",
        ),
        sa.Column(
            "last_used_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When its last message was saved.",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("sessions_pkey")),
        schema="rag",
        comment="Conversations; their row is the one lock between writers of one conversation.",
    )
    op.create_table(
        "messages",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("session_id", sa.Text(), nullable=False, comment="The conversation (rag.sessions.id)."),
        sa.Column("position", sa.Integer(), nullable=False, comment="Place in the conversation, from 1, without gaps."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Message id (UUIDv7)."),
        sa.Column("role", sa.Text(), nullable=False, comment="user or assistant."),
        sa.Column(
            "content",
            sa.Text(),
            nullable=False,
            comment="What was said; empty once a document that an answer cites is deleted.",
        ),
        sa.Column(
            "metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Of an answer: sources, confidence, grounded; of a question without one: outcome and error.",
        ),
        sa.Column(
            "document_ids",
            postgresql.ARRAY(sa.UUID()),
            nullable=False,
            comment="Documents of the sources; their deletion blanks what is quoted.",
        ),
        sa.Column("run_id", sa.UUID(), nullable=True, comment="The run that the message belongs to (rag.runs.id)."),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
            comment="When it was saved.",
        ),
        sa.CheckConstraint("role IN ('user', 'assistant')", name=op.f("messages_role_check")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "session_id"],
            ["rag.sessions.tenant_id", "rag.sessions.id"],
            name=op.f("messages_tenant_id_session_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("messages_pkey")),
        sa.UniqueConstraint(
            "tenant_id", "session_id", "position", name=op.f("messages_tenant_id_session_id_position_key")
        ),
        schema="rag",
        comment="What was said in conversations, and what answers stood on.",
    )
    op.create_index(
        op.f("messages_document_ids_idx"),
        "messages",
        ["document_ids"],
        unique=False,
        schema="rag",
        postgresql_using="gin",
    )
    op.add_column(
        "runs",
        sa.Column(
            "session_id", sa.Text(), nullable=True, comment="Conversation that the question was asked in; null: none."
        ),
        schema="rag",
    )
    op.create_index(
        "runs_session_idx",
        "runs",
        ["tenant_id", "session_id"],
        unique=False,
        schema="rag",
        postgresql_where=sa.text("session_id IS NOT NULL"),
    )

    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
