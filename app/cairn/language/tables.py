"""Tables in text. A table of any format is written as a GFM pipe table with exactly one header line, and read back from any text.

    | | Years Ended September 30, / 2019 | Years Ended September 30, / 2018 |
    | --- | --- | --- |
    | Fixed Price | $ 1,452.4 | $ 1,146.2 |

A long table repeats its header line, as a printed one does over pages, so that each piece makes sense alone. Offsets count code
points of the text that was given. Pure, and linear in the length of the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from cairn.language.code_fences import cut_off_fence
from cairn.language.table_headers import COVERED, arrange, is_value, is_year, split_titles

__all__ = [
    "COVERED",
    "PIECE_CHARS",
    "Row",
    "Table",
    "TableWriter",
    "describe_row",
    "is_value",
    "is_year",
    "render_table",
    "tables_in",
]

PIECE_CHARS: Final = 1500
"""A table longer than this is written in pieces, each with the header: what a passage holds beside its heading."""
_HEADER_CHARS: Final = PIECE_CHARS // 3
"""With a longer header line each row becomes lines of `header: value`: repeated headers would outweigh the rows."""

_MARKUP: Final = re.compile(r"\A(?=#{1,6} |`{3}|~{3}|={2,}\Z|-{2,}\Z)")
_MOST_COLUMNS: Final = 200
_MOST_GROUPS: Final = 3
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_LONGEST_NAME: Final = 40  # bound: tests/unit/test_tables.py
"""Characters of a column's name in a row further down; what is longer is said of something."""

Span = tuple[int, int]
"""Half-open range of code points."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table. `start` and `end`: from its first to its last cell with text, so without the outer bars.

    `cells`: what stands in each column, bars unescaped, "" where nothing does; `cell_spans`: where.
    `group`: the label-only rows above that it belongs to, joined by " / "; "" for none. A label that the row below belongs to
    has `is_group`.
    """

    start: int
    end: int
    cells: tuple[str, ...]
    cell_spans: tuple[Span, ...]
    group: str = ""
    is_group: bool = False

    @property
    def label(self) -> str:
        """The first cell: what the row is about."""
        return self.cells[0] if self.cells else ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, or the rest of one that begins before the text: then `header` is empty. `span`: all its lines.

    `header_span`: the header line and the line of dashes below it; empty where there are none.
    """

    header: tuple[str, ...]
    rows: tuple[Row, ...]
    span: Span
    header_span: Span


# --- writing --------------------------------------------------------------------------------------------------------


def render_table(rows: Sequence[Sequence[str]], *, header_rows: int | None = None) -> str:
    """Rows of cells as a table in pieces of at most PIECE_CHARS, a blank line between them; "" where no cell has text.

    Rows may be of different length. A cell merged over columns stands in the first of them, COVERED in the others; one merged
    over rows is given in each. `header_rows`: how many rows at the top are the header; None to find out (0: none is).
    A row too long for a piece, and each row under a very long header, is a paragraph of lines `header: value`. What is merged
    over all columns above their names is the table's title: a paragraph above it.
    """
    if max(map(len, rows), default=0) > _MOST_COLUMNS:
        return _records(rows, header_rows)
    titles, rows, header_rows = split_titles(rows, header_rows)
    if titles:
        return "\n\n".join([*map(_paragraph, titles), render_table(rows, header_rows=header_rows)])
    header, body = arrange(rows, header_rows)
    if not any(header) and not body:
        return ""
    if not body:
        header, body = [""] * len(header), [header]  # a header of nothing is a row
    written = []
    for names, rows in _parts(header, body):
        writer = TableWriter(names)
        for row in rows:
            writer.add(row)
        written.append(writer.text())
    return "\n\n".join(written)


def _parts(
    header: Sequence[str], body: Sequence[Sequence[str]]
) -> Iterator[tuple[Sequence[str], Sequence[Sequence[str]]]]:
    """The table, or where a row further down names the columns anew, each of the tables that are written below each other."""
    begins = 0
    times = Counter((column, cell) for row in body for column, cell in enumerate(row))
    for at in range(1, len(body) - 1):
        if at > begins and _names_anew(header, body, at, times):
            yield header, body[begins:at]
            header, begins = body[at], at + 1
    yield header, body[begins:]


def _names_anew(
    header: Sequence[str], body: Sequence[Sequence[str]], at: int, times: Mapping[tuple[int, str], int]
) -> bool:
    """Whether a row between two with labels has none, as the header, and names for all columns that stand nowhere else: of one
    kind ("Deck 1", "Deck 2"), or with numbers around it, for a row may leave empty what is as above. `times`: how often cells
    stand in each column."""
    row = body[at]
    if (
        len(header) < 3
        or header[0]
        or row[0]
        or not all(row[1:])
        or not all(map(_is_labelled, (body[at - 1], body[at + 1])))
        or not (_are_alike(row[1:]) or all(any(map(is_value, other[1:])) for other in (body[at - 1], body[at + 1])))
    ):
        return False
    if len({*row}) < len(row) or any(
        is_value(cell) or cell[0] in "([" or len(cell) > _LONGEST_NAME for cell in row[1:]
    ):
        return False
    return all(times[column, cell] == 1 for column, cell in enumerate(row[1:], 1))


def _is_labelled(row: Sequence[str]) -> bool:
    return bool(row[0]) and any(row[1:])


def _are_alike(names: Sequence[str]) -> bool:
    """Whether all begin with the same word, or are years."""
    return len({name.split()[0] for name in names}) == 1 or all(map(_YEAR.fullmatch, names))


class TableWriter:
    """Writes one table row by row, for rows that are arranged already: cells on one line. Cells beyond the header's are one more.

    A piece begins with the header, and with the label-only rows that its first row belongs to.
    """

    def __init__(self, header: Sequence[str]) -> None:
        self.header = header
        self.top = f"{_line(header)}\n|{' --- |' * len(header)}"
        self.as_records = len(self.top) > _HEADER_CHARS
        self.blocks: list[str] = []
        self.lines: list[str] = []  # of the piece under way
        self.length = 0
        self.written = 0
        """Characters of the table so far."""
        self.groups = _Groups()

    def add(self, row: Sequence[str]) -> None:
        if len(row) > (width := len(self.header)):
            row = [*row[: width - 1], " ".join(row[width - 1 :])] if width else row
        line = _line(row)
        if self.as_records or len(self.top) + len(line) > PIECE_CHARS:
            self._end_piece()
            self.blocks.append(_record(self.header, row))
            self.written += len(self.blocks[-1])
            return
        above = self.groups.enter(row)
        if self.lines and self.length + len(line) > PIECE_CHARS:
            self._end_piece()
        if not self.lines:
            self._begin_piece(above, len(line))
        self._append(line)

    def text(self) -> str:
        self._end_piece()
        return "\n\n".join(self.blocks)

    def _begin_piece(self, groups: Sequence[str], room: int) -> None:
        self._append(self.top)
        if self.length + sum(map(len, groups)) + room < PIECE_CHARS // 2:
            for group in groups:
                self._append(_line([group, *[""] * (len(self.header) - 1)]))

    def _append(self, line: str) -> None:
        self.lines.append(line)
        self.length += len(line) + 1
        self.written += len(line) + 1

    def _end_piece(self) -> None:
        if self.lines:
            self.blocks.append("\n".join(self.lines))
        self.lines, self.length = [], 0


class _Groups:
    """The label-only rows that the rows below them belong to, while a table is read or written from the top."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.outer: list[str] = []
        """Those that the label which is open last took the place of."""
        self.before: Sequence[str] = ()
        """The row above the label that is open."""
        self.open = False

    def enter(self, cells: Sequence[str]) -> list[str]:
        """The labels that the next row stands under. Labels right below each other are nested, but many are rows whose other
        cells are empty. So may be a label over words in a table of two columns, unless it ends in a colon."""
        begins = not self.open
        self.open = _is_label(cells)
        if self.open:
            if begins:
                self.labels, self.outer = [], self.labels
            above = self.labels[:_MOST_GROUPS]
            self.labels.append(cells[0])
            return above
        if not begins and len(self.labels) == 1 and _is_among(self.labels[0], self.before, cells):
            self.labels = self.outer
        self.before = cells
        if len(self.labels) > _MOST_GROUPS:
            return []
        sure = len(cells) > 2 or any(map(is_value, cells[1:]))
        above = [label for label in self.labels if sure or label.endswith(":")]
        if self.labels and _sums_up(cells[0], self.labels[-1]):
            self.labels = self.labels[:-1]
        return above


def _is_among(label: str, above: Sequence[str], below: Sequence[str]) -> bool:
    """Whether a label is a row of which nothing is said: without a colon or emphasis, in a table of words, and called as its
    neighbours are, "manage-chatpal" between "Manage Assets" and "Manage Email Inbox"."""
    if label.endswith((":", "*", "_")) or not above or any(map(is_value, (*above[1:], *below[1:]))):
        return False
    first = _FIRST_WORD.match(label)
    names = (_FIRST_WORD.match(row[0]) for row in (above, below))
    return first is not None and all(name is not None and name[1].lower() == first[1].lower() for name in names)


_FIRST_WORD: Final = re.compile(r"\W{0,4}([^\W_]{1,60}+)(?=[\W_])")
"""Of several; "Cash" of a label "Cash" may be what the rows below are of."""


def _sums_up(label: str, group: str) -> bool:
    """Whether a row is the last of its group: "Total current assets" of "Current assets:". A group of one word is not closed by
    it, for "Current assets" stands under "Assets"."""
    named = _group_name(group).lower().split()
    return len(named) > 1 and label.lower().rstrip(" :").split()[1:] == named


def _group_name(label: str) -> str:
    return label.rstrip(" :")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _paragraph(title: str) -> str:
    """A cell's text as a line that is no heading, fence or row."""
    return _MARKUP.sub(r"\\", title.replace("|", "\\|"))


def _is_label(cells: Sequence[str]) -> bool:
    """Whether a row has text in its first cell only."""
    return len(cells) > 1 and bool(cells[0]) and not any(cells[1:])


def _records(rows: Sequence[Sequence[str]], header_rows: int | None) -> str:
    """The rows of a table of very many columns, which filled up to the same length could be far larger than it is."""
    clean = [["" if cell == COVERED else " ".join(cell.split()) for cell in row] for row in rows]
    named = header_rows or (header_rows is None and clean and not any(map(is_value, clean[0])))
    header = clean.pop(0) if named else []
    pages = [_record([*header, *[""] * (len(row) - len(header))], row) for row in clean or [header]]
    return "\n\n".join(filter(None, pages))


def _record(header: Sequence[str], row: Sequence[str]) -> str:
    """A row as lines that name their columns."""
    pairs = zip(header, row, strict=False)
    return "\n".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


# --- reading --------------------------------------------------------------------------------------------------------

_LINE = re.compile(r"[^\n]*")
_FENCE = re.compile(r" {0,3}(`{3,}+(?=[^`\n]*(?:\n|\Z))|~{3,})")
_DASHES = re.compile(r":?-+:?")
_BAR = re.compile(r"(?<!\\)\|")


def tables_in(text: str) -> list[Table]:
    """The tables of a text in order, those of fenced code left out.

    A table is a header line, a line of dashes below it and rows up to a blank line; outer bars may lack. Lines between outer
    bars without such a header are the rest of a table that begins before the text.
    """
    if "|" not in text:
        return []
    tables: list[Table] = []
    block: list[Span] = []  # lines that hold a bar, one below the other
    fence = ""
    cut = cut_off_fence(text, 0, len(text))
    for match in _LINE.finditer(text, cut.end() if cut else 0):
        start, end = match.span()
        if start == end and start and text[start - 1 : start] != "\n":
            continue  # the empty match at the end of a line
        mark = _FENCE.match(text, start, end)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        elif text.find("|", start, end) >= 0:
            block.append((start, end))
            continue
        tables += _tables_of(text, block)
        block = []
    tables += _tables_of(text, block)
    return tables


def _tables_of(text: str, lines: Sequence[Span]) -> Iterator[Table]:
    """The tables of neighbouring lines that all hold a bar."""
    at = 0
    while at < len(lines):
        if at + 1 < len(lines) and _is_dashes(text, lines[at + 1]) and not _is_dashes(text, lines[at]):
            header, first = lines[at], at + 2
        elif _is_barred(text, lines[at]) or _is_dashes(text, lines[at]):
            header, first = None, at
        else:
            at += 1
            continue
        end = _end_of_table(text, lines, first, any_line=header is not None)
        yield _table(text, header, lines[at:end], lines[first:end])
        at = max(end, at + 1)


def _end_of_table(text: str, lines: Sequence[Span], first: int, *, any_line: bool) -> int:
    """Behind the last row: at a line without outer bars where the table needs them, or at the header of another table."""
    for at in range(first, len(lines)):
        another = at > first and at + 1 < len(lines) and _is_dashes(text, lines[at + 1])
        if another or not (any_line or _is_barred(text, lines[at]) or _is_dashes(text, lines[at])):
            return at
    return len(lines)


def _table(text: str, header: Span | None, lines: Sequence[Span], body: Sequence[Span]) -> Table:
    names: tuple[str, ...] = ()
    span = (lines[0][0], lines[-1][1])
    header_span = (span[0], span[0])
    if header is not None:
        names = tuple(_unescaped(text, cell) for cell in _cell_spans(text, header))
        header_span = (header[0], lines[1][1])
    return Table(names, tuple(_rows(text, body, len(names))), span, header_span)


def _rows(text: str, lines: Sequence[Span], width: int) -> list[Row]:
    rows = [_cell_spans(text, line) for line in lines if not _is_dashes(text, line)]
    width = width or max(map(len, rows), default=0)
    groups = _Groups()
    read: list[tuple[list[Span], tuple[str, ...], list[str]]] = []
    for spans in rows:
        end = spans[-1][1]
        spans = spans[:width] + [(end, end)] * (width - len(spans))
        cells = tuple(_unescaped(text, span) for span in spans)
        if any(cells):
            read.append((spans, cells, groups.enter(cells)))
    return _grouped(read)


def _grouped(read: Sequence[tuple[list[Span], tuple[str, ...], list[str]]]) -> list[Row]:
    """Rows with their groups, from the bottom: a label is that of a group when the row below stands under it."""
    rows: list[Row] = []
    below: list[str] = []
    for spans, cells, above in reversed(read):
        is_group = _is_label(cells) and below[-1:] == [cells[0]]
        below = below[:-1] if is_group else [] if _is_label(cells) else above
        filled = [span for span in spans if span[0] < span[1]]
        path = " / ".join(map(_group_name, below))
        rows.append(Row(filled[0][0], filled[-1][1], cells, tuple(spans), path, is_group))
    return rows[::-1]


def _is_barred(text: str, line: Span) -> bool:
    """Whether a line stands between outer bars."""
    body = text[line[0] : line[1]].strip()
    return len(body) > 2 and body[0] == body[-1] == "|" and body[-2] != "\\"


def _is_dashes(text: str, line: Span) -> bool:
    """Whether a line is the one below a header: nothing but dashes, colons and bars."""
    body = text[line[0] : line[1]].strip().removeprefix("|").removesuffix("|")
    return all(_DASHES.fullmatch(cell.strip()) for cell in body.split("|"))


def _cell_spans(text: str, line: Span) -> list[Span]:
    """Where the cells of a line stand, without the white space around them."""
    start, end = line
    bars = [bar.start() for bar in _BAR.finditer(text, start, end)]
    if bars and not text[start : bars[0]].strip():
        start = bars.pop(0) + 1
    if bars and not text[bars[-1] + 1 : end].strip():
        end = bars.pop()
    edges = [start - 1, *bars, end]
    return [_trim(text, left + 1, right) for left, right in pairwise(edges)]


def _trim(text: str, start: int, end: int) -> Span:
    body = text[start:end]
    left = start + len(body) - len(body.lstrip())
    return left, max(left, start + len(body.rstrip()))


def _unescaped(text: str, span: Span) -> str:
    return " ".join(text[slice(*span)].replace("\\|", "|").split())


# --- a row in words -------------------------------------------------------------------------------------------------


def describe_row(table: Table, row: Row, columns: Sequence[int] | None = None) -> str:
    """A row with the headers of its values, free of markup.

    Of one column "Total sales | 2019 | $ 1,496.5", of several or all (None) "Total sales: 2019 $ 1,496.5; 2018 $ 1,202.9". The
    group goes before the label: "Current assets / Cash". Empty cells are left out, and what a header path shares
    with the one before it.
    """
    wanted = range(1, len(row.cells)) if columns is None else columns
    values = [(table.header[at] if at < len(table.header) else "", row.cells[at]) for at in wanted if row.cells[at]]
    own = _group_name(row.label) if values else row.label
    label = " / ".join(part for part in (row.group, own) if part)
    if columns is not None and len(values) == 1:
        return " | ".join(part for part in (label, *values[0]) if part)
    names = _without_shared_parts([name for name, _ in values])
    stated = "; ".join(f"{name} {value}" if name else value for name, (_, value) in zip(names, values, strict=True))
    return ": ".join(part for part in (label, stated) if part)


def _without_shared_parts(paths: Sequence[str]) -> Iterator[str]:
    """Header paths said one after the other: "Years Ended / 2019", then "2018". What a path shares with the one before goes."""
    before: list[str] = []
    for path in paths:
        parts = path.split(" / ")
        shared = next((at for at, (one, other) in enumerate(zip(parts, before, strict=False)) if one != other), 0)
        yield " / ".join(parts[shared:])
        before = parts
