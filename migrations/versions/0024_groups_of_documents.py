"""Small documents are published in groups: the functions that published one document have others in their place.

Releases before go on with rag.publish_document, rag.republish_document and rag.remove_document, which are still there.
"""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    # counts of terms are updated in place where their page has room
    op.execute("ALTER TABLE rag.lexical_terms SET (fillfactor = 80)")
    op.execute("DROP FUNCTION IF EXISTS rag.insert_staged(uuid, uuid, smallint)")
    op.execute("DROP FUNCTION IF EXISTS rag.settle_document(uuid, uuid, uuid[])")
    op.execute("DROP FUNCTION IF EXISTS rag.note_change(text, uuid)")
    op.execute("DROP FUNCTION IF EXISTS rag.settle_graph(uuid, uuid, uuid[], boolean)")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
