"""Tables of documents by columns, with their cells read as values. Documents that were indexed before have none until they are
indexed again."""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None
BREAKING = False

TABLES = (
    """CREATE TABLE rag.document_tables (
  tenant_id bigint NOT NULL,
  document_id uuid NOT NULL,
  ordinal integer NOT NULL,
  version integer NOT NULL,
  char_start integer NOT NULL,
  char_end integer NOT NULL,
  title text NOT NULL,
  headings text[] NOT NULL,
  header text[] NOT NULL,
  starts integer[] NOT NULL,
  ends integer[] NOT NULL,
  groups text[] NOT NULL,
  totals boolean[] NOT NULL,
  decimal_mark text,
  complete boolean NOT NULL,
  CONSTRAINT document_tables_pkey PRIMARY KEY (tenant_id, document_id, ordinal),
  CONSTRAINT document_tables_tenant_id_document_id_fkey FOREIGN KEY (tenant_id, document_id)
    REFERENCES rag.documents (tenant_id, id) ON DELETE CASCADE
)""",
    """CREATE TABLE rag.table_columns (
  tenant_id bigint NOT NULL,
  document_id uuid NOT NULL,
  ordinal integer NOT NULL,
  position integer NOT NULL,
  filled integer NOT NULL,
  numbered integer NOT NULL,
  dated integer NOT NULL,
  unit text,
  texts text[] NOT NULL,
  numbers numeric[] NOT NULL,
  units text[] NOT NULL,
  dates date[] NOT NULL,
  keys text[] NOT NULL,
  CONSTRAINT table_columns_pkey PRIMARY KEY (tenant_id, document_id, ordinal, position),
  CONSTRAINT table_columns_tenant_id_document_id_ordinal_fkey FOREIGN KEY (tenant_id, document_id, ordinal)
    REFERENCES rag.document_tables (tenant_id, document_id, ordinal) ON DELETE CASCADE
)""",
)
COMMENTS = {
    "document_tables": "Tables of documents, the pieces of a long one joined; their cells are in rag.table_columns.",
    "document_tables.tenant_id": "Tenant that owns the row (rag.tenants.id).",
    "document_tables.document_id": "The document; its tables go with it.",
    "document_tables.ordinal": "Which table of the document, from 0.",
    "document_tables.version": "Version of the document that it was read from.",
    "document_tables.char_start": "First code point in the document text.",
    "document_tables.char_end": "One past the last code point of its last row.",
    "document_tables.title": "The line above it; empty: none.",
    "document_tables.headings": "Heading path, outermost first.",
    "document_tables.header": "Name of each column, header rows joined by slashes; empty: none.",
    "document_tables.starts": "Of each row the first code point.",
    "document_tables.ends": "Of each row one past the last code point.",
    "document_tables.groups": "Of each row the labels that it stands under; empty: none.",
    "document_tables.totals": "Of each row whether it sums up others.",
    "document_tables.decimal_mark": "What parts decimals in its cells; null: they leave it open.",
    "document_tables.complete": "Whether all of its rows are here: one too long for a table stands beside it as lines.",
    "table_columns": "Cells of the tables of documents, a row for each column: what computations read.",
    "table_columns.tenant_id": "Tenant that owns the row (rag.tenants.id).",
    "table_columns.document_id": "The document.",
    "table_columns.ordinal": "Which table of it, from 0.",
    "table_columns.position": "Which column of the table, from 0.",
    "table_columns.filled": "Cells that say something.",
    "table_columns.numbered": "Cells that are numbers.",
    "table_columns.dated": "Cells that are days.",
    "table_columns.unit": "Unit that all its numbers share; null: they differ.",
    "table_columns.texts": "Of each row the cell as it is written; empty: nothing.",
    "table_columns.numbers": "Of each row the number of the cell, as it is written; null: none.",
    "table_columns.units": "Of each row what stands around the digits, which are a #; empty: nothing.",
    "table_columns.dates": "Of each row the day of the cell; null: none.",
    "table_columns.keys": "Of each row the folded words by which a question may call the cell; empty: by none.",
}


def upgrade() -> None:
    for statement in TABLES:
        op.execute(statement)
    for name, comment in COMMENTS.items():
        kind = "COLUMN" if "." in name else "TABLE"
        op.execute(f"COMMENT ON {kind} rag.{name} IS '{comment}'")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    op.execute("DROP VIEW IF EXISTS analyst.table_cells")
    op.execute("DROP TABLE rag.table_columns, rag.document_tables")
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
