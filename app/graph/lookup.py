"""The entity that somebody names, and those with nearly that name where there is none."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any, Final
from uuid import UUID

from app.domain.code import SEPARATOR, SymbolQuery
from app.domain.graph import EntityCandidate, EntitySummary
from app.domain.principal import Principal
from app.graph.find import PER_WORD
from app.graph.resolve import key_of
from app.graph.symbol_names import fits, qualified
from app.store import graph, graph_view

NEAR: Final = 0.6
"""Likeness (share of letters in common, in order) from which a name may have been meant."""
LOOKED_AT: Final = 500
"""Names that are compared for each beginning."""


async def lookup(connection: Any, principal: Principal, collection_id: UUID, name: str) -> EntitySummary | None:
    """The entity of that name; by a part of its name where only one has all these words ("Curie" for Marie Curie).

    Of several that share a name (code, another name of theirs) its own name decides, then how often each is spoken of; what
    code only refers to comes last.
    """
    forms = [form for form in dict.fromkeys((key_of(name), key_of(name, "term"), name.strip())) if form]
    words = list(dict.fromkeys(key_of(name).split()))
    if not forms:
        return None
    found = await graph.candidates(connection, principal, collection_id, forms, words, PER_WORD)
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
    found = await graph.candidates(connection, principal, collection_id, [key_of(bare) or bare], [], PER_WORD)
    return [
        one
        for one in found
        if (one.name == dotted if one.reference else SEPARATOR in one.name and fits(one.name, SymbolQuery(dotted)))
    ]


def _ends(name: str, spelled: str) -> bool:
    """Whether a name, or the last part of one of code, is spelled so, capitals included."""
    return name == spelled.strip() or f".{'.'.join(qualified(name))}".endswith(f".{spelled.strip()}")


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
