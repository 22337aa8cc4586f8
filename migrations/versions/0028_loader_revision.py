"""Which revision of the loaders read a document."""

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.execute("ALTER TABLE rag.documents ADD COLUMN loader_revision integer DEFAULT 0 NOT NULL")
    op.execute(
        "COMMENT ON COLUMN rag.documents.loader_revision IS "
        "'Revision of the loaders that read it; 0: of none yet, or unknown; 2147483647: others read it.'"
    )
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    op.execute("ALTER TABLE rag.documents DROP COLUMN loader_revision")
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
