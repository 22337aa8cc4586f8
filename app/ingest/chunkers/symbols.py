"""Units of source code: each definition with the comments and decorators above it, what stands between them apart.

A class is one unit where it fits into a passage, else its members are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from app.domain.code import Outline
from app.ingest.chunkers.base import Span

_ABOVE: Final = re.compile(r"[ \t]*(?:#|//|/\*|\*|@|template\b)")
_MOST_ABOVE: Final = 60
"""Lines of a comment that go with what they stand above."""


def units(text: str, outline: Outline, size: int) -> Iterator[Span]:
    """Neighbouring spans that cover the text, cut where definitions begin."""
    cuts = {0}
    covered = 0
    for one in sorted(outline.definitions, key=lambda one: (one.start, -one.end)):
        if one.start >= covered:
            cuts |= {begin(text, one.start), one.end}
            # what fits is not looked into
            covered = one.end if one.end - one.start <= size else one.start
    places = sorted(cuts | {len(text)})
    yield from pairwise(places)


def begin(text: str, start: int) -> int:
    """The line of a definition, or the first one of comments and decorators right above it."""
    at = text.rfind("\n", 0, start) + 1
    for _ in range(_MOST_ABOVE):
        above = text.rfind("\n", 0, max(at - 1, 0)) + 1
        if at == 0 or not _ABOVE.match(text, above, at):
            break
        at = above
    return at
