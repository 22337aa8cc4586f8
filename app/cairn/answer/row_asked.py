"""Whether one row of a table can be the answer, where a question asks for something that is made of several. Pure.

What is not computed may still be looked up, and a cell is no sum, no average and no count of rows, and the first of many rows is
not the one with the most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from cairn.answer.candidates import Candidate, TableRow
from cairn.answer.evidence import Measured, QuestionTerms, asked_columns
from cairn.language.cells import read_day, tokens_of
from cairn.language.identify import by_words, likely_language
from cairn.language.lexicon import Language, language
from cairn.language.tables import Row
from cairn.language.text import fold
from cairn.language.tokens import terms as words_of

_CHOOSING: Final = ("highest", "lowest", "superlatives", "sum", "count")
"""Operations that a single row may answer, where the question says which: "total visitors in February"."""
_JOINING: Final = ("average", "difference", "growth", "share", "moved")
"""Those that no row answers unless it says so itself: "Average price"."""


def is_one_of_many(terms: QuestionTerms, best: Candidate) -> bool:
    """Whether the row is at most a part of what is asked for: a sum, an average, the most, "per trip", "without Lyon"."""
    asked = terms.asked
    if best.cells is None or asked.time or asked.person or asked.reason:
        return False
    spoken = language(by_words(terms.text) or likely_language(terms.text))
    said, above = tokens_of(terms.text), " ".join((*best.cells.table.header, best.cells.row.group))
    row = {*tokens_of(f"{above} {best.text}")}
    explains = asked.definition and not (asked.number or asked.money)  # "What does SLA mean?"
    told = row.union(tokens_of(best.path))
    adding = {fold(word) for words in _phrases(spoken, "sum") for word in words}
    return (
        bool(_beyond(spoken, said, _JOINING[explains:], told))
        or _leaves_out(spoken, said, told)
        or _divides(spoken, said, row, best.cells)
        or ("count" in _beyond(spoken, said, ("count",), told) and _holds_date(terms, best.cells))
        or (bool(_beyond(spoken, said, _CHOOSING, told)) and _is_like_another(terms, best.cells, adding))
        or _is_other_total(terms, best, adding)
    )


def _beyond(spoken: Language, said: Sequence[str], names: Sequence[str], told: set[str]) -> list[str]:
    """Operations of which the question has a phrase, and the row with what stands above it has not all its words."""
    return [
        name
        for name in names
        if any(
            tuple(said[at : at + len(words)]) == words
            for words in _phrases(spoken, name) if not told.issuperset(words)
            for at in range(len(said) - len(words) + 1)
        )
    ]  # fmt: skip


def _leaves_out(spoken: Language, said: Sequence[str], told: set[str]) -> bool:
    """ "Without Lyon", of a row that denies nothing; "left", of one that does not say so."""
    negations = spoken.arithmetic.bound & spoken.claims.negations
    apart = not negations.isdisjoint(said) and negations.isdisjoint(told)
    return apart or not (spoken.arithmetic.remaining - told).isdisjoint(said)


def _divides(spoken: Language, said: Sequence[str], row: set[str], cells: TableRow) -> bool:
    """ "Per trip", of a row that has nothing per trip; of a "Monthly fee" it may be "per month"."""
    per = spoken.arithmetic.each & spoken.arithmetic.ratios - row
    kin = [group for group in map(set, _phrases(spoken, "kin")) if group & spoken.arithmetic.stretches]
    divided = any(word in per and not any(after in one and one & row for one in kin) for word, after in pairwise(said))
    return divided and not any("/" in header for header in cells.table.header)


def _holds_date(terms: QuestionTerms, cells: TableRow) -> bool:
    """Whether all that the question asks for of the row is a date."""
    columns, _ = asked_columns(cells, terms)
    return columns is not None and all(read_day(cells.row.cells[at]) for at in columns)


def _is_other_total(terms: QuestionTerms, best: Candidate, adding: set[str]) -> bool:
    """Whether nothing but "total" of the question stands in the row and above it: it may be the total of anything."""
    held = terms.held(best.words | best.lead)
    others = [bool(held[at]) for at, word in enumerate(terms.words) if word not in adding and not terms.idle[at]]
    return bool(others) and not any(others) and not adding.isdisjoint(terms.words)


def _words(phrase: str) -> tuple[str, ...]:
    return tuple(tokens_of(phrase))


def _phrases(spoken: Language, name: str) -> Iterable[tuple[str, ...]]:
    if name == "superlatives":
        return [_words(one) for entry in spoken.arithmetic.superlatives for one in (*entry.highest, *entry.lowest)]
    return map(_words, getattr(spoken.arithmetic, name))


def _is_like_another(terms: QuestionTerms, cells: TableRow, adding: set[str]) -> bool:
    """Whether another row has all that this one has of the question, with a label that says no more besides; or the question
    names another one, too: "from January to March". `adding`: words that name none."""
    ours, label = _agreement(terms, cells.row)
    for row in cells.table.rows:
        if row is cells.row or row.is_group:
            continue
        held, called = _agreement(terms, row)
        named = called == 1 and bool((terms.held({*words_of(row.label)} - adding) > ours).any())
        if named or (bool((held >= ours).all()) and called >= label):
            return True
    return False


def _agreement(terms: QuestionTerms, row: Row) -> tuple[Measured, float]:
    """How far a row has each word of the question, and how much of its label the question has."""
    label = words_of(row.label)
    called = sum(word in terms.matches for word in label) / max(len(label), 1)
    return terms.held(words_of(" ".join((row.group, *row.cells)))), called
