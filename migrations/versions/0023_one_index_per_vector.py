"""A vector is in one HNSW index: the shared one of its model, or that of its collection.

Adding the columns changes no row: until the job `vector_indexes` has been there, all vectors are in the shared index, whose old
predicate goes on serving, and collections with an index of their own are searched by the shared one.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: its statements name no
place, so they find all rows without the new indexes, slower; documents are published by a function of the database, which knows
the place; and the plan of indexes, which it would carry out without moving rows, it can no longer ask for: its job fails and is
ordered anew by the next release. What it embeds anew by a job of its own is put in place by the daily plan.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.add_column(
        "embeddings",
        sa.Column(
            "own", sa.Boolean(), nullable=False, server_default=sa.false(),
            comment="Whether it belongs in the index of its collection, and not in the shared one.",
        ),
        schema="rag",
    )  # fmt: skip
    op.add_column(
        "vector_indexes",
        sa.Column(
            "exclusive", sa.Boolean(), nullable=False, server_default=sa.false(),
            comment="Whether the vectors are not in the shared index; false: built by a release before revision 0023.",
        ),
        schema="rag",
    )  # fmt: skip
    op.add_column(
        "vector_indexes",
        sa.Column(
            "bulk_until", sa.DateTime(timezone=True), nullable=True,
            comment="Until then a run that writes very much is at work, and the index waits for its end; it renews this.",
        ),
        schema="rag",
    )  # fmt: skip
    op.execute("DROP FUNCTION IF EXISTS rag.vector_index_plan(integer, integer)")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
