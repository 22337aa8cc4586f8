"""One tenant into one file, as of one moment, while everybody goes on working."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from cairn.db.tenant_file import FORMAT, VERSION, Manifest, ModelPart, new_tenant_file
from cairn.db.tenant_tables import (
    LEFT_OUT,
    MODEL,
    SQL,
    Progress,
    TenantTable,
    find_tenant,
    list_tables,
    owner_connection,
    quote,
    row_count,
)

_HOLDS_MODEL: Final = "SELECT EXISTS (SELECT FROM {table} WHERE tenant_id = $1 AND {column} = $2)"


async def export_tenant(owner_dsn: str, name: str, file: Path, progress: Progress) -> Manifest:
    """Write all rows of a tenant but those of LEFT_OUT. They are read as the serving role, in one snapshot: row security holds,
    and no row of somebody else can come along. Memory is that of the largest single row, which may be a document's file.

    Raises NotFoundError, TenantFileError, DatabaseUnavailableError.
    """
    async with owner_connection(owner_dsn) as connection:
        tenant = await find_tenant(connection, name)
        with new_tenant_file(file) as writer:
            await connection.execute(SQL["record"], tenant, "tenant.export", name, "{}")
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                revision = await connection.fetchval(SQL["revision"])
                tables = [table for table in await list_tables(connection) if table.travels]
                await connection.execute(SQL["serve_as"], str(tenant))
                models = await _models(connection, tenant, tables)
                days = await _days(connection, tenant, tables)
                parts = []
                for table in tables:
                    progress(table.name)
                    columns = {column.name: column.type for column in table.columns}
                    parts.append(await writer.add(table.name, columns, _copy(connection, table, tenant)))
            manifest = Manifest(
                format=FORMAT, version=VERSION, revision=revision, tenant=name, exported_at=datetime.now(UTC),
                models=models, days=days, tables=parts, left_out=dict(LEFT_OUT),
            )  # fmt: skip
            writer.close(manifest)
    return manifest


def _copy(
    connection: Any, table: TenantTable, tenant: int
) -> Callable[[Callable[[bytes], Awaitable[None]]], Awaitable[int]]:
    async def copy(take: Callable[[bytes], Awaitable[None]]) -> int:
        done = await connection.copy_from_query(table.reading(), tenant, output=take, format="binary")
        return row_count(done)

    return copy


async def _models(connection: Any, tenant: int, tables: list[TenantTable]) -> list[ModelPart]:
    known = await connection.fetch("SELECT id FROM rag.embedding_models")
    used = set()
    for table in tables:
        if MODEL in table.by_name:
            statement = _HOLDS_MODEL.format(table=table.quoted, column=quote(MODEL))
            used |= {row["id"] for row in known if await connection.fetchval(statement, tenant, row["id"])}
    return [ModelPart(**row) for row in await connection.fetch(SQL["models"], sorted(used))]


async def _days(connection: Any, tenant: int, tables: list[TenantTable]) -> list[Any]:
    days = set()
    for table in tables:
        if table.partitioned:
            days |= {row["day"] for row in await connection.fetch(SQL["days"].format(table=table.quoted), tenant)}
    return sorted(days)[-1000:]
