"""What somebody may read of a collection is found by index: documents by their access lists, vectors by their documents."""

from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None
BREAKING = False

VECTORS = "embeddings (tenant_id, collection_id{}, model_id)"
RESTRICTED = "documents (tenant_id, collection_id{}) WHERE access IS NOT NULL"
LIST = ", sha256(tsvectorsend(array_to_tsvector(access)))"
OPEN = "documents (tenant_id, collection_id) WHERE access IS NULL"


def upgrade() -> None:
    _replace("embeddings_collection_idx", VECTORS.format(", document_id"))
    _replace("documents_restricted_idx", RESTRICTED.format(LIST))
    op.execute(f"CREATE INDEX documents_open_idx ON rag.{OPEN}")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    op.execute("DROP INDEX rag.documents_open_idx")
    _replace("documents_restricted_idx", RESTRICTED.format(""))
    _replace("embeddings_collection_idx", VECTORS.format(""))
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")


def _replace(name: str, definition: str) -> None:
    """Reading goes on; writing waits, some seconds for a million vectors."""
    op.execute(f"CREATE INDEX replacing ON rag.{definition}")
    op.execute(f"DROP INDEX rag.{name}")
    op.execute(f"ALTER INDEX rag.replacing RENAME TO {name}")
