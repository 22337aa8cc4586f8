"""Vectors of names of entities go: nothing reads them any more. And two comments say only what they say.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: only a job that
is off by default read the table, and no search did.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None
BREAKING = False

EMBEDDINGS = "Embeddings of repeated queries."
CACHE_KEY = "MD5 over query, parameters, collections, model and settings."


def upgrade() -> None:
    op.drop_table("entity_vectors", schema="rag")
    # Jobs of that kind that wait would wait for ever, and count as a worker that does nothing. They are of all tenants.
    op.execute("ALTER TABLE rag.jobs NO FORCE ROW LEVEL SECURITY")
    op.execute("DELETE FROM rag.jobs WHERE kind = 'graph_vectors' AND status IN ('queued', 'running', 'parked')")
    op.execute("ALTER TABLE rag.jobs FORCE ROW LEVEL SECURITY")
    op.create_table_comment("query_embeddings", EMBEDDINGS, existing_comment=f"{EMBEDDINGS[:-1]} (A3.14).", schema="rag")
    op.alter_column(
        "retrieval_cache",
        "key",
        comment=CACHE_KEY,
        existing_comment=f"{CACHE_KEY[:-1]} (A7.02).",
        existing_type=sa.Text(),
        existing_nullable=False,
        schema="rag",
    )

    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
