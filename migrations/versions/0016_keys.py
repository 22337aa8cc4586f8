"""Keys of callers.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: it knows no keys.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None
BREAKING = False

LIMIT = "null: as the settings say"


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Key id (UUIDv7)."),
        sa.Column("name", sa.Text(), nullable=False, comment="What it is for, in the words of who made it."),
        sa.Column(
            "key_hash", sa.LargeBinary(), nullable=False, comment="SHA-256 of the key, which is stored nowhere."
        ),
        sa.Column("shown", sa.Text(), nullable=False, comment="Its first characters, to tell it from others."),
        sa.Column(
            "scopes", sa.ARRAY(sa.Text()), nullable=False, comment="What it may do: read, ask, write, admin."
        ),
        sa.Column("requests_per_minute", sa.Integer(), nullable=True, comment=f"Requests per minute; {LIMIT}."),
        sa.Column("concurrent_runs", sa.Integer(), nullable=True, comment=f"Runs at once; {LIMIT}."),
        sa.Column("tokens_per_day", sa.BigInteger(), nullable=True, comment=f"Tokens of chat models per day; {LIMIT}."),
        sa.Column("cost_per_day", sa.Double(), nullable=True, comment=f"What these may cost per day; {LIMIT}."),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False,
            comment="When it was made.",
        ),
        sa.Column("created_by", sa.Text(), nullable=False, comment="Who made it: local, key:<id> or token:<subject>."),
        sa.Column(
            "expires_at", sa.DateTime(timezone=True), nullable=True,
            comment="From when on it counts no more; null: never.",
        ),
        sa.Column(
            "revoked_at", sa.DateTime(timezone=True), nullable=True, comment="When it was revoked; null: it was not."
        ),
        sa.Column(
            "last_used_at", sa.DateTime(timezone=True), nullable=True,
            comment="When it was last used, to a minute; null: never.",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("api_keys_pkey")),
        schema="rag",
        comment="Keys by which callers over HTTP are known.",
    )  # fmt: skip
    op.create_index("api_keys_hash_idx", "api_keys", ["key_hash"], unique=False, schema="rag")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
