"""Comments of columns: the program by the name that it has, and no file that has moved."""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.execute("COMMENT ON COLUMN rag.eval_runs.code_version IS 'Version of Cairn that searched.'")
    op.execute(
        "COMMENT ON COLUMN rag.code_calls.targets IS 'Of each what it means as far as the file tells "
        "(docs/adr/0044-code-answers.md).'"
    )
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
