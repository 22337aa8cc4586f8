"""From the words of a question to entities of the graph: by name, by alias, by some of the words of a name.

Every run of words of the question is looked up in its normal form, in one statement. A longer name beats those inside it:
"New York Times" is not New York. What is named in part links the weaker, the more names share its rarest word, so
"Curie" finds Marie Curie and "university" finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final
from uuid import UUID

from cairn.domain.graph import EntityCandidate, EntityLink
from cairn.domain.principal import Principal
from cairn.graph.keys import key_of
from cairn.graph.kinds import ALONE, CALENDAR, STOPS
from cairn.language.names import (
    COMMON_OPENERS,
    NameRules,
    identifiers,
    loud,
    names,
    nouns_of,
    quoted,
    tokens_of,
    without_quoted,
)
from cairn.language.text import fold
from cairn.language.tokens import ALL_STOP_WORDS
from cairn.store import graph

LONGEST: Final = 8
"""Words of a name, as in cairn/language/names.py."""
MOST_WORDS: Final = 80
"""Words of a question that are looked at."""
ALIAS: Final = 0.9
"""Score of an entity called by another name than its own; several share it by how often they are spoken of."""
PARTLY: Final = 0.8
"""Score of one whose name is held but for nothing by words of the question, if no other name has its rarest word."""
LEAST: Final = 0.1
"""Links with less say nothing."""
PER_WORD: Final = 200
"""Names looked at for each form and word."""
_WORD: Final = re.compile(r"[^\s\x00?!,;()\[\]{}\"“”„«»`]+")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Wording:
    """What a question may call entities: normal form to the words that it is made of, and single words that may be part
    of a name, with their places."""

    forms: Mapping[str, tuple[Span, ...]]
    words: Mapping[str, tuple[Span, ...]]


async def find_entities(
    connection: Any, principal: Principal, collection_id: UUID, question: str, *, limit: int = 10
) -> list[EntityLink]:
    """Entities that the question names, surest first; at most `limit`."""
    wording = read_wording(question)
    if not wording.forms:
        return []
    found = await graph.find_candidates(
        connection, principal, collection_id, list(wording.forms), list(wording.words), PER_WORD
    )
    return choose(wording, found)[:limit]


def read_wording(question: str) -> Wording:
    """All runs of up to LONGEST words that are not stop words alone. Pure."""
    known = question.encode(errors="replace").decode()  # no lone surrogates
    words = [match.group().strip(".:'’-") for match in _WORD.finditer(known)][:MOST_WORDS]
    # WHO is no stop word, unless everything is in capitals
    shouted = loud(question)
    stops = [fold(word) in ALL_STOP_WORDS and (shouted or len(word) < 2 or not word.isupper()) for word in words]
    forms: dict[str, list[Span]] = {}
    single: dict[str, list[Span]] = {}
    for first in range(len(words)):
        for last in range(first + 1, min(len(words), first + LONGEST) + 1):
            if stops[first] or stops[last - 1]:
                continue
            run = " ".join(words[first:last])
            for form in {key_of(run), key_of(run, "term"), run}:
                if form:
                    forms.setdefault(form, []).append((first, last))
        if not stops[first] and len(words[first]) > 1:
            for part in key_of(words[first]).split():
                single.setdefault(part, []).append((first, first + 1))
    return Wording(_freeze(forms), _freeze(single))


def _freeze(found: Mapping[str, list[Span]]) -> dict[str, tuple[Span, ...]]:
    return {form: tuple(spans) for form, spans in found.items()}


def choose(wording: Wording, found: Iterable[EntityCandidate]) -> list[EntityLink]:
    """The best link of each entity; what code only refers to is meant where nothing else has the name. Pure."""
    found = list(found)
    defined = {one.form for one in found if not one.reference}
    found = [one for one in found if not (one.reference and one.form in defined)]
    named = [candidate for candidate in found if not candidate.words]
    spans = [span for candidate in named for span in wording.forms.get(candidate.form, ())]
    links = list(_link_names(named, wording, spans)) + list(_link_parts(found, wording, spans))
    best: dict[UUID, EntityLink] = {}
    for one in sorted(links, key=lambda one: (-one.score, -one.passage_count, one.entity_id)):
        best.setdefault(one.entity_id, one)
    return [one for one in best.values() if one.score >= LEAST]


def _link_names(named: Sequence[EntityCandidate], wording: Wording, spans: Sequence[Span]) -> Iterable[EntityLink]:
    """By whole names, but for those inside longer ones."""
    masses: dict[str, int] = {}
    for one in named:
        masses[one.form] = masses.get(one.form, 0) + one.passage_count
    for one in named:
        if all(any(_inside(place, span) for span in spans) for place in wording.forms.get(one.form, ())):
            continue
        score = 1.0 if one.own else ALIAS * sqrt(one.passage_count / max(masses[one.form], 1))
        yield _link(one, score, "name" if one.own else "alias")


def _link_parts(found: Iterable[EntityCandidate], wording: Wording, spans: Sequence[Span]) -> Iterable[EntityLink]:
    """By words that are not part of a name that was found."""
    free = {
        word
        for word, places in wording.words.items()
        if not all(any(_inside(place, span) or place == span for span in spans) for place in places)
    }
    for one in found:
        if one.words > 1 and free & set(one.form.split()):
            yield _link(one, PARTLY * one.matched / one.words / sqrt(max(one.rarity, 1)), "words")


def _link(one: EntityCandidate, score: float, how: Any) -> EntityLink:
    return EntityLink(one.id, one.name, one.kind, one.passage_count, score, how, one.form)


def _inside(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1] and inner != outer


# --- What a question names, as keys of entities. Pure; whoever asks the store looks them up there ---

MOST_KEYS = 20


def keys_of(question: str, language: str | None = None) -> tuple[str, ...]:
    """Keys of the names, identifiers and quoted titles of a question, each once, in its order.

    None: the graph has nothing to begin with, and is not asked (docs/adr/0024-graph-leg.md).
    """
    bare = without_quoted(question)
    tokens = tokens_of(bare)
    found = [*quoted(question), *identifiers(tokens)]
    if not loud(bare):
        reading = NameRules(STOPS, CALENDAR, COMMON_OPENERS, nouns=nouns_of(language))
        found += [one for one in names(tokens, bare, reading) if key_of(one[2]) not in ALONE]
    keys = (key_of(name) for _, _, name in sorted(found))
    return tuple(dict.fromkeys(key for key in keys if len(key) > 1))[:MOST_KEYS]
