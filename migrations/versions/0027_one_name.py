"""Comments of columns: the program by the name that it has, and no file that has moved."""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None
BREAKING = False

COMMENTS = {
    "eval_runs.code_version": ("Version of cairn-rag that searched.", "Version of Cairn that searched."),
    "code_calls.targets": (
        "Of each what it means as far as the file tells; see app/domain/code.py.",
        "Of each what it means as far as the file tells (docs/adr/0044-code-answers.md).",
    ),
}
"""Before and after."""


def upgrade() -> None:
    for column, (_, after) in COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN rag.{column} IS '{after}'")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    for column, (before, _) in COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN rag.{column} IS '{before}'")
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
