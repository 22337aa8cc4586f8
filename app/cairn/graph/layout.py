"""Where capitals come from how a document is laid out and not from what it names: headings, running heads, code, cells of tables.

Pure, and linear in the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from cairn.language.code_fences import LINE, opens_fence
from cairn.language.text import fold

Layout = Literal["prose", "heading", "running", "code", "table"]
_REPEATED: Final = 4
"""How often a line stands in a document before it is a running head."""
_LONGEST_HEAD: Final = 120
"""Code points of a line that may be a running head."""
_BARE: Final = re.compile(r"[\W\d_]+")
_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s")
_LOUDEST: Final = 0.7


@dataclass(frozen=True, slots=True)
class Lines:
    """What each line of a text is; `starts` are where they begin."""

    starts: tuple[int, ...]
    kinds: tuple[Layout, ...]

    def at(self, place: int) -> Layout:
        """What the line is in which a code point stands."""
        return self.kinds[bisect_right(self.starts, place) - 1] if self.starts else "prose"


def read_lines(text: str, headings: Iterable[str] = ()) -> Lines:
    """`headings`: texts that the document is known to have as headings, whatever marks them."""
    lines = [match for match in LINE.finditer(text) if match.end() > match.start()]
    known = {_bare(heading) for heading in headings}
    bare = [_bare(match.group()) if match.end() - match.start() <= _LONGEST_HEAD else "" for match in lines]
    times = Counter(bare)
    kinds = list(_kinds([match.group() for match in lines], bare, known, times))
    return Lines(tuple(match.start() for match in lines), tuple(kinds))


def _kinds(lines: list[str], bare: list[str], known: set[str], times: Counter[str]) -> Iterator[Layout]:
    fence = ""
    for line, words in zip(lines, bare, strict=True):
        mark = opens_fence(line)
        if fence or mark:
            yield "code"
            fence = ("" if mark[:1] == fence[:1] else fence) if fence and mark else fence or mark
        elif line.lstrip().startswith("|"):
            yield "table"
        elif _HEADING.match(line) or (words and words in known) or _shouts(line):
            yield "heading"
        elif words and times[words] >= _REPEATED:
            yield "running"
        else:
            yield "prose"


def _bare(line: str) -> str:
    """A line without numbers and marks: the pages of a running head differ."""
    return " ".join(_BARE.sub(" ", fold(line)).split())


def _shouts(line: str) -> bool:
    """Two words or more in capitals: a heading, however it is set."""
    letters = [c for c in line if c.isalpha()]
    return len(letters) > 8 and " " in line.strip() and sum(map(str.isupper, letters)) > _LOUDEST * len(letters)


def fills_cell(text: str, start: int, end: int) -> bool:
    """Whether a span is all that stands in its cell of a table."""
    before = text[max(0, start - 8) : start].rstrip(" *_")
    after = text[end : end + 8].lstrip(" *_.")
    return before.endswith("|") and after.startswith("|")
