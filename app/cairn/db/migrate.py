"""Start-up migration: the database gets the schema of this code, or stays as it is.

Most starts end after three cheap statements. Otherwise one process holds the lock of the owner (table_lock.py) and the others
poll for it. Tables of an empty database come from their declarations (create.py), what is new in one that exists from the
revisions of Alembic; roles, functions, views and grants from sql/, in one transaction.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

import asyncpg
import structlog

from cairn.db.distribute import check_cluster, distribute_tables, refuse_access_lists
from cairn.db.nodes import is_distributed
from cairn.db.recovery import connect_when_up
from cairn.db.schema import (
    LAST_COMMIT_WITH_OLDER,
    SERVER,
    SchemaSource,
    apply_objects,
    bootstrap,
    check_extension,
    check_server,
    objects_sql,
)
from cairn.db.table_lock import LockHeldError, table_lock
from cairn.distribution import NAME
from cairn.errors import CairnError, DatabaseAheadError, DatabaseUnavailableError, MigrationError, reason_of

log = structlog.get_logger(__name__)

LOCK_TABLE = "rag.alembic_version"
LOCK_SECONDS = 300.0
PARTITIONS_AHEAD = 7

# A migration waits for a table longer than a retrieval may hold it (retrieve.statementTimeoutMs, 15 s), but not much:
# everybody else queues behind it. The check interval ends the statements of a migrating process that was killed.
_SESSION = {
    "application_name": "cairn-migrate",
    "search_path": "public",
    "lock_timeout": "20s",
    "statement_timeout": "30min",
    "client_connection_check_interval": "1s",
    # where Citus distributes the database, its shards are no tables of ours; servers without Citus take no notice
    "citus.override_table_visibility": "on",
}

_STATE = """
SELECT (SELECT coalesce(array_agg(version_num::text), '{}') FROM rag.alembic_version) AS revisions,
       (SELECT coalesce(array_agg(revision), '{}') FROM rag.schema_revisions WHERE breaking) AS breaking,
       ARRAY(SELECT ARRAY[name, hash] FROM rag.schema_objects) AS hashes,
       (current_setting('server_version_num')::integer / 10000)::text AS server
"""

# As Alembic makes it, which finds it there: the lock has to stand before the first migration.
_MAKE_LOCK_TABLE = """
CREATE SCHEMA IF NOT EXISTS rag;
CREATE TABLE IF NOT EXISTS rag.alembic_version
    (version_num varchar(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
"""

_MADE_MEANWHILE = (asyncpg.UniqueViolationError, asyncpg.DuplicateTableError, asyncpg.DuplicateSchemaError)

_INVALID_INDEXES = """
SELECT format('%I.%I', n.nspname, c.relname)
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE NOT i.indisvalid AND n.nspname = 'rag' AND c.relkind = 'i' AND c.relname NOT LIKE 'embeddings\\_hnsw\\_%'
"""


@dataclass(frozen=True, slots=True)
class MigrationResult:
    """What migrate() found: `none` to do, `migrated`, or a database `ahead` of this code that it may still serve."""

    revision: str
    action: Literal["none", "migrated", "ahead"]


@dataclass(frozen=True, slots=True)
class _State:
    """Of the database: applied revisions, which of them break older code, hashes of what came from sql/ with the major version of
    PostgreSQL that it was applied on, and the one that serves."""

    revisions: frozenset[str] = frozenset()
    breaking: frozenset[str] = frozenset()
    hashes: tuple[tuple[str, str], ...] = ()
    server: str = ""

    def unknown_to(self, source: SchemaSource) -> frozenset[str]:
        """What newer code left. Raises MigrationError for a database from before the baseline."""
        if old := [revision for revision in self.revisions if source.is_too_old(revision)]:
            raise MigrationError(
                f"the database is at revision {old[0]}, and this release upgrades from {source.baseline} on. Check out commit "
                f"{LAST_COMMIT_WITH_OLDER}, run its `make install` and `.venv/bin/cairn migrate`, and start this one again"
            )
        return self.revisions - source.revisions

    def equals(self, source: SchemaSource) -> bool:
        return self.revisions == {source.head} and dict(self.hashes) == {**source.hashes, SERVER: self.server}


async def migrate(
    owner_dsn: str,
    *,
    source: SchemaSource | None = None,
    lock_seconds: float = LOCK_SECONDS,
    distribute: bool = False,
) -> MigrationResult:
    """Bring the database to the schema of this code; safe to call from any number of processes at once. `distribute`: and spread
    it over the nodes of its Citus cluster, by tenant; once that is done, it stays so.

    Raises DatabaseAheadError when newer code left a revision that this code must not serve, DatabaseUnavailableError
    when the server cannot be reached, MigrationError with one line for everything else; then the old schema stays.
    """
    source = source or SchemaSource.installed()
    async with _connection(owner_dsn) as connection:
        if distribute:
            await refuse_access_lists(connection)
            await check_cluster(connection)
        await check_extension(connection)
        state = await _read_state(connection)
        if state.unknown_to(source):
            return _ahead(state, source)
        if await connection.fetchval("SELECT pg_is_in_recovery()"):
            return _of_standby(state, source)
        if state.equals(source) and not distribute:
            await _ensure_partitions(connection)
            return MigrationResult(source.head, "none")
        async with _lock(connection, owner_dsn, lock_seconds):
            state = await _read_state(connection)
            if state.unknown_to(source):
                return _ahead(state, source)
            if changed := not state.equals(source):
                await _change(connection, owner_dsn, source, state)
            if distribute and not await is_distributed(connection):
                await _distribute(connection, source)
                changed = True
            await _ensure_partitions(connection)
            return MigrationResult(source.head, "migrated" if changed else "none")


@dataclass(frozen=True, slots=True)
class SchemaState:
    """`revision` of the tables; None: there are none. `waits`: a start, or `cairn migrate`, would bring them to `head`."""

    revision: str | None
    head: str
    waits: bool


async def look_at_schema(owner_dsn: str) -> SchemaState:
    """What `migrate` would find; nothing is changed. Raises what it raises for a database that this code cannot serve."""
    source = SchemaSource.installed()
    async with _connection(owner_dsn) as connection:
        state = await _read_state(connection)
    if state.unknown_to(source):
        return SchemaState(_ahead(state, source).revision, source.head, waits=False)
    return SchemaState(max(state.revisions, default=None), source.head, not state.equals(source))


async def migration_sql() -> str:
    """All statements from an empty database to the schema of this code, for `cairn migrate --sql` and psql."""
    from cairn.db.create import creation_statements

    source = SchemaSource.installed()
    statements = ";\n".join(creation_statements(source))
    return f"""\
-- From an empty database to revision {source.head}. Run as the database's owner: psql -v ON_ERROR_STOP=1 -f FILE
SET search_path = public;
CREATE SCHEMA IF NOT EXISTS analyst;
CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
{_MAKE_LOCK_TABLE}
BEGIN;
{statements};
COMMIT;
{objects_sql(source)}
SELECT rag.ensure_trace_partitions({PARTITIONS_AHEAD});
"""


def _of_standby(state: _State, source: SchemaSource) -> MigrationResult:
    """Nothing can be changed there. Raises MigrationError where something would have to be."""
    if state.equals(source):
        return MigrationResult(source.head, "none")
    revision = ", ".join(sorted(state.revisions)) or "none"
    raise MigrationError(
        f"the database is a standby at revision {revision}, which is not the schema of this code ({source.head}): run "
        "`cairn migrate` with the URL of its primary, or wait until the standby has replayed that"
    )


def _ahead(state: _State, source: SchemaSource) -> MigrationResult:
    """The result for a database that newer code has migrated. Raises DatabaseAheadError where that code said so."""
    revision = ", ".join(sorted(state.unknown_to(source)))
    if breaking := sorted(one for one in state.breaking - source.revisions if not source.is_too_old(one)):
        raise DatabaseAheadError(
            f"the database is at revision {revision}, this code at {source.head}, and older code cannot serve "
            f"{', '.join(breaking)}; install the newer {NAME}"
        )
    log.warning("migrate.database_ahead", database=revision, code=source.head)
    return MigrationResult(revision, "ahead")


@asynccontextmanager
async def _connection(dsn: str) -> AsyncIterator[Any]:
    """A session that is never left in a transaction. Turns database errors into one line."""
    try:
        connection = await connect_when_up(lambda: asyncpg.connect(dsn, server_settings=_SESSION, timeout=15))
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailableError(f"cannot connect to PostgreSQL: {reason_of(error)}") from error
    try:
        check_server(connection)
        yield connection
    except CairnError:
        raise
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise MigrationError(reason_of(error)) from error
    finally:
        with suppress(Exception):
            await connection.close(timeout=5)


async def _read_state(connection: Any) -> _State:
    try:
        row = await connection.fetchrow(_STATE)
    except asyncpg.UndefinedTableError:
        return _State()
    return _State(
        frozenset(row["revisions"]),
        frozenset(row["breaking"]),
        tuple((name, value) for name, value in row["hashes"]),
        row["server"],
    )


async def _ensure_partitions(connection: Any) -> None:
    await connection.fetchval("SELECT rag.ensure_trace_partitions($1)", PARTITIONS_AHEAD)


@asynccontextmanager
async def _lock(connection: Any, dsn: str, seconds: float) -> AsyncIterator[None]:
    """Hold the migration lock. Raises MigrationError that says who holds it when `seconds` have passed."""
    if not await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", LOCK_TABLE):
        with suppress(*_MADE_MEANWHILE):
            await connection.execute(_MAKE_LOCK_TABLE)
    try:
        async with table_lock(dsn, LOCK_TABLE, name="cairn-migrate", seconds=seconds):
            yield
    except LockHeldError as error:
        raise MigrationError(
            f"another session has held the migration lock for {seconds:g} s ({error}); if no migration is "
            "running, end it with pg_terminate_backend (behind PgBouncer in transaction mode: connect directly)"
        ) from None


async def _change(connection: Any, dsn: str, source: SchemaSource, state: _State) -> None:
    """With the lock held: schemas and extension, tables, then everything under sql/."""
    began = time.monotonic()
    await bootstrap(connection)
    if not state.revisions:
        await _create(connection, source)
    elif state.revisions != {source.head}:
        for index in await connection.fetch(_INVALID_INDEXES):
            # left by a CREATE INDEX CONCURRENTLY that was interrupted; its migration runs again
            await connection.execute(f"DROP INDEX IF EXISTS {index[0]}")
        await _upgrade(connection, dsn, source)
    if "distributed.sql" in dict(state.hashes) and await is_distributed(connection):
        await _distribute(connection, source)
    else:
        await apply_objects(connection, source)
    log.info("migrate.done", revision=source.head, seconds=round(time.monotonic() - began, 2))


async def _create(connection: Any, source: SchemaSource) -> None:
    """All tables of an empty database, or none."""
    from cairn.db.create import creation_statements  # late: SQLAlchemy takes a quarter of a second

    async with connection.transaction():
        for statement in await asyncio.to_thread(creation_statements, source):
            await connection.execute(statement)


async def make_schema(connection: Any, source: SchemaSource) -> None:
    """All of the schema in an empty database after bootstrap(), in a transaction of the caller, whose search_path is public.
    Raises MigrationError."""
    await connection.execute(_MAKE_LOCK_TABLE)
    await _create(connection, source)
    await apply_objects(connection, source)


async def _distribute(connection: Any, source: SchemaSource) -> None:
    """With the lock held: all or nothing. Policies, functions and views are made anew, for what a distributed database takes."""
    async with connection.transaction():
        await distribute_tables(connection)
        await apply_objects(connection, source)


async def _upgrade(connection: Any, dsn: str, source: SchemaSource) -> None:
    """Run Alembic in a thread; when cancelled wait for it, because the lock must not be freed under it."""
    from cairn.db.alembic_run import upgrade

    work = asyncio.ensure_future(asyncio.to_thread(upgrade, dsn, _SESSION, source))
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
    except Exception as error:
        reached = ", ".join((await _read_state(connection)).revisions) or "none"
        cause = getattr(error, "orig", None) or error
        raise MigrationError(f"the migration after revision {reached} failed: {reason_of(cause)}") from error
