"""Passages of whole sections, and chunks inside them: the default.

A passage is what people read and BM25 ranks, so it begins at a heading where it can: small neighbouring sections share
a passage, a large one is cut with overlap. A chunk is what vectors rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from cairn.domain.code import Outline
from cairn.ingest.chunkers.base import CutRequest, PassageCut, Span
from cairn.ingest.chunkers.headings import HeadedSection
from cairn.ingest.chunkers.spans import cut, trim

if TYPE_CHECKING:
    from cairn.domain.document import LoadedDocument

_FULL = 2
"""From 1/2 of the size on a passage ends at the next heading rather than taking in another section."""
_TINY = 4
"""Under 1/4 of the size a passage is joined with its neighbour, even if both must then be cut anew."""


def cut_by_characters(request: CutRequest) -> Iterator[PassageCut]:
    """Passages of at most `passage_size` characters, chunks of at most `chunk_size`."""
    document, settings, tables = request.document, request.chunking, request.tables
    text = document.text
    rows = document.markup == "rows"
    passage_overlap, chunk_overlap = (0, 0) if rows else (settings.passage_overlap, settings.chunk_overlap)
    for unit in _units(document, request.sections, settings.passage_size):
        for span in cut(text, unit, settings.passage_size, passage_overlap, document.code_language, tables):
            yield PassageCut(span, tuple(cut(text, span, settings.chunk_size, chunk_overlap, tables=tables)))


def _units(document: LoadedDocument, sections: Sequence[HeadedSection], size: int) -> list[Span]:
    """What belongs together; may be longer than a passage."""
    text = document.text
    whole = trim(text, (0, len(text)))
    if whole[1] - whole[0] <= size:
        return [whole]
    if document.outline and document.outline.definitions:
        return _pack(symbol_units(text, document.outline, size), size)
    return _pack(whole_sections(sections), size) if sections else [whole]


def whole_sections(sections: Sequence[HeadedSection]) -> Iterator[Span]:
    """Sections with a body; headings without one go with the section that follows."""
    pending: int | None = None
    for section in sections:
        pending = section.start if pending is None else pending
        if section.body < section.end:
            yield pending, section.end
            pending = None
    if pending is not None:
        yield pending, sections[-1].end


def _pack(sections: Iterator[Span], size: int) -> list[Span]:
    """Neighbouring sections joined until a passage is half full; larger sections stay whole here."""
    packed: list[Span] = []
    for start, end in sections:
        before = packed[-1][1] - packed[-1][0] if packed else size
        fits = before < size // _FULL and end - packed[-1][0] <= size
        if fits or before < size // _TINY:
            packed[-1] = (packed[-1][0], end)
        else:
            packed.append((start, end))
    if len(packed) > 1 and packed[-1][1] - packed[-1][0] < size // _TINY:
        _, end = packed.pop()
        packed[-1] = (packed[-1][0], end)
    return packed


# --- units of source code ---

_ABOVE: Final = re.compile(r"(?<![ \t])[ \t]*+(?:#|//|/\*|\*|@|template\b)")
_MOST_ABOVE: Final = 60
"""Lines of a comment that go with what they stand above."""


def symbol_units(text: str, outline: Outline, size: int) -> Iterator[Span]:
    """Neighbouring spans that cover the text, cut where definitions begin. A class is one where it fits into a passage of `size`
    characters, else its members are."""
    cuts = {0}
    covered = 0
    for one in sorted(outline.definitions, key=lambda one: (one.start, -one.end)):
        if one.start >= covered:
            cuts |= {definition_start(text, one.start), one.end}
            # what fits is not looked into
            covered = one.end if one.end - one.start <= size else one.start
    places = sorted(cuts | {len(text)})
    yield from pairwise(places)


def definition_start(text: str, start: int) -> int:
    """The line of a definition, or the first one of comments and decorators right above it."""
    at = text.rfind("\n", 0, start) + 1
    for _ in range(_MOST_ABOVE):
        above = text.rfind("\n", 0, max(at - 1, 0)) + 1
        if at == 0 or not _ABOVE.match(text, above, at):
            break
        at = above
    return at
