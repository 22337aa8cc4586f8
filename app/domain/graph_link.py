"""Which entities a question names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID

How = Literal["name", "alias", "words", "vector"]
"""By its normal form; by another name of it; by some of the words of a name; by what a name means."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that the words of a question may mean. `form`: the name that was found; `own`: it is the entity's own
    normal form. Found by words alone: `matched` of its `words`, of which the rarest stands in `rarity` names. `reference`:
    code only refers to it."""

    id: UUID
    name: str
    kind: str
    passage_count: int
    form: str
    own: bool
    matched: int
    words: int
    rarity: int
    reference: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """An entity of the collection that a question names. `score` above 0 and at most 1: how surely."""

    entity_id: UUID
    name: str
    kind: str
    passage_count: int
    score: float
    how: How
    form: str


@dataclass(frozen=True, slots=True)
class EntitySummary:
    """An entity as lists show it. `reference`: a name that code of the collection refers to, and does not define."""

    id: UUID
    name: str
    kind: str
    passage_count: int
    reference: bool = False


@dataclass(frozen=True, slots=True)
class Mentioned:
    """A passage that mentions an entity so many times (0: by implication), with the confidence 0 to 1 of the extraction."""

    passage_id: UUID
    occurrences: int
    confidence: float


class LinkRow(NamedTuple):
    """A row of rag.graph_leg (sql/functions/graph_leg.sql says what its nulls mean); words are places in the question."""

    seed_id: UUID | None
    passage_id: UUID
    document_id: UUID
    entity_id: UUID | None
    passages: int | None
    about: int | None
    topic: bool
    said: frozenset[Hashable]
    held: frozenset[Hashable]


@dataclass(frozen=True, slots=True)
class Linkage:
    """What joins passages of a collection. `weights`: idf of the words of the question, by their place in it."""

    weights: Mapping[Hashable, float]
    rows: Sequence[LinkRow]
