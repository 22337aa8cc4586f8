"""Who asked, so that what is kept because of a person can be shown to them and forgotten."""

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None
BREAKING = False

COLUMNS = (
    ("sessions", "asked_by", "text[]", "Callers that have asked in it; null: from before that was noted."),
    ("qa_sessions", "asked_by", "text[]", "Callers that have asked in it; null: from before that was noted."),
    ("runs", "asked_by", "text", "Caller that asked; null: from before that was noted."),
    ("feedback", "rated_by", "text", "Caller whose judgement it is; null: from before that was noted."),
)
FORGOTTEN = """CREATE TABLE rag.forgotten_callers (
  tenant_id bigint NOT NULL, digest bytea NOT NULL, salt bytea NOT NULL, mark text NOT NULL,
  forgotten_at timestamptz DEFAULT now() NOT NULL,
  CONSTRAINT forgotten_callers_pkey PRIMARY KEY (tenant_id, digest))"""
SAID = {
    "TABLE rag.forgotten_callers": "Callers of whom nothing is kept for an hour: what was under way when they were forgotten leaves "
    "nothing behind.",
    "COLUMN rag.forgotten_callers.tenant_id": "Tenant that owns the row (rag.tenants.id).",
    "COLUMN rag.forgotten_callers.digest": "SHA-256 over salt and caller.",
    "COLUMN rag.forgotten_callers.salt": "Random, of this row.",
    "COLUMN rag.forgotten_callers.mark": "What stands in the place of the caller from now on: forgotten:<random>.",
    "COLUMN rag.forgotten_callers.forgotten_at": "When; an hour later the row is of no use, and goes.",
}


def upgrade() -> None:
    for table, column, kind, said in COLUMNS:
        op.execute(f"ALTER TABLE rag.{table} ADD COLUMN {column} {kind}")  # without a default: no row is written
        op.execute(f"COMMENT ON COLUMN rag.{table}.{column} IS '{said}'")
    op.execute(FORGOTTEN)
    for what, said in SAID.items():
        op.execute(f"COMMENT ON {what} IS '{said}'")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    op.execute("DROP TABLE rag.forgotten_callers")
    for table, column, _, _ in COLUMNS:
        op.execute(f"ALTER TABLE rag.{table} DROP COLUMN {column} CASCADE")
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
