"""Whether a table goes on behind a page break: the rows below are of the same table, though the foot of one page and the head of
the next stand between them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from cairn.language.lexicon import languages
from cairn.language.linear import bounded
from cairn.language.tables import Table, is_value

PageAt = Callable[[int], int | None]
"""The page of a place in the text; None where there are no pages."""

_MOST_LINES: Final = 8
"""Lines of a foot and a head together."""
_PAGE: Final = bounded(
    rf"\W*(?:(?:{'|'.join(sorted({re.escape(one.replies.page.replace('{n}', '').strip()) for one in languages()}))})\s+)?"
    r"\d{1,3}(?:\s?(?:/|[^\W\d]{1,3})\s?\d{1,3})?\W*",
    re.IGNORECASE,
)
""" "7", "– 7 –", "7 / 12", "page 7 of 12"; no year, which may be of the table below."""


def goes_on(text: str, above: Table, below: Table, page_at: PageAt) -> bool:
    """Whether the second one goes on with the first: it has its header, which the loader of PDF files repeats where the columns
    stand below each other; it is on the next page; only what each page has stands between; and its columns hold what those above
    do."""
    first, second = page_at(above.span[1] - 1), page_at(below.span[0])
    if first is None or second != first + 1 or above.header != below.header or not any(above.header):
        return False
    lines = [line for line in text[above.span[1] : below.span[0]].splitlines() if line.strip()]
    return (
        len(lines) <= _MOST_LINES
        and all(_is_margin(text, line) for line in lines)
        and _kinds(above) == _kinds(below)
    )  # fmt: skip


def _is_margin(text: str, line: str) -> bool:
    """Whether each page has it: the number of the page, or a line that stands elsewhere, too. A caption over the table below, or
    a note under the one above, stands there once."""
    return _PAGE.fullmatch(line) is not None or f"\n{text}\n".count(f"\n{line}\n") > 1


def _kinds(table: Table) -> tuple[bool, ...]:
    """Of each column whether most cells that say something are numbers."""
    rows = [row.cells for row in table.rows if not row.is_group]
    columns = ([row[at] for row in rows if at < len(row) and row[at]] for at in range(len(table.header)))
    return tuple(2 * sum(map(is_value, cells)) > len(cells) for cells in columns)
