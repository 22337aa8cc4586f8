"""Whether a sentence ties together what its sources tie together: a number to whom it belongs, a value to its row, who does
what to whom. Each function returns what is wrong, or "". Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Final

from cairn.answer.ground.facts import Readings, holds_date
from cairn.answer.ground.places import (
    Cell,
    SourcePlace,
    capital_stems,
    clauses_of,
    is_subject,
    place_of,
    places_of,
    stem,
    subject_stems,
)
from cairn.language.dates import is_month
from cairn.language.lexicon import every
from cairn.language.numbers import Quantity, rounds, same
from cairn.language.text import fold
from cairn.language.tokens import all_terms

ALIKE: Final = 0.65  # measured: tests/unit/test_edges_ground.py
"""Share of what a sentence is about (by rarity) that a place has, to speak of the same. Of .55, .65 and .75 this one catches all
perturbed sentences of the tests and has the largest area on WiCE; docs/adr/0049-numbers-win.md."""
_PRONOUNS: Final = every(lambda one: one.graph.pronouns)
_SYMMETRIC: Final = every(lambda one: one.claims.symmetric)
_PREPOSITIONS: Final = every(lambda one: one.graph.place_prepositions)
_PASSIVE: Final = every(lambda one: one.claims.passive)


@dataclass(frozen=True, slots=True)
class SourceText:
    """A sentence or row of a source, with the sentence before it and the words of its titles."""

    text: str
    before: str
    around: frozenset[str]
    cells: tuple[Cell, ...] = ()


# --- numbers and dates --------------------------------------------------------------------------------------------------

Fact = Quantity | Readings


Weigh = Callable[[str], float]
"""How rare a stem is in the sources."""


def other_fact(sentence: str, nearest: Sequence[SourceText], weigh: Weigh) -> str:
    """A number or date for which a place that is more like what it is said of has another: "Bob has 30 days", where the
    sources say "Alice 30 days" and "Bob 45"."""
    places = [(place, _more(place, source)) for source in nearest for place in places_of(source.text, source.cells)]
    pieces = clauses_of(sentence)
    for piece in (sentence, *pieces) if len(pieces) > 1 else (sentence,):
        said = place_of(piece)
        facts: list[Fact] = [*dict.fromkeys(said.quantities), *said.dates]
        for fact in facts:
            if found := _rival(fact, [one for one in facts if one is not fact], said, places, weigh):
                return found
    return ""


def _more(place: SourcePlace, source: SourceText) -> frozenset[str]:
    """What a place is about: also its titles, and what stood before where it begins with a pronoun."""
    words = all_terms(source.text[:40])
    carried = subject_stems(source.before) if words and words[0] in _PRONOUNS else frozenset()
    return place.stems | carried | source.around


def _rival(
    fact: Fact,
    others: Sequence[Fact],
    said: SourcePlace,
    places: Sequence[tuple[SourcePlace, frozenset[str]]],
    weigh: Weigh,
) -> str:
    if isinstance(fact, Quantity) and not fact.kind:
        return ""
    wanted = said.stems
    if len(wanted) + len(others) < 2 and not (wanted and wanted <= said.names):
        return ""
    weights = {one: weigh(one) for one in sorted(wanted)}
    each = sum(weights.values()) / len(weights) if weights else 1.0
    whole = sum(weights.values()) + each * len(others)
    holding, against, found = 0.0, 0.0, ""
    for place, about in places:
        share = sum(value for one, value in weights.items() if one in about)
        share = (share + each * sum(_holds(place, other) for other in others)) / whole
        if _holds(place, fact):
            holding = max(holding, share)
        elif share > against and share >= ALIKE and (instead := _instead(fact, others, place)):
            against, found = share, instead
    return f"{_shown(fact)} where the source says {found}" if against > holding else ""


def _holds(place: SourcePlace, fact: Fact) -> bool:
    if isinstance(fact, Quantity):
        return any(same(fact, one) or rounds(fact, one) for one in place.quantities)
    return holds_date(fact, place.dates, place.quantities)


def _instead(fact: Fact, others: Sequence[Fact], place: SourcePlace) -> str:
    """What the place has of the same kind, that the sentence does not have."""
    if not isinstance(fact, Quantity):
        dates = [one for one in place.dates if not any(_same_fact(one, other) for other in others)]
        return dates[0][0].text if dates else ""
    if place.cell and any(isinstance(one, Quantity) and one.kind == fact.kind and _holds(place, one) for one in others):
        return ""  # its value is said as well: the other number is the value of another cell
    fitting = [
        one
        for one in place.quantities
        if (one.kind == fact.kind or (one.value == fact.value and one.unit and fact.unit))
        and not any(_same_fact(one, other) for other in others)
    ]
    return str(fitting[0]) if fitting else ""


def _same_fact(one: Fact, other: Fact) -> bool:
    if isinstance(one, Quantity):
        return isinstance(other, Quantity) and (same(one, other) or rounds(other, one))
    return not isinstance(other, Quantity) and any(a.fits(b) for a in one for b in other)


def _shown(fact: Fact) -> str:
    return str(fact) if isinstance(fact, Quantity) else fact[0].text


# --- values of tables -----------------------------------------------------------------------------------------------------

LONGEST_VALUE: Final = 4  # bound: tests/unit/test_edges_ground.py
"""Words of a cell that is compared."""


def other_value(sentence: str, rows: Sequence[SourceText]) -> str:
    """A value of another row in the same column, where the row that the sentence names has its own."""
    said = subject_stems(sentence)
    meant = [row for row in rows if row.cells and (label := subject_stems(row.cells[0].label)) and label <= said]
    held = frozenset(one for row in meant for cell in row.cells for one in subject_stems(cell.value))
    for row in meant:
        for cell in row.cells:
            own = subject_stems(cell.value)
            if not own or own <= said or len(cell.value.split()) > LONGEST_VALUE:
                continue
            for other in (one for each in rows for one in each.cells if _beside(one, cell)):
                its = subject_stems(other.value)
                if its and its <= said and not its <= held and len(other.value.split()) <= LONGEST_VALUE:
                    return f"“{other.value}” where the table says “{cell.value}”"
    return ""


def _beside(one: Cell, other: Cell) -> bool:
    return (one.table, one.header) == (other.table, other.header) and one.label != other.label


# --- who and whom ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Name:
    """Capitalised words in a row, at first..last of the words of a sentence."""

    stems: frozenset[str]
    text: str
    first: int
    last: int


_WORD = re.compile(r"[^\W\d_][\w'’-]*")
BETWEEN: Final = 6  # measured: tests/unit/test_edges_ground.py
"""Words between two names that say what one does to the other."""
ASIDE: Final = 1  # measured: tests/unit/test_edges_ground.py
"""Words of content that a source may have more there."""


def _names(words: Sequence[str]) -> Iterator[_Name]:
    at = 0
    while at < len(words):
        stop = at
        while stop < len(words) and words[stop][0].isupper() and _stems(words[stop]):
            stop += 1
        if stop > at:
            yield _Name(frozenset().union(*map(_stems, words[at:stop])), " ".join(words[at:stop]), at, stop - 1)
        at = max(stop, at + 1)


def _stems(word: str) -> frozenset[str]:
    return frozenset(stem(one) for one in all_terms(word) if is_subject(one))


def swapped(sentence: str, nearest: Sequence[SourceText]) -> str:
    """Two names in the other order around the same verb: "Dorrit acquired Kestrel" where Kestrel acquired Dorrit."""
    here = _WORD.findall(sentence)
    for one, other in combinations(_names(here), 2):
        between = here[one.last + 1 : other.first]
        action = frozenset().union(*map(_stems, between)) if 0 < len(between) <= BETWEEN else frozenset()
        if (
            not action
            or _stands_in(here, one)
            or _stands_in(here, other)
            or not _SYMMETRIC.isdisjoint(map(fold, between))
        ):
            continue
        ways = {_order(one, other, action, _passive(between), source.text) for source in nearest if not source.cells}
        if -1 in ways and 1 not in ways:
            return f"{one.text} and {other.text} the other way round"
    return ""


def _order(one: _Name, other: _Name, action: frozenset[str], passive: bool, text: str) -> int:
    """1 where the text has both in the same order around the action, -1 in the other one, 0 where it does not have them."""
    words = _WORD.findall(text)
    found = 0
    for a, b in permutations(_names(words), 2):
        if a.first > b.first or b.first - a.last - 1 > BETWEEN or _stands_in(words, a) or _stands_in(words, b):
            continue
        told = frozenset().union(*map(_stems, words[a.last + 1 : b.first]))
        if not action <= told or len(told - action) > ASIDE:
            continue
        turned = -1 if _passive(words[a.last + 1 : b.first]) != passive else 1
        if one.stems <= a.stems and other.stems & b.stems:
            found = turned if found != 1 else 1
        elif other.stems & a.stems and one.stems & b.stems:
            found = -turned if found != 1 else 1
    return found


def _stands_in(words: Sequence[str], name: _Name) -> bool:
    """Whether it says where or when: "in Bergen"."""
    return name.first > 0 and fold(words[name.first - 1]) in _PREPOSITIONS


def _passive(words: Sequence[str]) -> bool:
    return not _PASSIVE.isdisjoint(map(fold, words))


SAME_SLOT: Final = 0.8  # measured: tests/unit/test_edges_ground.py
"""Share of a sentence's other words that a place has, for another name in the same slot to contradict it."""


def substituted(sentence: str, nearest: Sequence[SourceText], weigh: Weigh) -> str:
    """A name where the place that says the rest has another one, beside the same word: "the province of Arctic" where the source
    says "the province of Poland", though Arctic stands elsewhere."""
    words = _WORD.findall(sentence)
    said = frozenset(map(fold, words))
    for at, word in enumerate(words):
        if at == 0 or not word[0].isupper() or is_month(word) or not (own := _stems(word)):
            continue
        rest = subject_stems(" ".join((*words[:at], *words[at + 1 :]))) - own
        whole = sum(map(weigh, rest))
        like = [
            one for one in nearest if not one.cells and len(rest) > 1 and _share(rest, one, weigh) >= SAME_SLOT * whole
        ]
        if any(own & (subject_stems(one.text) | one.around) for one in like):
            continue
        if other := next((found for one in like if (found := _in_slot(words, at, said, one.text))), ""):
            return f"{word} where the source says {other}"
    return ""


def _share(wanted: frozenset[str], source: SourceText, weigh: Weigh) -> float:
    return sum(weigh(one) for one in wanted & subject_stems(source.text))


def _in_slot(words: Sequence[str], at: int, said: frozenset[str], text: str) -> str:
    """The word with a capital that the text has beside the word which stands beside the one at `at`."""
    left = fold(words[at - 1])
    right = fold(words[at + 1]) if at + 1 < len(words) else ""
    told: list[str] = _WORD.findall(text)
    for here, word in enumerate(told):
        beside = (here > 0 and fold(told[here - 1]) == left) or (
            right and here + 1 < len(told) and fold(told[here + 1]) == right
        )
        if beside and word[0].isupper() and fold(word) not in said and _stems(word) and not is_month(word):
            return word
    return ""


def crossed(sentence: str, nearest: Sequence[SourceText]) -> str:
    """Two names of which the sources tie each to another one: "Maria approves in Oslo", where Maria approves in Bergen and Tom in
    Oslo."""
    places = [place for source in nearest if not source.cells for place in places_of(source.text, ())]
    for clause in clauses_of(sentence):
        said = frozenset(one for one in subject_stems(clause))
        names = list(_names(_WORD.findall(clause)))
        for one, other in combinations(names, 2):
            if found := _crossed(one, other, said, capital_stems(clause), places):
                return found
    return ""


def _crossed(
    one: _Name, other: _Name, said: frozenset[str], capitals: frozenset[str], places: Sequence[SourcePlace]
) -> str:
    rest = said - one.stems - other.stems
    if not rest or any(one.stems <= place.stems and other.stems & place.stems for place in places):
        return ""
    with_one = [p for p in places if one.stems <= p.stems and rest <= p.stems and p.names - capitals]
    with_other = [p for p in places if other.stems <= p.stems and rest <= p.stems and p.names - capitals]
    if any(a is not b for a, b in product(with_one, with_other)):
        return f"{one.text} with {other.text}, which the sources tie to others"
    return ""
