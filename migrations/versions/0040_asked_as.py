"""Of runs and messages: by which names of access lists who asked could read, so that others see them who could read as much."""

from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None
BREAKING = False

TABLES = ("runs", "resumable_runs", "messages")
SAID = "Names of who asked that access lists named then; who has not all of them sees nothing of it."


def upgrade() -> None:
    for table in TABLES:
        op.execute(
            f"ALTER TABLE rag.{table} ADD COLUMN asked_as text[] DEFAULT '{{}}' NOT NULL"
        )  # no row is written
        op.execute(f"COMMENT ON COLUMN rag.{table}.asked_as IS '{SAID}'")
        op.execute(
            f"CREATE INDEX {table}_asked_as_idx ON rag.{table} (tenant_id) WHERE asked_as <> '{{}}'::text[]"
        )
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    for table in TABLES:
        op.execute(f"ALTER TABLE rag.{table} DROP COLUMN asked_as CASCADE")  # with what policies say of it
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
