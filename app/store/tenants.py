"""All tenants, for who operates the server."""

from __future__ import annotations

from typing import Any

from app.db.queries import load_queries
from app.domain.principal import Principal

SQL = load_queries("tenants")


async def list_tenants(connection: Any) -> list[Principal]:
    """In order of their names."""
    return [Principal(row["id"], row["name"]) for row in await connection.fetch(SQL["list"])]
