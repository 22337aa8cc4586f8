"""State of the HNSW indexes of single collections, and checks of their recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.ids import new_id
from cairn.domain.job import PlannedIndex, RecallCheck
from cairn.domain.principal import Principal
from cairn.settings import VectorSettings

SQL = load_queries("vector_indexes")


async def places(connection: Any, principal: Principal, collections: Sequence[UUID]) -> dict[tuple[UUID, int], bool]:
    """(collection, model) pairs whose vectors are not, or not all, in the shared index: whether their own can be used."""
    rows = await connection.fetch(SQL["places"], principal.tenant_id, list(collections))
    return {(row["collection_id"], row["model_id"]): row["ready"] for row in rows}


async def plan(connection: Any, settings: VectorSettings) -> list[PlannedIndex]:
    """What should be, over all tenants: unwanted ones first, then the largest."""
    rows = await connection.fetch(SQL["plan"], settings.dedicated_above, settings.max_dedicated_indexes)
    return [PlannedIndex(**row) for row in rows]


async def due(connection: Any, principal: Principal, collection_id: UUID, settings: VectorSettings) -> bool:
    """Whether the collection has crossed a threshold since the last plan."""
    return bool(await connection.fetchval(SQL["due"], principal.tenant_id, collection_id, settings.dedicated_above))


async def mark_building(connection: Any, index: PlannedIndex) -> bool:
    """From now on new vectors are its own, and searches compare all; False when the collection is gone. Needs the lock of the
    collection, as all changes of the state do."""
    return bool(await connection.fetchval(SQL["building"], *_key(index), index.name))


async def mark_built(connection: Any, index: PlannedIndex) -> bool:
    """From now on searches use it; False when it is not being built any more."""
    return bool(await connection.fetchval(SQL["built"], *_key(index)))


async def mark_dropping(connection: Any, index: PlannedIndex) -> None:
    """From now on new vectors go to the shared index, and searches compare all."""
    await connection.execute(SQL["dropping"], *_key(index))


async def mark_dropped(connection: Any, index: PlannedIndex) -> None:
    await connection.execute(SQL["dropped"], *_key(index))


async def list_misplaced(connection: Any, index: PlannedIndex, *, own: bool, most: int) -> list[UUID]:
    """Chunks whose vectors are not yet where all should be; no more than `most`."""
    return [row["chunk_id"] for row in await connection.fetch(SQL["misplaced"], *_key(index), own, most)]


async def move(connection: Any, index: PlannedIndex, chunks: Sequence[UUID], *, own: bool) -> int:
    """Put vectors in the index of the collection, or back into the shared one; how many. Those that somebody else is writing
    are left. Needs the lock of the collection."""
    rows = await connection.fetch(SQL["move"], index.tenant_id, list(chunks), index.model_id, own)
    return len(rows)


async def begin_bulk(connection: Any, index: PlannedIndex, lease_seconds: float, most: int) -> None:
    """Let new vectors wait for the index of the collection to be built, or renew that; nothing for a collection of more than
    `most` chunks without an index. Needs the lock of the collection."""
    await connection.execute(SQL["begin_bulk"], *_key(index), index.name, lease_seconds, most)


async def end_bulk(connection: Any, index: PlannedIndex) -> None:
    """The next plan builds the index, or moves the vectors back."""
    await connection.execute(SQL["end_bulk"], *_key(index))


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
