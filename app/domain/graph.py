"""What a passage says of things and how they are related: the values of the knowledge graph (A6.08).

Extraction makes them, by rules (app/graph/extract.py), from code or with a model; the store resolves and counts them.
Spans are half-open ranges of code points in the document's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EntityKind = Literal[
    "person", "organisation", "place", "name", "term", "topic", "identifier", "module", "class", "function", "method",
]  # fmt: skip
"""`name`: a proper name of which nothing tells what kind it is of; `topic`: a title or heading; `term`: a phrase that
the document keeps using; the last four are code."""

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
