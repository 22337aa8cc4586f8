"""What this code wants the database to be: revisions under migrations/, functions, views and roles under sql/.

Read from the files alone, because importing Alembic costs a second and most starts find nothing to do. Then what applies
the part under sql/, in one transaction.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import asyncpg
import structlog

from cairn.db.cluster import CLUSTER_NAME
from cairn.distribution.resources import resource_path
from cairn.errors import MigrationError, reason_of

log = structlog.get_logger(__name__)

_REVISION = re.compile(r"^(revision|down_revision)\b[^=]*= *(?:[\"'](\w+)[\"']|None)", re.MULTILINE)
_BREAKING = re.compile(r"^BREAKING *= *True\b", re.MULTILINE)
LAST_COMMIT_WITH_OLDER = "e0ad900e"
"""Of this repository: its `cairn migrate` brings every older database to the baseline."""

OLDEST_READABLE = "0026"
"""Of revisions whose dumps and tenant files this code reads. A migration that converts rows, not only adds to them, makes itself
the oldest."""

PORTABLE_KEYS = "0032"
"""Before this revision keys of lexemes were hashed in another way: of rows out of older files they are made anew."""

PARTITION_DAYS = 366
"""How far back traces out of a file get partitions; older ones stand in the default one until they expire."""


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
    def _files(self) -> tuple[str, ...]:
        return tuple(path.read_text(encoding="utf-8") for path in sorted((self.migrations / "versions").glob("*.py")))

    @cached_property
    def _lineage(self) -> Mapping[str, str | None]:
        """Revision to the one before it."""
        found = ({key: value or None for key, value in _REVISION.findall(text)} for text in self._files)
        return {str(item["revision"]): item["down_revision"] for item in found}

    @cached_property
    def breaking(self) -> Mapping[str, bool]:
        """Revision to whether code that does not know it must not serve the database."""
        return {dict(_REVISION.findall(text))["revision"]: _BREAKING.search(text) is not None for text in self._files}

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

    @cached_property
    def baseline(self) -> str:
        """The oldest revision that this code upgrades from."""
        (first,) = [revision for revision, before in self._lineage.items() if before is None]
        return first

    def is_too_old(self, revision: str) -> bool:
        """Whether a database is older than the baseline: this code has no migration for it."""
        return revision not in self.revisions and revision.isdigit() and revision < self.baseline

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

    @property
    def configurations(self) -> SqlFile:
        """Of the functions, those that a table needs: applied before all tables."""
        return next(file for file in self.objects if file.name == "functions/configurations.sql")

    @cached_property
    def row_security(self) -> SqlFile:
        """Applied when all is there: finds tables, functions and views in the catalog."""
        return self._read([self.sql / "row_security.sql"])[0]

    @cached_property
    def distributed(self) -> SqlFile:
        """Applied after that: what is otherwise in a database that Citus distributes. Changes nothing in any other."""
        return self._read([self.sql / "distributed.sql"])[0]

    @property
    def files(self) -> tuple[SqlFile, ...]:
        """Everything under sql/ that is applied, in that order."""
        return (self.roles, *self.objects, self.row_security, self.distributed)

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """File name to hash, of all files under sql/ that are applied."""
        return {file.name: file.hash for file in self.files}


# --- What must stand before the first table: a recent server, the schemas, pgvector in schema public ---

OLDEST_POSTGRES = 15
OLDEST_PGVECTOR = (0, 8, 4)
"""Before 0.8.2 a parallel build of an HNSW index writes beyond its memory; until 0.8.4 a vacuum can leave an index damaged."""
CURRENT_PGVECTOR = (0, 8, 6)
"""Older ones are warned of, on a server of one's own: the embedded one has what its package has."""

_VECTOR = """
SELECT extversion AS version, extnamespace::regnamespace::text AS place, current_setting('cluster_name') AS cluster
FROM pg_extension WHERE extname = 'vector'
"""


def check_server(connection: Any) -> None:
    """Raises MigrationError for a server that is too old."""
    version = connection.get_server_version()
    if version.major < OLDEST_POSTGRES:
        raise MigrationError(f"PostgreSQL {version.major} is too old; Cairn needs {OLDEST_POSTGRES} or newer")


async def check_extension(connection: Any) -> None:
    """Raises MigrationError for a pgvector that can damage an index or write beyond its memory; warns of one that is behind."""
    if found := await connection.fetchrow(_VECTOR):
        check_pgvector(found["version"], embedded=found["cluster"] == CLUSTER_NAME)


async def bootstrap(connection: Any) -> None:
    """Make schemas and extension where missing. Raises MigrationError that says what an administrator must run."""
    for schema in ("rag", "analyst"):
        # looked for first: IF NOT EXISTS wants the right to create even where there is nothing to create
        if not await connection.fetchval("SELECT to_regnamespace($1) IS NOT NULL", schema):
            await connection.execute(f"CREATE SCHEMA {schema}")
    if (found := await connection.fetchrow(_VECTOR)) is None:
        await _create_vector(connection)
        found = await connection.fetchrow(_VECTOR)
        await check_extension(connection)
    if found["place"] != "public":
        raise MigrationError(
            f"pgvector is in schema {found['place']}; let its owner run: ALTER EXTENSION vector SET SCHEMA public;"
        )


def check_pgvector(version: str, *, embedded: bool = False) -> None:
    """Raises MigrationError for a pgvector that can damage an index or write beyond its memory; warns of one that is behind."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    if numbers < OLDEST_PGVECTOR:
        raise MigrationError(
            f"pgvector {version} is too old: before 0.8.2 a parallel build of an HNSW index can overflow a buffer, and until "
            "0.8.4 a vacuum can damage one. Install 0.8.6 or newer, run: ALTER EXTENSION vector UPDATE; and REINDEX HNSW indexes"
        )
    if numbers < CURRENT_PGVECTOR and not embedded:
        log.warning(
            "migrate.pgvector_behind", version=version, hint="install 0.8.6 and run: ALTER EXTENSION vector UPDATE"
        )


async def _create_vector(connection: Any) -> None:
    try:
        await connection.execute("CREATE EXTENSION vector SCHEMA public")
    except asyncpg.InsufficientPrivilegeError:
        raise MigrationError(
            "pgvector is not enabled and this role may not enable it; let a database administrator run, in this "
            "database: CREATE EXTENSION vector SCHEMA public;"
        ) from None
    except (asyncpg.UndefinedFileError, asyncpg.FeatureNotSupportedError) as error:
        raise MigrationError(f"pgvector is not installed on the database server: {reason_of(error)}") from error


# --- Applies sql/ to the database: roles, functions, views and grants, in one transaction ---

# Roles belong to the cluster: migrations of two of its databases at once may collide in the shared catalogs.
_COLLISIONS = (asyncpg.UniqueViolationError, asyncpg.DeadlockDetectedError, asyncpg.InternalServerError)
_ATTEMPTS = 5

# What CREATE OR REPLACE VIEW says when columns went, moved or changed their type.
_VIEW_CHANGED = (asyncpg.InvalidTableDefinitionError, asyncpg.DuplicateTableError, asyncpg.WrongObjectTypeError)

_DROP_VIEWS = """
SELECT format('DROP %s VIEW %s CASCADE', CASE relkind WHEN 'm' THEN 'MATERIALIZED' ELSE '' END, oid::regclass)
FROM pg_class WHERE relnamespace = 'analyst'::regnamespace AND relkind IN ('v', 'm') AND oid = $1
"""

# Functions with the search_path that they will run under.
_FUNCTIONS = """
SELECT p.oid, p.oid::regprocedure::text AS name,
       CASE l.lanname WHEN 'sql' THEN 'fmgr_sql_validator' ELSE 'plpgsql_validator' END AS validator,
       coalesce((SELECT substr(c, 13) FROM unnest(p.proconfig) AS c WHERE c LIKE 'search_path=%'), 'public') AS path
FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
WHERE p.pronamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND l.lanname IN ('sql', 'plpgsql')
"""


async def apply_objects(connection: Any, source: SchemaSource) -> None:
    """Apply every file and remember its hash; all or nothing. Raises MigrationError that names file and line."""
    for left in reversed(range(_ATTEMPTS)):
        try:
            async with connection.transaction():
                await _apply(connection, source)
            return
        except MigrationError as error:
            if not (left and isinstance(error.__cause__, _COLLISIONS)):
                raise


def objects_sql(source: SchemaSource) -> str:
    """What apply_objects runs, as a script for psql."""
    parts = [f"-- sql/{file.name}\n{file.text}\n{_store_hash(file)}" for file in source.files] + [_STORE_SERVER]
    return "\n".join(["BEGIN;", "SET LOCAL check_function_bodies = off;", *parts, "COMMIT;"])


async def apply_row_security(connection: Any, source: SchemaSource) -> None:
    """Row security and rights alone, as apply_objects leaves them. Raises MigrationError."""
    await _execute(connection, [source.row_security, source.distributed])


async def _apply(connection: Any, source: SchemaSource) -> None:
    await connection.execute("SET LOCAL check_function_bodies = off")
    await _execute(connection, [source.roles])
    try:
        async with connection.transaction():
            await _execute(connection, source.objects)
    except MigrationError as error:
        if not isinstance(error.__cause__, _VIEW_CHANGED):
            raise
        # Only when it must be: grants and views that others have put on ours go with them.
        log.warning("migrate.views_dropped", reason=error.detail)
        await _drop_views(connection)
        await _execute(connection, source.objects)
    await apply_row_security(connection, source)
    await _validate(connection)
    await connection.execute("DELETE FROM rag.schema_objects")
    for file in source.files:
        await connection.execute(_store_hash(file))
    await connection.execute(_STORE_SERVER)


async def _execute(connection: Any, files: Iterable[SqlFile]) -> None:
    for file in files:
        try:
            await connection.execute(file.text)
        except asyncpg.PostgresError as error:
            raise MigrationError(f"sql/{file.name}{_place(file, error)}: {reason_of(error)}") from error


async def _validate(connection: Any) -> None:
    """Check bodies now that everything exists, so that functions may name what a later file creates."""
    await connection.execute("SET LOCAL check_function_bodies = on")
    for function in await connection.fetch(_FUNCTIONS):
        await connection.execute("SELECT set_config('search_path', $1, true)", function["path"])
        try:
            await connection.execute(f"SELECT {function['validator']}($1)", function["oid"])
        except asyncpg.PostgresError as error:
            raise MigrationError(f"function {function['name']}: {reason_of(error)}") from error
    await connection.execute("SET LOCAL search_path = public")


def _place(file: SqlFile, error: Any) -> str:
    position = getattr(error, "position", None)
    return f" line {file.text[: int(position)].count(chr(10)) + 1}" if position else ""


async def _drop_views(connection: Any) -> None:
    views = await connection.fetch(
        "SELECT oid FROM pg_class WHERE relnamespace = 'analyst'::regnamespace AND relkind IN ('v', 'm')"
    )
    for view in views:
        # asked again each time: CASCADE may have taken it already
        if statement := await connection.fetchval(_DROP_VIEWS, view["oid"]):
            await connection.execute(statement)


SERVER = "PostgreSQL"
"""Beside the hashes of the files: the major version that they were applied on. On another one functions are looked at again, and
rights on functions of PostgreSQL itself set anew."""
_STORE_SERVER = f"""
INSERT INTO rag.schema_objects (name, hash) VALUES ('{SERVER}', current_setting('server_version_num')::integer / 10000)
ON CONFLICT (name) DO UPDATE SET hash = excluded.hash, applied_at = now();
"""


def _store_hash(file: SqlFile) -> str:
    return (
        f"INSERT INTO rag.schema_objects (name, hash) VALUES ('{file.name}', '{file.hash}') "
        "ON CONFLICT (name) DO UPDATE SET hash = excluded.hash, applied_at = now();"
    )
