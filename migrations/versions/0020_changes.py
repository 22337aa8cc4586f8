"""What became of documents, one row for each addition, replacement and deletion: what analyst.changes shows.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: documents that are
published and removed by the functions of this release leave their rows whoever calls them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.create_table(
        "document_changes",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.UUID(), nullable=False, server_default=sa.text("gen_random_uuid()"), comment="Change id."),
        sa.Column(
            "changed_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.text("now()"), comment="When."
        ),
        sa.Column("kind", sa.Text(), nullable=False, comment="added, replaced (other content) or deleted."),
        sa.Column("collection", sa.Text(), nullable=False, comment="Name of the collection; it may be gone by now."),
        sa.Column("document_id", sa.UUID(), nullable=False, comment="The document; it may be gone, and its name with it."),
        sa.Column("version", sa.Integer(), nullable=False, comment="Version after the change; of a deletion the last one."),
        sa.Column(
            "passage_count", sa.Integer(), nullable=False, comment="Passages of that version.", server_default=sa.text("0")
        ),
        sa.Column(
            "byte_size", sa.BigInteger(), nullable=False, comment="Size of its original, bytes.", server_default=sa.text("0")
        ),
        sa.CheckConstraint("kind IN ('added', 'replaced', 'deleted')", name=op.f("document_changes_kind_check")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("document_changes_pkey")),
        schema="rag",
        comment="Additions, replacements and deletions of documents, kept as long as the audit log; without names.",
    )
    op.create_index(
        "document_changes_changed_at_idx", "document_changes", ["tenant_id", sa.text("changed_at DESC")], unique=False,
        schema="rag",
    )  # fmt: skip
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
