"""Coverage in traced answers is an object, as in answers: {complete, read, of, unit} instead of "complete: 3 of 3 passages".

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: traces are
handed out as they are stored.
"""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None
BREAKING = False

OBJECT = """
  UPDATE rag.runs SET answer = answer || jsonb_build_object('coverage', jsonb_build_object(
    'complete', answer ->> 'coverage' LIKE 'complete%',
    'read', coalesce(substring(answer ->> 'coverage' FROM '([0-9]{1,9})')::integer, 0),
    'of', coalesce(substring(answer ->> 'coverage' FROM ' of ([0-9]{1,9})')::integer,
                   substring(answer ->> 'coverage' FROM '([0-9]{1,9})')::integer, 0),
    'unit', coalesce(substring(answer ->> 'coverage' FROM ' of [0-9]+ (\\w+)'),
                     substring(answer ->> 'coverage' FROM '[a-z] [0-9]+ (\\w+)'), 'passages')))
  WHERE jsonb_typeof(answer -> 'coverage') = 'string'
"""


def upgrade() -> None:
    # traces are of all tenants
    op.execute("ALTER TABLE rag.runs NO FORCE ROW LEVEL SECURITY")
    op.execute(OBJECT)
    op.execute("ALTER TABLE rag.runs FORCE ROW LEVEL SECURITY")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
