"""What this code wants the database to be: revisions under migrations/, functions, views and roles under sql/.

Read from the files alone, because importing Alembic costs a second and most starts find nothing to do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from app.errors import MigrationError
from app.resources import resource_path

_REVISION = re.compile(r"^(revision|down_revision)\b[^=]*= *(?:[\"'](\w+)[\"']|None)", re.MULTILINE)


@dataclass(frozen=True)
class SqlFile:
    """One file under sql/, applied as a whole."""

    name: str
    text: str

    @property
    def hash(self) -> str:
        """SHA-256 of the text, hexadecimal; kept in rag.schema_objects."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class SchemaSource:
    """The folders `migrations` and `sql` of one release."""

    migrations: Path
    sql: Path

    @classmethod
    def installed(cls) -> SchemaSource:
        """The folders that belong to this installation."""
        return cls(resource_path("migrations"), resource_path("sql"))

    @cached_property
    def _lineage(self) -> Mapping[str, str | None]:
        """Revision to the one before it."""
        found = (
            {key: value or None for key, value in _REVISION.findall(path.read_text(encoding="utf-8"))}
            for path in sorted((self.migrations / "versions").glob("*.py"))
        )
        return {str(item["revision"]): item["down_revision"] for item in found}

    @property
    def revisions(self) -> frozenset[str]:
        """Every revision that this code knows."""
        return frozenset(self._lineage)

    @cached_property
    def head(self) -> str:
        """The newest revision. Raises MigrationError unless the revisions form one line."""
        heads = self.revisions - {before for before in self._lineage.values() if before}
        if len(heads) != 1:
            raise MigrationError(f"the migrations have {len(heads)} newest revisions, not one: {sorted(heads)}")
        return next(iter(heads))

    def _read(self, paths: Iterable[Path]) -> tuple[SqlFile, ...]:
        return tuple(SqlFile(p.relative_to(self.sql).as_posix(), p.read_text(encoding="utf-8")) for p in paths)

    @cached_property
    def roles(self) -> SqlFile:
        """Applied first: what the other files may name."""
        return self._read([self.sql / "roles.sql"])[0]

    @cached_property
    def objects(self) -> tuple[SqlFile, ...]:
        """Functions, then views, each in the order of their names."""
        return self._read(path for kind in ("functions", "views") for path in sorted((self.sql / kind).glob("*.sql")))

    @cached_property
    def grants(self) -> SqlFile:
        """Applied last: finds tables, functions and views in the catalog."""
        return self._read([self.sql / "grants.sql"])[0]

    @property
    def files(self) -> tuple[SqlFile, ...]:
        """Everything under sql/ that is applied, in that order."""
        return (self.roles, *self.objects, self.grants)

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """File name to hash, of all files under sql/ that are applied."""
        return {file.name: file.hash for file in self.files}
