"""A long text stretch by stretch, so that no single step of C holds the interpreter for long. Pure.

A regular expression that runs over ten million characters lets nobody else have a turn until it has found something: not the
event loop, not /health/live. Python gives turns between two steps, so the text is handed to it in pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 100_000
"""Characters of a stretch: the slowest pattern takes less than a microsecond for each. What is no longer is read in one piece."""
_ENDS: Final = ("\n\n", "\n", " ")
"""Where a stretch ends, if there is such a place in its second half: behind a paragraph, a line, a word."""


def stretches(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Neighbouring ranges of at most LONGEST characters that cover the text from `start` to `end`, in order."""
    end = len(text) if end is None else end
    while end - start > LONGEST:
        low, high = start + LONGEST // 2, start + LONGEST
        found = (text.rfind(mark, low, high) + len(mark) for mark in _ENDS if text.rfind(mark, low, high) >= 0)
        cut = next(found, high)
        yield start, cut
        start = cut
    if start < end:
        yield start, end


def find_all(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """What `pattern.finditer` finds, but for what lies across the end of a stretch."""
    for start, end in stretches(text):
        yield from pattern.finditer(text, start, end)
