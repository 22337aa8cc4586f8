"""A dump's rows into an empty database, whose schema this release makes: nothing of a dump is executed.

pg_restore would run what the dump says, as the owner of the database, who may be a superuser: a function in a constraint, an
index or a trigger is a program of whoever made the file. So tables, functions, views, rights and policies are those of this
release, as in a database that was just migrated. Rows go into tables and columns that it knows, by COPY statements of our own,
under a role that may neither read files nor run programs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import asyncpg

from cairn.db.dump_file import DumpedRows, DumpFile
from cairn.db.migrate import PARTITIONS_AHEAD, make_schema
from cairn.db.programs import find_program
from cairn.db.queries import load_queries
from cairn.db.schema import (
    LAST_COMMIT_WITH_OLDER,
    OLDEST_READABLE,
    PARTITION_DAYS,
    PORTABLE_KEYS,
    SchemaSource,
    apply_row_security,
    bootstrap,
    check_extension,
    check_server,
)
from cairn.db.vector_indexes import build_indexes
from cairn.distribution import NAME
from cairn.errors import BackupError, DatabaseAheadError, DatabaseUnavailableError, reason_of
from cairn.settings import VectorSettings

SQL = load_queries("backup")

_SESSION: Final = {
    "application_name": "cairn-restore",
    "search_path": "public",
    "lock_timeout": "20s",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "client_connection_check_interval": "5s",
}
_OF_RELEASE: Final = frozenset({"alembic_version", "schema_revisions", "schema_objects"})
"""Tables that say which schema a database has: that of this release, whatever the dump says."""
_PARTITION: Final = re.compile(r"([a-z_]{1,63}?)_(?:default|(\d{4})(\d\d)(\d\d))", re.ASCII)


@dataclass(frozen=True, slots=True)
class Restored:
    """`left_out`: tables of the dump that are none of Cairn."""

    revision: str
    left_out: tuple[str, ...]


async def restore(
    owner_dsn: str, file: Path, settings: VectorSettings = VectorSettings(), *, binaries: Path | None = None
) -> Restored:
    """Fill an empty database from a dump. All or nothing: one that cannot be read leaves no table behind. `settings`: how vector
    indexes are built. `binaries`: a place of PostgreSQL's programs (cairn/db/runtime.py).

    Raises BackupError for a database that is not empty and a dump that cannot be restored, DatabaseAheadError for a dump that
    newer code made, DatabaseUnavailableError, MigrationError.
    """
    file, source = _known_file(file), SchemaSource.installed()
    dump = DumpFile(find_program("pg_restore", binaries), file)
    revisions = await dump.read_revisions()
    _check_revisions(file, revisions, source)
    names = await dump.list_tables()
    try:
        connection = await asyncpg.connect(owner_dsn, server_settings=_SESSION, timeout=15)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailableError(f"cannot connect to PostgreSQL: {reason_of(error)}") from error
    try:
        check_server(connection)
        if await connection.fetchval(SQL["holds_tables"]):
            raise BackupError(
                "the database is not empty: restore into a new CAIRN_HOME, or into a new database of a server of your own"
            )
        await check_extension(connection)
        await bootstrap(connection)
        async with connection.transaction():
            await make_schema(connection, source)
            loading = _Loading(connection, dump, file, names)
            left_out = await loading.run()
            if min(revisions) < PORTABLE_KEYS:
                await connection.execute(SQL["rebuild_postings"])
            await build_indexes(connection, settings)
            await apply_row_security(connection, source)
            await connection.execute("ANALYZE")
            await connection.execute(SQL["record"], "database.restore", file.name)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise BackupError(f"the dump could not be restored: {reason_of(error)}") from error
    finally:
        await connection.close(timeout=5)
    return Restored(source.head, left_out)


def _known_file(file: Path) -> Path:
    if not file.is_file():
        raise BackupError(f"there is no file {file}")
    return file.absolute()


def _check_revisions(file: Path, revisions: set[str], source: SchemaSource) -> None:
    """Raises BackupError for what is no dump of Cairn or too old a one, DatabaseAheadError for one of newer code."""
    if not revisions:
        raise BackupError(f"{file} is a dump, but not one of Cairn")
    if old := [revision for revision in revisions if source.is_too_old(revision)]:
        raise BackupError(
            f"the dump is of revision {old[0][:40]}, and this release reads those from {source.baseline} on: restore it with "
            f"commit {LAST_COMMIT_WITH_OLDER}, which also brings it to {source.baseline}, and back it up again"
        )
    if unknown := revisions - source.revisions:
        raise DatabaseAheadError(
            f"the dump is of revision {', '.join(sorted(unknown))[:80]}, and this code knows none after {source.head}; install "
            f"the {NAME} that made it, or a newer one"
        )
    if old := [revision for revision in revisions if revision < OLDEST_READABLE]:
        raise BackupError(
            f"the dump is of revision {old[0]}, and this release reads rows from {OLDEST_READABLE} on: restore it with the "
            f"release that made it, let a release of {OLDEST_READABLE} migrate that database, and back it up again"
        )


class _Loading:
    """What one transaction of the owner does between making the tables and securing them."""

    def __init__(self, connection: Any, dump: DumpFile, file: Path, names: Sequence[str]) -> None:
        """`names`: of tables and partitions in the dump."""
        self._connection, self._dump, self._file, self._names = connection, dump, file, names
        self._columns: dict[str, frozenset[str]] = {}
        self._partitioned: set[str] = set()

    async def run(self) -> tuple[str, ...]:
        """The names that are no tables of this release, whose rows stay outside."""
        connection = self._connection
        for row in await connection.fetch(SQL["columns"]):
            self._columns[row["name"]] = frozenset(row["columns"])
            if row["partitioned"]:
                self._partitioned.add(row["name"])
        known = [name for name in self._names if self._table(name) is not None]
        await self._add_partitions(known)
        deferred = await connection.fetch(SQL["deferred"])
        for row in deferred:
            await connection.execute(row["drop"])
        await connection.execute(SQL["open_tables"])
        await self._load(known)
        for row in deferred:
            await connection.execute(row["make"])
        return tuple(dict.fromkeys(name for name in self._names if name not in known and name not in _OF_RELEASE))

    def _table(self, name: str) -> str | None:
        """The table whose rows it has; of a partition the one that it is a part of."""
        if name in self._columns:
            return name
        part = _PARTITION.fullmatch(name)
        return part[1] if part and part[1] in self._partitioned else None

    async def _add_partitions(self, names: Sequence[str]) -> None:
        await self._connection.fetchval("SELECT rag.ensure_trace_partitions($1)", PARTITIONS_AHEAD)
        today = datetime.now(UTC).date()
        first, last = today - timedelta(days=PARTITION_DAYS), today + timedelta(days=PARTITIONS_AHEAD)
        for name in names:
            if (part := _PARTITION.fullmatch(name)) and part[2] and (table := self._table(name)) in self._partitioned:
                try:
                    day = date(*map(int, part.groups()[1:]))
                except ValueError:
                    raise self._refused(f"it has rows of a day that is none: {name!r}") from None
                if first <= day <= last:  # rows of others stand in the default one until they expire
                    await self._connection.execute(SQL["add_partition"], table, day)

    async def _load(self, names: Sequence[str]) -> None:
        sequences = {row["sequence"]: row for row in await self._connection.fetch(SQL["sequences"])}
        counted, filled = dict.fromkeys(sequences, 0), 0
        async with aclosing(self._dump.read(names, sequences)) as parts:
            async for part in parts:
                if isinstance(part, DumpedRows):
                    await self._copy(part)
                    filled += 1
                elif part.sequence in counted:
                    counted[part.sequence] = part.last
        if filled != len(names):
            raise self._refused(f"it lists {len(names)} tables, and has the rows of {filled}")
        await self._count_on(sequences, counted)

    async def _copy(self, rows: DumpedRows) -> None:
        """Raises BackupError unless table and columns are such that rows of a dump may be given to them."""
        table = self._table(rows.table) if rows.schema == "rag" else None
        if table is None:
            raise self._refused(f"it has rows of a table that is none of Cairn: {f'{rows.schema}.{rows.table}'[:80]!r}")
        if unknown := [name for name in rows.columns if name not in self._columns[table]]:
            raise BackupError(
                f"the dump has a column {f'{table}.{unknown[0]}'[:80]!r}, which this release does not fill: restore it with the "
                "release that made it, upgrade that database, and back it up again"
            )
        async with self._connection.transaction():  # ends the role as well, whatever befalls the rows
            await self._connection.execute(SQL["load_as"])
            await self._connection.copy_to_table(
                table, schema_name="rag", columns=rows.columns, source=rows.data, format="text", encoding=rows.encoding
            )
            await self._connection.execute("RESET ROLE")

    async def _count_on(self, sequences: Mapping[str, Any], counted: Mapping[str, int]) -> None:
        """New rows get numbers that none had, deleted ones included."""
        for name, row in sequences.items():
            highest = await self._connection.fetchval(f'SELECT max("{row["column"]}") FROM rag."{row["table"]}"')
            if (last := max(highest or 0, counted[name])) > 0:
                await self._connection.execute(SQL["count_on"], name, last)

    def _refused(self, why: str) -> BackupError:
        return BackupError(f"{self._file} is no dump that can be restored: {why}")
