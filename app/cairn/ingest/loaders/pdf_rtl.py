"""Right-to-left text of a PDF's page in the order in which it is read.

PDFium turns right-to-left text around, letter by letter. What came from one glyph must not be turned: lam-alef comes out as
alef-lam, a font that maps a whole word to its first glyph comes out reversed, and a vowel mark comes before its letter.
Characters from one glyph share one box.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pypdfium2.raw as raw

_DROPPED: Final = "\x01"
"""Stands for a character that goes, so that offsets stay."""
_LETTER = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_STRAY_MARK = re.compile("(?<=[\u0621-\u064a]) ([\u064b-\u0652\u0670]+)([\u0621-\u064a])")  # vowel before its letter
_SPACES = re.compile(" {2,}")
_GLUED = re.compile("(?<=[A-Za-z])(?=[\u0621-\u064a])")

_Box = tuple[float, float, float, float]


def restore_order(layer: Any, text: str) -> str:
    """The text, as long as before, with the characters of each glyph in their order; what a damaged font adds is blanked."""
    if not _LETTER.search(text):
        return text
    boxes: list[_Box] = [layer.get_charbox(at) for at in range(len(text))]
    times = Counter(box for box, char in zip(boxes, text, strict=True) if not char.isspace())
    chars = list(text)
    for start, end in _glyphs(boxes):
        group = text[start:end]
        if not _LETTER.search(group):
            _blank_unmapped(layer, chars, start, end)
        elif end - start > 1:
            foreign = times[boxes[start]] > sum(not char.isspace() for char in group)
            chars[start:end] = _DROPPED * (end - start) if foreign else group[::-1]
            if end < len(text) and boxes[start][0] <= boxes[end][0] <= boxes[end][2] <= boxes[start][2]:
                chars[end] = _DROPPED  # a mark of the same letters, by the code of its glyph
    return "".join(chars)


def _glyphs(boxes: list[_Box]) -> Iterator[tuple[int, int]]:
    """Ranges of neighbouring characters with one box."""
    start = 0
    for at in range(1, len(boxes) + 1):
        if at == len(boxes) or boxes[at] != boxes[start]:
            yield start, at
            start = at


def _blank_unmapped(layer: Any, chars: list[str], start: int, end: int) -> None:
    """Characters that are no more than the numbers of glyphs, since the font does not say what they stand for."""
    for at in range(start, end):
        if raw.FPDFText_HasUnicodeMapError(layer.raw, at) == 1:
            chars[at] = " " if ord(chars[at]) < 32 else _DROPPED


def join_marks(text: str) -> str:
    """Vowel marks behind their letters, a space between scripts, and no blanked characters."""
    if _DROPPED in text:
        text = _SPACES.sub(" ", text.replace(_DROPPED, ""))
    return _GLUED.sub(" ", _STRAY_MARK.sub(r"\2\1", text))
