"""What a collection holds as such."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from app.db.queries import load_queries
from app.domain.library import Holdings, Listed
from app.domain.principal import Principal

SQL = load_queries("holdings")


async def documents(
    connection: Any, principal: Principal, collection: str, filters: Mapping[str, Any], limit: int
) -> list[Listed]:
    """Indexed documents in order of external id."""
    rows = await connection.fetch(SQL["documents"], principal.tenant_id, collection, filters, limit)
    return [Listed(**row) for row in rows]


async def totals(connection: Any, principal: Principal, collection: str, filters: Mapping[str, Any]) -> Holdings:
    counts = await connection.fetchrow(SQL["totals"], principal.tenant_id, collection, filters)
    media_types, languages = Counter[str](), Counter[str]()
    for row in await connection.fetch(SQL["kinds"], principal.tenant_id, collection, filters):
        media_types[row["media_type"]] += row["documents"]
        languages[row["language"]] += row["documents"]
    return Holdings(**counts, media_types=media_types, languages=languages)


async def filled(connection: Any, principal: Principal, limit: int) -> list[str]:
    """Names of collections with documents, the largest first."""
    return [row["name"] for row in await connection.fetch(SQL["filled"], principal.tenant_id, limit)]
