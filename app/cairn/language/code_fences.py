"""Fences around code in text, also of a passage that was cut out of a document and begins inside one. Pure."""

from __future__ import annotations

import re
from typing import Final

LINE: Final = re.compile(r"[^\n]*(?:\n|\Z)")
FENCE: Final = re.compile(r"(?<![ \t])[ \t]*+(?:>[ \t]?)?(`{3,}+(?=[^`\n]*(?:\n|\Z))|~{3,})")
"""At the beginning of a line; group 1 is the mark. Backticks with others behind them are code within a line (CommonMark)."""


def opens_fence(line: str) -> str:
    """The mark of the fence that a line opens or closes; "" where it is none."""
    mark = FENCE.match(line)
    return mark[1] if mark else ""


def cut_off_fence(text: str, first: int, last: int) -> re.Match[str] | None:
    """The line that ends the fence inside which a passage begins, which was cut there (group 1: its mark): the first fence, where
    it follows a line of text and nothing follows it, as the end of a block does and its beginning does not."""
    mark = next((mark for line in LINE.finditer(text, first, last) if (mark := FENCE.match(text, *line.span()))), None)
    if mark is None or text[mark.end() : mark.end() + 1] not in ("", "\n"):
        return None
    before = text[first : mark.start()]
    ends_here = not text[mark.end() : last].strip(" \t").removeprefix("\n").lstrip(" \t")[:1].strip()
    return mark if before.strip() and not before.endswith("\n\n") and ends_here else None


_TICKS: Final = re.compile(r"`+")


def fence_around(code: str) -> str:
    """What stands above and below code as a block of Markdown: longer than the backticks that are in it."""
    return "`" * max(3, 1 + max(map(len, _TICKS.findall(code)), default=0))
