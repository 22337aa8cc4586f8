"""Domains over arrays: types of arguments that clients send in binary as they received them. Ids and scores of candidates are
stored without trying to compress them, which took half of writing them and left them as long as they were.

Releases before use none of the domains.
"""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None
BREAKING = False

DOMAINS = {"uuid_list": "uuid[]", "float8_list": "double precision[]", "text_list": "text[]"}

# Citus cannot say it of tables that it has distributed already; what was stored stays as it is in any case.
STORE_AS_THEY_ARE = """
DO $$
DECLARE
  distributed boolean := false;
BEGIN
  IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
    EXECUTE 'SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = ''rag.run_legs''::regclass)' INTO distributed;
  END IF;
  IF NOT distributed THEN
    ALTER TABLE rag.run_legs ALTER passage_ids SET STORAGE EXTERNAL, ALTER chunk_ids SET STORAGE EXTERNAL,
      ALTER scores SET STORAGE EXTERNAL;
  END IF;
END
$$
"""


def upgrade() -> None:
    for name, array in DOMAINS.items():
        op.execute(f"CREATE DOMAIN rag.{name} AS {array}")
        op.execute(f"COMMENT ON DOMAIN rag.{name} IS 'An argument that a client sends in binary, as array_send gave it.'")
    op.execute(STORE_AS_THEY_ARE)
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
