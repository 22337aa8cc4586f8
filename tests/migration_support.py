"""Releases of the schema for tests: a copy of migrations/ and sql/ that a test adds to, and processes that apply it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from cairn.db.schema import SchemaSource

REPO = Path(__file__).resolve().parent.parent

_REVISION = '''"""A revision made by a test."""

from alembic import op

revision = "{revision}"
down_revision = "{before}"
BREAKING = {breaking}


def upgrade() -> None:
    for statement in {statements!r}:
        op.execute(statement)
    with op.get_context().autocommit_block():
        for statement in {concurrently!r}:
            op.execute(statement)
    op.execute(f"INSERT INTO rag.schema_revisions (revision, breaking) VALUES ('{{revision}}', {{BREAKING}})")
'''

_PROGRAM = """
import asyncio, sys
from pathlib import Path
from cairn.db.migrate import migrate
from cairn.db.schema import SchemaSource
from cairn.errors import CairnError
dsn, folder = sys.argv[1:]
try:
    result = asyncio.run(migrate(dsn, source=SchemaSource(Path(folder, "migrations"), Path(folder, "sql"))))
except CairnError as error:
    sys.exit(f"{type(error).__name__}: {error}")
print(result.action, "alembic" in sys.modules)
"""


@dataclass(frozen=True)
class Release:
    """The folders of one release."""

    folder: Path

    @classmethod
    def copy(cls, folder: Path, origin: SchemaSource | None = None) -> Release:
        """What is installed (or another release), in a folder that a test may change."""
        origin = origin or SchemaSource.installed()
        shutil.copytree(origin.migrations, folder / "migrations", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(origin.sql, folder / "sql")
        return cls(folder)

    @property
    def source(self) -> SchemaSource:
        return SchemaSource(self.folder / "migrations", self.folder / "sql")

    def add_revision(
        self, revision: str, *statements: str, breaking: bool = False, concurrently: tuple[str, ...] = ()
    ) -> Release:
        """One more revision after the newest: statements in its transaction, then others outside of it."""
        text = _REVISION.format(
            revision=revision,
            before=self.source.head,
            breaking=breaking,
            statements=statements,
            concurrently=concurrently,
        )
        (self.folder / "migrations" / "versions" / f"{revision}.py").write_text(text, encoding="utf-8")
        return self

    def add_sql(self, name: str, text: str) -> Release:
        """A file under sql/, made or replaced."""
        path = self.folder / "sql" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return self

    def start(self, dsn: str) -> subprocess.Popen[str]:
        """A process that migrates; its last line is `<action> <whether Alembic was imported>`."""
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, dsn, str(self.folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=REPO,
            env={**os.environ, "PYTHONPATH": str(REPO / "app")},
        )
