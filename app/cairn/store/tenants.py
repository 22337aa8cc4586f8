"""Tenants, for who operates the server."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cairn.db.queries import load_queries
from cairn.domain.principal import Principal

SQL = load_queries("tenants")


async def list_ids(connection: Any) -> list[int]:
    """Of all tenants, in order of their names."""
    return [row["id"] for row in await connection.fetch(SQL["list"])]


async def find_id(connection: Any, name: str) -> int | None:
    found: int | None = await connection.fetchval(SQL["find"], name)
    return found


async def describe(connection: Any, principal: Principal) -> tuple[str, datetime]:
    """Name of the tenant that the transaction serves, and since when it is there."""
    row = await connection.fetchrow(SQL["describe"], principal.tenant_id)
    return row["name"], row["created_at"]
