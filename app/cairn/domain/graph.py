"""What a passage says of things and how they are related: the values of the knowledge graph.

Extraction makes them, by rules (cairn/graph/extract.py), from code or with a model; the store resolves and counts them.
Spans are half-open ranges of code points in the document's text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple
from uuid import UUID

from cairn.domain.code import CodeCall

EntityKind = Literal[
    "person", "organisation", "place", "name", "term", "topic", "identifier", "module", "class", "function", "method",
]  # fmt: skip
"""`name`: a proper name of which nothing tells what kind it is of; `topic`: a title or heading; `term`: a phrase that
the document keeps using, or that is written like a name and shows no sign of being one; the last four are code."""

AliasReason = Literal["acronym", "surname", "title", "model"]


@dataclass(frozen=True, slots=True)
class EntityMention:
    """An entity where a passage speaks of it.

    `name` is the full name as the document spells it (a surname stands for the person it belongs to), `start` to `end`
    what stands in the text; the range is empty at the passage's beginning where only its title or heading names it.
    `confidence` 0..1.
    """

    name: str
    kind: EntityKind
    start: int
    end: int
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class RelationMention:
    """Two entities, by the names of their mentions, that stand in a relation in one place.

    `kind` is `co_occurs` (no direction), or what the words between them say: `born_in`, `founded_by`, `capital_of`.
    `start` to `end` is the evidence: the sentence, or the whole passage. `weight` 0..1.
    """

    source: str
    kind: str
    target: str
    start: int
    end: int
    weight: float


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of an entity that its document gives: `alias` stands for `name`."""

    name: str
    alias: str
    reason: AliasReason


@dataclass(frozen=True, slots=True)
class Extraction:
    """What one passage contributes to the graph."""

    entities: tuple[EntityMention, ...] = ()
    relations: tuple[RelationMention, ...] = ()
    aliases: tuple[Alias, ...] = ()


# --- The graph of a document as it is stored: which passage mentions which entity, and proves which relation ---

SYMMETRIC: Final = frozenset({"co_occurs"})
"""Kinds of relations without a direction."""


@dataclass(frozen=True, slots=True)
class EntityKey:
    """What makes mentions one entity of a collection: the normal form of a name, within a family of kinds."""

    family: str
    normal: str


@dataclass(frozen=True, slots=True)
class MentionRow:
    """An entity in a passage by one of its names. `form` is the normal form of `name`: that of an acronym is not that of
    the entity. The span is that of the first occurrence, in code points of the document text; `confidence` 0 to 1."""

    passage_id: UUID
    entity: EntityKey
    name: str
    kind: str
    form: str
    start: int
    end: int
    occurrences: int = 1
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """A relation in a passage that mentions both of its ends. `strength`: how much the passage says for it, 1 is a plain
    statement; the span is what says it, in code points of the document text."""

    passage_id: UUID
    source: EntityKey
    kind: str
    target: EntityKey
    start: int
    end: int
    strength: float = 1.0


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """Rows unique in (passage, entity, name, kind) and in (passage, relation); see cairn/graph/rows.py. `calls`: every call of a
    file of code; None where its code was not read."""

    mentions: tuple[MentionRow, ...] = ()
    evidence: tuple[EvidenceRow, ...] = ()
    calls: tuple[CodeCall, ...] | None = None


NO_GRAPH: Final = DocumentGraph()


def entity_id(collection_id: UUID, key: EntityKey) -> UUID:
    """The id of an entity of a collection."""
    return _hashed(collection_id.bytes, f"{key.family}\0{key.normal}".encode())


def relation_id(source_id: UUID, kind: str, target_id: UUID) -> UUID:
    """The id of a relation, which follows from its ends."""
    return _hashed(source_id.bytes, target_id.bytes, kind.encode())


def _hashed(*parts: bytes) -> UUID:
    """A UUID of version 8 (RFC 9562): 122 bits of BLAKE2b."""
    digest = int.from_bytes(hashlib.blake2b(b"".join(parts), digest_size=16).digest(), "big")
    return UUID(int=digest & ~(0xF << 76) & ~(0b11 << 62) | 0x8 << 76 | 0b10 << 62)


# --- Which entities a question names ---

How = Literal["name", "alias", "words"]
"""By its normal form; by another name of it; by some of the words of a name; by what a name means."""


@dataclass(frozen=True, slots=True)
class EntityCandidate:
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
class EntityLink:
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
    """An entity as lists show it. `reference`: a name that code of the collection refers to, and does not define. `certainty`:
    how sure its mentions are that it is one, 4 to 1, where a list orders by it; else 0."""

    id: UUID
    name: str
    kind: str
    passage_count: int
    reference: bool = False
    certainty: int = field(default=0, compare=False)


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


# --- A walk over the knowledge graph: how far it may go, and what it found ---


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
class WalkStep:
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
class WalkEdge:
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
    path: tuple[WalkEdge, ...]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Entities, best first. `truncated`: the budget of time or rows left something out."""

    entities: tuple[Reached, ...]
    truncated: bool = False


# --- What the knowledge graph says about the passages that were found: for whoever writes an answer o ---


@dataclass(frozen=True, slots=True)
class ContextEntity:
    """An entity that led to passages of the result; `passages` are those that mention it, in the order of the result."""

    name: str
    kind: str
    passages: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class ContextRelation:
    """Two entities, by name, and how they are related; `passages` prove it, those that prove it best first."""

    source: str
    kind: str
    target: str
    passages: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class ContextCommunity:
    """A group of related entities, and what their passages say."""

    title: str
    summary: str


@dataclass(frozen=True, slots=True)
class GraphContext:
    """What matters most comes first."""

    entities: tuple[ContextEntity, ...] = ()
    relations: tuple[ContextRelation, ...] = ()
    communities: tuple[ContextCommunity, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entities or self.relations or self.communities)


def joined_contexts(contexts: Iterable[GraphContext | None]) -> GraphContext | None:
    """What several searches have of the graph, as one: each thing once, with all passages that prove it."""
    entities: dict[tuple[str, str], ContextEntity] = {}
    relations: dict[tuple[str, str, str], ContextRelation] = {}
    communities: dict[ContextCommunity, None] = {}
    for context in filter(None, contexts):
        for entity in context.entities:
            known = entities.get((entity.name, entity.kind), entity)
            entities[entity.name, entity.kind] = replace(known, passages=_all(known.passages, entity.passages))
        for relation in context.relations:
            key = relation.source, relation.kind, relation.target
            before = relations.get(key, relation)
            relations[key] = replace(before, passages=_all(before.passages, relation.passages))
        communities.update(dict.fromkeys(context.communities))
    return GraphContext(tuple(entities.values()), tuple(relations.values()), tuple(communities)) or None


def _all(some: tuple[UUID, ...], more: tuple[UUID, ...]) -> tuple[UUID, ...]:
    return tuple(dict.fromkeys((*some, *more)))
