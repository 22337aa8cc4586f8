"""Which revision of the rules made what is derived of a document's text."""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.execute("ALTER TABLE rag.documents ADD COLUMN derived_revision integer DEFAULT 0 NOT NULL")
    op.execute(
        "COMMENT ON COLUMN rag.documents.derived_revision IS "
        "'Revision of the rules that made graph, symbols and cells of its text; 0: unknown.'"
    )
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    op.execute("ALTER TABLE rag.documents DROP COLUMN derived_revision")
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
