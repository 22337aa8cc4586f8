"""Of documents that only some may read: what they held before, and for whom. Jobs are found by their key when they have ended, too."""

from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None
BREAKING = False

SAID = (
    "Contents that it held before while it had an access list of its own, last first: [{content: hash, readers: list}]; null: none."
)


def upgrade() -> None:
    op.execute("ALTER TABLE rag.documents ADD COLUMN formerly jsonb")  # without a default: no row is written
    op.execute(f"COMMENT ON COLUMN rag.documents.formerly IS '{SAID}'")
    op.execute(
        "CREATE INDEX documents_formerly_idx ON rag.documents (tenant_id, collection_id) WHERE formerly IS NOT NULL"
    )
    op.execute(
        "CREATE INDEX jobs_key_idx ON rag.jobs (tenant_id, dedupe_key, id) WHERE dedupe_key IS NOT NULL"
    )
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    op.execute("DROP INDEX rag.jobs_key_idx")
    op.execute("ALTER TABLE rag.documents DROP COLUMN formerly CASCADE")  # with its index
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
