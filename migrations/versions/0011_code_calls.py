"""Every call of files of code, resolved or not.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: what it writes
lacks calls, which answers on callers say until the collection is reindexed.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None
BREAKING = False


def _array(name: str, kind: type[sa.types.TypeEngine], comment: str) -> sa.Column:
    return sa.Column(name, postgresql.ARRAY(kind()), nullable=False, comment=comment)


def upgrade() -> None:
    op.create_table(
        "code_calls",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column(
            "document_id", sa.UUID(), nullable=False,
            comment="A file of code that was read, whether it calls something or not.",
        ),
        _array("names", sa.Text, "Of each call the name that is called, without what stands before it; in order of places."),
        _array("sources", sa.Text, "Of each the definition of the file around it; empty: none."),
        _array("targets", sa.Text, "Of each what it means as far as the file tells; see app/domain/code.py."),
        _array("starts", sa.Integer, "Of each the first code point in the document text."),
        _array("ends", sa.Integer, "Of each one past the last code point of the name."),
        sa.ForeignKeyConstraint(
            ["tenant_id", "document_id"],
            ["rag.documents.tenant_id", "rag.documents.id"],
            name=op.f("code_calls_tenant_id_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "document_id", name=op.f("code_calls_pkey")),
        schema="rag",
        comment="Every call in files of code, resolved or not: what an answer on callers is complete by.",
    )
    op.create_index("code_calls_collection_idx", "code_calls", ["tenant_id", "collection_id"], unique=False, schema="rag")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
