"""How Word and HTML structure is written down as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cairn.domain.document import PageStart
from cairn.language.tables import COVERED

_WHITE = re.compile(r"[ \t\n\r\f\v]+")
# at the start of a line these would read as a heading, a fence or a setext underline
_MARKUP = re.compile(r"^( {0,3})(?=#{1,6}(?:[ \t]|$)|`{3}|~{3}|={2,}[ \t]*$|-{2,}[ \t]*$)", re.MULTILINE)

_LINK = re.compile(r"\[([^\[\]\n]{1,500})\]\([^()\s]{0,500}\)")
_PICTURE = re.compile(r"!\[([^\[\]\n]{1,2000})\]\(\)")
_STOPS = (".", "!", "?", "\u2026", "\u3002")
_ROUND = str.maketrans("[]", "()")

STAR = "\ufdd0"
"""A star that is text, until all is written; a noncharacter, which no text has."""

REPEATED_CELL = 200
"""A cell merged over several rows is repeated in each, so that a row makes sense alone; longer ones are not."""

PERMALINKS = frozenset("¶§#🔗")
"""Marks behind a heading that lead to its address, and are no words of it."""


class MergedCells:
    """Fills the rows of one table cell by cell: text merged over columns stands in the first, over rows in each
    (REPEATED_CELL)."""

    def __init__(self) -> None:
        self._covered: dict[int, tuple[int, str]] = {}  # column -> rows still covered by a cell above, and its text

    def add(self, row: list[str], text: str, across: int = 1, below: int = 0) -> None:
        """The next cell, which is `across` columns wide and covers as many rows below its own."""
        self.fill(row)
        for offset in range(across):
            shown = COVERED if offset and text else "" if offset else text
            if below:
                self._covered[len(row)] = (below, shown if len(text) <= REPEATED_CELL else "")
            row.append(shown)

    def fill(self, row: list[str]) -> None:
        """The next columns as far as cells further up cover them; also at the end of a row."""
        while (column := len(row)) in self._covered:
            left, text = self._covered.pop(column)
            if left > 1:
                self._covered[column] = (left - 1, text)
            row.append(text)


class Item(str):
    """A block that is one item of a list; items follow each other without a blank line."""


def join(blocks: Iterable[str]) -> str:
    """The document: blocks with a blank line between them, lists kept together."""
    parts: list[str] = []
    previous = ""
    for block in blocks:
        if parts:
            parts.append("\n" if isinstance(block, Item) and isinstance(previous, Item) else "\n\n")
        parts.append(block)
        previous = block
    return "".join(parts)


def join_pages(texts: Iterable[tuple[int, str]]) -> tuple[str, tuple[PageStart, ...]]:
    """Numbered pages (slides, sheets) one after the other, and where each begins."""
    parts, pages, position = [], [], 0
    for number, text in texts:
        pages.append(PageStart(position, number))
        parts.append(text)
        position += len(text) + 2
    return "\n\n".join(parts), tuple(pages)


def item(depth: int, marker: str, text: str) -> Item:
    """One list item, indented by its depth (0: outermost)."""
    return Item("  " * min(depth, 20) + f"{marker} {text}")


def collapse(text: str) -> str:
    """Runs of ASCII white space become one space, as a browser shows them."""
    return _WHITE.sub(" ", text)


def paragraph(text: str) -> str:
    """Text whose lines cannot be mistaken for Markdown structure."""
    return _MARKUP.sub(r"\1\\", text.strip())


def as_text(line: str) -> str:
    """A line that cannot be mistaken for Markdown structure, set in as it is."""
    return _MARKUP.sub(r"\1\\", line)


def heading(level: int, text: str) -> str:
    return f"{'#' * min(max(level, 1), 6)} {collapse(text).strip()}"


def run_in(text: str) -> str:
    """A heading below all numbered levels: what the next paragraphs are about."""
    name = collapse(text).strip()
    return name if "*" in name or STAR in name else f"**{name}**"


def picture(caption: str) -> str:
    """What stands below a picture, which is not here: it is found, but is no sentence (`cairn.language.sentences.is_rule`), for
    "The settings of a deck" answers nothing without what it names. "" without words."""
    words = collapse(caption).strip().translate(_ROUND)
    return f"![{words}]()" if any(map(str.isalnum, words)) else ""


def caption(said: str) -> str:
    """Of a picture: a sentence says something without it, what only names it does not."""
    words = collapse(_LINK.sub(r"\1", said)).strip()
    return paragraph(words) if words.endswith(_STOPS) else picture(words)


def without_pictures(block: str) -> str:
    """In a cell their names stand alone."""
    return _PICTURE.sub(r"\1", block)


def left_out(file: str) -> str:
    """In the place of code that a document takes from another file, which is not here. It is read in what is shown, and as a link
    it is no answer."""
    return f"[(not included here: {collapse(file).strip().translate(_ROUND)})](#)"


def fence(code: str, language: str = "") -> str:
    """A fenced block longer than any fence inside; its white space is kept."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{code.strip(chr(10))}\n{ticks}"
