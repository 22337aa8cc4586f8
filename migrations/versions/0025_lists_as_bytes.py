"""Domains over arrays: types of arguments that clients send in binary as they received them.

Releases before use none of them.
"""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None
BREAKING = False

DOMAINS = {"uuid_list": "uuid[]", "float8_list": "double precision[]", "text_list": "text[]"}


def upgrade() -> None:
    for name, array in DOMAINS.items():
        op.execute(f"CREATE DOMAIN rag.{name} AS {array}")
        op.execute(f"COMMENT ON DOMAIN rag.{name} IS 'An argument that a client sends in binary, as array_send gave it.'")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
