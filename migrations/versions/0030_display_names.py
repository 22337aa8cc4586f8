"""What people call a collection, beside the name that addresses and settings have of it."""

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.execute("ALTER TABLE rag.collections ADD COLUMN display_name text")
    op.execute("COMMENT ON COLUMN rag.collections.display_name IS 'What people call it; null: its name.'")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    op.execute("DROP VIEW IF EXISTS analyst.collections")  # shows the column; made anew with all views
    op.execute("ALTER TABLE rag.collections DROP COLUMN display_name")
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
