"""What a user can do with the knowledge graph, once for all surfaces.

An entity is named by id or name; one that was merged is what it was merged into. What a name does not find raises
NotFoundError with names that may have been meant (`did_you_mean`). Lists leave out what code only refers to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from cairn.domain.code import SEPARATOR
from cairn.domain.document import Collection
from cairn.domain.graph import EntityKey, EntitySummary, Neighbourhood, WalkLimits, entity_id
from cairn.domain.graph_view import (
    CommunityKey,
    CommunitySummary,
    EntityDetail,
    GraphEdge,
    GraphNode,
    MentionedIn,
    Merge,
    Standing,
    Surroundings,
    Way,
    WayPlace,
)
from cairn.errors import ConflictError, InputError, NotFoundError
from cairn.graph.code.ask import load_links
from cairn.graph.code.lines import find_lines, number_relations, passage_lines
from cairn.graph.code.links import CodeLinks
from cairn.graph.code.rows import DEFINED
from cairn.graph.code.walk import CodeWalker, code_walker
from cairn.graph.keys import key_of
from cairn.graph.overview import find_communities_about
from cairn.graph.resolve import collection_of, resolve_entity
from cairn.graph.walk import find_ways, neighbourhood, show_between, traverse
from cairn.language.text import normalise
from cairn.service.documents import get_collection
from cairn.store import audit, communities, graph, graph_view, passages
from cairn.store.session import reads_contents
from cairn.wiring import Services

NAMES_SHOWN = 50


@reads_contents
async def list_entities(
    services: Services,
    collection: str | None = None,
    *,
    text: str = "",
    kinds: Sequence[str] = (),
    everything: bool = False,
    after: EntitySummary | None = None,
    limit: int = 50,
) -> list[EntitySummary]:
    """The surest of the entities of these kinds that are most spoken of, first; with `text` those most spoken of with a name, or
    a word of one, that begins with it. `after`: the last one of the page before. Headings, phrases and names that more than ten
    passages and more than a tenth of them have are found by name, and listed with `everything`. Raises NotFoundError for an
    unknown collection."""  # fmt: skip
    found = await _collection(services, collection)
    prefix = key_of(normalise(text))
    if text.strip() and not prefix:
        return []
    async with _reading(services) as connection:
        return await graph_view.entities(
            connection,
            services.principal,
            found.id,
            prefix=prefix,
            kinds=kinds,
            everything=everything,
            after=after,
            limit=limit,
        )


@reads_contents
async def get_entity(
    services: Services, entity: str, collection: str | None = None, *, relations: int = 20, mentions: int = 10
) -> EntityDetail:
    """Everything about an entity: at most so many of its relations and passages. Raises NotFoundError."""
    async with _reading(services) as connection:
        standing = await _standing(services, connection, entity, collection)
        principal, key = services.principal, standing.entity.id
        strongest = await graph_view.find_strongest(connection, principal, key, relations)
        spoken = (await graph.passages(connection, principal, [key], mentions)).get(key, [])
        texts = await passages.fetch(connection, principal, {one.passage_id: None for one in spoken})
        total, documents, related = await graph_view.counts(connection, principal, key)
        shown = list((await graph_view.relations(connection, principal, strongest)).values())
        lines = await find_lines(connection, principal, [standing.entity])
        lines_of = await passage_lines(connection, principal, standing.entity, list(texts.values()))
        return EntityDetail(
            standing,
            tuple(await graph_view.names(connection, principal, key, NAMES_SHOWN)),
            total, documents, related,
            await number_relations(connection, principal, shown),
            tuple(MentionedIn(texts[one.passage_id], one.occurrences, lines_of.get(one.passage_id)) for one in spoken),
            tuple(await graph_view.list_merged_into(connection, principal, key)),
            lines.get(key),
        )  # fmt: skip


@reads_contents
async def get_neighborhood(
    services: Services, entity: str, collection: str | None = None, *, hops: int = 2, limit: int = 50
) -> Surroundings:
    """What is related to an entity over so many relations (1 to 3): at most `limit` others. Raises NotFoundError."""
    settings = services.settings.current.graph
    limits = WalkLimits(
        hops, settings.per_node_cap, max(settings.beam, limit), settings.row_budget, settings.time_budget_ms, limit + 2
    )
    async with _reading(services) as connection:
        standing = await _standing(services, connection, entity, collection)
        if code := await _code_walker(services, connection, standing):
            steps = await code.walk(standing.entity.id, standing.entity.name, limits)
            return await _surroundings_in_code(services, connection, standing, neighbourhood(steps, limits.top), limit)
        found = await traverse(connection, standing.collection_id, {standing.entity.id: 1.0}, limits)
        return await _surroundings(services, connection, standing, found, limit)


async def _code_walker(services: Services, connection: Any, *ends: Standing) -> CodeWalker | None:
    """For walks between definitions of code, which cross files by what names mean; None for anything else."""
    collection = await collection_of(connection, services.principal, ends[0].collection)
    return await code_walker(connection, services.principal, collection, [one.entity for one in ends])


async def _surroundings_in_code(
    services: Services, connection: Any, standing: Standing, found: Neighbourhood, limit: int
) -> Surroundings:
    """Each relation between the two definitions that it joins, whatever name the file uses."""
    reached = found.entities[: limit + 1]
    edges = {edge.relation_id: edge for one in reached for edge in one.path}
    names = await graph.load_entities(connection, services.principal, [one.entity_id for one in reached])
    names |= await graph.load_entities(
        connection, services.principal, [end for edge in edges.values() for end in (edge.source_id, edge.target_id)]
    )
    known = await graph_view.relations(connection, services.principal, list(edges))
    relations = tuple(
        show_between(known, (key, edge.outgoing), names[edge.source_id], names[edge.target_id])
        for key, edge in edges.items()
    )
    lines = await find_lines(connection, services.principal, names.values())
    places = tuple(
        WayPlace(
            names[one.entity_id], len(one.path), one.score, tuple(edge.relation_id for edge in one.path),
            lines.get(one.entity_id),
        )
        for one in reached
    )  # fmt: skip
    relations = await number_relations(connection, services.principal, relations)
    more = found.truncated or len(found.entities) > len(reached)
    return Surroundings(standing.collection, places, relations, more)


async def _surroundings(
    services: Services, connection: Any, standing: Standing, found: Neighbourhood, limit: int
) -> Surroundings:
    """Of the relations between two entities the one that says most, with its proof."""
    reached = found.entities[: limit + 1]
    steps = dict.fromkeys((edge.source_id, edge.target_id) for one in reached for edge in one.path)
    chosen = await graph_view.find_between(connection, services.principal, steps)
    by_step = dict(zip(steps, chosen, strict=True))
    names = await graph.load_entities(connection, services.principal, [one.entity_id for one in reached])
    relations = await graph_view.relations(connection, services.principal, list(dict.fromkeys(chosen)))
    places = tuple(
        WayPlace(
            names[one.entity_id], len(one.path), one.score,
            tuple(by_step[edge.source_id, edge.target_id] for edge in one.path),
        )
        for one in reached
    )  # fmt: skip
    more = found.truncated or len(found.entities) > len(reached)
    return Surroundings(standing.collection, places, tuple(relations.values()), more)


@dataclass(frozen=True, slots=True)
class Connected:
    """Two entities, and the ways between them, the best first; none where nothing joins them within the hops."""

    collection: str
    source: EntitySummary
    target: EntitySummary
    ways: tuple[Way, ...]


@reads_contents
async def get_paths(
    services: Services, source: str, target: str, collection: str | None = None, *, hops: int = 3, limit: int = 3
) -> Connected:
    """How two entities are related. Raises NotFoundError, InputError where both are the same."""
    async with _reading(services) as connection:
        first = await _standing(services, connection, source, collection)
        second = await _standing(services, connection, target, collection or first.collection)
        if first.entity.id == second.entity.id:
            raise InputError(f"both ends are {first.entity.name}; name two different entities")
        if first.collection_id != second.collection_id:
            raise InputError(f"{first.entity.name} and {second.entity.name} are of different collections")
        ways = await find_ways(
            connection,
            services.principal,
            first.collection_id,
            first.entity.id,
            second.entity.id,
            hops=hops,
            limit=limit,
            code=await _code_walker(services, connection, first, second),
        )
        numbered = [
            replace(way, relations=await number_relations(connection, services.principal, way.relations))
            for way in ways
        ]
    return Connected(first.collection, first.entity, second.entity, tuple(numbered))


# --- communities --------------------------------------------------------------------------------------------------------


@reads_contents
async def list_communities(
    services: Services,
    collection: str | None = None,
    *,
    level: int | None = None,
    after: CommunityKey | None = None,
    limit: int,
) -> tuple[list[CommunitySummary], CommunityKey | None]:
    """Large ones before their parts, without those of which nothing is left; and the last one where there are more."""
    found = await _collection(services, collection)
    async with _reading(services) as connection:
        keys = await communities.list_page(
            connection, services.principal, found.id, level=level, after=after, limit=limit + 1
        )
        page = dict.fromkeys((key.id for key in keys[:limit]), 0.0)
        shown = await communities.load_summaries(connection, services.principal, page)
    return shown, keys[limit - 1] if len(keys) > limit else None


@reads_contents
async def find_communities(
    services: Services, text: str, collection: str | None = None, *, limit: int
) -> list[CommunitySummary]:
    """Those that a text is about, best first, none inside another one of them. Raises NotFoundError."""
    found = await _collection(services, collection)
    async with _reading(services) as connection:
        return await find_communities_about(connection, services.principal, [found.id], text=text, limit=limit)


# --- merges -------------------------------------------------------------------------------------------------------------


async def merge_entities(services: Services, collection: str | None, into: str, merged: str, reason: str) -> Merge:
    """Take one entity for another. Raises NotFoundError, ConflictError where they are one already."""
    async with services.database.transaction(services.principal) as connection:
        target = await _standing(services, connection, into, collection)
        source = await _standing(services, connection, merged, collection or target.collection)
        if source.collection_id != target.collection_id:
            raise InputError(f"{source.entity.name} and {target.entity.name} are of different collections")
        merge_id = await graph.merge(
            connection, target.collection_id, source.entity.id, target.entity.id, normalise(reason).strip() or "by hand"
        )
        if merge_id is None:
            raise ConflictError(f"{source.entity.name} and {target.entity.name} are one entity already")
        # by the id of the merge, whose log has the names: those go with the documents that they are from
        detail = {"collection": target.collection}
        await audit.record(connection, services.principal, "entity.merge", str(merge_id), detail)
        return (await graph_view.merges(connection, services.principal, merge_id=merge_id))[0]


async def undo_merge(services: Services, merge_id: UUID) -> Merge:
    """Let what was merged be itself again. Raises NotFoundError, ConflictError where it was undone before."""
    async with services.database.transaction(services.principal) as connection:
        found = await graph_view.merges(connection, services.principal, merge_id=merge_id)
        if not found:
            raise NotFoundError(f"no merge {merge_id}; see GET /graph/merges")
        collection = await collection_of(connection, services.principal, found[0].collection)
        if not await graph.unmerge(connection, collection.id, merge_id):
            raise ConflictError(f"merge {merge_id} is not in force any more")
        detail = {"collection": collection.name}
        await audit.record(connection, services.principal, "entity.unmerge", str(merge_id), detail)
        return (await graph_view.merges(connection, services.principal, merge_id=merge_id))[0]


@reads_contents
async def list_merges(
    services: Services, collection: str | None = None, *, before: UUID | None = None, limit: int = 50
) -> list[Merge]:
    """The log, newest first, of one collection or all, also of what was undone. Raises NotFoundError."""
    found = await get_collection(services, collection) if collection is not None else None
    async with _reading(services) as connection:
        return await graph_view.merges(
            connection, services.principal, collection_id=found.id if found else None, before=before, limit=limit
        )


# --- export -------------------------------------------------------------------------------------------------------------


async def export_graph(services: Services, collection: str | None = None) -> AsyncIterator[GraphNode | GraphEdge]:
    """All entities, then all relations, of one state of the collection. That it was begun is recorded first. Raises
    NotFoundError."""
    found = await _collection(services, collection)
    async with services.database.transaction(services.principal) as connection:
        await audit.record(connection, services.principal, "graph.export", found.name)
    # what is sent cannot be begun again, and a standby ends what reads for long
    async with services.database.primary.transaction(
        services.principal, readonly=True, isolation="repeatable_read"
    ) as connection:
        async for node in graph_view.nodes(connection, services.principal, found.id):
            yield node
        links = await load_links(connection, services.principal, found)
        async for link in graph_view.links(connection, services.principal, found.id):
            yield _across_files(link, links, found.id)


def _across_files(link: GraphEdge, links: CodeLinks, collection_id: UUID) -> GraphEdge:
    """An edge of code leads to the definition that its name means, where one can be told."""
    if not link.refers_to:
        return link
    meaning = links.meaning(link.refers_to, link.source_name.partition(SEPARATOR)[0])
    if meaning.certainty != "sure":
        return link
    return replace(link, target=entity_id(collection_id, EntityKey(DEFINED, meaning.definitions[0])))


# --- finding what is meant ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def _reading(services: Services) -> AsyncIterator[Any]:
    """One state of the graph, however many statements read it; none of them for longer than searches may take."""
    config = {"statement_timeout": str(services.settings.current.retrieve.statement_timeout_ms)}
    async with services.database.transaction(
        services.principal, readonly=True, isolation="repeatable_read", config=config
    ) as connection:
        yield connection


async def _collection(services: Services, name: str | None) -> Collection:
    return await get_collection(services, name or services.settings.current.rag.collection_name)


async def _standing(services: Services, connection: Any, entity: str, collection: str | None) -> Standing:
    default = services.settings.current.rag.collection_name
    return await resolve_entity(connection, services.principal, entity, collection, default)
