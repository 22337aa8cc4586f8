"""Which documents have what a message asks to be restricted to (sql/queries/restrictions.sql).

Each function runs inside the caller's tenant transaction; only messages that ask for a restriction come here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from app.db.queries import load_queries
from app.domain.principal import Principal

SQL = load_queries("restrictions")

MAX_DOCUMENTS = 10_000
"""Documents whose metadata is looked at; in larger collections a value that only others have is not found."""


async def values(
    connection: Any, principal: Principal, collection: str, keys: Sequence[str]
) -> dict[str, tuple[Any, ...]]:
    """Distinct metadata values of a collection (by name), by key as it is spelled there. `keys`: in lower case."""
    rows = await connection.fetch(SQL["values"], principal.tenant_id, collection, list(keys), MAX_DOCUMENTS)
    found: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        found[row["key"]].append(row["value"])
    return {key: tuple(known) for key, known in found.items()}


async def named(
    connection: Any, principal: Principal, collection: str, names: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """External ids of the documents that go by each name (in lower case); names that none goes by are left out."""
    rows = await connection.fetch(SQL["named"], principal.tenant_id, collection, list(names))
    found: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        found[row["name"]].append(row["external_id"])
    return {name: tuple(ids) for name, ids in found.items()}


async def count(connection: Any, principal: Principal, collection: str, filters: Mapping[str, Any]) -> int:
    """How many documents a metadata filter leaves."""
    return int(await connection.fetchval(SQL["count"], principal.tenant_id, collection, dict(filters)))
