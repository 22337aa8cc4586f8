"""Headings of a page of a PDF, told by their print: larger than the text, or bold where the text is not."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import pypdfium2.raw as raw

from cairn.ingest.loaders.pdf_layout import PlacedTable, PlacedWord
from cairn.ingest.loaders.render import heading
from cairn.language.text import normalise

_LARGER: Final = 1.15
"""Height of a line over that of the text, from which on it is a heading."""
_MOST_LINES: Final = 3
"""Of a heading; more lines in large or bold print are text."""
_MOST_WORDS: Final = 16
_MOST_CHARS: Final = 140
_FEWEST_BODY: Final = 3
"""Lines of text on a page, below which nothing tells what is larger."""
_HEADED_SHARE: Final = 0.5
"""Share of the lines of a page that are headings, from which on none is: a slide, a form, a chart."""

_BOLD = re.compile(rb"bold|black|heavy|demi|medi(?:um)?$|cmbx|bx\d", re.IGNORECASE)
_HEAVY: Final = 600
_BEGINS = re.compile(r"(?:(?:[^\W\d_]{1,10}\s)?[\dIVXA-Z]{1,4}(?:\.\d{1,3}){0,4}[.:)]?\s+)?[\"“«'(¿¡]?(?!\d)\w")
_LEADERS = re.compile(r"(?:\.\s?){4}|…")
_CHART_LINES: Final = 6
"""Lines of at most _LABEL_WORDS one after the other, from which on they label a chart and head nothing."""
_LABEL_WORDS: Final = 3
_MARKS: Final = frozenset("<>{}=|\\")
"""Of code and formulas."""
_ENDS: Final = (".", ",", ";", ":", "-", "\x02", "|")


@dataclass(frozen=True, slots=True)
class PlacedHeading:
    """Characters start..end of the page's text, and how it is written down."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    words: tuple[PlacedWord, ...]
    height: float
    bold: bool

    @property
    def chars(self) -> int:
        return self.end - self.start

    @property
    def width(self) -> float:
        return max(word.right for word in self.words) - min(word.left for word in self.words)


def find_headings(
    layer: Any, text: str, words: Sequence[PlacedWord], tables: Sequence[PlacedTable]
) -> list[PlacedHeading]:
    """The headings between the tables, in the order of the text."""
    lines = [_line(layer, group) for group in lines_of(text, words, tables)]
    if len(lines) <= _FEWEST_BODY:
        return []
    body = _most(lines, lambda line: round(line.height * 2) / 2)
    plain = not _most(lines, lambda line: line.bold)
    labels = set(_chart_labels(lines))
    marked = [(line, 0 if line.start in labels else _print(line, body, plain)) for line in lines]
    found = [one for level, group in groupby(marked, key=lambda pair: pair[1]) if level
             for one in _headings(text, [line for line, _ in group], level)]  # fmt: skip
    headed = sum(len(text[one.start : one.end].splitlines()) for one in found)
    return found if headed <= _HEADED_SHARE * len(lines) else []


def lines_of(text: str, words: Sequence[PlacedWord], tables: Sequence[PlacedTable]) -> Iterator[tuple[PlacedWord, ...]]:
    """Words between line breaks, without those of tables."""
    taken = {at for table in tables for start, end in table.taken for at in range(start, end)}
    line: list[PlacedWord] = []
    for word in words:
        if line and ("\n" in text[line[-1].end : word.start] or "\r" in text[line[-1].end : word.start]):
            yield tuple(line)
            line = []
        if word.start not in taken:
            line.append(word)
    if line:
        yield tuple(line)


def _chart_labels(lines: Sequence[_Line]) -> Iterator[int]:
    """Where the lines start that stand in a run of short ones."""
    for short, run in groupby(lines, key=lambda line: len(line.words) <= _LABEL_WORDS):
        starts = [line.start for line in run]
        if short and len(starts) >= _CHART_LINES:
            yield from starts


def _line(layer: Any, words: tuple[PlacedWord, ...]) -> _Line:
    heights = Counter[float]()
    for word in words:
        heights[round(word.height, 1)] += word.end - word.start
    first, last = words[0].start, words[-1].end
    bold = _is_bold(layer, first) and _is_bold(layer, last - 1)
    return _Line(first, last, words, heights.most_common(1)[0][0], bold)


def _is_bold(layer: Any, at: int) -> bool:
    if raw.FPDFText_GetFontWeight(layer.raw, at) >= _HEAVY:
        return True
    name = ctypes.create_string_buffer(128)
    length = raw.FPDFText_GetFontInfo(layer.raw, at, name, 128, None)
    return 0 < length <= 128 and bool(_BOLD.search(name.value))


def _most(lines: Iterable[_Line], key: Any) -> Any:
    """What holds of most characters."""
    counts = Counter[Any]()
    for line in lines:
        counts[key(line)] += line.chars
    return counts.most_common(1)[0][0]


def _print(line: _Line, body: float, plain: bool) -> int:
    """Level of the heading that a line printed like this would be; 0 for text. None is the title of the document (level 1), which
    nothing tells from the name of a series, of a publisher or of a chapter."""
    if line.height >= _LARGER * body and line.width >= line.height:  # else it is turned
        return 2
    return 3 if plain and line.bold else 0


def _headings(text: str, lines: Sequence[_Line], level: int) -> Iterator[PlacedHeading]:
    """Lines of one print that follow each other: those of one heading stand close together, as high as each other."""
    for block in _blocks(lines):
        start, end = block[0].start, block[-1].end
        said = " ".join(normalise(text[start:end]).split())
        if len(block) <= _MOST_LINES and _reads_as_heading(said):
            yield PlacedHeading(start, end, heading(level, said))


def _blocks(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    block: list[_Line] = []
    for line in lines:
        if block and not _goes_on(block[-1], line):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _goes_on(above: _Line, line: _Line) -> bool:
    gap = line.words[0].top - above.words[-1].bottom
    alike = abs(above.height - line.height) <= 0.1 * above.height
    return alike and -0.5 * above.height <= gap <= 0.6 * above.height


def _reads_as_heading(said: str) -> bool:
    letters = sum(map(str.isalpha, said))
    return (
        2 < len(said) <= _MOST_CHARS
        and len(said.split()) <= _MOST_WORDS
        and letters >= 0.6 * len(said.replace(" ", ""))
        and not said.endswith(_ENDS)
        and not _LEADERS.search(said)
        and not set(said) & _MARKS
        and bool(_BEGINS.match(said))
        and not next(filter(str.isalpha, said)).islower()
    )
