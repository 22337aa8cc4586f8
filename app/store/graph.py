"""The knowledge graph as it is read: walks, names, passages of entities; and merges. Writing is app/store/graph_stage.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from app.db.queries import load_queries
from app.domain.graph_walk import Step, WalkLimits
from app.domain.ids import new_id

SQL = load_queries("graph")


async def walk(connection: Any, collection_id: UUID, seeds: Mapping[UUID, float], limits: WalkLimits) -> list[Step]:
    """What stands within some hops of the seeds (entity to weight), the seeds themselves at hop 0, and what stands on the
    way; in no order. Seeds that do not exist are left out."""
    rows = await connection.fetch(
        SQL["walk"],
        collection_id,
        list(seeds),
        list(seeds.values()),
        limits.hops,
        limits.per_node_cap,
        limits.beam,
        limits.row_budget,
        limits.time_budget_ms,
        limits.top,
    )
    return [Step(*row.values()) for row in rows]


async def merge(connection: Any, collection_id: UUID, entity_id: UUID, into_id: UUID, reason: str) -> UUID | None:
    """Let one entity, with all merged into it, be another; the id of the merge, None where that changes nothing."""
    merge_id = new_id()
    done = await connection.fetchval(SQL["merge"], collection_id, merge_id, entity_id, into_id, reason)
    return merge_id if done else None


async def unmerge(connection: Any, collection_id: UUID, merge_id: UUID) -> bool:
    """Undo a merge; False when it is not in force."""
    return bool(await connection.fetchval(SQL["unmerge"], collection_id, merge_id))


async def named(connection: Any, tenant_id: int, collection_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Any]:
    """Rows of entities (id, name, kind, passage_count, canonical_id) by id."""
    rows = await connection.fetch(SQL["named"], tenant_id, collection_id, list(ids))
    return {row["id"]: row for row in rows}
