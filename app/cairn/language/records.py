"""Rows that are written as paragraphs of lines `header: value`, read back as the table that they are: a sheet with very many
columns is written so (tables.py), and so are lists of contacts. Pure, and linear in the length of the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final

from cairn.language.code_fences import opens_fence
from cairn.language.tables import Row, Span, Table

FEWEST_LINES: Final = 3
"""Of a paragraph that is a row; less is a definition or a remark."""
FEWEST_ROWS: Final = 2
LONGEST_NAME: Final = 160
"""Characters of a column's name: survey sheets have whole questions there."""


@dataclass(frozen=True, slots=True)
class _Record:
    span: Span
    cells: dict[str, Span]
    """By the names of their columns, in order."""


def records_in(text: str) -> list[Table]:
    """One table of each run of neighbouring paragraphs that name the same columns. What does not fit into one order of columns,
    or names one twice, is none: better no table than a part of one."""
    if text.count(": ") < FEWEST_ROWS * FEWEST_LINES:
        return []
    return [table for run in _runs(text) if len(run) >= FEWEST_ROWS and (table := _table(text, run))]


def _runs(text: str) -> Iterator[list[_Record]]:
    run: list[_Record] = []
    fence = ""
    for span in _paragraphs(text):
        marks = [mark for line in text[slice(*span)].split("\n") if (mark := opens_fence(line))]
        record = None if fence or marks else _record(text, span)
        for mark in marks:
            fence = "" if fence and mark.startswith(fence) else fence or mark
        if record is not None:
            run.append(record)
            continue
        yield run
        run = []
    yield run


def _paragraphs(text: str) -> Iterator[Span]:
    begins, at = -1, 0
    for line in text.split("\n"):
        if line.strip():
            begins = at if begins < 0 else begins
        elif begins >= 0:
            yield begins, at - 1
            begins = -1
        at += len(line) + 1
    if begins >= 0:
        yield begins, len(text)


def _record(text: str, span: Span) -> _Record | None:
    cells: dict[str, Span] = {}
    start = span[0]
    for line in text[span[0] : span[1]].rstrip("\n").split("\n"):
        name, _, cell = line.partition(": ")
        value = cell.strip()
        name = " ".join(name.split())
        if not name or not value or "|" in name or len(name) > LONGEST_NAME or name in cells:
            return None
        first = start + len(line) - len(cell.lstrip())
        cells[name] = (first, first + len(value))
        start += len(line) + 1
    return (
        _Record((span[0], span[0] + len(text[span[0] : span[1]].rstrip())), cells)
        if len(cells) >= FEWEST_LINES
        else None
    )


def _table(text: str, run: Sequence[_Record]) -> Table | None:
    """Empty cells are left out of a record, so the columns are those of all together, in an order that all of them have."""
    before: dict[str, dict[str, None]] = {}
    for record in run:
        for name in record.cells:
            before.setdefault(name, {})
        for name, follower in pairwise(record.cells):
            before[follower][name] = None
    try:
        header = tuple(TopologicalSorter(before).static_order())
    except CycleError:
        return None
    usual = _usual(run)
    if any(2 * len(usual & record.cells.keys()) < len(usual) for record in run):
        return None
    rows = tuple(_row(text, record, header) for record in run)
    return Table(header, rows, (run[0].span[0], run[-1].span[1]), (run[0].span[0], run[0].span[0]))


def _usual(run: Sequence[_Record]) -> set[str]:
    """The columns that at least half of the rows fill: of very many, a row may fill but a few of the others."""
    times = Counter(name for record in run for name in record.cells)
    return {name for name, count in times.items() if 2 * count >= len(run)}


def _row(text: str, record: _Record, header: Sequence[str]) -> Row:
    end = record.span[1]
    spans = tuple(record.cells.get(name, (end, end)) for name in header)
    return Row(*record.span, tuple(" ".join(text[slice(*span)].split()) for span in spans), spans)
