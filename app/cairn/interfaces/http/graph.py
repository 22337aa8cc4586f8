"""The knowledge graph: entities, what surrounds them, ways between two, merges."""

from __future__ import annotations

import json
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response

from cairn.domain.graph import EntityKind, EntitySummary
from cairn.domain.graph_view import CommunityKey
from cairn.errors import InputError
from cairn.interfaces.http import problems
from cairn.interfaces.http.graph_models import (
    CommunityPage,
    EntityDetailOut,
    EntityPage,
    MergeOut,
    MergePage,
    NeighborhoodOut,
    NewExtraction,
    NewMerge,
    PathsOut,
    community_out,
    detail_out,
    entity_out,
    merge_out,
    neighborhood_out,
    way_out,
)
from cairn.interfaces.http.models import COLLECTION_EXAMPLE, ID_EXAMPLE, JobOut, job_out
from cairn.interfaces.http.running import (
    Cursor,
    Limit,
    ServicesDep,
    TypedRoute,
    decode_cursor,
    decode_id,
    encode_cursor,
)
from cairn.service import graph as graph_service
from cairn.service import jobs as job_service

router = APIRouter(prefix="/graph", tags=["graph"], route_class=TypedRoute)

Collection = Annotated[
    str | None, Query(description="Name of the collection; default: rag.collectionName.", examples=[COLLECTION_EXAMPLE])
]
Hops = Annotated[int, Query(ge=1, le=3, description="Relations between the two at most.", examples=[2])]


def _named(description: str, example: str, alias: str | None = None) -> object:
    return Query(alias=alias, min_length=1, max_length=500, description=description, examples=[example])


@router.get("/entities", summary="List entities")
async def list_entities(
    services: ServicesDep,
    q: Annotated[
        str, Query(max_length=500, description="Beginning of a name or of a word of it.", examples=["love"])
    ] = "",
    collection: Collection = None,
    kind: Annotated[EntityKind | None, Query(description="Only of this kind.", examples=["person"])] = None,
    everything: Annotated[
        bool, Query(description="Also headings, phrases, and names that more than a tenth of the passages have.")
    ] = False,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> EntityPage:
    """The surest names of those most spoken of first; with `q` those most spoken of. Without `q`, `kind` or `everything`,
    headings and repeated phrases (kinds `topic`, `term`) are left out, and names that more than ten passages and more than a
    tenth of them have; never people, organisations or places. Names that code only refers to (`typing.Any`) are not listed; by
    name and id they are found."""
    found = await graph_service.list_entities(
        services, collection, text=q, kinds=[kind] if kind else [], everything=everything or kind is not None,
        after=_after(cursor), limit=limit + 1,
    )  # fmt: skip
    last = found[limit - 1] if len(found) > limit else None
    more = encode_cursor(json.dumps([last.certainty, last.passage_count, last.name, str(last.id)])) if last else None
    return EntityPage(items=[entity_out(one) for one in found[:limit]], next_cursor=more)


def _after(cursor: str | None) -> EntitySummary | None:
    if not (key := decode_cursor(cursor)):
        return None
    try:
        certainty, count, name, entity_id = json.loads(key)
        counts = all(isinstance(one, int) and 0 <= one < 2**31 for one in (certainty, count))
        if not counts or not isinstance(name, str):
            raise ValueError
        return EntitySummary(UUID(entity_id), name, "", count, certainty=certainty)
    except (ValueError, TypeError, AttributeError):
        raise InputError("the cursor is not one that this list gave out; start again without it") from None


@router.get("/entities/{entity_id}", summary="Look at an entity")
async def get_entity(
    services: ServicesDep,
    entity_id: Annotated[UUID, Path(description="Id of the entity.", examples=[ID_EXAMPLE])],
    relations: Annotated[int, Query(ge=0, le=200, description="Relations to show.")] = 20,
    mentions: Annotated[int, Query(ge=0, le=200, description="Passages to show.")] = 10,
) -> EntityDetailOut:
    """Its names, its strongest relations with what proves them, and the passages that mention it. One that was merged into
    another is shown as that one."""
    return detail_out(await graph_service.get_entity(services, str(entity_id), relations=relations, mentions=mentions))


@router.get("/neighborhood", summary="What surrounds an entity")
async def get_neighborhood(
    services: ServicesDep,
    entity: Annotated[str, _named("Id or name of the entity.", "Ada Lovelace")],
    hops: Hops = 2,
    limit: Annotated[int, Query(ge=1, le=1000, description="Other entities at most.")] = 50,
    collection: Collection = None,
) -> NeighborhoodOut:
    """By one walk over the strongest relations. An unknown name is a 404 with `did_you_mean`."""
    return neighborhood_out(await graph_service.get_neighborhood(services, entity, collection, hops=hops, limit=limit))


@router.get("/path", summary="How two entities are related")
async def get_path(
    services: ServicesDep,
    source: Annotated[str, _named("Id or name of the one.", "Ada Lovelace", alias="from")],
    target: Annotated[str, _named("Id or name of the other.", "London", alias="to")],
    hops: Hops = 3,
    limit: Annotated[int, Query(ge=1, le=20, description="Paths at most.")] = 3,
    collection: Collection = None,
) -> PathsOut:
    """The best ways from one to the other, with what proves each step."""
    found = await graph_service.get_paths(services, source, target, collection, hops=hops, limit=limit)
    return PathsOut(
        collection=found.collection, source=entity_out(found.source), target=entity_out(found.target),
        paths=[way_out(way) for way in found.ways],
    )  # fmt: skip


# --- communities --------------------------------------------------------------------------------------------------------


@router.get("/communities", summary="List communities")
async def list_communities(
    services: ServicesDep,
    collection: Collection = None,
    q: Annotated[
        str,
        Query(max_length=2000, description="Only those that this is about, best first.", examples=["early computers"]),
    ] = "",
    level: Annotated[int | None, Query(ge=0, le=100, description="Only of this level; without `q`.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> CommunityPage:
    """Groups of closely related entities with sentences that sum them up: large ones before their parts, the largest
    first; with `q` at most `limit` in all, none inside another. They follow documents with a delay (docs/operations.md)."""
    if q.strip():
        if cursor or level is not None:
            raise InputError("q goes without level and cursor")
        fitting = await graph_service.find_communities(services, q, collection, limit=limit)
        return CommunityPage(items=[community_out(one) for one in fitting], next_cursor=None)
    found, last = await graph_service.list_communities(
        services, collection, level=level, after=_community(cursor), limit=limit
    )
    more = encode_cursor(json.dumps([last.level, last.entity_count, str(last.id)])) if last else None
    return CommunityPage(items=[community_out(one) for one in found], next_cursor=more)


def _community(cursor: str | None) -> CommunityKey | None:
    if not (key := decode_cursor(cursor)):
        return None
    try:
        level, count, community_id = json.loads(key)
        if not all(isinstance(number, int) and 0 <= number < 2**31 for number in (level, count)):
            raise ValueError
        return CommunityKey(level, count, UUID(community_id))
    except (ValueError, TypeError, AttributeError):
        raise InputError("the cursor is not one that this list gave out; start again without it") from None


@router.post("/extract", status_code=202, summary="Let the chat model read a collection for the graph")
async def extract_graph(body: NewExtraction, services: ServicesDep, response: Response) -> JobOut:
    """Adds entities, relations and other names to those that rules found, by a job; what it has read already costs nothing.
    An order that waits or runs already is the answer then. 422 where `graph.model.enabled` is off or there is no chat model."""
    job = await job_service.extract_with_model(services, body.collection)
    response.headers["Location"] = f"/jobs/{job.id}"
    return job_out(job)


# --- merges -------------------------------------------------------------------------------------------------------------


@router.post("/merges", status_code=201, responses=problems.declare(409), summary="Merge two entities")
async def merge_entities(body: NewMerge, services: ServicesDep) -> MergeOut:
    """`from` is then taken for `into` everywhere; documents and mentions stay as they are. 409 when they are one already."""
    return merge_out(await graph_service.merge_entities(services, body.collection, body.into, body.merged, body.reason))


@router.get("/merges", summary="List merges")
async def list_merges(
    services: ServicesDep, collection: Collection = None, cursor: Cursor = None, limit: Limit = 50
) -> MergePage:
    """Newest first, also those that were undone. Without `collection`: of all."""
    found = await graph_service.list_merges(services, collection, before=decode_id(cursor), limit=limit + 1)
    more = encode_cursor(str(found[limit - 1].id)) if len(found) > limit else None
    return MergePage(items=[merge_out(merge) for merge in found[:limit]], next_cursor=more)


@router.delete("/merges/{merge_id}", responses=problems.declare(409), summary="Undo a merge")
async def undo_merge(
    merge_id: Annotated[UUID, Path(description="Id of the merge.", examples=[ID_EXAMPLE])], services: ServicesDep
) -> MergeOut:
    """The entity is itself again; earlier and later merges stay. 409 when it was undone before."""
    return merge_out(await graph_service.undo_merge(services, merge_id))
