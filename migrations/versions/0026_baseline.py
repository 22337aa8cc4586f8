"""Where migrations begin. An empty database is made of cairn/db/tables at once; one of an older revision is brought here by commit
e0ad900e, the last that has its migrations.
"""

revision = "0026"
down_revision = None
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    raise NotImplementedError("an empty database is made by `cairn migrate`")
