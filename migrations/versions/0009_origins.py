"""Where documents come from: the file that one was read from, so that two folders cannot take each other's place unseen.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: the column may be
empty.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None
BREAKING = False

ORIGIN = "Path of the file it was read from; null where it was handed over otherwise."


def upgrade() -> None:
    op.add_column("documents", sa.Column("origin", sa.Text(), nullable=True, comment=ORIGIN), schema="rag")

    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
