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

OLD = "Asked by processes of before revision 0038 alone, which serve on until they are restarted."

SAID = {
    "COLUMN rag.key_requests.minute": OLD,
    "COLUMN rag.key_requests.taken": OLD,
    "TABLE rag.key_usage": "What calls of models of providers have cost, per key and day.",
    "COLUMN rag.key_usage.calls": "Requests to models of providers.",
}


def upgrade() -> None:
    # what was counted of this minute is forgotten; processes of before ask for both columns until they are restarted
    op.execute("DROP FUNCTION IF EXISTS rag.lease_requests(uuid, integer, integer)")
    op.execute("ALTER TABLE rag.key_requests ALTER COLUMN minute SET DEFAULT '-infinity', ALTER COLUMN taken SET DEFAULT 0")
    op.execute("UPDATE rag.key_requests SET minute = DEFAULT, taken = DEFAULT")
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
    op.execute("ALTER TABLE rag.key_requests ALTER COLUMN minute DROP DEFAULT, ALTER COLUMN taken DROP DEFAULT")
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
