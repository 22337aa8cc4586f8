"""What keys and tenants may use, and have used: requests of a minute, concurrent runs, tokens and cost of a day, documents.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: it asks no limits,
and the functions that it publishes documents with keep the new counter of bytes.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None
BREAKING = False

TENANT = "Tenant that owns the row (rag.tenants.id)."
KEY = "The key that is counted."


def upgrade() -> None:
    op.create_table(
        "tenant_limits",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment=TENANT),
        sa.Column("documents", sa.BigInteger(), nullable=True, comment="Most indexed documents; null: limits.documents."),
        sa.Column("bytes", sa.BigInteger(), nullable=True, comment="Most bytes of their files; null: limits.bytes."),
        sa.Column("chunks", sa.BigInteger(), nullable=True, comment="Most chunks of them; null: limits.chunks."),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("tenant_limits_pkey")),
        schema="rag",
        comment="How much a tenant may keep, where that is not what the settings say; its row is the lock under which "
        "publications are counted.",
    )
    op.create_table(
        "key_requests",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment=TENANT),
        sa.Column("key_id", sa.UUID(), nullable=False, comment=KEY),
        sa.Column("minute", sa.DateTime(timezone=True), nullable=False, comment="The minute that taken is of."),
        sa.Column("taken", sa.Integer(), nullable=False, comment="Permits of it that processes have."),
        sa.PrimaryKeyConstraint("tenant_id", "key_id", name=op.f("key_requests_pkey")),
        schema="rag",
        comment="Requests of keys with a limit per minute: one row per key, which is also the lock of its runs.",
    )
    op.create_table(
        "run_slots",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment=TENANT),
        sa.Column("id", sa.UUID(), nullable=False, comment="Id of the slot (UUIDv7)."),
        sa.Column("key_id", sa.UUID(), nullable=False, comment=KEY),
        sa.Column("owner", sa.UUID(), nullable=False, comment="The process that runs it."),
        sa.Column(
            "lease_until", sa.DateTime(timezone=True), nullable=False,
            comment="A process that is silent until then has lost it.",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("run_slots_pkey")),
        schema="rag",
        comment="Runs under way of keys with a limit of concurrent runs.",
    )  # fmt: skip
    op.create_index("run_slots_key_idx", "run_slots", ["tenant_id", "key_id"], unique=False, schema="rag")
    op.create_table(
        "key_usage",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment=TENANT),
        sa.Column("key_id", sa.UUID(), nullable=False, comment=KEY),
        sa.Column("day", sa.Date(), nullable=False, comment="Day (UTC)."),
        sa.Column("calls", sa.BigInteger(), server_default=sa.text("0"), nullable=False, comment="Requests to chat models."),
        sa.Column(
            "tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False,
            comment="Tokens read and written, with those that calls under way may use.",
        ),
        sa.Column(
            "cost", sa.Double(), server_default=sa.text("0"), nullable=False,
            comment="What they cost, by answer.prices; models without a price are not in it.",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "key_id", "day", name=op.f("key_usage_pkey")),
        schema="rag",
        comment="What calls of chat models have cost, per key and day.",
    )  # fmt: skip
    op.add_column(
        "collections",
        sa.Column(
            "byte_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False,
            comment="Bytes of the files of indexed documents.",
        ),
        schema="rag",
    )  # fmt: skip
    # by whoever owns the tables, for whom row security is forced as well
    op.execute("ALTER TABLE rag.documents NO FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE rag.collections NO FORCE ROW LEVEL SECURITY")
    op.execute(
        "UPDATE rag.collections AS c SET byte_count = d.bytes FROM (SELECT tenant_id, collection_id, sum(byte_size) AS bytes "
        "FROM rag.documents WHERE status = 'indexed' GROUP BY 1, 2) AS d "
        "WHERE c.tenant_id = d.tenant_id AND c.id = d.collection_id"
    )
    op.execute("ALTER TABLE rag.documents FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE rag.collections FORCE ROW LEVEL SECURITY")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
