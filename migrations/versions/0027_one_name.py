"""The comment of a column says which program it means by the name that the program has."""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.execute("COMMENT ON COLUMN rag.eval_runs.code_version IS 'Version of Cairn that searched.'")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
