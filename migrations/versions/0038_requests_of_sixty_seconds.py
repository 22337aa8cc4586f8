"""Requests of keys are counted by seconds, so that a limit per minute holds in any sixty of them; embeddings count as usage."""

from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None
BREAKING = False

COLUMNS = (
    ("second", "bigint DEFAULT 0 NOT NULL", "Second (since 1970) that the last element of permits is of."),
    ("permits", "integer[] DEFAULT '{}'::integer[] NOT NULL", "What processes took in each of the last 61 seconds."),
)

SAID = {
    "TABLE rag.key_usage": "What calls of models of providers have cost, per key and day.",
    "COLUMN rag.key_usage.calls": "Requests to models of providers.",
}


def upgrade() -> None:
    # what was counted of this minute is forgotten; code of before asks for the usage of keys in vain until it is restarted
    op.execute("DROP FUNCTION IF EXISTS rag.lease_requests(uuid, integer, integer)")
    op.execute("ALTER TABLE rag.key_requests DROP COLUMN minute, DROP COLUMN taken")
    for column, kind, said in COLUMNS:
        op.execute(f"ALTER TABLE rag.key_requests ADD COLUMN {column} {kind}")
        op.execute(f"COMMENT ON COLUMN rag.key_requests.{column} IS '{said}'")
    for what, said in SAID.items():
        op.execute(f"COMMENT ON {what} IS '{said}'")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    op.execute("DROP FUNCTION IF EXISTS rag.lease_requests(uuid, integer, integer, integer, bigint)")
    for column, _, _ in COLUMNS:
        op.execute(f"ALTER TABLE rag.key_requests DROP COLUMN {column}")
    op.execute("DELETE FROM rag.key_requests")
    op.execute("ALTER TABLE rag.key_requests ADD COLUMN minute timestamptz NOT NULL, ADD COLUMN taken integer NOT NULL")
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
