"""Walking through code across files: a step leads on from what a file refers to, to the definition that it means.

Stored are the names that files refer to (rows.py); which definition one means is told by all names of the collection as they are
now (links.py). So a walk goes hop by hop: from definitions and the names that mean them, over the strongest relations, to
definitions, or to names of something outside, where it ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from cairn.domain.code import SEPARATOR
from cairn.domain.document import Collection
from cairn.domain.graph import EntityKey, EntitySummary, WalkLimits, WalkStep, entity_id
from cairn.domain.principal import Principal
from cairn.graph.code.ask import load_links
from cairn.graph.code.links import CodeLinks
from cairn.graph.code.matching import qualify_name
from cairn.graph.code.rows import DEFINED
from cairn.graph.keys import key_of
from cairn.store import graph_code

MOST_NAMED: Final = 500
"""Names that files refer to, by one last name."""


class CodeWalker:
    """Walks of one collection, in one transaction."""

    def __init__(self, connection: Any, principal: Principal, collection_id: UUID, links: CodeLinks) -> None:
        self._connection = connection
        self._principal = principal
        self._collection_id = collection_id
        self._links = links
        self._names: dict[UUID, str] = {}

    async def walk(self, seed: UUID, name: str, limits: WalkLimits) -> list[WalkStep]:
        """As rag.graph_walk, from a definition of that name. Each entity stands at its first hop, with the best way to it."""
        self._names[seed] = name
        steps = {seed: WalkStep(seed, 1.0, 0, None, None, None, None, truncated=False)}
        deadline, budget, frontier = time.monotonic() + limits.time_budget_ms / 1000, limits.row_budget, [seed]
        short = False
        for hop in range(1, limits.hops + 1):
            if not frontier:
                break
            if time.monotonic() > deadline or budget <= 0:
                short = True
                break
            found: dict[UUID, WalkStep] = {}
            rows = await self._rows(frontier, limits.per_node_cap)
            budget -= len(rows)
            for origin, neighbour, relation, outgoing, weight in rows:
                score = steps[origin].score * weight
                if neighbour not in steps and (neighbour not in found or found[neighbour].score < score):
                    found[neighbour] = WalkStep(
                        neighbour, score, hop, origin, relation, outgoing, None, truncated=False
                    )
            kept = sorted(found.values(), key=lambda one: (-one.score, one.entity_id))
            short |= len(kept) > limits.beam
            steps |= {one.entity_id: one for one in kept[: limits.beam]}
            frontier = [one.entity_id for one in kept[: limits.beam] if self._links.kind(self._names[one.entity_id])]
        return [_truncated(one) for one in steps.values()] if short else list(steps.values())

    async def _rows(self, frontier: Sequence[UUID], cap: int) -> list[tuple[UUID, UUID, UUID, bool, float]]:
        """Of each definition the relations to others: origin, neighbour, relation, whether it leads out, weight."""
        origins = await self._referring(frontier)
        rows = await graph_code.find_steps(self._connection, self._principal, list(origins), cap)
        made = []
        for row in rows:
            origin, referred = origins[row.node_id], row.node_id not in self._names
            if referred and row.outgoing:
                continue  # a name says nothing itself
            neighbour = self._meant(row.neighbour_id, row.family, row.normal, origin)
            if neighbour != origin:
                made.append((origin, neighbour, row.relation_id, row.outgoing, row.weight))
        return made

    async def _referring(self, frontier: Sequence[UUID]) -> dict[UUID, UUID]:
        """Definitions, and the names that mean them, each to its definition."""
        origins = {one: one for one in frontier}
        forms = {self._form(one) for one in frontier}
        named = await graph_code.find_by_name(
            self._connection, self._principal, [self._collection_id], sorted(forms), "", MOST_NAMED
        )
        wanted = {self._names[one]: one for one in frontier}
        paths = {name.partition(SEPARATOR)[0] for name in wanted}
        for one in named:
            if one.family != "reference":
                continue
            for path in paths:
                meaning = self._links.meaning(one.normal, path)
                if meaning.certainty == "sure" and meaning.definitions[0] in wanted:
                    origins[one.id] = wanted[meaning.definitions[0]]
                    break
        return origins

    def _form(self, definition: UUID) -> str:
        last = qualify_name(self._names[definition])[-1]
        return key_of(last) or last

    def _meant(self, neighbour: UUID, family: str, normal: str, origin: UUID) -> UUID:
        """The definition that a neighbour is or means, else the neighbour."""
        if family == "reference":
            meaning = self._links.meaning(normal, self._names[origin].partition(SEPARATOR)[0])
            if meaning.certainty == "sure":
                normal = meaning.definitions[0]
                neighbour = entity_id(self._collection_id, EntityKey(DEFINED, normal))
        self._names[neighbour] = normal
        return neighbour


def _truncated(one: WalkStep) -> WalkStep:
    return WalkStep(
        one.entity_id,
        one.score,
        one.hop,
        one.predecessor_id,
        one.relation_id,
        one.outgoing,
        one.passage_id,
        truncated=True,
    )


async def code_walker(
    connection: Any, principal: Principal, collection: Collection, ends: Iterable[EntitySummary]
) -> CodeWalker | None:
    """None where one of the ends is no definition of code: then the graph is walked as it is stored."""
    ends = list(ends)
    if not all(one.kind in _KINDS for one in ends):
        return None
    links = await load_links(connection, principal, collection)
    if not all(links.kind(one.name) for one in ends):
        return None
    return CodeWalker(connection, principal, collection.id, links)


_KINDS: Final = frozenset({"module", "class", "function", "method"})


def relations_by_step(steps: Iterable[WalkStep]) -> Mapping[tuple[UUID, UUID], tuple[UUID, bool]]:
    """From each entity and the next the relation, and whether it leads out of the first."""
    return {
        (one.predecessor_id, one.entity_id): (one.relation_id, bool(one.outgoing))
        for one in steps
        if one.predecessor_id is not None and one.relation_id is not None
    }
