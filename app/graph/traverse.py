"""Walking the graph: from some entities to what is related to them, with the path to each and what proves its steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from app.domain.graph import (
    Neighbourhood,
    Reached,
    WalkEdge,
    WalkLimits,
    WalkStep,
)
from app.store import graph

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
