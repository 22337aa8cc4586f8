"""The tables of a document by columns, with their cells read as values: what is stored of them for computations. Pure.

A long table stands in the text in pieces that repeat its header; they are one table again here. What stands elsewhere, because a
row was too long for a piece, makes the table incomplete, and nothing is computed over it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from statistics import median
from typing import Final, TypeVar

from cairn.domain.table import DocumentTable, TableColumn
from cairn.ingest.table_pages import PageAt, goes_on, lines_by_page
from cairn.language.cells import (
    Mark,
    ReadCell,
    combine_units,
    day_order,
    decimal_mark,
    key_of,
    mark_beside_small,
    plain_cell,
    read_cell,
    tokens_of,
    told_marks,
)
from cairn.language.lexicon import every
from cairn.language.tables import Row, Table

FEWEST_ROWS: Final = 2
"""Of a table over which there is something to compute."""
MOST_CHECKED: Final = 500
"""Rows of a table in which sums without a name are looked for: of statements, which are short."""
MOST_MARKED: Final = 1000
"""Rows from which it is told how a table writes decimals."""
TITLE_CHARS: Final = 200
_TOTALS: Final = every(lambda one: one.arithmetic.totals)
_STATISTICS: Final = every(lambda one: one.arithmetic.statistics)
_CARRIED: Final = every(lambda one: (" ".join(tokens_of(phrase)) for phrase in one.arithmetic.carried))
_WHOLES: Final = every(lambda one: one.arithmetic.wholes)
_BEFORE_CHARS: Final = 2000
"""Within which the line above a table, and rows that stand beside it, are looked for."""

Value = TypeVar("Value")

Headings = Callable[[int], tuple[str, ...]]
"""Heading path at a place of the text."""


def document_tables(
    text: str,
    tables: Sequence[Table],
    headings: Headings,
    language: str | None,
    *,
    records: Sequence[Table] = (),
    page_at: PageAt = lambda _: None,
) -> tuple[DocumentTable, ...]:
    """Those with a header and at least FEWEST_ROWS rows, in order. `records`: those that are written as lines of `header: value`;
    long rows of another table are none of their own."""
    joined = list(_join(text, tables, headings, page_at))
    joined = sorted([*joined, *_apart(text, records, joined)], key=lambda pieces: pieces[0].span[0])
    known: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
    for pieces in joined:
        place = (pieces[0].header, headings(pieces[0].span[0]))
        known[place] = known.get(place, 0) + 1
    found = []
    marks = set[Mark]().union(*(told_marks(_cells(table.rows)) for table in tables))
    told = marks.pop() if len(marks) == 1 else None
    for pieces in joined:
        path = headings(pieces[0].span[0])
        rows = [row for piece in pieces for row in piece.rows if not row.is_group]
        if not any(pieces[0].header) or len(rows) < FEWEST_ROWS:
            continue
        span = (pieces[0].span[0], pieces[-1].span[1])
        alone = known[pieces[0].header, path] == 1
        found.append(_read(text, span, pieces[0].header, rows, path, (language, told), alone=alone))
    return tuple(found)


def _apart(text: str, records: Sequence[Table], joined: Sequence[list[Table]]) -> Iterator[list[Table]]:
    """The records that are a table of their own: between them and one with their columns something else stands."""
    for one in records:
        after = bisect_right(joined, one.span[0], key=lambda pieces: pieces[0].span[0])
        before, behind = joined[max(after - 1, 0) : after], joined[after : after + 1]
        gaps = [(pieces, (pieces[-1].span[1], one.span[0])) for pieces in before]
        gaps += [(pieces, (one.span[1], pieces[0].span[0])) for pieces in behind]
        if not any(
            not _SAID.search(text, *gap) and not set(one.header).isdisjoint(pieces[0].header) for pieces, gap in gaps
        ):
            yield [one]


_SAID: Final = re.compile(r"\S")


def _join(text: str, tables: Sequence[Table], headings: Headings, page_at: PageAt) -> Iterator[list[Table]]:
    """Pieces with the same header and nothing but white space between them, or the margins of a page under the same headings, are
    one table; what has no header goes on with the one before it."""
    pages = lines_by_page(text, page_at) if tables and page_at(tables[0].span[0]) is not None else {}
    pieces: list[Table] = []
    for table in tables:
        follows = pieces and not text[pieces[-1].span[1] : table.span[0]].strip()
        if pieces and follows and table.header in (pieces[0].header, ()):
            pieces.append(table)
            continue
        same_place = pieces and headings(pieces[-1].span[0]) == headings(table.span[0])
        summed_up = pieces and (_is_sum(pieces[-1], -1) or _is_sum(table, 0))
        if same_place and not summed_up and goes_on(text, pieces[-1], table, page_at, pages):
            pieces.append(table)
            continue
        if pieces:
            yield pieces
        pieces = [table] if table.header else []
    if pieces:
        yield pieces


def _is_sum(table: Table, at: int) -> bool:
    """Whether its first or last row sums up those above: what follows is another table, or begins with what was carried."""
    return bool(table.rows) and is_total(" ".join(tokens_of(table.rows[at].cells[0])), len(table.rows))


def _read(
    text: str, span: tuple[int, int], header: tuple[str, ...], rows: Sequence[Row], path: tuple[str, ...],
    written: tuple[str | None, Mark | None], *, alone: bool,
) -> DocumentTable:  # fmt: skip
    """`written`: the language, and how the document's other tables write decimals."""
    language, told = written
    texts = [[row.cells[at] if at < len(row.cells) else "" for row in rows] for at in range(len(header))]
    beside, sure = (_mark_beside(texts, least) for least in (1, len("100")))
    mark = decimal_mark(_cells(rows), language, told or beside, sure)
    columns = tuple(_column(column, mark) for column in texts)
    return DocumentTable(
        start=span[0],
        end=span[1],
        title=_line_above(text, span[0]),
        headings=path,
        header=header,
        starts=[row.start for row in rows],
        ends=[row.end for row in rows],
        groups=[row.group for row in rows],
        totals=_totals(columns),
        mark=mark,
        complete=alone and not _has_rows_beside(text, span, header),
        columns=columns,
    )


def _mark_beside(texts: Sequence[Sequence[str]], least: int) -> Mark | None:
    """What columns with small numbers say, where they say the same (`mark_beside_small`)."""
    columns = ([*map(plain_cell, column[:MOST_MARKED])] for column in texts)
    found = {mark for column in columns if (mark := mark_beside_small(column, least))}
    return found.pop() if len(found) == 1 else None


def _cells(rows: Sequence[Row]) -> Iterator[str]:
    """Without markup, of the rows that tell how decimals are written."""
    return (plain_cell(cell) for row in rows[:MOST_MARKED] for cell in row.cells)


def _column(texts: Sequence[str], mark: Mark | None) -> TableColumn:
    """Without a mark numbers with a separator are not read."""
    cells: list[ReadCell] = []
    known: dict[str, ReadCell] = {}
    order = day_order(texts)
    for text in texts:
        cell = known.get(text)
        if cell is None:
            cell = read_cell(plain_cell(text), mark or ".", order)
            if mark is None and cell.kind == "number" and ("." in text or "," in text):
                cell = ReadCell("text")
            known[text] = cell
        cells.append(cell)
    keys = {text: key_of(plain_cell(text), cell) for text, cell in known.items()}
    return TableColumn(
        texts=texts,
        numbers=[cell.number for cell in cells],
        units=[cell.unit for cell in cells],
        dates=[cell.date for cell in cells],
        keys=[keys[text] for text in texts],
        filled=sum(cell.kind != "nothing" for cell in cells),
        numbered=sum(cell.kind == "number" for cell in cells),
        dated=sum(cell.kind == "date" for cell in cells),
        unit=combine_units(list(dict.fromkeys(cell.unit for cell in cells if cell.kind == "number"))),
    )


# --- rows that sum up others ------------------------------------------------------------------------------------------------


def _totals(columns: Sequence[TableColumn]) -> list[bool]:
    """Which rows sum up others: by their label, or since each of their numbers is the sum of those above."""
    count = len(columns[0].texts)
    named = [False] * count
    for column in columns[:_LABELS]:  # below the numbers of persons, too, "Total" may stand
        if column.filled:
            labels = [key if number is None else "" for key, number in zip(column.keys, column.numbers, strict=True)]
            named = [known or is_total(label, count) for label, known in zip(labels, named, strict=True)]
    if count <= MOST_CHECKED:
        _mark_sums(columns, named)
        _mark_statistics(columns, named)
    return named


_LABELS: Final = 3
"""Columns at the left that may hold labels: "South | 2021 | Total"."""


def is_total(key: str, rows: int) -> bool:
    """Whether a label says that it is a sum: "total assets", "north total", "carried forward"; in a short table "all
    regions", for a long one has names that begin so."""
    words = key.split()
    if not words:
        return False
    return (
        words[0] in _TOTALS
        or words[-1] in _TOTALS
        or key in _CARRIED
        or (rows <= MOST_CHECKED and len(words) <= 2 and words[0] in _WHOLES)
    )


def _mark_sums(columns: Sequence[TableColumn], totals: list[bool]) -> None:
    """Rows where each number is the sum of those above since the last total, or of the totals above: without a label, at the
    end, or of so many and such numbers that it is no chance ("Northern Europe", below its countries)."""
    numeric = [column for column in columns if column.numbered >= FEWEST_ROWS]
    begins = 0
    for row in range(len(totals)):
        if totals[row]:
            begins = row + 1
            continue
        above = range(begins, row)
        sums = [at for at in range(row) if totals[at]]
        unnamed = not columns[0].texts[row] or row == len(totals) - 1
        certain = unnamed or _is_no_chance(numeric, row)
        # a row of nothing but sums, of which hours a week and prices have none; below numbers of rows it may have any label
        labels = int(columns[0].numbered >= FEWEST_ROWS and row == len(totals) - 1)
        bare = not any(one.texts[row] for one in columns[labels:] if one.numbers[row] is None)
        told = [one for one in numeric if one.numbers[row] is not None] if bare else numeric
        if certain and told and any(
            len(of) >= FEWEST_ROWS and all(_sums(one, of, row) for one in told) for of in (above, sums)
        ):  # fmt: skip
            totals[row] = True
            begins = row + 1
    last = len(totals) - 1
    if (
        last >= FEWEST_ROWS
        and not totals[last]
        and _sums_up_most(numeric, [at for at in range(last) if not totals[at]], last)
    ):
        totals[last] = True


def _sums_up_most(numeric: Sequence[TableColumn], above: Sequence[int], row: int) -> bool:
    """Whether most numbers of the last row are sums, by no chance, beside averages and what is derived: "Career"."""
    told = [one for one in numeric if one.numbers[row] is not None]
    summed = [one for one in told if _sums(one, above, row)]
    return len(summed) >= _MOST_SUMS and 2 * len(summed) > len(told) and _is_no_chance(summed, row)


_MOST_SUMS: Final = 3  # measured: tests/unit/test_tables.py


def _mark_statistics(columns: Sequence[TableColumn], totals: list[bool]) -> None:
    """Rows "Average", "Ø" or "Max." whose numbers are that of the rows above which are no totals; a person may be called Max."""
    for row in range(FEWEST_ROWS, len(totals)):
        if totals[row] or not any(column.keys[row] in _STATISTICS for column in columns[:_LABELS]):
            continue
        above = [at for at in range(row) if not totals[at]]
        told = [one for one in columns if one.numbered >= FEWEST_ROWS and one.numbers[row] is not None]
        totals[row] = bool(told) and all(_is_statistic(one, above, row) for one in told)


def _is_statistic(column: TableColumn, rows: Sequence[int], row: int) -> bool:
    """Whether a number is the mean, the median, the lowest or the highest of others, as far as its decimals say."""
    said = column.numbers[row]
    numbers = [number for number in (column.numbers[at] for at in rows) if number is not None]
    if said is None or len(numbers) < FEWEST_ROWS:
        return False
    known = (sum(numbers, Decimal()) / len(numbers), median(numbers), min(numbers), max(numbers))
    last = Decimal(1).scaleb(min(int(said.as_tuple().exponent), 0))
    return any(abs(number - said) <= last / 2 for number in known)


def _is_no_chance(numeric: Sequence[TableColumn], row: int) -> bool:
    """Whether so many digits, without zeros at the end, are in a row that its numbers are no sums by chance."""
    numbers = [number for one in numeric if (number := one.numbers[row]) is not None]
    return sum(len(number.normalize().as_tuple().digits) for number in numbers) >= _CERTAIN_DIGITS


_CERTAIN_DIGITS: Final = 6  # measured: tests/unit/test_tables.py
"""Of the numbers of a row that are all sums: by chance one row in a million."""


def _sums(column: TableColumn, rows: Sequence[int], row: int) -> bool:
    told = column.numbers[row]
    above = [number for number in (column.numbers[at] for at in rows) if number is not None]
    return told is not None and len(above) >= FEWEST_ROWS and told != 0 and sum(above, Decimal()) == told


# --- what stands around a table ---------------------------------------------------------------------------------------------

_MARKUP: Final = re.compile(r"^[#>*_\s]{0,20}|[*_\s]{0,20}$")


def _line_above(text: str, start: int) -> str:
    before = text[max(0, start - _BEFORE_CHARS) : start].rstrip()
    line = before[before.rfind("\n") + 1 :]
    return "" if "|" in line or len(line) > TITLE_CHARS else _MARKUP.sub("", line)


def _has_rows_beside(text: str, span: tuple[int, int], header: Sequence[str]) -> bool:
    """Whether a paragraph next to the table is a row of it, written as lines of `header: value`."""
    above = text[max(0, span[0] - _BEFORE_CHARS) : span[0]].rstrip()
    below = text[span[1] : span[1] + _BEFORE_CHARS].lstrip()
    lines = [*above[above.rfind("\n\n") + 1 :].splitlines(), *below[: (below + "\n\n").find("\n\n")].splitlines()]
    names = tuple(f"{name}: " for name in header if name)
    return bool(names) and sum(line.startswith(names) for line in lines) > 1


def by_place(starts: Sequence[int], values: Sequence[Value], before: Value) -> Callable[[int], Value]:
    """What holds at a place of the text, of what begins at each of these, in order; `before` the first."""

    def at(place: int) -> Value:
        found = bisect_right(starts, place) - 1
        return values[found] if found >= 0 else before

    return at
