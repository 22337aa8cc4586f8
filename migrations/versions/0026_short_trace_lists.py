"""Lists of traced candidates are as long as there is something to say: what the columns mean now. Rows of before read the same.
Shares are stored as they are, as scores have been since revision 0025.
"""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None
BREAKING = False

COMMENTS = {
    "chunk_ids": "Best chunk of each candidate; empty where the leg ranks passages.",
    "shares": "Contribution to the fused score; for fused the rerank score; empty: none.",
    "fates": "For fused: kept, or why it was dropped; those after its end are below top_k.",
}

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
    ALTER TABLE rag.run_legs ALTER shares SET STORAGE EXTERNAL;
  END IF;
END
$$
"""


def upgrade() -> None:
    op.execute(STORE_AS_THEY_ARE)
    for column, comment in COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN rag.run_legs.{column} IS '{comment}'")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
