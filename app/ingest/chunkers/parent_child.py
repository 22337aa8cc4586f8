"""Passages of whole sections, and chunks inside them: the default.

A passage is what people read and BM25 ranks, so it begins at a heading where it can: small neighbouring sections share
a passage, a large one is cut with overlap. A chunk is what vectors rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from app.ingest.chunkers import symbols
from app.ingest.chunkers.headings import Section, scan
from app.ingest.chunkers.spans import Span, cut, trim

if TYPE_CHECKING:
    from app.domain.document import LoadedDocument
    from app.settings import ChunkingSettings

_FULL = 2
"""From 1/2 of the size on a passage ends at the next heading rather than taking in another section."""
_TINY = 4
"""Under 1/4 of the size a passage is joined with its neighbour, even if both must then be cut anew."""


def passages(document: LoadedDocument, settings: ChunkingSettings) -> tuple[list[Span], tuple[Section, ...]]:
    """Spans of at most `passage_size` characters, and the sections that headings are read from."""
    text, size = document.text, settings.passage_size
    sections = scan(text) if document.markup == "markdown" else ()
    whole = trim(text, (0, len(text)))
    if whole[1] - whole[0] <= size:
        return [whole], sections
    if document.outline and document.outline.definitions:
        units = _pack(symbols.units(text, document.outline, size), size)
    else:
        units = _pack(whole_sections(sections), size) if sections else [whole]
    language = document.code_language if document.markup == "code" else None
    return [span for unit in units for span in cut(text, unit, size, settings.passage_overlap, language)], sections


def chunks(document: LoadedDocument, passage: Span, settings: ChunkingSettings) -> list[Span]:
    """Spans of at most `chunk_size` characters inside the passage."""
    return cut(document.text, passage, settings.chunk_size, settings.chunk_overlap)


def whole_sections(sections: Sequence[Section]) -> Iterator[Span]:
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
