"""A collection may have a calibration of confidence of its own.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: it answers with the
confidence that it was shipped with.
"""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.execute("ALTER TABLE rag.collections ADD COLUMN calibration jsonb")
    op.execute(
        "COMMENT ON COLUMN rag.collections.calibration IS "
        "'Of confidence, by cairn eval calibrate; null: as shipped.'"
    )
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
