"""Rules by which the documents of a folder, or of a collection, have their access list."""

from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None
BREAKING = False

TABLE = """
    CREATE TABLE rag.access_rules (
        tenant_id     bigint NOT NULL,
        collection_id uuid NOT NULL,
        prefix        text NOT NULL,
        access        text[] NOT NULL,
        CONSTRAINT access_rules_pkey PRIMARY KEY (tenant_id, collection_id, prefix),
        CONSTRAINT access_rules_tenant_id_collection_id_fkey FOREIGN KEY (tenant_id, collection_id)
            REFERENCES rag.collections (tenant_id, id) ON DELETE CASCADE
    )
"""
COMMENTS = (
    ("TABLE rag.access_rules", "Who may read documents that have no access list of their own: the rule with the longest prefix counts."),
    ("COLUMN rag.access_rules.tenant_id", "Tenant that owns the row (rag.tenants.id)."),
    ("COLUMN rag.access_rules.collection_id", "The collection."),
    ("COLUMN rag.access_rules.prefix", "Folder of external ids, or one of them, without a slash at its end; empty: the collection."),
    ("COLUMN rag.access_rules.access", "Who may read what is there; nobody: everybody in the tenant."),
    ("COLUMN rag.documents.access_from", "Folder whose rule gives its access list; null: it has its own, or none."),
)  # fmt: skip


def upgrade() -> None:
    op.execute(TABLE)
    op.execute("ALTER TABLE rag.documents ADD COLUMN access_from text")  # without a default: no row is written
    for target, said in COMMENTS:
        op.execute(f"COMMENT ON {target} IS '{said}'")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    op.execute("DROP TABLE rag.access_rules CASCADE")
    op.execute("ALTER TABLE rag.documents DROP COLUMN access_from CASCADE")
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
