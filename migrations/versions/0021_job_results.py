"""What uploads came to names documents by external_id, as every other answer does; results that are kept are told so as well.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: it writes results that
are read as they are, and that its own functions would have blanked at a deletion are deleted with their jobs.
"""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    # Jobs of all tenants: the owner is held to row security like everybody else.
    op.execute("ALTER TABLE rag.jobs NO FORCE ROW LEVEL SECURITY")
    op.execute("""
        UPDATE rag.jobs j SET result = j.result || jsonb_build_object(
          'uploaded', (SELECT coalesce(jsonb_agg(item - 'name' || jsonb_build_object('external_id', item -> 'name') ORDER BY n), '[]')
                       FROM jsonb_array_elements(j.result -> 'uploaded') WITH ORDINALITY AS told (item, n)),
          'failed', (SELECT coalesce(jsonb_agg(item - 'name' || jsonb_build_object('external_id', item -> 'name') ORDER BY n), '[]')
                     FROM jsonb_array_elements(j.result -> 'failed') WITH ORDINALITY AS told (item, n)))
        WHERE jsonb_typeof(j.result -> 'uploaded') = 'array' AND jsonb_typeof(j.result -> 'failed') = 'array'
    """)
    op.execute("ALTER TABLE rag.jobs FORCE ROW LEVEL SECURITY")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
