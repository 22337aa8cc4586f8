"""Whether a table goes on behind a page break: the rows below are of the same table, though the foot of one page and the head of
the next stand between them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from cairn.language.cells import decimal_mark, plain_cell, read_number
from cairn.language.lexicon import languages
from cairn.language.linear import bounded
from cairn.language.tables import Row, Table, is_value

PageAt = Callable[[int], int | None]
"""The page of a place in the text; None where there are no pages."""
Pages = Mapping[int, Sequence[str]]
"""The lines of each page that say something, in order."""

_MOST_LINES: Final = 8
"""Lines of a foot and a head together."""
_FEWEST_PAGES: Final = 3
"""That have a running title: two pages may have one caption."""
_PAGE: Final = bounded(
    rf"\W*(?P<word>(?:{'|'.join(sorted({re.escape(one.replies.page.replace('{n}', '').strip()) for one in languages()}))})\s+)?"
    r"(?P<number>\d{1,3})(?P<of>\s?(?:/|[^\W\d]{1,3})\s?\d{1,3})?\W*",
    re.IGNORECASE,
)
""" "7", "– 7 –", "7 / 12", "page 7 of 12"; no year, which may be of the table below."""


_TITLED_PAGE: Final = re.compile(r".{3,120}(?=[ \u00a0][^\W\d_]{1,10}[ \u00a0]\d{1,3}\Z)")
"""A running title before the word for a page and its number."""


def lines_by_page(text: str, page_at: PageAt) -> Pages:
    pages: dict[int, list[str]] = {}
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip() and (page := page_at(start)) is not None:
            pages.setdefault(page, []).append(line.strip())
        start += len(line)
    return pages


def goes_on(text: str, above: Table, below: Table, page_at: PageAt, pages: Pages) -> bool:
    """Whether the second one goes on with the first: it has its header, which the loader of PDF files repeats where the columns
    stand below each other; it is on the next page; only what each page has stands between; its columns hold what those above
    do; it tells of other rows; and neither side of the break sums up."""
    first, second = page_at(above.span[1] - 1), page_at(below.span[0])
    if first is None or second != first + 1 or above.header != below.header or not any(above.header):
        return False
    between = [line.strip() for line in text[above.span[1] : below.span[0]].splitlines() if line.strip()]
    return (
        len(between) <= _MOST_LINES
        and _are_margins(between, first, pages)
        and _kinds(above) == _kinds(below)
        and _are_other_rows(above.rows, below.rows)
        and any(below.rows[0].cells[1:])  # the rest of a row that the break has cut
        and not _is_carried(above.rows, below.rows[0])
    )  # fmt: skip


def _are_other_rows(above: Sequence[Row], below: Sequence[Row]) -> bool:
    """Whether no row is told of twice: each has a label of its own, or it is the last label above that goes on below, of rows
    that the next cell tells apart: "Lübeck | June", "Lübeck | July"."""
    shared = {row.cells[0] for row in above} & {row.cells[0] for row in below}
    if not shared:
        return True
    if shared != {above[-1].cells[0]} or shared != {below[0].cells[0]}:
        return False
    one, other = ([row.cells[:2] for row in rows if row.cells[0] in shared] for rows in (above, below))
    both = [*map(tuple, (*one, *other))]
    return len({*both}) == len(both)


def _are_margins(between: Sequence[str], page: int, pages: Pages) -> bool:
    """Whether lines are the foot of a page and the head of the next, wherever that begins."""
    here, there = pages[page], pages[page + 1]
    return any(
        [*here[len(here) - foot :], *there[: len(between) - foot]] == [*between]
        and all(_is_margin(at, page, pages) for at in range(-foot, 0))
        and all(_is_margin(at, page, pages) for at in range(len(between) - foot))
        for foot in range(len(between) + 1)
    )


def _is_margin(at: int, page: int, pages: Pages) -> bool:
    """Whether the line at a place, counted from the head or (below 0) from the foot, is a page's own: both pages have it there
    and further ones do, or it counts them. A number alone counts only as the last line: at the head it may be that of a week."""
    here, there = (next(iter(lines[at:][:1]), "") for lines in (pages[page], pages[page + 1]))
    if here == there:
        return sum(lines[at:][:1] == [here] for lines in pages.values()) >= _FEWEST_PAGES
    titles = [_TITLED_PAGE.match(line) for line in (here, there)]
    if all(titles) and titles[0] and titles[1] and titles[0][0] == titles[1][0]:  # "Energy report - Page 7"
        here, there = (line[len(titles[0][0]) :] for line in (here, there))
    one, next_one = _PAGE.fullmatch(here), _PAGE.fullmatch(there)
    return (
        one is not None
        and next_one is not None
        and int(next_one["number"]) == int(one["number"]) + 1
        and (one["word"], one["of"]) == (next_one["word"], next_one["of"])
        and (at == -1 or one["word"] is not None)
    )


def _is_carried(above: Sequence[Row], below: Row) -> bool:
    """Whether the last row above adds up rows before it, or the first one below adds up those above: a subtotal, or what is
    carried forward, whatever it is called."""
    mark = decimal_mark((plain_cell(cell) for row in above for cell in row.cells), None)

    def numbers(row: Row) -> list[Decimal | None]:
        read = (read_number(plain_cell(cell), mark or ".") for cell in row.cells[1:])
        return [None if one is None else one.number for one in read]

    *before, last = [numbers(row) for row in above]
    return _adds_up(last, before) or _adds_up(numbers(below), [*before, last])


def _adds_up(row: Sequence[Decimal | None], above: Sequence[Sequence[Decimal | None]]) -> bool:
    """Whether each number of a row is the sum of those in the last two or more rows above it."""
    columns = [at for at, number in enumerate(row) if number is not None]
    sums = dict.fromkeys(columns, Decimal())
    for count, other in enumerate(reversed(above), 1):
        for at in columns:
            sums[at] += (other[at] if at < len(other) else None) or 0
        if columns and count > 1 and all(sums[at] == row[at] for at in columns):
            return True
    return False


def _kinds(table: Table) -> tuple[bool, ...]:
    """Of each column whether most cells that say something are numbers."""
    rows = [row.cells for row in table.rows if not row.is_group]
    columns = ([row[at] for row in rows if at < len(row) and row[at]] for at in range(len(table.header)))
    return tuple(2 * sum(map(is_value, cells)) > len(cells) for cells in columns)
