"""Conversations have a title of their own, and are listed by when they were used last.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: it shows no titles.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.add_column(
        "sessions",
        sa.Column(
            "title", sa.Text(), nullable=True, comment="What its user calls it; null: shown by what was said first."
        ),
        schema="rag",
    )
    op.create_index("sessions_recent_idx", "sessions", ["tenant_id", "last_used_at", "id"], unique=False, schema="rag")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
