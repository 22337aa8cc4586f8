"""What of the sources of an answer gives an example of it, or the reason, and which of the things that it lists is the shortest,
cheapest ... of them. Pure.

Right or silent: a sentence gives a reason where it says so ("because") and stands where the answer was quoted from; of things the
shortest is known where each of them has a length, or a sentence calls one of them so. What is denied is neither. `spoken` is the
language of each passage, by its rank: words of one mean something else in another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final
from uuid import UUID

from cairn.answer.answer_type import denies
from cairn.answer.candidates import Candidate
from cairn.domain.passage import Passage
from cairn.domain.plan import LastAnswerWish
from cairn.domain.question import SourceRef
from cairn.language.lexicon import language
from cairn.language.linear import bounded
from cairn.language.numbers import Quantity, quantities
from cairn.language.text import fold
from cairn.language.tokens import terms

Gives = Callable[[Candidate], bool]
BEHIND: Final = 2  # measured: tests/unit/test_last_answer.py
"""Sentences behind the one that was quoted, of the same section, that may give the reason for it."""

MOST_SOURCES: Final = 3  # bound: tests/unit/test_last_answer.py
"""Sections that are told where somebody asks where it is said."""


def find_reason(found: Sequence[Candidate], quoted: Sequence[int], gives: Gives) -> Candidate | None:
    """In the quotation itself, else in what follows it. `quoted`: places of what the answer quotes."""
    return next(
        (
            found[at]
            for first in quoted
            for at in range(first, min(first + BEHIND + 1, len(found)))
            if _same_section(found[first], found[at]) and gives(found[at])
        ),
        None,
    )


def find_example(found: Sequence[Candidate], quoted: Sequence[int], asked: str, gives: Gives) -> Candidate | None:
    """Of the section that was quoted, else the one that has most words of the question in or above it; None where no example has
    one."""
    words = frozenset(terms(asked))

    def nearness(at: int) -> tuple[bool, int, int]:
        here = any(_same_section(found[first], found[at]) for first in quoted)
        distance = min((abs(at - first) for first in quoted), default=0)
        return here, len(words & (found[at].words | found[at].lead)), -distance

    given = [at for at, candidate in enumerate(found) if gives(candidate)]
    best = max(given, key=nearness, default=None)
    return found[best] if best is not None and any(nearness(best)[:2]) else None


def find_shown(
    found: Sequence[Candidate], passages: Sequence[Passage], quoted: Sequence[int], is_example: Callable[[str], bool]
) -> Candidate | None:
    """What the document that was quoted shows as an example: its code, else its first words, below a heading that says so
    (`is_example`), of the section that was quoted or of one above it; else code in the section that was quoted. None where
    nothing was quoted."""

    def position(at: int) -> tuple[UUID, int]:
        passage = passages[found[at].rank]
        return passage.document_id, passage.start + found[at].unit.start

    near = []
    for at, one in enumerate(found):
        above = one.path.split(". ")
        place = next((place for place, heading in enumerate(above) if is_example(heading)), None)
        if place is None or at in quoted:
            continue
        for first in quoted:
            (document, start), (quoted_document, quoted_start) = position(at), position(first)
            if document == quoted_document and (not place or above[place - 1] in found[first].path):
                near.append((start < quoted_start, place == 0, one.unit.kind != "code", abs(start - quoted_start), at))
    if near:
        return found[min(near)[-1]]
    code = (at for at, one in enumerate(found) if one.unit.kind == "code" and at not in quoted)
    return next((found[at] for at in code if any(_same_section(found[first], found[at]) for first in quoted)), None)


def places_quoted(found: Sequence[Candidate], passages: Sequence[Passage], sources: Iterable[SourceRef]) -> list[int]:
    """Where what an answer quoted stands among the candidates."""
    cited = [source for source in sources if source.cited and not source.deleted]
    return [
        at
        for at, candidate in enumerate(found)
        for passage in [passages[candidate.rank]]
        if any(
            source.document_id == passage.document_id
            and source.start <= passage.start + candidate.unit.start < source.end
            for source in cited
        )
    ]


def find_sources(found: Sequence[Candidate], quoted: Sequence[int]) -> list[Candidate]:
    """Where an answer was quoted from: the first sentence of each section that it quotes. `quoted`: as of `find_reason`."""
    first: dict[tuple[int, str], Candidate] = {}
    for at in quoted:
        first.setdefault((found[at].rank, found[at].path), found[at])
    return list(first.values())[:MOST_SOURCES]


def _same_section(one: Candidate, other: Candidate) -> bool:
    return one.rank == other.rank and (one.path.startswith(other.path) or other.path.startswith(one.path))


# --- the shortest of them ------------------------------------------------------------------------------------------------


def find_stated(
    found: Sequence[Candidate], items: Sequence[str], wish: LastAnswerWish, spoken: Sequence[str]
) -> Candidate | None:
    """A sentence that says of one of the things that it is "the shortest"; of "shorter" one that names two of them, for
    "shorter than the old road" says nothing of the others. None for "the most", which does not say of what."""

    def says(one: Candidate) -> bool:
        text, known, named = fold(one.text), language(spoken[one.rank]), _named_in(one.text, items)
        forms = known.last_answer.stated if len(named) == 1 else ("<x>",)
        said = known.compiled(*(form.replace("<x>", wish.word) for form in forms))
        return bool(named) and bool(said.search(text)) and not denies(one.text, known.code)

    return None if "any" in wish.measures else next(filter(says, found), None)


def find_item(found: Sequence[Candidate], item: str, items: Sequence[str]) -> Candidate | None:
    """The first sentence or line that says something of one of the things, and of none of the others."""
    own = (one for one in found if _named_in(one.text, items) == (item,))
    return next((one for one in own if len(one.text) > len(item) + 1), None)


def find_extreme(
    found: Sequence[Candidate], items: Sequence[str], wish: LastAnswerWish, spoken: Sequence[str]
) -> tuple[Candidate, ...]:
    """The one that has the least or most of what all have, several where they have the same; none where one of them lacks it."""
    told: dict[str, list[_Told]] = {item: [] for item in items}
    for one in found:
        named = _named_in(one.text, items)
        if len(named) == 1:
            told[named[0]].append((one, _amounts(one.text, spoken[one.rank])))
    for measure in _comparable(told, wish.measures):
        values = [_first(ones, measure) for ones in told.values()]
        amounts = [amount for value in values if value for amount in [value[1]]]
        end = min(amounts) if wish.least else max(amounts)
        return tuple(value[0] for value in values if value and value[1] == end)
    return ()


_Told = tuple[Candidate, dict[str, float]]
_CLAUSE: Final = bounded(r"[,;:.()](?=\s|$)|\s\(")


def _comparable(told: dict[str, list[_Told]], measures: Sequence[str]) -> list[str]:
    """Of the measures asked for, those that all things have; of "any" the only one."""
    kinds = [{kind for _, amounts in ones for kind in amounts} for ones in told.values()]
    shared = set.intersection(*kinds) if kinds else set()
    if "any" in measures:
        return list(shared) if len(shared) == 1 else []
    return [kind for measure in measures for kind in sorted(shared) if kind.split(":")[0] == measure]


def _first(ones: Sequence[_Told], measure: str) -> tuple[Candidate, float] | None:
    return next(((one, amounts[measure]) for one, amounts in ones if measure in amounts), None)


def _amounts(text: str, code: str) -> dict[str, float]:
    """The first amount of each kind of quantity that the text has, in clauses that deny nothing ("no fee of 5 euros");
    "2 hours 10 minutes" is one."""
    found: dict[str, float] = {}
    for clause in (each for each in _CLAUSE.split(text) if not denies(each, code)):
        counted: Quantity | None = None
        for one in quantities(clause):
            name = f"{one.kind}:{one.measures}"
            amount = float(one.value) if one.kind == "year" and one.value.isdigit() else one.amount
            before, counted = counted, None
            if amount is None or not one.kind or not (one.unit or one.kind == "year"):
                continue
            if name not in found:
                found[name], counted = amount, one
            elif before and one.joined and before.measures == one.measures == "time" and _is_smaller(one, before):
                found[name], counted = found[name] + amount, one
    return found


def _is_smaller(one: Quantity, other: Quantity) -> bool:
    order = ("w", "d", "h", "min", "s", "ms")
    return (other.unit, one.unit) in set(pairwise(order))


def _named_in(text: str, items: Sequence[str]) -> tuple[str, ...]:
    folded = fold(text)
    return tuple(item for item in items if bounded(rf"(?<!\w){re.escape(fold(item))}(?!\w)").search(folded))
