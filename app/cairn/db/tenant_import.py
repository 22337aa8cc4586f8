"""A tenant out of a file: all of it, or nothing.

Rows go into a temporary table first, and from there, with the id of the new tenant, into theirs: as the serving role wherever
it may write, so that row security holds for what a file brings as well. Tables and columns are those of the catalog that a file
names; no text of a file becomes a part of a statement.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import asyncpg

from cairn.db.schema import OLDEST_READABLE, PARTITION_DAYS, PORTABLE_KEYS, SchemaSource
from cairn.db.tenant_file import Manifest, ModelPart, TablePart, TenantReader, known_tenant_file
from cairn.db.tenant_tables import KEPT, MODEL, SQL, Progress, TenantTable, list_tables, owner_connection, row_count
from cairn.db.vector_indexes import ensure_model
from cairn.distribution import NAME
from cairn.domain.ids import new_id
from cairn.domain.job import PlannedIndex
from cairn.domain.names import check_named
from cairn.errors import ConflictError, InputError, SettingsError, TenantFileError, reason_of
from cairn.settings import VectorSettings

PAGES: Final = 4096
"""Of the temporary table whose rows are added by one statement, which keeps a note of each row until its end."""


async def import_tenant(
    owner_dsn: str, file: Path, name: str | None, settings: VectorSettings, plan: str, progress: Progress
) -> tuple[Manifest, int]:
    """Make a tenant of a file; `name`: another one than it had. `plan`: kind of the job that plans vector indexes. What the file
    holds, and how many API keys were left out because this database knows them already.

    Before anything is written the whole file is read and compared with its manifest and with this database. What may stay of an
    import that failed later are an embedding model without vectors and empty partitions.
    Raises TenantFileError, ConflictError for a name that is taken, DatabaseUnavailableError.
    """
    with known_tenant_file(file) as reader:
        manifest = reader.manifest
        wanted = name or manifest.tenant
        _check_name(wanted)
        _check_revision(file, manifest)
        async with owner_connection(owner_dsn) as connection:
            await _check_free(connection, wanted)
            tables = {table.name: table for table in await list_tables(connection)}
            for part in manifest.tables:
                _check_table(file, part, tables.get(part.name))
            await _check_models(connection, file, manifest.models)
            reader.verify(lambda table: progress(f"checking {table}"))
            models = await _register(connection, owner_dsn, file, manifest.models, settings)
            await _add_partitions(connection, manifest.days, tables)
            try:
                async with connection.transaction():
                    job = _Import(connection, reader, models, settings, progress)
                    return manifest, await job.run(wanted, tables, plan)
            except (
                asyncpg.DataError,
                asyncpg.IntegrityConstraintViolationError,
                asyncpg.ProgramLimitExceededError,
            ) as error:
                raise TenantFileError(f"{file} cannot be imported: {reason_of(error)}") from error


# --- what is looked at before --------------------------------------------------------------------------------------------


def _check_name(name: str) -> None:
    try:
        same = check_named(name, "tenant") == name
    except InputError as error:
        raise TenantFileError(f"{name[:40]!r} is no name for a tenant: {error.detail}") from None
    if not same:
        raise TenantFileError(f"{name[:40]!r} is no name for a tenant: it has white space at an end, or too much")


def _check_revision(file: Path, manifest: Manifest) -> None:
    source = SchemaSource.installed()
    if manifest.revision not in source.revisions and not source.is_too_old(manifest.revision):
        raise TenantFileError(
            f"{file} is of revision {manifest.revision}, and this code knows none after {source.head}; install the {NAME} "
            "that made it, or a newer one"
        )
    if manifest.revision < OLDEST_READABLE:
        raise TenantFileError(
            f"{file} is of revision {manifest.revision}, and this code reads files from {OLDEST_READABLE} on; import it with the "
            "release that made it, migrate that database and export the tenant again"
        )


async def _check_free(connection: Any, name: str) -> None:
    if await connection.fetchval(SQL["find"], name) is not None:
        raise ConflictError(f"there is a tenant {name[:140]!r} already; give another name with --as")


def _check_table(file: Path, part: TablePart, table: TenantTable | None) -> None:
    """Raises TenantFileError unless its rows fit in the table."""
    if table is None or not table.travels:
        raise TenantFileError(f"{file} holds a table {part.name!r} that cannot be imported")
    for name, kind in part.columns.items():
        column = table.by_name.get(name)
        if column is None or column.type != kind:
            here = "there is none" if column is None else f"it is {column.type}"
            raise TenantFileError(f"{file}: column {part.name}.{name} is {kind}, and in this database {here}")
    for column in table.columns:
        if column.required and column.name not in part.columns:
            raise TenantFileError(f"{file}: column {part.name}.{column.name} is missing")


async def _check_models(connection: Any, file: Path, models: Sequence[ModelPart]) -> None:
    if len({one.id for one in models}) != len(models) or len({one.name for one in models}) != len(models):
        raise TenantFileError(f"{file} names an embedding model twice")
    here = {row["name"]: row for row in await connection.fetch(SQL["known_models"], [one.name for one in models])}
    for one in models:
        known = here.get(one.name)
        if known and known["dimensions"] != one.dimensions:
            raise TenantFileError(
                f"{file} has vectors of {one.dimensions} dimensions by model {one.name}, which has {known['dimensions']} in this "
                "database; they cannot be compared: import it into another database"
            )


async def _register(
    connection: Any, owner_dsn: str, file: Path, models: Sequence[ModelPart], settings: VectorSettings
) -> dict[int, tuple[int, int]]:
    """Of each model in the file: its id here, and its dimensions."""
    for one in models:
        try:
            await ensure_model(owner_dsn, one.name, one.dimensions, settings)
        except SettingsError as error:  # made meanwhile, with others
            raise TenantFileError(f"{file}: {error.detail}") from error
    here = {row["name"]: row["id"] for row in await connection.fetch(SQL["known_models"], [one.name for one in models])}
    return {one.id: (here[one.name], one.dimensions) for one in models}


async def _add_partitions(connection: Any, days: Sequence[date], tables: dict[str, TenantTable]) -> None:
    """One at a time: each locks others out of the default partition, and should not for long."""
    today = datetime.now(UTC).date()
    for table in (table for table in tables.values() if table.partitioned):
        for day in days:
            if today - timedelta(days=PARTITION_DAYS) <= day <= today + timedelta(days=1):
                await connection.execute("SELECT rag.add_partition($1::text::regclass, $2)", table.quoted, day)


# --- the import -----------------------------------------------------------------------------------------------------------


class _Import:
    """What one transaction does."""

    def __init__(
        self,
        connection: Any,
        reader: TenantReader,
        models: dict[int, tuple[int, int]],
        settings: VectorSettings,
        progress: Progress,
    ) -> None:
        self._connection = connection
        self._reader = reader
        self._models = models
        self._settings = settings
        self._progress = progress

    async def run(self, name: str, tables: dict[str, TenantTable], plan: str) -> int:
        """How many keys were left out."""
        connection, manifest = self._connection, self._reader.manifest
        tenant = await connection.fetchval(SQL["add_tenant"], name)
        if tenant is None:
            raise ConflictError(f"there is a tenant {name[:140]!r} already; give another name with --as")
        await connection.execute(SQL["grant_owner"], tenant)
        parts, left_out = {part.name: part for part in manifest.tables}, 0
        for table in tables.values():
            if table.name == "vector_indexes":
                await self._place_indexes(tenant)
            if part := parts.get(table.name):
                self._progress(f"importing {table.name}: {part.rows:,} rows")
                left_out += part.rows - await self._load(tenant, table, part)
        if unkept := await connection.fetchval(SQL["unkept_access"], tenant):
            raise TenantFileError(
                f"{unkept[:100]!r} has an access list, and a distributed database (Citus) keeps none; open or remove such "
                "documents and take such rules away where the file was made, or import it into a database that is not distributed"
            )
        if manifest.revision < PORTABLE_KEYS:
            self._progress("hashing words anew")
            await connection.execute(SQL["rebuild_postings"], str(tenant))
        if miscounted := await connection.fetchval(SQL["miscounted"], tenant):
            raise TenantFileError(f"the counts of collection {miscounted[:100]!r} are not those of its documents")
        await connection.execute(SQL["order_job"], tenant, new_id(), plan)
        detail = {
            "exported_as": manifest.tenant,
            "exported_at": manifest.exported_at.isoformat(),
            "rows": manifest.rows,
        }
        await connection.execute(SQL["record"], tenant, "tenant.import", name, json.dumps(detail))
        await connection.execute(SQL["wake_workers"])
        return left_out

    async def _place_indexes(self, tenant: int) -> None:
        for row in await self._connection.fetch(SQL["place_indexes"], tenant, self._settings.bulk_above):
            index = PlannedIndex(tenant, row["collection_id"], row["model_id"], 0, row["chunk_count"], True, False)
            await self._connection.execute(
                SQL["building"], tenant, index.collection_id, index.model_id, index.name, index.chunk_count
            )

    async def _load(self, tenant: int, table: TenantTable, part: TablePart) -> int:
        """How many of its rows were added."""
        connection = self._connection
        await connection.execute(table.staging(part.columns))
        copied = await connection.copy_to_table(
            "staged", schema_name="pg_temp", source=self._reader.read(part), format="binary"
        )
        if row_count(copied) != part.rows:
            raise TenantFileError(f"table {part.name} has {row_count(copied)} rows, and its manifest says {part.rows}")
        await self._check_vectors(part)
        await connection.execute("GRANT SELECT ON pg_temp.staged TO cairn_app")
        if table.served and table.name not in KEPT:
            await connection.execute(SQL["serve_as"], str(tenant))
        there, here = list(self._models), [self._models[one][0] for one in self._models]
        pages, added = int(await connection.fetchval(SQL["pages"])), 0
        step = max(pages, 1) if table.recursive else PAGES
        for first in range(0, pages, step):
            done = await connection.execute(table.adding(part.columns), tenant, there, here, first, first + step)
            added += row_count(done)
        await connection.execute("RESET ROLE")
        await connection.execute("DROP TABLE pg_temp.staged")
        if table.name not in KEPT and added != part.rows:
            raise TenantFileError(f"table {part.name}: {part.rows} rows were read, and {added} added")
        return added

    async def _check_vectors(self, part: TablePart) -> None:
        """A vector of other dimensions would stop the index that all tenants share."""
        if MODEL not in part.columns:
            return
        length = "vector_dims(embedding)" if part.columns.get("embedding") == "halfvec" else "NULL"
        for row in await self._connection.fetch(f"SELECT DISTINCT model_id, {length} AS length FROM pg_temp.staged"):
            known = self._models.get(row["model_id"])
            if row["model_id"] is not None and (known is None or row["length"] not in (None, known[1])):
                raise TenantFileError(
                    f"table {part.name} has vectors of a model, or dimensions, that its manifest lacks"
                )
