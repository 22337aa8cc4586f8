"""The rows of a sheet -> its tables, with the titles and remarks around them. Pure.

Rows without any cell part what stands below each other, unless values go straight on; columns without any part what stands beside
each other where that has labels of its own. In either case a spacer inside of one table parts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from cairn.ingest.loaders import render
from cairn.language.tables import COVERED, is_value, render_table

Row = list[str]

_OWN_LABELS: Final = 0.5
"""Share of texts among the cells of a first column that are labels."""


def tables_of(rows: Iterable[Row]) -> Iterator[str]:
    """Blocks of Markdown in reading order. All rows are equally long; covered cells of merged columns hold COVERED."""
    pending: list[Row] = []
    for filled, group in groupby(rows, key=_is_filled):
        if not filled:
            continue
        band = list(group)
        if pending and not _goes_on(pending, band):
            yield from _blocks(pending)
            pending = []
        pending += band
    yield from _blocks(pending)


def _is_filled(row: Row) -> bool:
    return any(cell and cell != COVERED for cell in row)


def _goes_on(above: Sequence[Row], band: Sequence[Row]) -> bool:
    """Whether rows behind an empty one belong to the table above it: they begin with a label and values in its columns."""
    first = _filled_columns(band[:1])
    values = [at for at in first[1:] if is_value(band[0][at])]
    return bool(values) and {*first} <= {*_filled_columns(above)} and len(_filled_columns(above[-1:])) > 1


def _filled_columns(rows: Iterable[Row]) -> list[int]:
    filled: set[int] = set()
    for row in rows:
        filled.update(at for at, cell in enumerate(row) if cell)
    return sorted(filled)


def _blocks(rows: Sequence[Row]) -> Iterator[str]:
    """What stands beside each other, from left to right."""
    for columns in _side_by_side(rows):
        part = [[row[at] for at in columns] for row in rows]
        yield from _block([row for row in part if _is_filled(row)])


def _side_by_side(rows: Sequence[Row]) -> Iterator[list[int]]:
    """The columns of each table: neighbours, and those behind a gap that have no labels of their own."""
    columns: list[int] = []
    runs = [list(run) for run in _runs(_filled_columns(rows))]
    for run in runs:
        if columns and _has_labels(rows, run):
            yield columns
            columns = []
        columns += run
    if columns:
        yield columns


def _runs(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Consecutive numbers."""
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        yield [number for _, number in run]


def _has_labels(rows: Sequence[Row], columns: Sequence[int]) -> bool:
    """Whether several columns begin with one of texts; a single one, or one of values, goes on with the table at its left."""
    cells = [row[columns[0]] for row in rows if row[columns[0]] and row[columns[0]] != COVERED]
    texts = sum(not is_value(cell) for cell in cells)
    return len(columns) > 1 and len(cells) > 1 and texts > _OWN_LABELS * len(cells)


def _block(rows: Sequence[Row]) -> Iterator[str]:
    """A table with the lines above and below it that stand alone in their rows."""
    alone = [_stands_alone(row) for row in rows]
    if all(alone):
        yield render.paragraph("\n".join(row[0] for row in rows))
        return
    first = alone.index(False)
    last = len(alone) - alone[::-1].index(False)
    for row in rows[:first]:
        yield render.paragraph(row[0])
    yield render_table(rows[first:last], header_rows=_merged_header(rows[first:last]))
    for row in rows[last:]:
        yield render.paragraph(row[0])


def _merged_header(rows: Sequence[Row]) -> int | None:
    """How many rows are the header where it begins with merged cells, below which a row names each column; else None."""
    count = next((at for at, row in enumerate(rows) if COVERED not in row or any(map(is_value, row))), 0)
    return count + 1 if count and not any(map(is_value, rows[count])) else None


def _stands_alone(row: Row) -> bool:
    """Whether a row is one text at the left; one further to the right is over columns, whose header it is a part of, and a number
    is the beginning of a row that nobody filled in."""
    return bool(row[0]) and not _is_filled(row[1:]) and (len(row) == 1 or not is_value(row[0]))
