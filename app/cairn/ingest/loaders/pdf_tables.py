"""Tables of a page of a PDF, out of where its words and its ruled lines stand. Pure.

A ruled table is a grid of crossing lines, whatever its cells hold. A table without rulings is rows of cells that are drawn one
row after the other, stand in common columns and hold numbers: prose in two columns is drawn column by column, lists, code and
formulas have no column of numbers, and a table of contents has leaders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median, quantiles
from typing import Final

from cairn.ingest.loaders.pdf_grids import ruled_tables
from cairn.ingest.loaders.pdf_layout import CELL_GAP, PlacedTable, PlacedWord, Rulings, joined, places_of
from cairn.language.table_headers import find_header_rows
from cairn.language.tables import is_value, is_year

_NUMBER_GAP: Final = 0.45
"""The same between two numbers, which have no wide space between them."""
_HEADER_GAP: Final = 0.35
"""The same between the names of two columns, where the columns are known."""
_SAME_LINE: Final = 0.5
"""Share of the lower one's height by which words overlap that stand in one line."""
_ROW_REACH: Final = 6
"""How many lines up a cell may still join the row of the cells to its left: lines of a cell."""
_ALIGNED: Final = 1.2
"""Points between edges that are aligned."""
_OVER: Final = 0.2
"""Share of the narrower one's width by which columns overlap that may be one."""
_MOST_ROWS: Final = 400
"""Lines of a block; of more, each is looked at by itself."""
_APART: Final = 3.0
"""Heights of a line between two rows of one table, at most."""
_ANEW: Final = 3.0
"""Times the usual space between rows, below which another table may begin with a caption and a header."""
_FEWEST_ABOVE: Final = 3
"""Rows with cells, header included, of the table above it."""
_CAPTION_ROWS: Final = 2
"""Lines of its caption, at most."""
_WRAPPED: Final = 0.8
"""A line nearer to the one above than this share of the usual distance between rows goes on with its cell."""
_CENTRED: Final = 0.35
"""A title is nearer to the middle of the table than this share of what it is from the middle of the columns of values: what is
centred there by an eye is off by a few points, and columns are by a hundred."""
_LONG: Final = 60
"""Characters of a cell that reads like a sentence."""
_LEADER = re.compile(r"[.…_·]+")
"""A word of the dots between a label and its number."""
_CHAPTER = re.compile(r"\d{1,2}(?:\.\d{1,2})*\.?")
_ORDINAL = re.compile(r"[(\[]\d{1,3}[)\].]?|\d{1,3}[.)\]]")
_NONE: Final = {*"-–—−*", "--", "- -", "n/a"}
_SIGN = re.compile(r"[$€£¥%()]+|[A-Z]{2,3}\$?")


@dataclass(slots=True)
class _Segment:
    """Neighbouring words of one line: what may be a cell."""

    words: list[PlacedWord]
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def of(cls, word: PlacedWord) -> _Segment:
        return cls([word], word.left, word.top, word.right, word.bottom)

    def add(self, word: PlacedWord) -> None:
        self.words.append(word)
        self.left, self.right = min(self.left, word.left), max(self.right, word.right)
        self.top, self.bottom = min(self.top, word.top), max(self.bottom, word.bottom)

    @property
    def text(self) -> str:
        return joined(self.words)

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


def find_tables(words: Sequence[PlacedWord], rulings: Rulings, before: PlacedTable | None = None) -> list[PlacedTable]:
    """The tables in the order of the page's text. `before`: the table with which the page before ends, which may go on here."""
    tables = list(ruled_tables(words, rulings))
    taken = {start for table in tables for start, _ in table.taken}
    tables += _aligned_tables([word for word in words if word.start not in taken], before)
    return sorted(tables, key=lambda table: table.start)


def with_header_of(before: PlacedTable, table: PlacedTable) -> PlacedTable:
    """A table that goes on from the page before, with the header of that one where it has no other. One whose first row has
    other years has its own."""
    header = before.rows[: find_header_rows([*before.rows])]
    if not header or not _same_columns(before, table.columns) or table.rows[: len(header)] == header:
        return table
    named = [cell for cell in table.rows[0][1:] if cell]
    if named and all(map(is_year, named)):
        return table  # other years
    return replace(table, rows=header + table.rows)


# --- tables without rulings -----------------------------------------------------------------------------------------


def _aligned_tables(words: Sequence[PlacedWord], before: PlacedTable | None) -> Iterator[PlacedTable]:
    leaders = [word for word in words if _LEADER.fullmatch(word.text)]
    rows = _rows(_segments([word for word in words if not _LEADER.fullmatch(word.text)]))
    for number, block in enumerate(_joined_blocks(_blocks(rows))):
        table = _table(block, None if number else before)
        if not table:
            continue
        led = [word for word in leaders if table.start < word.start < table.end]
        if not (_names_pages(table) and (2 * len(led) >= len(table.rows) or _counts_chapters(table))):
            yield replace(table, taken=tuple(sorted([*table.taken, *((word.start, word.end) for word in led)])))


def _names_pages(table: PlacedTable) -> bool:
    """Whether it is a table of contents: the last column counts upwards."""
    last = [row[-1] for row in table.rows if row[-1]]
    numbers = [int(cell) for cell in last if cell.isdecimal() and len(cell) < 5]
    return 5 * len(numbers) >= 4 * len(last) and numbers == sorted(numbers)


def _counts_chapters(table: PlacedTable) -> bool:
    first = [row[0] for row in table.rows if row[0]]
    return len(table.rows[0]) < 4 and 5 * sum(bool(_CHAPTER.fullmatch(cell)) for cell in first) >= 4 * len(table.rows)


def _segments(words: Sequence[PlacedWord]) -> Iterator[_Segment]:
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


def _goes_on(segment: _Segment, word: PlacedWord) -> bool:
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
    for at, row in enumerate(rows):
        if block and (not _follows(block, row) or _begins_anew(block, rows[at : at + _CAPTION_ROWS + 1])):
            yield block
            block = []
        block.append(row)
    if block:
        yield block


def _begins_anew(block: Sequence[_Row], rows: Sequence[_Row]) -> bool:
    """Whether another table begins there: farther below the last row than the rows above are from each other, with a caption
    and names of columns of its own, without a number but years."""
    if len(rows) < 2 or rows[0].is_multiple or not block[-1].is_multiple:
        return False
    body = [row for row in block if row.is_multiple]
    if len(body) < _FEWEST_ABOVE:
        return False
    header = next((row for row in rows if row.is_multiple), None)
    steps = [low.top - high.bottom for high, low in pairwise(body)]
    apart = rows[0].top - block[-1].bottom > max(_ANEW * median(steps), block[-1].bottom - block[-1].top)
    if header is None or not apart or not any(_is_number(segment.text) for segment in block[-1].segments[1:]):
        return False
    named = [segment.text for segment in header.segments[1:]]
    return len(header.segments) > 2 and all(is_year(text) or not any(map(str.isdigit, text)) for text in named)


def _follows(block: Sequence[_Row], row: _Row) -> bool:
    last = block[-1]
    height = max(row.bottom - row.top, last.bottom - last.top, 1.0)
    if len(block) >= _MOST_ROWS or row.top - last.bottom > _APART * height:
        return False
    if row.top < last.top - height:
        return False
    return not (_is_prose(row, block) or (_is_prose(last, block) and not row.is_multiple))


def _joined_blocks(blocks: Iterable[list[_Row]]) -> Iterator[list[_Row]]:
    """Blocks that go on with each other joined: labels of groups of rows are drawn before or after the rows beside them."""
    current: list[_Row] = []
    labels: list[_Row] = []
    for block in blocks:
        if current and not any(row.is_multiple for row in block):
            labels += block
            continue
        if current and _is_continuation(current, block):
            inside = [
                row
                for row in labels
                if current[0].top < row.top < block[-1].bottom and len(row.segments[0].text) < _LONG
            ]
            current += [*inside, *block]
        else:
            if current:
                yield current
            current = block
        labels = []
    if current:
        yield current


def _is_continuation(above: Sequence[_Row], block: Sequence[_Row]) -> bool:
    """Whether the first row with cells stands close below the last one above, cell below cell."""
    last = next((row for row in reversed(above) if row.is_multiple), None)
    first = next((row for row in block if row.is_multiple), None)
    if last is None or first is None:
        return False
    height = last.bottom - last.top
    if _begins_anew(above, block[: _CAPTION_ROWS + 1]):
        return False
    if not -2.5 * height < first.top - last.bottom < _APART * height:
        return False
    cells = [(segment.left, segment.right) for segment in last.segments]
    held = [any(_overlap((one.left, one.right), cell) > 0.5 for cell in cells) for one in first.segments]
    return len(first.segments) > 2 and sum(held) >= len(held) - 1


def _is_prose(row: _Row, block: Sequence[_Row]) -> bool:
    """A line of running text: long, and over columns if there are any."""
    if row.is_multiple or len(row.segments[0].text) <= _LONG:
        return False
    seconds = [other.segments[1].left for other in block if other.is_multiple]
    return not seconds or row.right > median(seconds)


def _trimmed(block: Sequence[_Row]) -> list[_Row]:
    """The block from its first row with cells, with the header lines that stand above its columns, to its last."""
    multiple = [at for at, row in enumerate(block) if row.is_multiple]
    while multiple and _is_spaced_prose(block[multiple[0]]):
        del multiple[0]
    while multiple and _is_spaced_prose(block[multiple[-1]]):
        del multiple[-1]
    if not multiple:
        return []
    first, last = multiple[0], multiple[-1]
    second = min(segment.left for at in multiple for segment in block[at].segments[1:])
    left = min(block[at].left for at in multiple)
    top = first
    while top and block[top - 1].right > second and block[top - 1].left > left + 1:
        top -= 1
    right = max(block[at].right for at in multiple)
    titles = [at for at in range(top, first) if _is_title(block[at], (left + right) / 2, (second + right) / 2)]
    if len(titles) > 1 and _are_apart([*block[titles[0] : titles[-1] + 2]], second):
        top = titles[-1] + 1
    return list(block[top : last + 1])


def _are_apart(rows: Sequence[_Row], second: float) -> bool:
    """Whether centred lines, two at least, are titles over the row below them, which comes last, and not the lines of a name in
    the middle of the table: one reaches over the labels, left of `second`, or the row below is farther away than they are."""
    steps = [low.top - high.top for high, low in pairwise(rows)]
    return any(row.left < second - 1 for row in rows[:-1]) or steps[-1] * _WRAPPED > max(steps[:-1])


def _is_title(row: _Row, middle: float, of_values: float) -> bool:
    """Whether a line above the columns is centred over the whole table (`middle`), and not over the columns behind the labels. A
    comma says that the next line goes on with it: "Year ended December 31," """
    return not row.segments[0].text.endswith(",") and abs(row.segments[0].middle - middle) < _CENTRED * abs(
        row.segments[0].middle - of_values
    )


def _join_header_lines(grid: Sequence[list[str]], rows: Sequence[_Row]) -> list[list[str]]:
    """Names of columns with different numbers of lines, which overlap in height, as one row."""
    joined_rows: list[list[str]] = []
    values = False
    for at, cells in enumerate(grid):
        values = values or any(map(is_value, cells[1:]))
        if joined_rows and not values and rows[at].top < rows[at - 1].bottom - 1:
            joined_rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(joined_rows[-1], cells, strict=True)]
        else:
            joined_rows.append(cells)
    return joined_rows


def _is_spaced_prose(row: _Row) -> bool:
    """A line of running text with one wide space in it."""
    return (
        len(row.segments) == 2
        and any(len(segment.text) > _LONG for segment in row.segments)
        and not any(_is_number(segment.text) for segment in row.segments)
    )


def _in_place(rows: Sequence[_Row]) -> list[_Row]:
    """The rows from top to bottom; what stands in one line is one row, in whatever order it was drawn."""
    placed: list[_Row] = []
    for row in sorted(rows, key=lambda one: one.top + one.bottom):
        above = placed[-1] if placed else None
        if above and _is_beside(above, row):
            above.segments = sorted([*above.segments, *row.segments], key=lambda one: one.left)
        else:
            placed.append(row)
    return placed


def _is_beside(one: _Row, other: _Row) -> bool:
    common = min(one.bottom, other.bottom) - max(one.top, other.top)
    apart = other.right <= one.left or one.right <= other.left
    alone = len(one.segments) == 1 or len(other.segments) == 1  # may stand between two lines
    return apart and common >= (_SAME_LINE / 4 if alone else _SAME_LINE) * min(
        one.bottom - one.top, other.bottom - other.top
    )


def _table(rows: list[_Row], before: PlacedTable | None) -> PlacedTable | None:
    """The block as a table; None where it is none."""
    rows = _trimmed(_join_wrapped(_in_place(rows)))
    if not rows:
        return None
    columns = _columns(rows)
    if len(columns) < 2:
        return None
    spans = [column.extent for column in columns]
    place = {id(segment): at for at, column in enumerate(columns) for segment in column.segments}
    for row in rows:
        row.segments = [part for segment in row.segments for part in _split(segment, place, spans)]
    named = [
        at for at, column in enumerate(columns) if at and not all(_SIGN.fullmatch(one.text) for one in column.segments)
    ]
    grid = [_cells(row, place, spans, named) for row in rows]
    continues = before is not None and _same_columns(before, spans)
    if not _is_table(grid, rows, continues=continues):
        return None
    grid = _join_header_lines(grid, rows)
    words = [word for row in rows for segment in row.segments for word in segment.words]
    return PlacedTable(tuple(map(tuple, grid)), places_of(words), tuple(spans), rows[0].top, rows[-1].bottom)


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
    usual = (
        min(between)
        if between
        else quantiles([low.top - high.top for high, low in pairs] * 2, n=4)[2]
        if pairs
        else 0.0
    )
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


@dataclass(slots=True, eq=False)
class _Column:
    """Segments that stand below each other, at most one of each row, and the width that they take."""

    segments: list[_Segment]
    rows: set[int]
    left: float
    right: float

    @classmethod
    def of(cls, segment: _Segment, row: int) -> _Column:
        return cls([segment], {row}, segment.left, segment.right)

    def take(self, other: _Column) -> bool:
        """Take the segments of another, unless a row has a segment in both."""
        if other is self or self.rows & other.rows:
            return False
        self.segments += other.segments
        self.rows |= other.rows
        self.left, self.right = min(self.left, other.left), max(self.right, other.right)
        return True

    @property
    def extent(self) -> tuple[float, float]:
        return self.left, self.right


def _columns(rows: Sequence[_Row]) -> list[_Column]:
    """The columns from left to right. Aligned edges first, the ones that most share; then what overlaps most. Rows of headers,
    which may span columns, are left out."""
    column_of: dict[int, _Column] = {}
    segments: list[_Segment] = []
    for number, row in enumerate(_body(rows)):
        for segment in row.segments:
            column_of[id(segment)] = _Column.of(segment, number)
            segments.append(segment)
    for group in _alignments(segments):
        column = column_of[id(group[0])]
        for segment in group[1:]:
            other = column_of[id(segment)]
            if column.take(other):
                column_of.update((id(one), column) for one in other.segments)
    columns = _merge_overlapping(list({id(column): column for column in column_of.values()}.values()))
    return sorted(columns, key=lambda column: median(segment.middle for segment in column.segments))


def _body(rows: Sequence[_Row]) -> list[_Row]:
    """The rows from which columns are told: those with a number behind the first cell; with none, those with most cells."""
    with_values = [row for row in rows if any(is_value(s.text) or is_year(s.text) for s in row.segments[1:])]
    if with_values:
        values = max(
            (len(row.segments) - 1 for row in rows if any(is_value(s.text) for s in row.segments[1:])), default=0
        )
        return [row for row in with_values if not _is_over_several(row, values)]
    most = max(len(row.segments) for row in rows)
    return [row for row in rows if len(row.segments) == most and most > 1]


def _is_over_several(row: _Row, values: int) -> bool:
    """Whether a row is years alone, fewer than there are columns of values: names of several columns each."""
    return len(row.segments) < values and all(is_year(segment.text) for segment in row.segments)


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


def _merge_overlapping(columns: list[_Column]) -> list[_Column]:
    """Join columns that lie over each other, the largest first, as long as no row has a segment in both."""
    kept: list[_Column] = []
    for column in sorted(columns, key=lambda one: len(one.segments), reverse=True):
        shares = ((_overlap(other.extent, column.extent), other) for other in kept)
        over = sorted(((share, other) for share, other in shares if share >= _OVER), key=lambda pair: -pair[0])
        if not any(other.take(column) for _, other in over):
            kept.append(column)
    return kept


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Common width as a share of the narrower one's."""
    common = min(one[1], other[1]) - max(one[0], other[0])
    return max(common, 0.0) / max(min(one[1] - one[0], other[1] - other[0]), 1.0)


def _split(segment: _Segment, place: dict[int, int], spans: Sequence[tuple[float, float]]) -> Iterator[_Segment]:
    """The names of several columns that stand close to each other, apart: a wider space than in a text, between two columns."""
    if id(segment) in place:
        yield segment
        return
    part = _Segment.of(segment.words[0])
    for before, word in pairwise(segment.words):
        nearest = [_nearest(_Segment.of(one), spans) for one in (before, word)]
        if word.left - before.right > _HEADER_GAP * segment.height and nearest[0] != nearest[1]:
            yield part
            part = _Segment.of(word)
        else:
            part.add(word)
    yield part


def _cells(row: _Row, place: dict[int, int], spans: Sequence[tuple[float, float]], named: Sequence[int]) -> list[str]:
    """The texts of a row in their columns. `named`: those that are neither labels nor signs alone."""
    cells = [""] * len(spans)
    over = (
        {} if any(id(segment) in place for segment in row.segments) else _over_groups(row, [spans[at] for at in named])
    )
    for segment in row.segments:
        at = place.get(id(segment), named[over[id(segment)]] if id(segment) in over else None)
        if at is None:
            at = _nearest(segment, spans)
            if not row.is_multiple and segment.left < spans[0][1]:
                at = 0
        cells[at] = f"{cells[at]} {segment.text}".strip()
    return cells


def _over_groups(row: _Row, columns: Sequence[tuple[float, float]]) -> dict[int, int]:
    """Where each name of a row stands over as many columns as the others, between the two in the middle: the first of its
    columns, by the name's id; else nothing. Of an odd number the one in the middle is the nearest."""
    names = len(row.segments)
    size = len(columns) // names
    if names < 2 or size % 2 or size * names != len(columns):
        return {}
    first = {id(segment): at * size for at, segment in enumerate(row.segments)}
    for segment in row.segments:
        (left, _), (last, right) = columns[first[id(segment)]], columns[first[id(segment)] + size - 1]
        if segment.middle < left or abs(segment.middle - (left + right) / 2) > abs(segment.middle - (last + right) / 2):
            return {}
    return first


def _nearest(segment: _Segment, spans: Sequence[tuple[float, float]]) -> int:
    """The column in the middle of which a header stands, or over which most of it lies."""

    def distance(at: int) -> tuple[float, float]:
        left, right = spans[at]
        common = min(right, segment.right) - max(left, segment.left)
        return -max(common, 0.0) // 6, abs((left + right) / 2 - segment.middle)

    return min(range(len(spans)), key=distance)


def _same_columns(before: PlacedTable, spans: Sequence[tuple[float, float]]) -> bool:
    return len(before.columns) == len(spans) and all(
        _overlap(one, other) > 0.3 for one, other in zip(before.columns[1:], spans[1:], strict=True)
    )


def _is_table(grid: Sequence[Sequence[str]], rows: Sequence[_Row], *, continues: bool) -> bool:
    """Whether rows of cells are a table: enough of them, with a column of numbers behind the first, and no sentences."""
    multiple = sum(row.is_multiple for row in rows)
    if continues and multiple:
        return True
    filled = [cell for row in grid for cell in row if cell]
    if multiple < 2 or (multiple < 3 and len(grid[0]) < 3) or 2 * multiple < len(rows):
        return False
    if sum(len(cell) > 2 * _LONG for cell in filled) > len(filled) / 10:
        return False
    return any(_is_column_of_numbers([row[at] for row in grid if row[at]]) for at in range(1, len(grid[0])))


def _is_column_of_numbers(cells: Sequence[str]) -> bool:
    values = [cell for cell in cells if _is_number(cell)]
    numbers = sum(any(map(str.isdigit, cell)) or cell in "*✓" for cell in values)
    return numbers >= 2 and 2 * len(values) >= len([cell for cell in cells if not _SIGN.fullmatch(cell)])


def _is_number(cell: str) -> bool:
    """A number, or a mark for none; neither the number of an item nor the punctuation of code."""
    if not (is_value(cell) or is_year(cell)) or _ORDINAL.fullmatch(cell) or cell[0] in "=<>:;":
        return False
    return cell in _NONE or any(map(str.isdigit, cell))
