"""The knowledge graph as it is read: walks, names, passages of entities; and merges. Writing is cairn/store/graph_stage.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.graph import (
    ContextEntity,
    ContextRelation,
    EntityCandidate,
    EntitySummary,
    GraphContext,
    Linkage,
    LinkRow,
    Mentioned,
    WalkLimits,
    WalkStep,
)
from cairn.domain.ids import new_id
from cairn.domain.plan import Conditions
from cairn.domain.principal import Principal
from cairn.errors import QueryTimeoutError

SQL = load_queries("graph")
LAST_CODE_POINT = chr(0x10FFFF)


async def walk(connection: Any, collection_id: UUID, seeds: Mapping[UUID, float], limits: WalkLimits) -> list[WalkStep]:
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
    return [WalkStep(*row.values()) for row in rows]


async def merge(connection: Any, collection_id: UUID, entity_id: UUID, into_id: UUID, reason: str) -> UUID | None:
    """Let one entity, with all merged into it, be another; the id of the merge, None where that changes nothing."""
    merge_id = new_id()
    done = await connection.fetchval(SQL["merge"], collection_id, merge_id, entity_id, into_id, reason)
    return merge_id if done else None


async def unmerge(connection: Any, collection_id: UUID, merge_id: UUID) -> bool:
    """Undo a merge; False when it is not in force."""
    return bool(await connection.fetchval(SQL["unmerge"], collection_id, merge_id))


async def load_entities(connection: Any, principal: Principal, ids: Sequence[UUID]) -> dict[UUID, EntitySummary]:
    """Entities by id; those that are gone are left out."""
    rows = await connection.fetch(SQL["named"], principal.tenant_id, list(ids))
    return {row["id"]: EntitySummary(**dict(row)) for row in rows}


async def find_candidates(
    connection: Any,
    principal: Principal,
    collection_id: UUID,
    forms: Sequence[str],
    words: Sequence[str],
    per_word: int,
) -> list[EntityCandidate]:
    """Entities with a name of one of these normal forms, or with one of the words in it; at most so many of each."""
    rows = await connection.fetch(SQL["link"], principal.tenant_id, collection_id, forms, words, per_word)
    return [EntityCandidate(**dict(row)) for row in rows]


async def passages(
    connection: Any, principal: Principal, ids: Sequence[UUID], per_entity: int
) -> dict[UUID, list[Mentioned]]:
    """Passages that mention each entity or what was merged into it, those that do so most first."""
    rows = await connection.fetch(SQL["passages"], principal.tenant_id, list(ids), per_entity)
    found: dict[UUID, list[Mentioned]] = {}
    for row in rows:
        found.setdefault(row["entity_id"], []).append(
            Mentioned(row["passage_id"], row["occurrences"], row["confidence"])
        )
    return found


async def find_linked(
    connection: Any,
    collections: Sequence[UUID],
    question: str,
    seeds: Sequence[UUID],
    keys: Sequence[str],
    named: Sequence[UUID],
    most: int,
    links: int,
    filters: Mapping[str, Any] | None,
    conditions: Conditions | None,
    everywhere: tuple[float, int] | None,
) -> list[Linkage]:
    """What joins passages of each collection: those that the seeds are linked with, and those that mention what the
    question names by `keys` or as `named` entities. `everywhere`: share of passages, and how many there must be, from which on a
    name begins no walk; None: all begin. See sql/functions/graph_leg.sql."""
    asked = conditions.as_json(filtered=bool(filters)) if conditions else None
    rows = await connection.fetch(
        SQL["leg"],
        list(collections),
        list(seeds),
        list(keys),
        list(named),
        question,
        most,
        links,
        filters,
        asked,
        *(everywhere or (None, None)),
    )
    return _linkages(rows)


async def find_linked_at_epoch(
    connection: Any,
    principal: Principal,
    state: tuple[UUID, int],
    question: str,
    seeds: Sequence[UUID],
    keys: Sequence[str],
    most: int,
    links: int,
    everywhere: tuple[float, int],
    timeout_ms: int,
) -> list[Linkage] | None:
    """The same of one collection, without a transaction. `state`: its id and epoch; None where it has another one. Raises
    QueryTimeoutError."""
    given = (principal.tenant_id, *state, list(seeds), list(keys), question, most, links, *everywhere)
    try:
        rows = await connection.fetch(SQL["leg_at"], *given, timeout=timeout_ms / 1000)
    except TimeoutError as error:
        raise QueryTimeoutError(f"the graph took longer than {timeout_ms} ms") from error
    return _linkages(rows) if rows else None


def _linkages(rows: Sequence[Any]) -> list[Linkage]:
    found: list[Linkage] = []
    at: list[LinkRow] = []
    for row in rows:
        if row["passage_id"] is None:  # the first row of a collection
            at = []
            found.append(Linkage(dict(zip(row["held"] or (), row["weights"] or (), strict=True)), at))
        else:
            at.append(_link_row(row))
    return found


def _link_row(row: Any) -> LinkRow:
    return LinkRow(
        row["seed_id"], row["passage_id"], row["document_id"], row["entity_id"], row["passages"], row["about"],
        row["topic"], frozenset(row["said"] or ()), frozenset(row["held"] or ()),
    )  # fmt: skip


async def context(
    connection: Any, principal: Principal, entities: Sequence[UUID], passages: Sequence[UUID], relations: int
) -> GraphContext:
    """What the graph says about these passages: which of the entities they mention, in that order, and which relations of
    theirs they prove, at most so many."""
    given = (principal.tenant_id, list(entities), list(passages))
    mentioned = await connection.fetch(SQL["context_entities"], *given)
    proved = await connection.fetch(SQL["context_relations"], *given, relations)
    return GraphContext(
        tuple(ContextEntity(row["name"], row["kind"], tuple(row["passages"])) for row in mentioned),
        tuple(ContextRelation(row["source"], row["kind"], row["target"], tuple(row["passages"])) for row in proved),
    )
