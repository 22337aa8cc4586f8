"""Which communities a question that asks for an overview is about (docs/adr/0026-communities.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from cairn.domain.graph_view import CommunitySummary
from cairn.domain.principal import Principal
from cairn.graph.keys import key_of
from cairn.language.text import fold
from cairn.language.tokens import ALL_STOP_WORDS
from cairn.store import communities

PER_WORD: Final = 200
"""Entities looked at for each word."""
CANDIDATES: Final = 4
"""Times as many communities as wanted are compared by their words."""
SAID: Final = 0.5
"""Worth of a word of the question in title or summary, beside the weight of the entities that it names."""
MOST_WORDS: Final = 40
_WORD: Final = re.compile(r"\w+")


async def find_communities_about(
    connection: Any,
    principal: Principal,
    collection_ids: Sequence[UUID],
    *,
    text: str = "",
    limit: int = 10,
) -> list[CommunitySummary]:
    """The communities of these collections that the words of a text belong to, best first, none inside another one of
    them; the largest where nothing is asked. Empty where nothing fits."""
    words = list(dict.fromkeys(_WORD.findall(text)))[:MOST_WORDS]
    said = {fold(word) for word in words} - ALL_STOP_WORDS
    if not said:
        scores = await communities.find_largest(connection, principal, collection_ids, limit)
        return await communities.load_summaries(connection, principal, scores)
    forms = sorted({part for word in words if fold(word) in said for part in key_of(word).split()})
    scores = await communities.find_matching(
        connection, principal, collection_ids, forms, per_word=PER_WORD, limit=CANDIDATES * limit
    )
    found = await communities.load_summaries(connection, principal, scores)
    return _apart(sorted((_score(one, said) for one in found), key=lambda one: (-one.score, one.id)), limit)


def _score(one: CommunitySummary, said: set[str]) -> CommunitySummary:
    text = " ".join([one.title, one.written, *(sentence.text for sentence in one.sentences)])
    common = said & {fold(word) for word in _WORD.findall(text)}
    return replace(one, score=one.score + SAID * len(common))


def _apart(found: Sequence[CommunitySummary], limit: int) -> list[CommunitySummary]:
    """Without those that are part of a better one, or have one as a part."""
    parents: Mapping[UUID, UUID | None] = {one.id: one.parent_id for one in found}
    chosen: list[CommunitySummary] = []
    taken: set[UUID] = set()
    above: set[UUID] = set()
    for one in found:
        line = [one.id]
        while (parent := parents.get(line[-1])) is not None:
            line.append(parent)
        if taken & set(line) or one.id in above:
            continue
        chosen.append(one)
        taken.add(one.id)
        above |= set(line)
    return chosen[:limit]
