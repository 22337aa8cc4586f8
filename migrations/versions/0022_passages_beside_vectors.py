"""The passage of a chunk stands beside its vector, so that a search need not look up each chunk that it finds.

Adding the column changes no row. Rows from before are filled by a job of each tenant, in portions that hold no lock for long;
searches look up what it has not come to yet.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: it leaves the column
empty, and searches statement by statement.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.add_column(
        "embeddings",
        sa.Column(
            "passage_id", sa.UUID(), nullable=True, comment="Passage of the chunk; null: not filled yet (job fill_passages)."
        ),
        schema="rag",
    )
    # For each tenant that has documents: the owner is held to row security like everybody else.
    op.execute("ALTER TABLE rag.jobs NO FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE rag.collections NO FORCE ROW LEVEL SECURITY")
    op.execute("""
        INSERT INTO rag.jobs (tenant_id, id, kind, payload, dedupe_key)
        SELECT tenant_id, gen_random_uuid(), 'fill_passages', '{}'::jsonb, 'fill_passages' FROM (
          SELECT DISTINCT c.tenant_id FROM rag.collections c WHERE c.chunk_count > 0) AS owning
    """)
    op.execute("ALTER TABLE rag.collections FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE rag.jobs FORCE ROW LEVEL SECURITY")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
