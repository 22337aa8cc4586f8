"""State of the HNSW indexes of single collections, and checks of their recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from app.db.queries import load_queries
from app.domain.ids import new_id
from app.domain.job import PlannedIndex, RecallCheck
from app.domain.principal import Principal
from app.settings import VectorSettings

SQL = load_queries("vector_indexes")


async def ready(connection: Any, principal: Principal, collections: Sequence[UUID]) -> frozenset[tuple[UUID, int]]:
    """(collection, model) pairs whose index can be used."""
    rows = await connection.fetch(SQL["ready"], principal.tenant_id, list(collections))
    return frozenset((row["collection_id"], row["model_id"]) for row in rows)


async def plan(connection: Any, settings: VectorSettings) -> list[PlannedIndex]:
    """What should be, over all tenants: unwanted ones first, then the largest."""
    rows = await connection.fetch(SQL["plan"], settings.dedicated_above, settings.max_dedicated_indexes)
    return [PlannedIndex(**row) for row in rows]


async def due(connection: Any, principal: Principal, collection_id: UUID, settings: VectorSettings) -> bool:
    """Whether the collection has crossed a threshold since the last plan."""
    return bool(await connection.fetchval(SQL["due"], principal.tenant_id, collection_id, settings.dedicated_above))


async def mark_building(connection: Any, index: PlannedIndex) -> bool:
    """Note that it is being built; False when the collection is gone."""
    return bool(await connection.fetchval(SQL["building"], *_key(index), index.name))


async def mark_built(connection: Any, index: PlannedIndex) -> bool:
    """From now on searches use it; False when the collection is gone."""
    return bool(await connection.fetchval(SQL["built"], *_key(index)))


async def mark_dropping(connection: Any, index: PlannedIndex) -> None:
    """From now on searches do without it."""
    await connection.execute(SQL["dropping"], *_key(index))


async def mark_dropped(connection: Any, index: PlannedIndex) -> None:
    await connection.execute(SQL["dropped"], *_key(index))


def _key(index: PlannedIndex) -> tuple[int, UUID, int]:
    return index.tenant_id, index.collection_id, index.model_id


# --- recall -----------------------------------------------------------------------------------------------------------


async def record_check(
    connection: Any,
    principal: Principal,
    collection_id: UUID,
    model_id: int,
    *,
    regime: str,
    k: int,
    sample: int,
    recall: float,
    ef_search: int,
) -> None:
    """Keep a check, and the 29 before it."""
    values = (collection_id, model_id, regime, k, sample, recall, ef_search)
    await connection.execute(SQL["record_check"], principal.tenant_id, new_id(), *values)
    await connection.execute(SQL["forget_checks"], principal.tenant_id, collection_id)


async def latest_check(connection: Any, principal: Principal, collection_id: UUID) -> RecallCheck | None:
    row = await connection.fetchrow(SQL["latest_check"], principal.tenant_id, collection_id)
    return RecallCheck(**row) if row else None


async def latest_checks(connection: Any, principal: Principal, above: int, limit: int) -> dict[str, float]:
    """Recall by name of collections with more than `above` chunks, worst first."""
    rows = await connection.fetch(SQL["latest_checks"], principal.tenant_id, above, limit)
    return {row["collection"]: row["recall"] for row in rows}


async def list_unchecked(connection: Any, principal: Principal, above: int) -> list[UUID]:
    """Collections with more than `above` chunks that were not checked for 20 hours."""
    return [row["id"] for row in await connection.fetch(SQL["unchecked"], principal.tenant_id, above)]
