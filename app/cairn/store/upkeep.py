"""The database's own condition, and daily housekeeping. No function here sees a tenant's rows."""

from __future__ import annotations

from typing import Any

from cairn.db.queries import load_queries

SQL = load_queries("upkeep")

EXPECTED_SCAN = "relaxed_order"
"""With any other hnsw.iterative_scan, filtered vector search silently returns too few rows."""


async def iterative_scan(connection: Any) -> str:
    """The value in force in this transaction: a wrong one that was set before the library was loaded is only a warning."""
    await connection.fetchval(SQL["load_vector"])
    return str(await connection.fetchval(SQL["iterative_scan"]))


async def schema_revision(connection: Any) -> str | None:
    """The revision that the tables of this database were migrated to; newer than this code where newer code was here."""
    found: str | None = await connection.fetchval(SQL["schema_revision"])
    return found


async def database_bytes(connection: Any) -> int:
    """What the database takes on its disk."""
    found: int = await connection.fetchval(SQL["database_bytes"])
    return found


async def is_standby(connection: Any) -> bool:
    """Whether the server follows another one, so that nothing can be written."""
    return bool(await connection.fetchval(SQL["is_standby"]))


async def tenant_ids(connection: Any) -> list[int]:
    """Of all tenants."""
    return [row["id"] for row in await connection.fetch(SQL["tenant_ids"])]


async def ensure_partitions(connection: Any, days: int) -> int:
    """Daily partitions of traces from today to so many days ahead; how many were made."""
    return int(await connection.fetchval(SQL["ensure_trace_partitions"], days))


async def drop_partitions(connection: Any, days: int) -> int:
    """Drop partitions of traces older than so many days; how many went."""
    return int(await connection.fetchval(SQL["drop_trace_partitions"], days))


async def end_overdue_analysts(connection: Any, statement_seconds: int, idle_seconds: int) -> tuple[int, int]:
    """Sessions of analysts that were ended, and those that the owner of the tables may not see or end."""
    row = await connection.fetchrow(SQL["end_overdue_analysts"], statement_seconds, idle_seconds)
    return int(row["ended"]), int(row["unwatched"])
