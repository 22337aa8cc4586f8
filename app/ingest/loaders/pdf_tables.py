"""Tables of a page of a PDF, out of where its words and its ruled lines stand. Pure.

A ruled table is a grid of crossing lines, whatever its cells hold. A table without rulings is rows of cells that are drawn one
row after the other, stand in common columns and hold numbers: prose in two columns is drawn column by column, lists, code and
formulas have no column of numbers, and a table of contents has leaders.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median, quantiles
from typing import Final

from app.ingest.loaders.pdf_layout import CELL_GAP, Edge, Rulings, Word
from app.language.table_headers import find_header_rows
from app.language.tables import COVERED, is_value, is_year

_NUMBER_GAP: Final = 0.45
"""The same between two numbers, which have no wide space between them."""
_SAME_LINE: Final = 0.5
"""Share of the lower one's height by which words overlap that stand in one line."""
_ROW_REACH: Final = 6
"""How many lines up a cell may still join the row of the cells to its left: lines of a cell."""
_ALIGNED: Final = 1.2
"""Points between edges that are aligned."""
_SNAP: Final = 3.0
"""Points between ruled lines that are one, or that touch."""
_MOST_ROWS: Final = 400
"""Lines of a block; of more, each is looked at by itself."""
_APART: Final = 3.0
"""Heights of a line between two rows of one table, at most."""
_WRAPPED: Final = 0.8
"""A line nearer to the one above than this share of the usual distance between rows goes on with its cell."""
_LONG: Final = 60
"""Characters of a cell that reads like a sentence."""
_LEADER = re.compile(r"[.…_·]+")
"""A word of the dots between a label and its number."""
_ORDINAL = re.compile(r"[(\[]\d{1,3}[)\].]?|\d{1,3}[.)\]]")
_SIGN = re.compile(r"[$€£¥%()]+|[A-Z]{2,3}\$?")


@dataclass(frozen=True, slots=True)
class Cells:
    """A table: rows of equally many cells, the characters of the page's text that they took, and for a table without rulings
    where its columns lie: (left, right) each."""

    rows: tuple[tuple[str, ...], ...]
    taken: tuple[tuple[int, int], ...]
    columns: tuple[tuple[float, float], ...]
    top: float
    bottom: float

    @property
    def start(self) -> int:
        return self.taken[0][0]

    @property
    def end(self) -> int:
        return self.taken[-1][1]


@dataclass(slots=True)
class _Segment:
    """Neighbouring words of one line: what may be a cell."""

    words: list[Word]
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def of(cls, word: Word) -> _Segment:
        return cls([word], word.left, word.top, word.right, word.bottom)

    def add(self, word: Word) -> None:
        self.words.append(word)
        self.left, self.right = min(self.left, word.left), max(self.right, word.right)
        self.top, self.bottom = min(self.top, word.top), max(self.bottom, word.bottom)

    @property
    def text(self) -> str:
        return _joined(self.words)

    @property
    def height(self) -> float:
        return max(self.bottom - self.top, 1.0)

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


@dataclass(slots=True)
class _Row:
    """Segments in one line, from left to right."""

    segments: list[_Segment]
    top: float
    bottom: float

    def takes(self, segment: _Segment) -> bool:
        """Whether the segment goes on with this row: in its line, to the right of all that it has."""
        last = self.segments[-1]
        overlap = min(self.bottom, segment.bottom) - max(self.top, segment.top)
        low = min(self.bottom - self.top, segment.height)
        return overlap >= _SAME_LINE * low and segment.left > last.left and segment.middle > last.middle

    def add(self, segment: _Segment) -> None:
        if len(self.segments) == 1:  # the line of the values counts: a label may have a second line
            self.top, self.bottom = max(self.top, segment.top), min(self.bottom, segment.bottom)
        self.segments.append(segment)

    @property
    def left(self) -> float:
        return self.segments[0].left

    @property
    def right(self) -> float:
        return max(segment.right for segment in self.segments)

    @property
    def is_multiple(self) -> bool:
        return len(self.segments) > 1


def find_tables(words: Sequence[Word], rulings: Rulings, before: Cells | None = None) -> list[Cells]:
    """The tables in the order of the page's text. `before`: the table with which the page before ends, which may go on here."""
    tables = list(_ruled_tables(words, rulings))
    taken = {start for table in tables for start, _ in table.taken}
    tables += _aligned_tables([word for word in words if word.start not in taken], before)
    return sorted(tables, key=lambda table: table.start)


def with_header_of(before: Cells, table: Cells) -> Cells:
    """A table that goes on from the page before, with the header of that one where it has no other."""
    header = before.rows[: find_header_rows([*before.rows])]
    if not header or not _same_columns(before, table.columns) or table.rows[: len(header)] == header:
        return table
    return replace(table, rows=header + table.rows)


def _joined(words: Iterable[Word]) -> str:
    text = ""
    for word in words:
        text += word.text if not text or text.endswith("\x02") else f" {word.text}"
    return text


def _taken(words: Iterable[Word]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((word.start, word.end) for word in words))


# --- ruled tables ---------------------------------------------------------------------------------------------------


def _ruled_tables(words: Sequence[Word], rulings: Rulings) -> Iterator[Cells]:
    for horizontal, vertical in _grids(rulings):
        ys, xs = _snapped(edge.at for edge in horizontal), _snapped(edge.at for edge in vertical)
        if len(xs) < 3 or len(ys) < 3:
            continue
        inside = [
            word
            for word in words
            if xs[0] - _SNAP <= (word.left + word.right) / 2 <= xs[-1] + _SNAP
            and ys[0] - _SNAP <= (word.top + word.bottom) / 2 <= ys[-1] + _SNAP
        ]
        if rows := _fill_grid(inside, xs, ys, horizontal, vertical):
            yield Cells(rows, _taken(inside), tuple(zip(xs, xs[1:], strict=False)), ys[0], ys[-1])


def _grids(rulings: Rulings) -> list[tuple[list[Edge], list[Edge]]]:
    """Horizontal and vertical lines that touch each other, directly or through others."""
    lines = [*rulings.horizontal, *rulings.vertical]
    split = len(rulings.horizontal)
    parent = list(range(len(lines)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for v, vertical in enumerate(rulings.vertical, split):
        for h, horizontal in enumerate(rulings.horizontal):
            if (
                horizontal.start - _SNAP <= vertical.at <= horizontal.end + _SNAP
                and vertical.start - _SNAP <= horizontal.at <= vertical.end + _SNAP
            ):
                parent[root(h)] = root(v)
    groups: dict[int, tuple[list[Edge], list[Edge]]] = defaultdict(lambda: ([], []))
    for at, line in enumerate(lines):
        groups[root(at)][at >= split].append(line)
    return list(groups.values())


def _snapped(places: Iterable[float]) -> list[float]:
    """Places, those that are one merged."""
    kept: list[float] = []
    for place in sorted(places):
        if not kept or place - kept[-1] > _SNAP:
            kept.append(place)
    return kept


def _fill_grid(
    words: Sequence[Word],
    xs: Sequence[float],
    ys: Sequence[float],
    horizontal: Sequence[Edge],
    vertical: Sequence[Edge],
) -> tuple[tuple[str, ...], ...]:
    """The words in the cells of the grid; nothing where it is no table: fewer than two rows or columns with text, or mostly
    empty. What no line parts is one cell: over columns COVERED stands for it, over rows it is repeated."""
    width, height = len(xs) - 1, len(ys) - 1
    held: dict[tuple[int, int], list[Word]] = defaultdict(list)
    for word in words:
        row = _slot(ys, (word.top + word.bottom) / 2)
        held[row, _slot(xs, (word.left + word.right) / 2)].append(word)
    owner = _merged(xs, ys, horizontal, vertical)
    texts: dict[tuple[int, int], list[Word]] = defaultdict(list)
    for cell, inside in held.items():
        texts[owner[cell]].extend(inside)
    said = {cell: _joined(sorted(inside)) for cell, inside in texts.items()}
    if len({row for row, _ in said}) < 2 or len({column for _, column in said}) < 2:
        return ()
    if 2 * len(said) < len({*owner.values()}):
        return ()
    rows = []
    for row in range(height):
        cells = []
        for column in range(width):
            mine = owner[row, column]
            over = column and owner[row, column - 1] == mine
            cells.append(COVERED if over else said.get(mine, ""))
        rows.append(tuple(cells))
    return tuple(rows)


def _slot(edges: Sequence[float], place: float) -> int:
    """Index of the interval in which the place lies."""
    return max(0, min(sum(edge <= place for edge in edges) - 1, len(edges) - 2))


def _merged(
    xs: Sequence[float], ys: Sequence[float], horizontal: Sequence[Edge], vertical: Sequence[Edge]
) -> dict[tuple[int, int], tuple[int, int]]:
    """For each (row, column) of the grid the upper left one of the cell that it is part of."""
    owner: dict[tuple[int, int], tuple[int, int]] = {}
    for row in range(len(ys) - 1):
        y = (ys[row] + ys[row + 1]) / 2
        for column in range(len(xs) - 1):
            x = (xs[column] + xs[column + 1]) / 2
            if column and not _is_ruled(vertical, xs[column], y):
                owner[row, column] = owner[row, column - 1]
            elif row and not _is_ruled(horizontal, ys[row], x):
                owner[row, column] = owner[row - 1, column]
            else:
                owner[row, column] = (row, column)
    return owner


def _is_ruled(edges: Sequence[Edge], at: float, across: float) -> bool:
    return any(abs(edge.at - at) <= _SNAP and edge.start <= across <= edge.end for edge in edges)


# --- tables without rulings -----------------------------------------------------------------------------------------


def _aligned_tables(words: Sequence[Word], before: Cells | None) -> Iterator[Cells]:
    leaders = [word for word in words if _LEADER.fullmatch(word.text)]
    rows = _rows(_segments([word for word in words if not _LEADER.fullmatch(word.text)]))
    first = True
    for block in _blocks(rows):
        table = _table(block, before if first else None)
        first = False
        if table:
            yield table


def _segments(words: Sequence[Word]) -> Iterator[_Segment]:
    current: _Segment | None = None
    for word in words:
        if current and _goes_on(current, word):
            current.add(word)
            continue
        if current:
            yield current
        current = _Segment.of(word)
    if current:
        yield current


def _goes_on(segment: _Segment, word: Word) -> bool:
    """Whether a word belongs to the same cell as the one drawn before it."""
    last = segment.words[-1]
    overlap = min(last.bottom, word.bottom) - max(last.top, word.top)
    low = max(min(last.height, word.height), 1.0)
    if overlap < _SAME_LINE * low:
        return False
    gap = (word.left - last.right) / max(last.height, word.height, 1.0)
    if gap < -0.3:
        return False
    if last.end == word.start and gap < CELL_GAP:  # printed close to each other without white space: two numbers
        return not _ends_a_number(last.text)
    if not _ends_a_number(last.text):
        return gap < CELL_GAP
    if last.text[-1] in "0123456789%)" and word.text[0] in "$€£":
        return False
    return gap < (_NUMBER_GAP if word.text[0] in "0123456789$€£(—-–" else CELL_GAP)


def _ends_a_number(text: str) -> bool:
    return text[-1].isdigit() or text[-1] in "%)—" or text in "-–$€£"


def _rows(segments: Iterable[_Segment]) -> list[_Row]:
    """Segments of one line as a row, in the order of drawing; a cell of several lines lets the next cell begin further up."""
    rows: list[_Row] = []
    for segment in segments:
        recent = rows[-_ROW_REACH:]
        home = next((row for row in reversed(recent) if row.takes(segment)), None)
        if home:
            home.add(segment)
        else:
            rows.append(_Row([segment], segment.top, segment.bottom))
    return rows


def _blocks(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """Neighbouring rows that may be a table: below each other, not far apart, and not wider than what has cells."""
    block: list[_Row] = []
    for row in rows:
        if block and not _follows(block, row):
            yield block
            block = []
        block.append(row)
    if block:
        yield block


def _follows(block: Sequence[_Row], row: _Row) -> bool:
    last = block[-1]
    height = max(row.bottom - row.top, last.bottom - last.top, 1.0)
    if row.top < last.top - height or row.top - last.bottom > _APART * height or len(block) >= _MOST_ROWS:
        return False
    return not (_is_prose(row, block) or (_is_prose(last, block) and not row.is_multiple))


def _is_prose(row: _Row, block: Sequence[_Row]) -> bool:
    """A line of running text: long, and over columns if there are any."""
    if row.is_multiple or len(row.segments[0].text) <= _LONG:
        return False
    seconds = [other.segments[1].left for other in block if other.is_multiple]
    return not seconds or row.right > median(seconds)


def _trimmed(block: Sequence[_Row]) -> list[_Row]:
    """The block from its first row with cells, with the header lines that stand above its columns, to its last."""
    multiple = [at for at, row in enumerate(block) if row.is_multiple]
    if not multiple:
        return []
    first, last = multiple[0], multiple[-1]
    second = min(segment.left for at in multiple for segment in block[at].segments[1:])
    while first and block[first - 1].right > second and block[first - 1].left > block[first].left + 1:
        first -= 1
    return list(block[first : last + 1])


def _table(rows: list[_Row], before: Cells | None) -> Cells | None:
    """The block as a table; None where it is none."""
    rows = _trimmed(_join_wrapped(rows))
    if not rows:
        return None
    columns = _columns(rows)
    if len(columns) < 2:
        return None
    spans = [_extent(column) for column in columns]
    place = {id(segment): at for at, column in enumerate(columns) for segment in column}
    grid = [_cells(row, place, spans) for row in rows]
    continues = before is not None and _same_columns(before, spans)
    if not _is_table(grid, rows, continues=continues):
        return None
    words = [word for row in rows for segment in row.segments for word in segment.words]
    return Cells(tuple(map(tuple, grid)), _taken(words), tuple(spans), rows[0].top, rows[-1].bottom)


def _join_wrapped(rows: list[_Row]) -> list[_Row]:
    """Lines that go on with the label of the row above or below made one row with it."""
    near = _tight_distance(rows)
    kept: list[_Row] = []
    for row in rows:
        above = kept[-1] if kept else None
        if above and _is_continued(above, row, near):
            for word in row.segments[0].words:
                above.segments[0].add(word)
            above.segments.extend(row.segments[1:])
            above.bottom = max(above.bottom, row.bottom)
        else:
            kept.append(row)
    return kept


def _tight_distance(rows: Sequence[_Row]) -> float:
    """Lines less far apart than this are lines of one row: rows with cells are farther apart, or, where none follow each other,
    most lines are."""
    pairs = list(pairwise(rows))
    between = [low.top - high.top for high, low in pairs if high.is_multiple and low.is_multiple]
    usual = min(between) if between else quantiles([low.top - high.top for high, low in pairs] * 2, n=4)[2] if pairs else 0.0
    return _WRAPPED * usual


def _is_continued(above: _Row, row: _Row, near: float) -> bool:
    """Whether two lines are one row whose label has several lines."""
    label, more = above.segments[0], row.segments[0]
    if (above.is_multiple and row.is_multiple) or label.text.endswith(":"):
        return False
    height = row.bottom - row.top
    if abs(label.left - more.left) > height or more.top - label.bottom > 0.25 * height:
        return False
    pitch = more.bottom - label.bottom
    return pitch < near or (more.text[0].islower() and row.is_multiple != above.is_multiple)


def _columns(rows: Sequence[_Row]) -> list[list[_Segment]]:
    """Segments that stand in one column, columns from left to right. A row has at most one in each.

    Aligned edges first, the ones that most share; then what overlaps most. Rows of headers that span columns are left out.
    """
    body = _body(rows)
    column_of: dict[int, list[_Segment]] = {}
    rows_of: dict[int, set[int]] = {}
    for number, row in enumerate(body):
        for segment in row.segments:
            column_of[id(segment)] = group = [segment]
            rows_of[id(group)] = {number}

    def merge(one: list[_Segment], other: list[_Segment]) -> bool:
        if one is other or rows_of[id(one)] & rows_of[id(other)]:
            return False
        rows_of[id(one)] |= rows_of.pop(id(other))
        for segment in other:
            column_of[id(segment)] = one
        one.extend(other)
        return True

    segments = [segment for row in body for segment in row.segments]
    for group in _alignments(segments):
        for segment in group[1:]:
            merge(column_of[id(group[0])], column_of[id(segment)])
    columns = _merge_overlapping(list({id(one): one for one in column_of.values()}.values()), merge)
    return sorted(columns, key=lambda column: median(segment.middle for segment in column))


def _body(rows: Sequence[_Row]) -> list[_Row]:
    """The rows from which columns are told: those with a number behind the first cell; with none, those with most cells."""
    with_values = [row for row in rows if any(is_value(s.text) or is_year(s.text) for s in row.segments[1:])]
    if with_values:
        return with_values
    most = max(len(row.segments) for row in rows)
    return [row for row in rows if len(row.segments) == most and most > 1]


def _alignments(segments: Sequence[_Segment]) -> list[list[_Segment]]:
    """Groups of segments with the same left edge, right edge or middle, the largest first."""
    groups: list[list[_Segment]] = []
    for edge in ("right", "left", "middle"):
        ordered = sorted(segments, key=lambda one: float(getattr(one, edge)))
        group: list[_Segment] = []
        for segment in ordered:
            if group and getattr(segment, edge) - getattr(group[0], edge) > _ALIGNED:
                groups.append(group)
                group = []
            group.append(segment)
        groups.append(group)
    return sorted((group for group in groups if len(group) > 1), key=len, reverse=True)


def _merge_overlapping(columns: list[list[_Segment]], merge: object) -> list[list[_Segment]]:
    """Join columns that lie over each other, the largest first, as long as no row has a segment in both."""
    assert callable(merge)
    columns.sort(key=len, reverse=True)
    kept: list[list[_Segment]] = []
    for column in columns:
        left, right = _extent(column)
        best = sorted(kept, key=lambda one: -_overlap(_extent(one), (left, right)))
        for other in best:
            if _overlap(_extent(other), (left, right)) < 0.2:
                kept.append(column)
                break
            if merge(other, column):
                break
        else:
            kept.append(column)
    return kept


def _extent(column: Sequence[_Segment]) -> tuple[float, float]:
    return min(segment.left for segment in column), max(segment.right for segment in column)


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Common width as a share of the narrower one's."""
    common = min(one[1], other[1]) - max(one[0], other[0])
    return max(common, 0.0) / max(min(one[1] - one[0], other[1] - other[0]), 1.0)


def _cells(row: _Row, place: dict[int, int], spans: Sequence[tuple[float, float]]) -> list[str]:
    """The texts of a row in their columns."""
    cells = [""] * len(spans)
    for segment in row.segments:
        at = place.get(id(segment))
        if at is None:
            at = _nearest(segment, spans)
            if not row.is_multiple and segment.left < spans[0][1]:
                at = 0
        cells[at] = f"{cells[at]} {segment.text}".strip()
    return cells


def _nearest(segment: _Segment, spans: Sequence[tuple[float, float]]) -> int:
    """The column in the middle of which a header stands, or over which most of it lies."""

    def distance(at: int) -> tuple[float, float]:
        left, right = spans[at]
        common = min(right, segment.right) - max(left, segment.left)
        return -max(common, 0.0) // 6, abs((left + right) / 2 - segment.middle)

    return min(range(len(spans)), key=distance)


def _same_columns(before: Cells, spans: Sequence[tuple[float, float]]) -> bool:
    return len(before.columns) == len(spans) and all(
        _overlap(one, other) > 0.3 for one, other in zip(before.columns[1:], spans[1:], strict=True)
    )


def _is_table(grid: Sequence[Sequence[str]], rows: Sequence[_Row], *, continues: bool) -> bool:
    """Whether rows of cells are a table: enough of them, with a column of numbers behind the first, and no sentences."""
    multiple = sum(row.is_multiple for row in rows)
    if continues and multiple:
        return True
    filled = [cell for row in grid for cell in row if cell]
    if multiple < 2 or (multiple < 3 and len(grid[0]) < 3):
        return False
    if sum(len(cell) > 2 * _LONG for cell in filled) > len(filled) / 10:
        return False
    if sum(bool(_LEADERS.search(cell)) for cell in filled) >= multiple / 2 and len(grid[0]) < 4:
        return False
    return any(_is_column_of_numbers([row[at] for row in grid if row[at]]) for at in range(1, len(grid[0])))


def _is_column_of_numbers(cells: Sequence[str]) -> bool:
    values = [cell for cell in cells if (is_value(cell) or is_year(cell)) and not _ORDINAL.fullmatch(cell)]
    return len(values) >= 2 and 2 * len(values) >= len([cell for cell in cells if not _SIGN.fullmatch(cell)])
