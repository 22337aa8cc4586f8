"""The knowledge graph as people look at it. Row in, value out; each function runs inside the caller's tenant transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Final
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.document import Landmark, landmark_at
from cairn.domain.graph import EntitySummary
from cairn.domain.graph_view import EntityName, GraphEdge, GraphNode, Merge, Proof, Relation, Standing
from cairn.domain.principal import Principal
from cairn.store.session import stream

SQL = load_queries("graph_view")
LAST_CODE_POINT: Final = chr(0x10FFFF)
LONGEST_QUOTE: Final = 600
"""Code points; a proof may be a whole passage."""
ORDERED: Final = 500
"""Entities of which a list reads the mentions, to begin with the surest."""
FETCHED: Final = 500
"""Rows that an export holds at once."""


async def entities(
    connection: Any,
    principal: Principal,
    collection_id: UUID,
    *,
    prefix: str = "",
    kinds: Sequence[str] = (),
    everything: bool = True,
    after: EntitySummary | None = None,
    limit: int,
    ordered: int = ORDERED,
) -> list[EntitySummary]:
    """The surest of those most spoken of first; with `prefix` those most spoken of, with a name, or a word of one, that begins
    so; after one of them. Without `everything` those are left out that tell nothing of a collection: headings, phrases, names
    that stand nearly everywhere. `ordered`: how many are ordered by how sure they are; the others follow."""
    last = (after.passage_count, after.name, after.id) if after else (0, "", None)
    values = (principal.tenant_id, collection_id, list(kinds) or None, *last, limit)
    if prefix:
        rows = await connection.fetch(SQL["beginning"], *values, prefix, prefix + LAST_CODE_POINT)
    else:
        rows = await connection.fetch(SQL["surest"], *values, everything, after.certainty if after else 0, ordered)
    return [EntitySummary(**dict(row)) for row in rows]


async def load_standing(connection: Any, principal: Principal, entity_id: UUID) -> Standing | None:
    """The entity that stands for this one; None where it is gone."""
    row = await connection.fetchrow(SQL["standing"], principal.tenant_id, entity_id)
    if row is None:
        return None
    summary = EntitySummary(row["id"], row["name"], row["kind"], row["passage_count"])
    return Standing(summary, row["collection_id"], row["collection"])


async def names(connection: Any, principal: Principal, entity_id: UUID, limit: int) -> list[EntityName]:
    """What passages call it and what was merged into it, the most frequent first."""
    rows = await connection.fetch(SQL["names"], principal.tenant_id, entity_id, limit)
    return [EntityName(**dict(row)) for row in rows]


async def counts(connection: Any, principal: Principal, entity_id: UUID) -> tuple[int, int, int]:
    """Passages and documents that mention it or what was merged into it, and its relations."""
    row = await connection.fetchrow(SQL["counts"], principal.tenant_id, entity_id)
    return row["passages"], row["documents"], row["relations"]


async def list_merged_into(connection: Any, principal: Principal, entity_id: UUID) -> list[Merge]:
    return [_merge(row) for row in await connection.fetch(SQL["merged_into"], principal.tenant_id, entity_id)]


async def merges(
    connection: Any,
    principal: Principal,
    *,
    collection_id: UUID | None = None,
    before: UUID | None = None,
    limit: int = 1,
    merge_id: UUID | None = None,
) -> list[Merge]:
    """The log, newest first, also of merges that were undone; or the one merge."""  # fmt: skip
    rows = await connection.fetch(SQL["merges"], principal.tenant_id, collection_id, before, limit, merge_id)
    return [_merge(row) for row in rows]


def _merge(row: Any) -> Merge:
    return Merge(*row.values())


async def find_strongest(connection: Any, principal: Principal, entity_id: UUID, limit: int) -> list[UUID]:
    """Relations of an entity, one for each neighbour."""
    rows = await connection.fetch(SQL["strongest"], principal.tenant_id, entity_id, limit)
    return [row["relation_id"] for row in rows]


async def find_between(connection: Any, principal: Principal, pairs: Iterable[tuple[UUID, UUID]]) -> list[UUID]:
    """For each pair of related entities the relation that says most, in order."""
    nodes, neighbours = zip(*pairs, strict=True) if (pairs := list(pairs)) else ((), ())
    rows = await connection.fetch(SQL["between"], principal.tenant_id, nodes, neighbours)
    return [row["relation_id"] for row in rows]


async def relations(connection: Any, principal: Principal, ids: Sequence[UUID]) -> dict[UUID, Relation]:
    """By id, without those that are gone, or whose ends were merged into one."""
    rows = await connection.fetch(SQL["relations"], principal.tenant_id, list(dict.fromkeys(ids)), LONGEST_QUOTE)
    found = {row["id"]: _relation(row) for row in rows}
    return {key: found[key] for key in ids if key in found}


def _relation(row: Any) -> Relation:
    start, quote = row["char_start"], row["quote"].rstrip()
    marks = [Landmark(at, page, tuple(path)) for at, page, path in row["landmarks"]]
    place = landmark_at(marks, start) if marks else None
    proof = Proof(
        row["passage_id"], row["document_id"], row["external_id"], row["title"],
        place.page if place else row["page"], place.headings if place else tuple(row["headings"]),
        quote, start, start + len(quote),
    )  # fmt: skip
    source, target = (
        EntitySummary(row[f"{end}_id"], row[f"{end}_name"], row[f"{end}_kind"], row[f"{end}_count"])
        for end in ("source", "target")
    )
    return Relation(row["id"], row["kind"], source, target, row["weight"], row["evidence_count"], proof)


async def nodes(connection: Any, principal: Principal, collection_id: UUID) -> AsyncIterator[GraphNode]:
    """All entities of a collection, some at a time."""
    async for row in stream(connection, SQL["nodes"], principal.tenant_id, collection_id, prefetch=FETCHED):
        yield GraphNode(row["id"], row["name"], row["kind"], row["passage_count"], tuple(row["names"] or ()))


async def links(connection: Any, principal: Principal, collection_id: UUID) -> AsyncIterator[GraphEdge]:
    """All relations of a collection, some at a time."""
    async for row in stream(
        connection, SQL["links"], principal.tenant_id, collection_id, LONGEST_QUOTE, prefetch=FETCHED
    ):
        yield GraphEdge(*row.values())
