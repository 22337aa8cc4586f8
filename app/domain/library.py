"""What a collection holds, as such."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.passage import Passage


@dataclass(frozen=True, slots=True)
class Listed:
    """A document as a list names it; `pages` is None where it has none."""

    id: UUID
    external_id: str
    title: str
    media_type: str
    language: str | None
    pages: int | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Holdings:
    """Counts of documents that are indexed, by media type and language ("" where unknown); `unready` are the others."""

    documents: int
    unready: int
    passages: int
    media_types: Mapping[str, int]
    languages: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """Passages in reading order, and how many there are in all."""

    passages: tuple[Passage, ...]
    total: int


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
