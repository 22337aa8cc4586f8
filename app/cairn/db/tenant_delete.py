"""A tenant goes with every row of it, in portions that are too small to be in anybody's way."""

from __future__ import annotations

import json
from typing import Any, Final

import asyncpg

from cairn.db.tenant_tables import SQL, Progress, find_tenant, list_tables, owner_connection, row_count
from cairn.domain.ids import new_id
from cairn.errors import ConflictError

PORTION: Final = 5000
"""Rows that one transaction deletes."""


async def delete_tenant(owner_dsn: str, name: str, keeper: str, plan: str, progress: Progress) -> int:
    """Delete a tenant; how many rows. Its keys go first, then its rows, those last that others refer to, and its name last of
    all: a deletion that was interrupted is finished by doing it again. `keeper`: the tenant whose audit log says so, because that
    of the deleted one is gone, and which gets the job `plan` that drops indexes of the deleted collections.

    Raises NotFoundError, ConflictError for a tenant with work under way, DatabaseUnavailableError.
    """
    check_keeper(name, keeper)
    async with owner_connection(owner_dsn) as connection:
        tenant = await find_tenant(connection, name)
        tables = (await list_tables(connection))[::-1]
        await connection.execute(SQL["by_index"])
        async with connection.transaction():
            await _check_idle(connection, tenant, name)
            await connection.execute(SQL["stop_admission"], tenant)
        deleted = 0
        for table in tables:
            progress(table.name)
            statement = SQL["delete_portion"].format(table=table.quoted)
            while done := row_count(await connection.execute(statement, tenant, PORTION)):
                deleted += done
        try:
            async with connection.transaction():
                for table in tables:  # what came meanwhile
                    deleted += row_count(
                        await connection.execute(SQL["delete_rest"].format(table=table.quoted), tenant)
                    )
                await connection.execute(SQL["delete_tenant"], tenant)
                log = await connection.fetchval("SELECT rag.ensure_tenant($1)", keeper)
                await connection.execute(SQL["record"], log, "tenant.delete", name, json.dumps({"rows": deleted}))
                await connection.execute(SQL["order_job"], log, new_id(), plan)
                await connection.execute(SQL["wake_workers"])
        except asyncpg.ForeignKeyViolationError:
            raise ConflictError(
                f"somebody still writes for tenant {name[:140]!r}; stop what serves it and delete it again"
            ) from None
    return deleted


def check_keeper(name: str, keeper: str) -> None:
    """Raises ConflictError for a tenant that would have to keep the record of its own deletion; asked before anybody confirms."""
    if name == keeper:
        raise ConflictError(
            f"{name} is the tenant in whose audit log the deletion would stand; name another in CAIRN_TENANT"
        )


async def _check_idle(connection: Any, tenant: int, name: str) -> None:
    found = await connection.fetchrow(SQL["at_work"], tenant)
    if found["jobs"] or found["runs"]:
        raise ConflictError(
            f"tenant {name[:140]!r} has work under way ({found['jobs']} jobs, {found['runs']} runs); stop what serves it, or wait"
        )
