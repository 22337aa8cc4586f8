"""Communities: groups of entities that are closely related, and what their passages say of them (A6.08)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Relations:
    """How strongly entities are related. `entities` in order of their ids; `edges`: places of two of them, the smaller
    first, with a weight above 0; each pair once, in order. `unlisted`: places of entities that join others and are no
    members themselves: what code only refers to."""

    entities: Sequence[UUID]
    edges: Sequence[tuple[int, int, float]]
    unlisted: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Group:
    """A community as it is found. `parent`: place of the one that it is part of among all groups; None at level 0.

    `members`: entity to the sum of the weights of its relations within the group. `fingerprint`: equal for equal members
    and relations.
    """

    level: int
    parent: int | None
    members: Mapping[UUID, float]
    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """A community as it is stored. `complete`: every sentence that was chosen for it is still there."""

    id: UUID
    level: int
    parent_id: UUID | None
    members: frozenset[UUID]
    fingerprint: bytes
    complete: bool


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A passage that speaks of members of a community: what it calls them, with their weights there."""

    passage_id: UUID
    document_id: UUID
    start: int
    content: str
    names: tuple[tuple[UUID, str, float], ...]


@dataclass(frozen=True, slots=True)
class SentencePlace:
    """A sentence of a summary, by where it stands: code points of its document's text."""

    passage_id: UUID
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """A sentence of a summary, verbatim, with the passage that it comes from."""

    text: str
    passage_id: UUID
    document_id: UUID
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CommunitySummary:
    """What a community is about. `title`: what a model called it, else its most central entities; `sentences`: verbatim;
    `written`: what a model wrote of it, "" where none did; `size`: entities. `score`: how well it fits what was asked."""

    id: UUID
    collection_id: UUID
    level: int
    parent_id: UUID | None
    title: str
    sentences: tuple[SummarySentence, ...]
    size: int
    written: str = ""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class CommunityKey:
    """Where a community stands in a list: those of a level before their parts, the largest first."""

    level: int
    entity_count: int
    id: UUID


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did: communities that there are, that were written and that went. `overtaken`: a later refresh began
    meanwhile, and does the rest."""

    communities: int = 0
    written: int = 0
    removed: int = 0
    overtaken: bool = False
