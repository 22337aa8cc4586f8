"""Entities: what the knowledge graph knows of the names in a question, and the passages that prove it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from pydantic import Field

from cairn.domain.graph import EntityLink, Neighbourhood, WalkLimits
from cairn.domain.passage import Passage
from cairn.errors import CairnError
from cairn.graph.link import find_entities
from cairn.graph.walk import traverse
from cairn.settings import GraphSettings
from cairn.store import collections, graph, tools
from cairn.strategies.agents.tools.show import numbered, quoted
from cairn.strategies.agents.tools.tool import Arguments, Maybe, Text, Tool, Toolbox, ToolResult

SEEDS = 5
RELATIONS = 12
"""That an observation tells."""
PASSAGES = 5
SURE = 0.3
"""Score of a link from which a name means the entity."""


class EntityQuery(Arguments):
    query: Text = Field(description="names, or a question that has them")


class Name(Arguments):
    name: Text = Field(description="the name of one person, place, thing or function")


class ComparedNames(Arguments):
    entities: list[Text] = Field(description="two to four names", min_length=2, max_length=4)
    aspect: Maybe = Field("", description="in what respect")


@dataclass(frozen=True, slots=True)
class StatedRelation:
    """Two entities by name, with the passage that says so best."""

    source: str
    kind: str
    target: str
    passage_id: UUID | None

    @property
    def line(self) -> str:
        return f"{quoted(self.source, 80)} {self.kind} {quoted(self.target, 80)}"


@dataclass(frozen=True, slots=True)
class KnownEntities:
    """What the graph holds around some entities, and the passages that the question may see of it."""

    links: tuple[EntityLink, ...] = ()
    relations: tuple[StatedRelation, ...] = ()
    passages: tuple[Passage, ...] = ()


async def known(toolbox: Toolbox, text: str, *, seeds: int = SEEDS) -> KnownEntities:
    """Entities that a text names, what is related to them, and passages that prove it; nothing where none is known."""
    library, settings = toolbox.run.deps.library, toolbox.run.settings.graph
    async with library.database.transaction(library.principal, readonly=True) as connection:
        collection = await collections.by_name(connection, library.principal, toolbox.collection)
        if collection is None:
            return KnownEntities()
        found = await find_entities(connection, library.principal, collection.id, text, limit=seeds)
        links = [link for link in found if link.score >= SURE]
        if not links:
            return KnownEntities()
        around = await traverse(
            connection, collection.id, {one.entity_id: one.score for one in links}, _limits(settings)
        )
        names = await graph.load_entities(connection, library.principal, [one.entity_id for one in around.entities])
        edges = [edge for reached in around.entities for edge in reached.path]
        kinds = await tools.relation_kinds(connection, library.principal, [edge.relation_id for edge in edges])
        said = await graph.passages(connection, library.principal, [one.entity_id for one in links], PASSAGES)
        wanted = [edge.passage_id for edge in edges if edge.passage_id][:20]
        wanted = [one.passage_id for link in links for one in said.get(link.entity_id, [])][:20] + wanted
        scope = await tools.in_scope(connection, library.principal, toolbox.collection, toolbox.filters, wanted)
    relations = _relations(around, {key: one.name for key, one in names.items()}, kinds, scope)
    seen = [relation.passage_id for relation in relations if relation.passage_id]
    ids = [key for key in dict.fromkeys([*seen[:PASSAGES], *wanted]) if key in scope][:PASSAGES]
    passages = tuple(await library.passages(ids))
    return KnownEntities(tuple(links), relations, passages) if passages else KnownEntities()


def _limits(settings: GraphSettings) -> WalkLimits:
    return WalkLimits(
        settings.hops, settings.per_node_cap, settings.beam, settings.row_budget, settings.time_budget_ms, settings.top
    )


def _relations(
    around: Neighbourhood, names: dict[UUID, str], kinds: dict[UUID, str], scope: dict[UUID, int]
) -> tuple[StatedRelation, ...]:
    """Those that a passage in scope proves, best first, each once."""
    found: dict[UUID, StatedRelation] = {}
    for reached in around.entities:
        for edge in reached.path:
            ends = (edge.source_id, edge.target_id) if edge.outgoing else (edge.target_id, edge.source_id)
            if edge.passage_id in scope and all(end in names for end in ends) and edge.relation_id in kinds:
                relation = StatedRelation(names[ends[0]], kinds[edge.relation_id], names[ends[1]], edge.passage_id)
                found.setdefault(edge.relation_id, relation)
    return tuple(found.values())[:RELATIONS]


# --- tools ----------------------------------------------------------------------------------------------------------


async def retrieve_graph(toolbox: Toolbox, asked: EntityQuery) -> ToolResult:
    """Entities, relations between them, and what proves them."""
    found = await known(toolbox, asked.query)
    if not found.links:
        return ToolResult(
            f"The knowledge graph of the documents knows no entity named in {quoted(asked.query)}.", data=[]
        )
    return ToolResult(_told(toolbox, found), data=_data(found), passages=found.passages)


async def lookup_entity(toolbox: Toolbox, asked: Name) -> ToolResult:
    """One entity: what it is, and what the documents say of it."""
    found = await known(toolbox, asked.name, seeds=1)
    if not found.links:
        return ToolResult(f"The knowledge graph of the documents knows no entity {quoted(asked.name)}.", data=None)
    return ToolResult(_told(toolbox, found), data=_data(found), passages=found.passages)


async def compare_entities(toolbox: Toolbox, asked: ComparedNames) -> ToolResult:
    """What the documents say of each, side by side: what the graph proves, and what a search for it finds."""

    async def about(name: str) -> tuple[KnownEntities, tuple[Passage, ...]] | CairnError:
        query = f"{name} {asked.aspect}".strip()
        try:
            searched = await toolbox.run.search(query, 3, purpose="tool", filters=toolbox.filters)
            return await known(toolbox, name, seeds=1), searched.passages
        except CairnError as error:
            return error

    sides = await asyncio.gather(*map(about, asked.entities))
    told, passages, data = [], list[Passage](), dict[str, list[str]]()
    for name, side in zip(asked.entities, sides, strict=True):
        if isinstance(side, CairnError):  # the others can be told of all the same
            toolbox.run.record.degraded.append(f"compare_entities: {name}: {side.code}: {side.detail}")
            told.append(f"{quoted(name, 80)} could not be looked up this time.")
            continue
        graphed, searched = side
        data[name] = [passage.content for passage in searched]
        both = _unique([*searched, *graphed.passages[:2]])
        passages += both
        relations = "".join(f"\n- {relation.line}" for relation in graphed.relations[:4])
        body = numbered(toolbox, both, 500) or f"The documents contain no passage about {quoted(name)}."
        told.append(f"{quoted(name, 80)}:{relations}\n{body}")
    return ToolResult("\n\n".join(told), data=data if passages else {}, passages=_unique(passages))


def _told(toolbox: Toolbox, found: KnownEntities) -> str:
    lines = [f"{quoted(one.name, 80)}: {one.kind}, in {one.passage_count} passages" for one in found.links]
    lines += [f"- {relation.line}" for relation in found.relations]
    return "\n".join([*lines, numbered(toolbox, found.passages, 400)])


def _data(found: KnownEntities) -> list[dict[str, str]]:
    return [{"name": one.name, "kind": one.kind} for one in found.links]


def _unique(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    return tuple({passage.passage_id: passage for passage in passages}.values())


TOOLS = (
    Tool("retrieve_graph", "search", "how the people, places and things of a question are related", EntityQuery, retrieve_graph),
    Tool("lookup_entity", "entity", "what is known of one name", Name, lookup_entity),
    Tool("compare_entities", "entity", "what the documents say of several names, side by side", ComparedNames, compare_entities),
)  # fmt: skip
