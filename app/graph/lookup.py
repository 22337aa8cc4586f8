"""The entity that somebody names, and those with nearly that name where there is none."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any, Final
from uuid import UUID

from app.domain.graph_link import Candidate, EntitySummary
from app.domain.principal import Principal
from app.graph.find import PER_WORD
from app.graph.resolve import key_of
from app.store import graph, graph_view

NEAR: Final = 0.6
"""Likeness (share of letters in common, in order) from which a name may have been meant."""
LOOKED_AT: Final = 500
"""Names that are compared for each beginning."""


async def lookup(connection: Any, principal: Principal, collection_id: UUID, name: str) -> EntitySummary | None:
    """The entity of that name; by a part of its name where only one has all these words ("Curie" for Marie Curie).

    Of several that share a name (code, another name of theirs) its own name decides, then how often each is spoken of.
    """
    forms = [form for form in dict.fromkeys((key_of(name), key_of(name, "term"), name.strip())) if form]
    words = list(dict.fromkeys(key_of(name).split()))
    if not forms:
        return None
    found = await graph.candidates(connection, principal, collection_id, forms, words, PER_WORD)
    called = sorted((one for one in found if not one.words), key=lambda one: (-one.own, -one.passage_count, one.id))
    partly = {one.id: one for one in found if one.words and one.matched == len(words)}
    if called:
        return _summary(called[0])
    return _summary(next(iter(partly.values()))) if len(partly) == 1 else None


def _summary(one: Candidate) -> EntitySummary:
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
