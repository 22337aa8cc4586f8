"""What the knowledge graph says about the passages that were found (A6.06): for whoever writes an answer of them."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


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
