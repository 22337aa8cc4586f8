"""A walk over the knowledge graph: how far it may go, and what it found."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """Bounds of a walk: hops 1 to 3; strongest relations taken of each entity; entities kept per hop; index entries read
    in all; milliseconds after which nothing more is expanded; entities returned, seeds included.

    With `beam` at least `top`, a larger beam returns the same entities.
    """

    hops: int = 2
    per_node_cap: int = 30
    beam: int = 100
    row_budget: int = 20_000
    time_budget_ms: int = 200
    top: int = 50


@dataclass(frozen=True, slots=True)
class Step:
    """One row of rag.graph_walk: an entity, reached at a hop (0: a seed) from its predecessor at the hop before.

    `outgoing`: the relation leads from the predecessor to the entity. `passage_id` proves the relation best.
    """

    entity_id: UUID
    score: float
    hop: int
    predecessor_id: UUID | None
    relation_id: UUID | None
    outgoing: bool | None
    passage_id: UUID | None
    truncated: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation on a path, from the entity before to the one after it; `outgoing`: it is directed so too."""

    relation_id: UUID
    source_id: UUID
    target_id: UUID
    outgoing: bool
    passage_id: UUID | None


@dataclass(frozen=True, slots=True)
class Reached:
    """An entity with the best way to it: no edges for a seed, else edges from a seed to it. `score`: the product of the
    weights of its edges and of its seed."""

    entity_id: UUID
    score: float
    path: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Entities, best first. `truncated`: the budget of time or rows left something out."""

    entities: tuple[Reached, ...]
    truncated: bool = False
