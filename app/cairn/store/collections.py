"""Collections: rows in, values out. Each function runs inside the caller's tenant transaction."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.document import Collection
from cairn.domain.ids import new_id
from cairn.domain.principal import Principal

SQL = load_queries("collections")


def _collection(row: Any) -> Collection:
    return Collection(**dict(row))


async def ensure(connection: Any, principal: Principal, name: str) -> tuple[Collection, bool]:
    """The collection of that name, and whether it was created now."""
    seed = random.SystemRandom().randrange(2**31)
    if row := await connection.fetchrow(SQL["create"], principal.tenant_id, new_id(), name, seed):
        return _collection(row), True
    row = await connection.fetchrow(SQL["by_name"], principal.tenant_id, name)
    if row is None:  # deleted between the two statements
        return await ensure(connection, principal, name)
    return _collection(row), False


async def by_name(connection: Any, principal: Principal, name: str) -> Collection | None:
    row = await connection.fetchrow(SQL["by_name"], principal.tenant_id, name)
    return _collection(row) if row else None


async def by_id(connection: Any, principal: Principal, collection_id: UUID) -> Collection | None:
    row = await connection.fetchrow(SQL["by_id"], principal.tenant_id, collection_id)
    return _collection(row) if row else None


async def by_names(connection: Any, principal: Principal, names: tuple[str, ...]) -> list[Collection]:
    """Those that exist, by name."""
    return [found for found, _ in await to_search(connection, principal, names)]


async def to_search(connection: Any, principal: Principal, names: tuple[str, ...]) -> list[tuple[Collection, int]]:
    """The same, each with how many of its chunks the caller may not read. No reply tells that number."""
    rows = [dict(row) for row in await connection.fetch(SQL["by_names"], principal.tenant_id, list(names))]
    withheld = [row.pop("withheld") for row in rows]
    return [(_collection(row), chunks) for row, chunks in zip(rows, withheld, strict=True)]


async def page(connection: Any, principal: Principal, *, after: str, limit: int) -> list[Collection]:
    """Collections with a name greater than `after`, in order of name."""
    return [_collection(row) for row in await connection.fetch(SQL["page"], principal.tenant_id, after, limit)]


async def rename(connection: Any, principal: Principal, name: str, display_name: str | None) -> bool:
    """Change what people call it; False where there is no such collection."""
    return await connection.fetchval(SQL["rename"], principal.tenant_id, name, display_name) is not None


async def delete(connection: Any, principal: Principal, name: str) -> UUID | None:
    """Remove a collection with all its documents; its id, None when there is none of that name."""
    if (locked := await connection.fetchval(SQL["lock_by_name"], principal.tenant_id, name)) is None:
        return None
    await connection.execute(SQL["note_deletion"], principal.tenant_id, locked, name)
    gone: UUID | None = await connection.fetchval(SQL["delete"], principal.tenant_id, name)
    return gone


async def count_open(connection: Any, principal: Principal, collection_id: UUID) -> dict[str, int]:
    """Documents and chunks of a collection that everybody in the tenant may read."""
    return dict(await connection.fetchrow(SQL["count_open"], principal.tenant_id, collection_id))


async def touch(connection: Any, principal: Principal, collection_id: UUID) -> int | None:
    """Take the lock between writers and raise the epoch (returned; None when the collection is gone)."""
    epoch: int | None = await connection.fetchval(SQL["touch"], principal.tenant_id, collection_id)
    return epoch


async def pin_model(connection: Any, principal: Principal, collection_id: UUID, model_id: int) -> None:
    """Let this model serve the collection, if none does yet."""
    await connection.execute(SQL["pin_model"], principal.tenant_id, collection_id, model_id)


async def calibration(connection: Any, principal: Principal, name: str) -> dict[str, Any] | None:
    """The collection's own calibration of confidence, as `Calibration.as_json` made it; None: as shipped."""
    found: dict[str, Any] | None = await connection.fetchval(SQL["calibration"], principal.tenant_id, name)
    return found


async def calibrate(connection: Any, principal: Principal, name: str, value: dict[str, Any] | None) -> bool:
    """Give a collection a calibration, or take it away; False where there is no such collection."""
    return await connection.fetchval(SQL["calibrate"], principal.tenant_id, name, value) is not None


async def is_ruled(connection: Any, collection_id: UUID) -> bool:
    """Whether it has rules for who may read what comes, or a source."""
    return bool(await connection.fetchval(SQL["is_ruled"], collection_id))


async def withholds(connection: Any, principal: Principal, collection_id: UUID) -> bool:
    """Whether it has a document that the caller may not read."""
    return bool(await connection.fetchval(SQL["withholds"], principal.tenant_id, collection_id, principal.principals))
