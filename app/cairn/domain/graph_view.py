"""The knowledge graph as people look at it: entities with their names, relations with what proves them, ways between two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from cairn.domain.code import CodeLines
from cairn.domain.graph import EntitySummary
from cairn.domain.passage import Passage


@dataclass(frozen=True, slots=True)
class Proof:
    """What a document says for a relation: `quote` stands verbatim at start..end (code points) of its text. `lines`: of code."""

    passage_id: UUID
    document_id: UUID
    external_id: str
    title: str
    page: int | None
    headings: tuple[str, ...]
    quote: str
    start: int
    end: int
    lines: CodeLines | None = None


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
class WayPlace:
    """An entity of a neighbourhood: `path` are the relations that lead there from its centre."""

    entity: EntitySummary
    hop: int
    score: float
    path: tuple[UUID, ...]
    lines: CodeLines | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """An entity and what is related to it, closest first; the centre is the first place. `truncated`: there is more."""

    collection: str
    places: tuple[WayPlace, ...]
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
    from_id: UUID
    from_name: str | None
    into_id: UUID
    into_name: str | None
    reason: str
    merged_at: datetime
    undone_at: datetime | None


@dataclass(frozen=True, slots=True)
class MentionedIn:
    """A passage that mentions an entity so many times; 0: only by implication."""

    passage: Passage
    occurrences: int
    lines: CodeLines | None = None


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
    lines: CodeLines | None = None


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An entity as exports list it."""

    id: UUID
    name: str
    kind: str
    passage_count: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A relation as exports list it, with the strongest evidence and the document that holds it. `refers_to`: the name in code
    that stands at its end, "" for anything else; `source_name`: the full name at its beginning."""

    id: UUID
    source: UUID
    target: UUID
    kind: str
    weight: float
    evidence_count: int
    document: str
    evidence: str
    refers_to: str = ""
    source_name: str = ""


# --- Communities: groups of entities that are closely related, and what their passages say of them ---


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
class StoredCommunity:
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


@dataclass(frozen=True, slots=True)
class EntityCount:
    """An entity, and how many documents and passages speak of it."""

    name: str
    kind: str
    documents: int
    passages: int


@dataclass(frozen=True, slots=True)
class EntityMentionedIn:
    """A document that speaks of an entity: in so many passages, so many times."""

    external_id: str
    title: str
    passages: int
    occurrences: int
