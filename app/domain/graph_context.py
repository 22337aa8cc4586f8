"""What the knowledge graph says about the passages that were found (A6.06): for whoever writes an answer of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
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
