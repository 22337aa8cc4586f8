"""Items of ordered lists with the numbers that a reader of the page sees: Markdown counts from the first one (CommonMark, "List
items"), so that many authors write "1." before each. Pure."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_ITEM: Final = re.compile(r"^[ \t>]{0,40}(?:[-*+][ \t]{1,4})?(\d{1,9})[.)](?=[ \t])", re.MULTILINE)
_NUMBER: Final = re.compile(r"([ \t>]{0,80})(\d{1,9})([.)])([ \t]*)")
MOST_CHARS: Final = 300_000  # bound: tests/unit/test_item_numbers.py
"""Of a text whose items are counted; a longer one stays as it is."""
MOST_ITEMS: Final = 5_000  # bound: tests/unit/test_item_numbers.py
"""Of such a text: the parser takes a second for 20,000 of them, and 2 kB of memory for each."""


def count_items(text: str) -> str:
    """The text with the items of each ordered list numbered as they are shown."""
    if len(text) > MOST_CHARS:
        return text
    numbers = [found[1] for found in islice(_ITEM.finditer(text), MOST_ITEMS + 1)]
    if len(numbers) > MOST_ITEMS or not any(one == next_ for one, next_ in pairwise(numbers)):
        return text
    lines = text.split("\n")
    counts: list[int | None] = []
    for token in _parser().parse(text):
        if token.type in ("ordered_list_open", "bullet_list_open"):
            counts.append(int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None)
        elif token.type in ("ordered_list_close", "bullet_list_close"):
            counts.pop()
        elif token.type == "list_item_open" and (count := counts[-1]) is not None:
            counts[-1] = count + 1
            if int(token.info) != count and token.map:
                _renumber(lines, token.map, token.info, str(count))
    return "\n".join(lines)


def _renumber(lines: list[str], rows: list[int], old: str, new: str) -> None:
    """A longer number takes from the blanks behind it, or sets in what belongs to its item, so that it still does."""
    if rows[0] >= len(lines):
        return  # lines that end otherwise than the parser takes it
    first = lines[rows[0]]
    found = _NUMBER.match(first)
    if not found or found[2] != old:
        return  # behind the mark of another item, where it is the first of its list
    longer = len(new) - len(old)
    taken = min(longer, len(found[4]) - 1) if longer > 0 and found[4].isspace() else 0
    lines[rows[0]] = f"{found[1]}{new}{found[3]}{found[4][taken:]}{first[found.end() :]}"
    for row in range(rows[0] + 1, rows[1]) if longer > taken else ():
        if lines[row][:1].isspace() and lines[row].strip():
            lines[row] = " " * (longer - taken) + lines[row]


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").disable("reference")  # definitions of links can take quadratic time
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
