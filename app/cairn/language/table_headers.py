"""A grid of cells -> one header line and the rows below it, whatever way the table was laid out for print.

Leading rows are the header as long as they hold no value; years are names of columns. Several of them become a path per column
("Years Ended September 30, / 2019"); a currency or percent sign in a column of its own joins its number; columns without any
text go. Pure, and linear in the number of cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from cairn.language.linear import bounded

COVERED: Final = "\x00"
"""Stands in a cell that the cell to its left covers (merged columns)."""

_MOST_HEADER_ROWS: Final = 6
_PATH: Final = " / "

_YEAR = re.compile(r"(?:19|20)\d\d(?!\d|[.,]\d| \d)")
_BEFORE = re.compile(r"(?:(?:(?:US|C|CA|A|AU|NZ|HK|S|R)?[$€£¥₹₩₽]|CHF|USD|EUR|GBP|JPY|RMB)[(\[]?|[(\[])-?")
_AFTER = re.compile(r"[)\]]?[%€]?[)\]]?")
"""Signs in a cell of their own that belong to the number on their right, or on their left. A dash alone is no minus."""
_VALUE = re.compile(
    r"[^\w]{0,16}(?:(?:US|C|CA|A|AU|NZ|HK|S|R|CHF|USD|EUR|GBP|JPY|RMB|Rs)\s?[^\w]{0,16})?\d[\d\W]{0,60}(?:\w{1,3}\W{0,16})?"
)
_NO_WORD = re.compile(r"\W*")
_DASH = re.compile(r"[-–—−*]")
"""Stands for no value: "—", "$ -"."""
_UNITS = bounded(r"[(\[]\S+ .*[)\]]")
"""Several words in brackets alone in their row: "(in millions)"."""
_THOUSANDS = bounded(r"\W*['’]000\w*\W*")
_UNIT = bounded(r"\W*\w{0,3}[$€£¥₹₩₽%]\W*\w{0,4}")
"""What is counted, under the name of its column: "£m", "$'000", "%"."""
_IN_BRACKETS = bounded(r"[(\[].*[)\]]")


def is_value(cell: str) -> bool:
    """Whether a cell holds a number, an amount, a share or a mark for none of them; a year is a name, not a value."""
    if _NO_WORD.fullmatch(cell):
        return bool(_DASH.search(cell))
    if _THOUSANDS.fullmatch(cell):
        return False
    return bool(_VALUE.fullmatch(cell)) and not is_year(cell)


def is_year(cell: str) -> bool:
    """Whether a cell is, or begins with, a year: "2019", "2019 €m", "2019/20", "2018 (restated)"."""
    return bool(_YEAR.match(cell))


def arrange(rows: Sequence[Sequence[str]], header_rows: int | None = None) -> tuple[list[str], list[list[str]]]:
    """The cells of the header line and of the rows below it, all of the same number, white space collapsed.

    Without any header row the header's cells are empty. `header_rows`: how many rows at the top are the header; None to find out.
    """
    grid = _rectangle(rows)
    if not grid:
        return [], []
    count = find_header_rows(grid) if header_rows is None else len(_rectangle(rows[:header_rows]))
    if count == len(grid):
        count = min(count, 1)  # a table of nothing but words
    grid = _without_columns_of_signs(grid, count)
    head, body = grid[:count], grid[count:]
    columns = [_Column(path, [row[at] for row in body]) for at, path in enumerate(_paths(head, body, len(grid[0])))]
    joined = _join_columns(columns)
    cells = [_settle(list(row)) for row in zip(*(column.cells for column in joined), strict=True)]
    return [_PATH.join(column.path) for column in joined], [row for row in cells if any(row)]


def split_titles(
    rows: Sequence[Sequence[str]], header_rows: int | None = None
) -> tuple[list[str], Sequence[Sequence[str]], int | None]:
    """What stands over all columns above their names, which is the table's title and not a name; the rows below it, and how many
    of them are the header. A remark in brackets, such as the unit, stays with the names."""
    width = max(map(len, rows), default=0)
    titles: list[str] = []
    for row in rows:
        if width < 2 or len(row) < width or set(row[1:]) != {COVERED}:
            break
        title = " ".join(row[0].split())
        if not title or _IN_BRACKETS.fullmatch(title):
            break
        titles.append(title)
    below = rows[len(titles) :]
    if not titles or not any(cell and cell != COVERED for row in below for cell in row[1:]):
        return [], rows, header_rows
    count = None if header_rows is None or header_rows <= len(titles) else header_rows - len(titles)
    grid = _rectangle(below)
    if count is None and (not find_header_rows(grid) or _first_value_row(grid) == len(grid)):
        return [], rows, header_rows  # the name of the first rows, or of a list of fields
    return titles, below, count


def _rectangle(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Cells on one line, rows without text left out, short rows filled, columns at the right without any text cut off."""
    clean = [[cell if cell == COVERED else " ".join(cell.split()) for cell in row] for row in rows]
    kept = [row for row in clean if any(cell and cell != COVERED for cell in row)]
    width = max((at + 1 for row in kept for at, cell in enumerate(row) if cell and cell != COVERED), default=0)
    return [(row + [""] * width)[:width] for row in kept]


def _without_columns_of_signs(grid: list[list[str]], header_rows: int) -> list[list[str]]:
    """Each column that holds nothing but signs below the header made one with the numbers beside it, so that it takes no part in
    what names stand over: a name may stand above the sign or above the number, and where each has one, they stay apart."""
    columns = [list(column) for column in zip(*grid, strict=True)]
    joined: list[list[str]] = []
    before: list[str] | None = None
    for at, column in enumerate(columns):
        if before and (one := _as_one_column(before, column, header_rows)):
            column, before = one, None
        elif before:
            joined.append(before)
            before = None
        if at and at + 1 < len(columns) and _holds_only(_BEFORE, column[header_rows:]):
            before = column
        elif len(joined) > 1 and _holds_only(_AFTER, column[header_rows:]):
            one = _as_one_column(joined[-1], column, header_rows)
            joined[-1:] = [one] if one else [joined[-1], column]
        else:
            joined.append(column)
    return [list(row) for row in zip(*joined, *([before] if before else []), strict=True)]


def _holds_only(signs: re.Pattern[str], cells: Sequence[str]) -> bool:
    """Whether cells hold signs of this kind, at least one, and nothing else."""
    texts = {cell for cell in cells if cell and cell != COVERED}
    return bool(texts) and all(map(signs.fullmatch, texts))


def _as_one_column(left: Sequence[str], right: Sequence[str], header_rows: int) -> list[str] | None:
    """None where they have names of their own."""
    for one, other in zip(left[:header_rows], right[:header_rows], strict=True):
        if one and other and other not in (COVERED, one) and one != COVERED:
            return None
    names = [
        COVERED if one == other == COVERED else one if one and one != COVERED else other
        for one, other in zip(left[:header_rows], right[:header_rows], strict=True)
    ]
    return names + [
        _joined_cell(one, other) for one, other in zip(left[header_rows:], right[header_rows:], strict=True)
    ]


# --- which rows are the header --------------------------------------------------------------------------------------


def find_header_rows(grid: Sequence[Sequence[str]]) -> int:
    """How many rows at the top name the columns. The first row does unless it holds values; the next ones do while they hold
    none and go on with what the rows above leave open: their first cell is empty or in brackets, or they name columns that
    the rows above do not."""
    if _is_list_of_fields(grid):
        return 0
    first = _first_value_row(grid)
    limit = min(_MOST_HEADER_ROWS, len(grid))
    if first == 0:
        return 1 if _names_by_number(grid[0]) or _names_values(grid) else 0
    count = 0
    named: set[int] = set()
    for at, row in enumerate(grid[:limit]):
        if at >= first:
            break
        spans = at and COVERED in grid[at - 1] and not grid[at - 1][0]  # then it says nothing yet of each column
        if count and named and not spans and not _goes_on(row, named, first - at if first < len(grid) else 0):
            break
        filled = {column for column, cell in enumerate(row[1:], 1) if cell}
        if not filled and named and not _IN_BRACKETS.fullmatch(row[0]):
            break  # a label-only row below the names of the columns: the first group
        if not filled and len(row) > 1 and not _names_follow(grid, at + 1, min(first, limit)):
            break  # a label-only row over values
        named |= filled
        count += 1
        if not named and len(row) == 1:
            break
    return count


def _is_list_of_fields(grid: Sequence[Sequence[str]]) -> bool:
    """Whether two columns are names that end in a colon, and what they stand for."""
    named = [row for row in grid if row[0].endswith(":") and len(row) == 2 and row[1] and not is_year(row[1])]
    return grid[0] in named and 2 * len(named) >= len(grid)


def _first_value_row(grid: Sequence[Sequence[str]]) -> int:
    """Index of the first row with a value behind its label, in a table of one column with a value; their number if none."""
    for at, row in enumerate(grid):
        if any(map(is_value, row[1:] or row)) and not any(map(_is_row_of_years, grid[at : at + 2])):
            return at
    return len(grid)


def _is_row_of_years(row: Sequence[str]) -> bool:
    return not row[0] and any(map(is_year, row[1:]))


def _names_by_number(row: Sequence[str]) -> bool:
    """Whether a first row without a label counts the columns: "", 1, 2, 3."""
    rest = [cell for cell in row[1:] if cell and cell != COVERED]
    return not row[0] and len(rest) > 1 and all(cell.isdigit() and len(cell) < 3 for cell in rest)


def _names_values(grid: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has a word above a column of nothing but values: "1-90", "91-180", "Total"."""
    words = [at for at, cell in enumerate(grid[0]) if at and len(cell) > 2 and not is_value(cell)]
    return any(
        all(is_value(row[at]) for row in grid[1:] if row[at]) and any(row[at] for row in grid[1:]) for at in words
    )


def _goes_on(row: Sequence[str], named: set[int], to_values: int) -> bool:
    """Whether a row without values below names of columns is a header row too. `to_values`: how many rows further
    down the first values stand; 0 for nowhere."""
    if not row[0] or row[0] == COVERED or _IN_BRACKETS.fullmatch(row[0]):
        return True
    filled = {column for column, cell in enumerate(row[1:], 1) if cell and cell != COVERED}
    if filled and all(_UNIT.fullmatch(row[column]) for column in filled):
        return True
    new = len(filled - named)
    return bool(new) and (to_values == 1 or (to_values > 1 and new >= len(filled & named)))


def _names_follow(grid: Sequence[Sequence[str]], start: int, end: int) -> bool:
    """Whether a row that names columns stands in [start, end): a row with its first cell only is then the table's title."""
    return any(any(cell and cell != COVERED for cell in row[1:]) for row in grid[start:end])


# --- header rows to paths -------------------------------------------------------------------------------------------


def _paths(head: Sequence[Sequence[str]], body: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """Per column what the header rows say, from the top, without repetitions."""
    paths: list[list[str]] = [[] for _ in range(width)]
    spread: list[list[str]] = []
    for row in reversed(head):  # what a name stands over is named by the row below, in all of its columns
        spread.insert(0, _spread(row, spread or body, heads=bool(spread)))
    for row in spread:
        for column, cell in enumerate(row):
            if cell and cell not in paths[column]:
                paths[column].append(cell)
    return paths


def _spread(row: Sequence[str], below: Sequence[Sequence[str]], *, heads: bool) -> list[str]:
    """A header row with each text in all columns that it stands over. `below`: the header rows below (`heads`) or the body."""
    row = list(row)
    texts = [(at, cell) for at, cell in enumerate(row) if cell and cell != COVERED]
    if len(texts) == 1 and (texts[0][0] == 0 or _UNITS.fullmatch(texts[0][1])):
        return [texts[0][1]] + [""] * (len(row) - 1)  # a title of the whole table, or its unit
    if COVERED in row:
        for at in range(1, len(row)):
            row[at] = row[at - 1] if row[at] == COVERED else row[at]
        return row
    columns = [at for at in range(1, len(row)) if any(line[at] and line[at] != COVERED for line in below) or row[at]]
    spread = _in_equal_parts(columns, row) or (_to_the_next(columns, row, below[-1]) if heads else ())
    for column, text in zip(columns, spread, strict=False):
        row[column] = text
    return row


def _in_equal_parts(columns: Sequence[int], row: Sequence[str]) -> list[str]:
    """For each of the columns the text above it, where several texts stand over as many columns each; else none."""
    places = [at for at, column in enumerate(columns) if row[column]]
    if len(places) < 2 or len(columns) % len(places):
        return []
    part = len(columns) // len(places)
    if any(at // part != place for place, at in enumerate(places)):
        return []
    return [row[columns[places[at // part]]] for at in range(len(columns))]


def _to_the_next(columns: Sequence[int], row: Sequence[str], below: Sequence[str]) -> Iterator[str]:
    """For each of the columns the text above it: one text may stand over all; else each reaches to the next, as long as what is
    below it goes on with years, or with words. A year reaches nowhere."""
    texts = [at for at, column in enumerate(columns) if row[column]]
    if len(texts) == 1 and _is_over_all(texts[0], [below[column] for column in columns]):
        yield from [row[columns[texts[0]]]] * len(columns)
        return
    current, kind = "", False
    for column in columns:
        if row[column]:
            current, kind = row[column], is_year(below[column])
        reaches = not is_year(current) and is_year(below[column]) == kind
        yield row[column] or (current if reaches else "")


def _is_over_all(place: int, below: Sequence[str]) -> bool:
    """Whether one text stands over all the columns: in the middle, or at the left of columns named by years."""
    count = len(below)
    return place in ((count - 1) // 2, count // 2) or (place == 0 and all(map(_has_digit, below)))


def _has_digit(cell: str) -> bool:
    return any(map(str.isdigit, cell))


# --- columns that are one -------------------------------------------------------------------------------------------


class _Column:
    """A column while it is joined with its neighbours."""

    def __init__(self, path: list[str], cells: list[str]) -> None:
        self.path = path
        self.cells = cells

    def is_empty(self) -> bool:
        return not any(cell and cell != COVERED for cell in self.cells)


def _join_columns(columns: Sequence[_Column]) -> list[_Column]:
    """Columns of signs joined with their numbers, columns that hold nothing and are named by nothing of their own left out."""
    joined: list[_Column] = []
    for column in columns:
        if column.is_empty() and (not column.path or (joined and {*column.path} <= {*joined[-1].path})):
            continue
        if joined and _are_one(joined[-1], column):
            before = joined.pop()
            cells = [_joined_cell(left, right) for left, right in zip(before.cells, column.cells, strict=True)]
            column = _Column(before.path or column.path, cells)
        joined.append(column)
    return joined


def _are_one(left: _Column, right: _Column) -> bool:
    """Whether two neighbours hold one value between them: named alike or only one of them, no row with a value in both, and a
    sign in one of them (or, where both are named alike, never a text in both)."""
    if left.path and right.path and left.path != right.path:
        return False
    signs = False
    for one, other in zip(left.cells, right.cells, strict=True):
        if not one or not other or other == COVERED or one == COVERED:
            continue
        if not _BEFORE.fullmatch(one) and not _AFTER.fullmatch(other):
            return False
        signs = True
    return signs or (bool(left.path) and left.path == right.path)


def _joined_cell(left: str, right: str) -> str:
    if not left or not right or right == COVERED or left == COVERED:
        return left if left and left != COVERED else right
    tight = left.endswith(("(", "[", "-")) or _AFTER.fullmatch(right)
    return f"{left}{right}" if tight else f"{left} {right}"


def _settle(row: list[str]) -> list[str]:
    """A body row in which a text over all columns stands once, as a label, and one over some of them in each."""
    for at, cell in enumerate(row):
        if cell == COVERED:
            row[at] = row[at - 1] if at else ""
    if len(row) > 1 and row[0] and all(cell == row[0] for cell in row) and not is_value(row[0]):
        return [row[0]] + [""] * (len(row) - 1)
    return row
