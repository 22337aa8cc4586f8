"""Running titles of a PDF: lines that most pages have at the same height at their head or foot are its text once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cairn.ingest.loaders.pdf_headings import PlacedHeading, lines_of
from cairn.ingest.loaders.pdf_layout import PlacedTable, PlacedWord
from cairn.language.text import normalise

FEWEST_PAGES: Final = 3  # bound: tests/unit/test_pdf_margins.py
"""With a line, below which it may be said again."""
SHARE: Final = 0.5  # bound: tests/unit/test_pdf_margins.py
"""Of the pages that have a line, above which it runs through the document."""
_SAME_HEIGHT: Final = 2.0
"""Points."""
_LONGEST: Final = 200
"""Characters of such a line."""
_MOST_NUMBERS: Final = 6
_NUMBER: Final = re.compile(r"(?<![\d.,])\d{1,4}(?![\d.,]*\d)")
_GAP: Final = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class MarginLine:
    """`said` stands outermost on a page, at this height from its upper edge."""

    foot: bool
    height: float
    said: str


def margin_lines(
    text: str, words: Sequence[PlacedWord], tables: Sequence[PlacedTable], headings: Iterable[PlacedHeading]
) -> list[MarginLine]:
    """The uppermost and the lowest lines of a page that have letters, without those of tables and headings."""
    headed = [(one.start, one.end) for one in headings]
    lines = [
        line for line in lines_of(text, words, tables)
        if any(map(str.isalpha, text[line[0].start : line[-1].end]))
        and not any(start < line[-1].end and line[0].start < end for start, end in headed)
    ]  # fmt: skip
    if not lines:
        return []
    head, foot = min(line[0].top for line in lines), max(line[0].top for line in lines)
    above = any(word.top < foot - _SAME_HEIGHT for word in words)
    below = any(word.top > head + _SAME_HEIGHT for word in words)
    return [
        MarginLine(is_foot, line[0].top, said)
        for is_foot, height, outermost in ((False, head, below), (True, foot, above))
        if outermost and (head < foot or above != below)
        for line in lines
        if abs(line[0].top - height) <= _SAME_HEIGHT
        and len(said := _in_one(text[line[0].start : line[-1].end])) <= _LONGEST
    ]


def without_running_lines(texts: Sequence[str], margins: Sequence[Sequence[MarginLine]]) -> list[str]:
    """The pages without lines that run through them, at the foot the number of the page aside. The first one stays: it may be the
    header of a list that goes on from page to page, or say whose the document is, and since when."""
    pages: dict[tuple[bool, str], list[tuple[int, float]]] = defaultdict(list)
    for page, lines in enumerate(margins):
        for line in lines:
            for key in _keys(line, page):
                pages[line.foot, key].append((page, line.height))
    kept, known = list(texts), set[tuple[bool, str]]()
    for page, lines in enumerate(margins):
        for line in lines:
            running = [
                (line.foot, key) for key in _keys(line, page)
                if _runs(pages[line.foot, key], line.height, len(texts))
            ]  # fmt: skip
            if running and not known.isdisjoint(running):
                kept[page] = _without(kept[page], line.said)
            known.update(running)
    return kept


def _keys(line: MarginLine, page: int) -> Iterator[str]:
    """A line as it stands, and at the foot with each of its numbers by how much it is more than that of the page: no other number
    may differ, for a sum at the foot of each page is text, and so is "Day 2" at the head of the second."""
    said = line.said
    yield said
    if not line.foot:
        return
    for found in list(_NUMBER.finditer(said))[:_MOST_NUMBERS]:
        yield f"{said[: found.start()]}\0{int(found[0]) - page}\0{said[found.end() :]}"


def _runs(places: Sequence[tuple[int, float]], height: float, pages: int) -> bool:
    having = {page for page, other in places if abs(other - height) <= _SAME_HEIGHT}
    return len(having) >= FEWEST_PAGES and len(having) > SHARE * pages


def _without(text: str, said: str) -> str:
    """The page without a line; as it is where it has none or several."""
    lines = text.split("\n")
    found = [at for at, line in enumerate(lines) if _in_one(line) == said]
    if len(found) != 1:
        return text
    return _GAP.sub("\n\n", "\n".join((*lines[: found[0]], *lines[found[0] + 1 :]))).strip()


def _in_one(text: str) -> str:
    return " ".join(normalise(text).split())
