"""Where text with tables may be cut: between rows, and the first row stays with the header above it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from cairn.ingest.chunkers.base import Span
from cairn.language.tables import Table


class Island(NamedTuple):
    """A part of a text: a table, or what stands between two (`table` None)."""

    span: Span
    table: Table | None


def islands(tables: Sequence[Table], span: Span) -> Iterator[Island]:
    """The parts of a span in order; of a table that reaches over its ends, what lies in it."""
    start, end = span
    for table in tables[bisect_right(tables, start, key=lambda one: one.span[1]) :]:
        first, last = max(table.span[0], start), min(table.span[1], end)
        if first >= end:
            break
        if start < first:
            yield Island((start, first), None)
        yield Island((first, last), table)
        start = last
    if start < end:
        yield Island((start, end), None)


def rows_of(text: str, table: Table, span: Span) -> list[Span]:
    """Neighbouring spans that cover `span` of a table: a row each, the header and labels of groups with the row below them."""
    rows = table.rows
    begins = [
        text.rfind("\n", 0, row.start) + 1
        for above, row in pairwise(rows[_first_row(table, span[0]) : _first_row(table, span[1])])
        if not above.is_group
    ]
    places = sorted({span[0], *(place for place in begins if place > span[0]), span[1]})
    return list(pairwise(places))


def _first_row(table: Table, place: int) -> int:
    """Index of the first row that ends behind a place."""
    return bisect_right(table.rows, place, key=lambda row: row.end)


def cells_of(table: Table, span: Span, limit: int) -> list[Span]:
    """A span of a table that is too long, cut between cells into spans of at most `limit` where the cells allow it."""
    places = [span[0]]
    for row in table.rows[_first_row(table, span[0]) : _first_row(table, span[1]) + 1]:
        for start, end in row.cell_spans:
            if end - places[-1] > limit and places[-1] < start < span[1]:
                places.append(start)
    return list(pairwise([*places, span[1]]))


def is_inside(tables: Sequence[Table], place: int) -> bool:
    """Whether a place lies in a table, behind its beginning."""
    at = bisect_left(tables, place, key=lambda table: table.span[0]) - 1
    return at >= 0 and place < tables[at].span[1]


def end_of_table(tables: Sequence[Table], place: int) -> int:
    """Where the last table that begins before a place ends; the place itself within a table, 0 where none begins before it."""
    at = bisect_left(tables, place, key=lambda table: table.span[0]) - 1
    return min(tables[at].span[1], place) if at >= 0 else 0
