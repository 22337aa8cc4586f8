"""Who may read a document, and which groups a key belongs to."""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None
BREAKING = False

COLUMNS = (
    ("documents", "access", "Who may read it (group:<name>, person:<subject>, key:<id>); null: everybody in the tenant."),
    ("uploads", "access", "Who may read the document; null: as it is, or everybody in the tenant."),
    ("api_keys", "groups", "Groups that its holder belongs to; null: none."),
)
ASKED_BY = "Caller that sees it while it runs; null: everybody in the tenant."
INDEX = "CREATE INDEX documents_restricted_idx ON rag.documents (tenant_id, collection_id) WHERE access IS NOT NULL"


def upgrade() -> None:
    for table, column, said in COLUMNS:
        op.execute(f"ALTER TABLE rag.{table} ADD COLUMN {column} text[]")  # without a default: no row is written
        op.execute(f"COMMENT ON COLUMN rag.{table}.{column} IS '{said}'")
    op.execute("ALTER TABLE rag.resumable_runs ADD COLUMN asked_by text")
    op.execute(f"COMMENT ON COLUMN rag.resumable_runs.asked_by IS '{ASKED_BY}'")
    op.execute(INDEX)
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    op.execute("DROP INDEX rag.documents_restricted_idx")
    for table, column, _ in COLUMNS:
        # policies stand on the columns; they are made anew with the functions
        op.execute(f"ALTER TABLE rag.{table} DROP COLUMN {column} CASCADE")
    op.execute("ALTER TABLE rag.resumable_runs DROP COLUMN asked_by CASCADE")
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
