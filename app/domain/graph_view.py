"""The knowledge graph as people look at it: entities with their names, relations with what proves them, ways between two."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.graph_link import EntitySummary
from app.domain.passage import Passage


@dataclass(frozen=True, slots=True)
class Proof:
    """What a document says for a relation: `quote` stands verbatim at start..end (code points) of its text."""

    passage_id: UUID
    document_id: UUID
    external_id: str
    title: str
    page: int | None
    headings: tuple[str, ...]
    quote: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between the entities that stand for its ends after merges. `weight` above 0 and below 1: how closely the
    two belong together (rag.association); `proof` is the strongest of `evidence_count`."""

    id: UUID
    kind: str
    source: EntitySummary
    target: EntitySummary
    weight: float
    evidence_count: int
    proof: Proof


@dataclass(frozen=True, slots=True)
class Way:
    """From one entity to another: entities in order, and between each two of them a relation, which may point either way.
    `score`: the product of the weights."""

    entities: tuple[EntitySummary, ...]
    relations: tuple[Relation, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Place:
    """An entity of a neighbourhood: `path` are the relations that lead there from its centre."""

    entity: EntitySummary
    hop: int
    score: float
    path: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """An entity and what is related to it, closest first; the centre is the first place. `truncated`: there is more."""

    collection: str
    places: tuple[Place, ...]
    relations: tuple[Relation, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """An entity, and the collection that it belongs to."""

    entity: EntitySummary
    collection_id: UUID
    collection: str


@dataclass(frozen=True, slots=True)
class EntityName:
    """A name that passages give an entity, and how many do."""

    name: str
    kind: str
    passage_count: int


@dataclass(frozen=True, slots=True)
class Merge:
    """An entity that is taken for another since `merged_at`. Names are None of what no passage mentions any more."""

    id: UUID
    collection: str
    entity_id: UUID
    entity: str | None
    into_id: UUID
    into: str | None
    reason: str
    merged_at: datetime
    undone_at: datetime | None


@dataclass(frozen=True, slots=True)
class MentionedIn:
    """A passage that mentions an entity so many times; 0: only by implication."""

    passage: Passage
    occurrences: int


@dataclass(frozen=True, slots=True)
class EntityDetail:
    """An entity with what was merged into it. Counts are exact, the lists hold the strongest."""

    standing: Standing
    names: tuple[EntityName, ...]
    passages: int
    documents: int
    relation_count: int
    relations: tuple[Relation, ...]
    mentions: tuple[MentionedIn, ...]
    merged: tuple[Merge, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """An entity as exports list it."""

    id: UUID
    name: str
    kind: str
    passage_count: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A relation as exports list it, with the strongest evidence and the document that holds it."""

    id: UUID
    source: UUID
    target: UUID
    kind: str
    weight: float
    evidence_count: int
    document: str
    evidence: str
