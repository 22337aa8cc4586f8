"""The entity that a caller names by its id or its name, and an error that helps where there is none."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any, Final
from uuid import UUID

from cairn.domain.code import SEPARATOR, SymbolQuery
from cairn.domain.document import Collection
from cairn.domain.graph import EntityCandidate, EntitySummary
from cairn.domain.graph_view import Standing
from cairn.domain.ids import as_id
from cairn.domain.principal import Principal
from cairn.errors import NotFoundError
from cairn.graph.code.matching import fits, qualify_name
from cairn.graph.keys import key_of
from cairn.graph.link import PER_WORD
from cairn.language.text import normalise
from cairn.store import collections, graph, graph_view


async def resolve_entity(
    connection: Any, principal: Principal, entity: str, collection: str | None, default: str
) -> Standing:
    """By id in any collection, or in the one that is named; by name in that or the default one. One that was merged into
    another is that other one. Raises NotFoundError, with names that may have been meant (`did_you_mean`)."""
    if (entity_id := as_id(entity)) and (known := await graph_view.load_standing(connection, principal, entity_id)):
        if collection is None or known.collection == collection:
            return known
        raise NotFoundError(f"no entity {entity} in collection {collection[:140]}")
    found = await collection_of(connection, principal, collection or default)
    name = normalise(entity).strip()
    if one := await find_entity(connection, principal, found.id, name):
        return Standing(one, found.id, found.name)
    raise await _explain_unknown(connection, principal, found, name)


async def collection_of(connection: Any, principal: Principal, name: str) -> Collection:
    """Raises NotFoundError."""
    found = await collections.by_name(connection, principal, normalise(name))
    if found is None:
        raise NotFoundError(f"no collection named {name[:140]}; see GET /collections")
    return found


async def _explain_unknown(connection: Any, principal: Principal, collection: Collection, name: str) -> NotFoundError:
    shown = name if len(name) <= 140 else name[:139] + "…"
    near = await near_names(connection, principal, collection.id, name)
    if near:
        detail = f"no entity {shown!r} in {collection.name}; did you mean {', '.join(near)}?"
    elif collection.document_count and not await graph_view.entities(connection, principal, collection.id, limit=1):
        detail = (
            f"collection {collection.name} has no graph: it is older than graphs are, or graph.enabled is off; "
            f"make it with `cairn reindex {collection.name}`"
        )
    else:
        detail = f"no entity {shown!r} in collection {collection.name}"
    return NotFoundError(detail, did_you_mean=near)


# --- The entity that somebody names, and those with nearly that name where there is none ---

NEAR: Final = 0.6
"""Likeness (share of letters in common, in order) from which a name may have been meant."""
LOOKED_AT: Final = 500
"""Names that are compared for each beginning."""


async def find_entity(connection: Any, principal: Principal, collection_id: UUID, name: str) -> EntitySummary | None:
    """The entity of that name; by a part of its name where only one has all these words ("Curie" for Marie Curie).

    Of several that share a name (code, another name of theirs) its own name decides, then how often each is spoken of; what
    code only refers to comes last.
    """
    forms = [form for form in dict.fromkeys((key_of(name), key_of(name, "term"), name.strip())) if form]
    words = list(dict.fromkeys(key_of(name).split()))
    if not forms:
        return None
    found = await graph.find_candidates(connection, principal, collection_id, forms, words, PER_WORD)
    called = [one for one in found if not one.words] or await _symbols(connection, principal, collection_id, name)
    called.sort(key=lambda one: (one.reference, -one.own, not _ends(one.name, name), -one.passage_count, one.id))
    partly = {one.id: one for one in found if one.words and one.matched == len(words)}
    if called:
        return _summary(called[0])
    return _summary(next(iter(partly.values()))) if len(partly) == 1 else None


async def _symbols(connection: Any, principal: Principal, collection_id: UUID, name: str) -> list[EntityCandidate]:
    """Code that a dotted name means: module::symbol, package.module.Class.method, or what code refers to by it."""
    dotted = ".".join(part for part in name.strip().replace("::", ".").split(".") if part)
    bare = dotted.rpartition(".")[2]
    if bare == dotted or any(char.isspace() for char in dotted):
        return []
    found = await graph.find_candidates(connection, principal, collection_id, [key_of(bare) or bare], [], PER_WORD)
    return [
        one
        for one in found
        if (one.name == dotted if one.reference else SEPARATOR in one.name and fits(one.name, SymbolQuery(dotted)))
    ]


def _ends(name: str, spelled: str) -> bool:
    """Whether a name, or the last part of one of code, is spelled so, capitals included."""
    return name == spelled.strip() or f".{'.'.join(qualify_name(name))}".endswith(f".{spelled.strip()}")


def _summary(one: EntityCandidate) -> EntitySummary:
    return EntitySummary(one.id, one.name, one.kind, one.passage_count)


async def near_names(
    connection: Any, principal: Principal, collection_id: UUID, name: str, limit: int = 5
) -> list[str]:
    """Names of the collection that may have been meant: a word of them begins like a word of this one."""
    key = key_of(name)
    scored: dict[str, float] = {}
    for beginning in dict.fromkeys(word[:2] for word in key.split()[:6]):
        for one in await graph_view.entities(connection, principal, collection_id, prefix=beginning, limit=LOOKED_AT):
            scored[one.name] = _likeness(key, key_of(one.name))
    best = sorted((name for name in scored if scored[name] >= NEAR), key=lambda name: (-scored[name], name))
    return best[:limit]


def _likeness(key: str, other: str) -> float:
    """Of two names as wholes, or nearly that where one is all words of the other."""
    if set(key.split()) <= set(other.split()):
        return 0.9
    return SequenceMatcher(None, key, other).ratio()
