"""Where sources say what: their sentences in clauses, the rows of their tables in cells. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from cairn.answer.ground.facts import Facts, Readings, read_cell, read_facts
from cairn.language.lexicon import every
from cairn.language.numbers import Quantity, is_measure_word
from cairn.language.tables import Row, Table
from cairn.language.tokens import all_terms, is_stop_word

STEM: Final = 6  # measured: tests/unit/test_edges_ground.py
"""Letters kept. Cutting words is about as good as stemming them in these four languages (McNamee and Mayfield 2004)."""
_SUFFIX = re.compile(r"(?<=...)(?:ing|edly|ied|ed|ies|es|en|er|ers|em|ly|os|as|s|e|y)$")
_JOINS: Final = every(lambda one: one.numbers.joins)
_RESPECTIVELY: Final = every(lambda one: one.claims.respectively)
_CUT = re.compile(rf"[,;:](?=\s)|\s(?=(?:{'|'.join(sorted(_JOINS))})\s)", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A folded word without its ending; numbers as they are."""
    return word if word[0].isdigit() else _SUFFIX.sub("", word)[:STEM]


def subject_stems(text: str) -> frozenset[str]:
    """Stems of what a text is about: words of content that are no numbers and no units."""
    return frozenset(stem(word) for word in all_terms(text) if is_subject(word))


def is_subject(word: str) -> bool:
    return not word[0].isdigit() and not is_stop_word(word) and not is_measure_word(word)


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table's row. `table`: which of its text's tables, by where it begins."""

    table: int
    label: str
    header: str
    value: str
    scale: int = 1


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A clause or a cell: what it is about, whom it names, and its numbers and dates."""

    stems: frozenset[str]
    names: frozenset[str]
    quantities: tuple[Quantity, ...]
    dates: tuple[Readings, ...]
    cell: bool = False


def cells_of(table: Table, row: Row, scale: int) -> tuple[Cell, ...]:
    """Of a row with its values' headers; the group belongs to the label."""
    label = " ".join(part for part in (row.group, row.label) if part)
    return tuple(
        Cell(table.span[0], label, table.header[at] if at < len(table.header) else "", row.cells[at], scale)
        for at in range(1, len(row.cells))
        if row.cells[at]
    )


@lru_cache(maxsize=5_000)
def places_of(text: str, cells: tuple[Cell, ...]) -> tuple[SourcePlace, ...]:
    """Clauses of a sentence, cells of a row. A clause that names nobody speaks of whom the first one names."""
    if cells:
        return tuple(_cell_place(cell) for cell in cells)
    first, *others = [place_of(clause) for clause in clauses_of(text)]
    return first, *(one if one.names else replace(one, stems=one.stems | first.names) for one in others)


def _cell_place(cell: Cell) -> SourcePlace:
    around = read_facts(f"{cell.label} ; {cell.header}")
    facts = read_facts(cell.value)
    return SourcePlace(
        subject_stems(f"{cell.label} {cell.header} {cell.value}"),
        frozenset(),
        (*around.told, *read_cell(cell.header, cell.value, cell.scale)),
        (*around.dates, *facts.dates),
        cell=True,
    )


def place_of(clause: str) -> SourcePlace:
    facts: Facts = read_facts(clause)
    return SourcePlace(subject_stems(clause), capital_stems(clause), facts.told, facts.dates)


def capital_stems(text: str) -> frozenset[str]:
    return frozenset(
        stem(word)
        for found in _WORD.finditer(text)
        if found[0][0].isupper()
        for word in all_terms(found[0])
        if is_subject(word)
    )


@lru_cache(maxsize=5_000)
def clauses_of(sentence: str) -> tuple[str, ...]:
    """Parts between commas and "and"; one where "respectively" ties them together."""
    if not _RESPECTIVELY.isdisjoint(all_terms(sentence)):
        return (sentence,)
    return tuple(_clauses(sentence))


def _clauses(sentence: str) -> Iterator[str]:
    start = 0
    for cut in _CUT.finditer(sentence):
        if subject_stems(sentence[start : cut.start()]):
            yield sentence[start : cut.start()]
            start = cut.end()
    yield sentence[start:]
