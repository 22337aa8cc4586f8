"""Vectors of a collection are found by document, too: what somebody may read of it."""

from alembic import op

revision = "0036"
down_revision = "0033"
branch_labels = None
depends_on = None
BREAKING = False

COLUMNS = "tenant_id, collection_id, model_id"


def upgrade() -> None:
    _index(f"{COLUMNS}, document_id")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    _index(COLUMNS)
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")


def _index(columns: str) -> None:
    """Under the old name. Reading goes on; writing waits, some seconds for a million vectors."""
    op.execute(f"CREATE INDEX embeddings_collection_new ON rag.embeddings ({columns})")
    op.execute("DROP INDEX rag.embeddings_collection_idx")
    op.execute("ALTER INDEX rag.embeddings_collection_new RENAME TO embeddings_collection_idx")
