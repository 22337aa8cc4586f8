"""The graph of a document as it is stored: which passage mentions which entity, and proves which relation.

Ids are hashes of what they stand for. So writers need not ask what is there already, an entity that was deleted is the
same one when it comes back, and two databases with the same documents have the same graph.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final
from uuid import UUID

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
    """Rows unique in (passage, entity, name, kind) and in (passage, relation); see app/graph/rows.py."""

    mentions: tuple[MentionRow, ...] = ()
    evidence: tuple[EvidenceRow, ...] = ()


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
