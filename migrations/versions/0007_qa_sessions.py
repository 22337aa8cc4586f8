"""Sessions of the iterative strategy: what was read, which relations led there, and what was looked for in vain.

BREAKING says whether code that does not know this revision must refuse to serve the database.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None
BREAKING = False

TENANT = "Tenant that owns the row (rag.tenants.id)."
COLLECTION = "Collection that is asked (rag.collections.id)."
SESSION = "The session (rag.qa_sessions.id)."


def _keys() -> list[sa.Column]:
    return [
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment=TENANT),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment=COLLECTION),
        sa.Column("session_id", sa.Text(), nullable=False, comment=SESSION),
    ]


def _of_session(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant_id", "collection_id", "session_id"],
        ["rag.qa_sessions.tenant_id", "rag.qa_sessions.collection_id", "rag.qa_sessions.id"],
        name=op.f(f"{table}_tenant_id_collection_id_session_id_fkey"),
        ondelete="CASCADE",
    )


def upgrade() -> None:
    op.create_table(
        "qa_sessions",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment=TENANT),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment=COLLECTION),
        sa.Column("id", sa.Text(), nullable=False, comment="Session id as the client gave it."),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False, comment="When it began."
        ),
        sa.Column(
            "last_accessed_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was last used; it is forgotten iterative.idleMinutes later.",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("qa_sessions_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "collection_id", "id", name=op.f("qa_sessions_pkey")),
        schema="rag",
        comment="Sessions of the iterative strategy: what it has read is at hand for the next question.",
    )
    op.create_index("qa_sessions_idle_idx", "qa_sessions", ["tenant_id", "last_accessed_at"], unique=False, schema="rag")
    op.create_table(
        "qa_nodes",
        *_keys(),
        sa.Column("passage_id", sa.UUID(), nullable=False, comment="A passage that was read (rag.passages.id)."),
        sa.Column(
            "used_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was last read; the least recently read ones make room.",
        ),
        _of_session("qa_nodes"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "passage_id"],
            ["rag.passages.tenant_id", "rag.passages.id"],
            name=op.f("qa_nodes_tenant_id_passage_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "collection_id", "session_id", "passage_id", name=op.f("qa_nodes_pkey")),
        schema="rag",
        comment="Passages that a session has read; their text is in rag.passages alone.",
    )
    op.create_index("qa_nodes_passage_idx", "qa_nodes", ["tenant_id", "passage_id"], unique=False, schema="rag")
    op.create_table(
        "qa_edges",
        *_keys(),
        sa.Column("relation_id", sa.UUID(), nullable=False, comment="A relation that was followed (rag.relations.id)."),
        _of_session("qa_edges"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "relation_id"],
            ["rag.relations.tenant_id", "rag.relations.id"],
            name=op.f("qa_edges_tenant_id_relation_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "collection_id", "session_id", "relation_id", name=op.f("qa_edges_pkey")),
        schema="rag",
        comment="Relations between symbols that a session has followed.",
    )
    op.create_index("qa_edges_relation_idx", "qa_edges", ["tenant_id", "relation_id"], unique=False, schema="rag")
    op.create_table(
        "qa_gaps",
        *_keys(),
        sa.Column("gap", sa.Text(), nullable=False, comment="What was looked for in vain, in its normal form."),
        sa.Column(
            "epoch", sa.BigInteger(), nullable=False, comment="State of the collection then; in another one it may be found."
        ),
        _of_session("qa_gaps"),
        sa.PrimaryKeyConstraint("tenant_id", "collection_id", "session_id", "gap", name=op.f("qa_gaps_pkey")),
        schema="rag",
        comment="What a session did not find; gone as soon as a document of the collection changes or goes.",
    )
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
