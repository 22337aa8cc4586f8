"""Walking the graph: from some entities to what is related to them, with the path to each and what proves its
steps; and the ways between two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final
from uuid import UUID

from cairn.domain.graph import (
    EntitySummary,
    Neighbourhood,
    Reached,
    WalkEdge,
    WalkLimits,
    WalkStep,
)
from cairn.domain.graph_view import Relation, Way
from cairn.domain.principal import Principal
from cairn.graph.code.walk import CodeWalker, relations_by_step
from cairn.store import graph, graph_view

DEFAULT_LIMITS = WalkLimits()


async def traverse(
    connection: Any, collection_id: UUID, seeds: Mapping[UUID, float], limits: WalkLimits = DEFAULT_LIMITS
) -> Neighbourhood:
    """What surrounds the seeds (entity id to weight), best first; the seeds are in it. One statement."""
    return neighbourhood(await graph.walk(connection, collection_id, seeds, limits), limits.top)


def neighbourhood(steps: Iterable[WalkStep], top: int) -> Neighbourhood:
    """The best way to each entity, of the rows of a walk. Pure."""
    rows = {(step.entity_id, step.hop): step for step in steps}
    best: dict[UUID, WalkStep] = {}
    for step in sorted(rows.values(), key=lambda step: (-step.score, step.hop, step.entity_id)):
        best.setdefault(step.entity_id, step)
    reached = tuple(Reached(step.entity_id, step.score, _path(step, rows)) for step in list(best.values())[:top])
    return Neighbourhood(reached, any(step.truncated for step in rows.values()))


def _path(step: WalkStep, rows: Mapping[tuple[UUID, int], WalkStep]) -> tuple[WalkEdge, ...]:
    """From its seed to the entity: a predecessor stands at the hop before."""
    edges: list[WalkEdge] = []
    while step.predecessor_id is not None and step.relation_id is not None:
        edges.append(
            WalkEdge(step.relation_id, step.predecessor_id, step.entity_id, bool(step.outgoing), step.passage_id)
        )
        step = rows[step.predecessor_id, step.hop - 1]
    return tuple(reversed(edges))


# --- How two entities are related: the best ways from one to the other, with what proves each step ---

CONSIDERED: Final = 1000
"""Ways that are looked at."""
LIMITS: Final = WalkLimits(per_node_cap=100, beam=200, top=1000)


@dataclass(frozen=True, slots=True)
class Trail:
    """Entities from the one to the other. `score`: the product of the weights of the relations between them."""

    nodes: tuple[UUID, ...]
    score: float


async def find_ways(
    connection: Any,
    principal: Principal,
    collection_id: UUID,
    source: UUID,
    target: UUID,
    *,
    hops: int,
    limit: int,
    most: int | None = None,
    code: CodeWalker | None = None,
) -> tuple[Way, ...]:
    """The ways of at most so many hops (1 to 3): short before long, since a step less is a doubt less, then by weight.
    `most`: passages that may mention what stands on the way; what more do says nothing of either end. Nor does a name that
    code at both of them refers to."""  # fmt: skip
    if code:
        ends = await graph.load_entities(connection, principal, [source, target])
        there = await code.walk(source, ends[source].name, _limits(hops - 1))
        back = await code.walk(target, ends[target].name, _limits(1))
    else:
        there = await graph.walk(connection, collection_id, {source: 1.0}, _limits(hops - 1))
        back = await graph.walk(connection, collection_id, {target: 1.0}, _limits(1))
    trails = join_trails(there, back, hops)[:CONSIDERED]
    names = await graph.load_entities(connection, principal, list({node for trail in trails for node in trail.nodes}))
    joining = {one.id for one in names.values() if not one.reference and (most is None or one.passage_count <= most)}
    trails = [one for one in trails if joining.issuperset(one.nodes[1:-1])]
    if code:
        return await _describe_code(connection, principal, trails[:limit], names, [*there, *back])
    return await _describe_ways(connection, principal, trails[:limit], names)


def _limits(hops: int) -> WalkLimits:
    return WalkLimits(
        max(hops, 1), LIMITS.per_node_cap, LIMITS.beam, LIMITS.row_budget, LIMITS.time_budget_ms, LIMITS.top
    )


def join_trails(there: Iterable[WalkStep], back: Iterable[WalkStep], hops: int) -> list[Trail]:
    """What two walks make together: ways of at most so many steps on which nothing stands twice. Pure."""
    ahead = {(step.entity_id, step.hop): step for step in there}
    behind = {(step.entity_id, step.hop): step for step in back}
    ends: dict[UUID, list[WalkStep]] = {}
    for step in behind.values():
        ends.setdefault(step.entity_id, []).append(step)
    found: dict[tuple[UUID, ...], float] = {}
    for step in ahead.values():
        for end in ends.get(step.entity_id, ()):
            nodes = (*_nodes(step, ahead), *reversed(_nodes(end, behind)[:-1]))
            if 1 < len(nodes) <= hops + 1 and len(set(nodes)) == len(nodes):
                found[nodes] = max(found.get(nodes, 0.0), step.score * end.score)
    trails = [Trail(nodes, score) for nodes, score in found.items()]
    return sorted(trails, key=lambda trail: (len(trail.nodes), -trail.score, trail.nodes))


def _nodes(step: WalkStep, rows: Mapping[tuple[UUID, int], WalkStep]) -> tuple[UUID, ...]:
    """From the seed to the step's entity: a predecessor stands at the hop before."""
    nodes = [step.entity_id]
    while step.predecessor_id is not None:
        nodes.append(step.predecessor_id)
        step = rows[step.predecessor_id, step.hop - 1]
    return tuple(reversed(nodes))


async def _describe_ways(
    connection: Any, principal: Principal, trails: Sequence[Trail], names: Mapping[UUID, EntitySummary]
) -> tuple[Way, ...]:
    """With names, and between each two entities the relation that says most."""
    pairs = list(dict.fromkeys(pair for trail in trails for pair in pairwise(trail.nodes)))
    chosen = await graph_view.find_between(connection, principal, pairs)
    relations = await graph_view.relations(connection, principal, chosen)
    by_pair = {frozenset((one.source.id, one.target.id)): one for one in relations.values()}
    return tuple(
        Way(
            tuple(names[node] for node in trail.nodes),
            tuple(by_pair[frozenset(pair)] for pair in pairwise(trail.nodes)),
            trail.score,
        )
        for trail in trails
    )


async def _describe_code(
    connection: Any,
    principal: Principal,
    trails: Sequence[Trail],
    names: Mapping[UUID, EntitySummary],
    steps: Iterable[WalkStep],
) -> tuple[Way, ...]:
    """The same where a step leads to what a name means: the relation is shown between the two definitions."""
    taken = relations_by_step(steps)
    taken = {**{(b, a): (relation, not out) for (a, b), (relation, out) in taken.items()}, **taken}
    known = await graph_view.relations(connection, principal, [relation for relation, _ in taken.values()])
    return tuple(
        Way(
            tuple(names[node] for node in trail.nodes),
            tuple(show_between(known, taken[pair], names[pair[0]], names[pair[1]]) for pair in pairwise(trail.nodes)),
            trail.score,
        )
        for trail in trails
    )


def show_between(
    known: Mapping[UUID, Relation], taken: tuple[UUID, bool], one: EntitySummary, other: EntitySummary
) -> Relation:
    """A stored relation as it stands between two entities. `taken`: its id, and whether it leads from the one to the other."""
    relation, outgoing = taken
    source, target = (one, other) if outgoing else (other, one)
    return replace(known[relation], source=source, target=target)
