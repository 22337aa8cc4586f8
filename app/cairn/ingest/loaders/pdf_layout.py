"""What stands where on a page of a PDF: words with their boxes, and the lines that are ruled.

Coordinates are points as the reader sees the page: x to the right, y downwards, the page's rotation applied.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pypdfium2.raw as raw

CELL_GAP: Final = 0.9
"""Gap between two cells of a row as a share of the height of a line; a space is about .25, in justified prose up to .8."""
_TOUCHING: Final = 0.08
"""Share of the height up to which a gap between characters is none."""
_BACK: Final = 0.3
"""Share of the height by which what is drawn further left is something else, printed over what was there."""
_NUMBER_ENDS = re.compile(r"(?:\d{3}|[.,]\d+|\d%|\d\)|—)$")
_NUMBER_STARTS: Final = frozenset("0123456789$€£(—")
_NUMBER_BEGINS = re.compile(r"[$€£(—]|\d{4}|\d{1,3}[.,]\d")
_TWO_NUMBERS = re.compile(r",\d{3}\d|.{2}\d%\d|.{3}[\d%)][$€£]")
"""What cannot be one number: "29,601102,242", "$22,506$40,362". The last character is the first of the second."""
_MOST_OBJECTS: Final = 20_000
_MOST_EDGES: Final = 4_000
"""A page with more of them is a drawing: its rulings are not looked for."""
_THIN: Final = 2.5
"""Points: a filled rectangle not wider than this is a line."""
_SHORT: Final = 4.0
"""Points: a shorter line is part of a letter or an ornament."""


class PlacedWord(NamedTuple):
    """Characters [start, end) of the page's text without white space, and the box around them."""

    start: int
    end: int
    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top


class Edge(NamedTuple):
    """A ruled line: at `at` on the one axis, from `start` to `end` on the other."""

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Rulings:
    """The lines of a page. `horizontal`: at y, from x to x; `vertical`: at x, from y to y."""

    horizontal: tuple[Edge, ...] = ()
    vertical: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacedTable:
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


class _View:
    """From the page's coordinates to those of its reader."""

    def __init__(self, page: Any) -> None:
        left, bottom, right, top = page.get_cropbox()
        self.left, self.bottom, self.right, self.top = left, bottom, right, top
        self.turn = page.get_rotation() % 360

    def point(self, x: float, y: float) -> tuple[float, float]:
        if self.turn == 90:
            return y - self.bottom, x - self.left
        if self.turn == 180:
            return self.right - x, y - self.bottom
        if self.turn == 270:
            return self.top - y, self.right - x
        return x - self.left, self.top - y

    def box(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        (a, b), (c, d) = self.point(x0, y0), self.point(x1, y1)
        return min(a, c), min(b, d), max(a, c), max(b, d)


def read_characters(layer: Any) -> str:
    """The text with one character for each that PDFium counts, halves of surrogate pairs among them."""
    text: str = layer.get_text_range()
    count = layer.count_chars()
    if len(text) == count:
        return text
    codes = (raw.FPDFText_GetUnicode(layer.raw, at) for at in range(count))
    return "".join(map(chr, codes))


def read_words(page: Any, layer: Any, text: str) -> list[PlacedWord]:
    """The words in the order in which the page draws them. `text`: a character for each of `layer`."""
    view = _View(page)
    box = raw.FS_RECTF()
    char_box, handle = raw.FPDFText_GetLooseCharBox, layer.raw
    words: list[PlacedWord] = []
    start = -1
    left = top = right = bottom = glyph = 0.0
    for at, char in enumerate(text):
        if char.isspace() or char == "\x02" or not char_box(handle, at, box):
            if start >= 0:
                end = at + (char == "\x02")  # the mark of a hyphen belongs to the word that it breaks
                words.append(PlacedWord(start, end, text[start:end], left, top, right, bottom))
            start = -1
            continue
        if view.turn:
            x0, y0, x1, y1 = view.box(box.left, box.bottom, box.right, box.top)
        else:  # most pages, and most of the time that a page takes
            x0, y0, x1, y1 = box.left - view.left, view.top - box.top, box.right - view.left, view.top - box.bottom
        if start >= 0 and x0 != glyph:  # letters of one ligature share a box
            gap = (x0 - right) / (bottom - top if bottom - top > 1 else 1.0)
            if y0 > bottom or y1 < top or _is_apart(text, start, at, gap):
                words.append(PlacedWord(start, at, text[start:at], left, top, right, bottom))
                start = -1
        glyph = x0
        if start < 0:
            start, left, top, right, bottom = at, x0, y0, x1, y1
        else:
            left, right = (x0 if x0 < left else left), (x1 if x1 > right else right)
            top, bottom = (y0 if y0 < top else top), (y1 if y1 > bottom else bottom)
    if start >= 0:
        words.append(PlacedWord(start, len(text), text[start:], left, top, right, bottom))
    return words


def _is_apart(text: str, start: int, at: int, gap: float) -> bool:
    """Whether another word begins at `at` without white space: printed over the one before, or a number close behind another."""
    if gap < -_BACK or gap > CELL_GAP:
        return True
    if text[at] not in _NUMBER_STARTS:
        return False
    if _TWO_NUMBERS.match(text, at - 4, at + 1) and at > start + 1:
        return True
    if -_TOUCHING < gap < _TOUCHING:
        return False
    return bool(_NUMBER_ENDS.search(text[max(start, at - 4) : at]) and _NUMBER_BEGINS.match(text[at : at + 4]))


def read_rulings(page: Any) -> Rulings:
    """The lines, and the borders of rectangles."""
    view = _View(page)
    horizontal: list[Edge] = []
    vertical: list[Edge] = []
    for x0, y0, x1, y1 in _edges(page):
        left, top, right, bottom = view.box(x0, y0, x1, y1)
        if bottom - top <= _THIN and right - left >= _SHORT:
            horizontal.append(Edge((top + bottom) / 2, left, right))
        elif right - left <= _THIN and bottom - top >= _SHORT:
            vertical.append(Edge((left + right) / 2, top, bottom))
        if len(horizontal) + len(vertical) > _MOST_EDGES:
            return Rulings()
    return Rulings(tuple(horizontal), tuple(vertical))


def _edges(page: Any) -> Iterator[tuple[float, float, float, float]]:
    """Pairs of points that straight strokes and the sides of filled shapes join."""
    handle = page.raw
    count = raw.FPDFPage_CountObjects(handle)
    if count > _MOST_OBJECTS:
        return
    matrix, x, y = raw.FS_MATRIX(), ctypes.c_float(), ctypes.c_float()
    for index in range(count):
        item = raw.FPDFPage_GetObject(handle, index)
        if raw.FPDFPageObj_GetType(item) != raw.FPDF_PAGEOBJ_PATH:
            continue
        parts = raw.FPDFPath_CountSegments(item)
        if parts < 2 or parts > _MOST_EDGES:
            continue
        raw.FPDFPageObj_GetMatrix(item, matrix)
        first = last = (0.0, 0.0)
        for part in range(parts):
            segment = raw.FPDFPath_GetPathSegment(item, part)
            raw.FPDFPathSegment_GetPoint(segment, x, y)
            point = (
                matrix.a * x.value + matrix.c * y.value + matrix.e,
                matrix.b * x.value + matrix.d * y.value + matrix.f,
            )
            kind = raw.FPDFPathSegment_GetType(segment)
            if kind == raw.FPDF_SEGMENT_MOVETO:
                first = point
            elif kind == raw.FPDF_SEGMENT_LINETO:
                yield *last, *point
            last = point
            if raw.FPDFPathSegment_GetClose(segment):
                yield *last, *first
                last = first


_SPACED_YEAR = re.compile(r"([12]) ([09]) (\d) (\d)")


def joined(words: Iterable[PlacedWord]) -> str:
    """The words of a cell; a year that is printed letter by letter ("2 0 1 8") is one."""
    text = ""
    for word in words:
        text += word.text if not text or text.endswith("\x02") else f" {word.text}"
    return "".join(year.groups()) if (year := _SPACED_YEAR.fullmatch(text)) else text


def places_of(words: Iterable[PlacedWord]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((word.start, word.end) for word in words))
