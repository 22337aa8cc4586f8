"""LoadedDocument -> passages with their chunks. Pure; every offset counts code points of `document.text`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from app.domain.document import ChunkDraft, Landmark, LoadedDocument, PassageDraft
from app.ingest.chunkers import parent_child, tokens
from app.ingest.chunkers.headings import Section, path_at
from app.ingest.chunkers.spans import Span, character_splitter

if TYPE_CHECKING:
    from app.providers.protocols import TokenCounter
    from app.settings import ChunkingSettings, RagSettings

__all__ = ["chunk", "warm"]


def chunk(
    document: LoadedDocument, settings: ChunkingSettings, rag: RagSettings, counter: TokenCounter
) -> tuple[PassageDraft, ...]:
    """Passages in document order that cover all text but white space; each with the chunks that cover it.

    `settings.strategy` decides: parent_child, or tokens, where each passage is its own only chunk.
    Nothing but white space gives no passage.
    """
    if not document.text.strip():
        return ()
    if settings.strategy == "tokens":
        counted, sections = tokens.passages(document, rag, counter)
        spans = [span for span, _ in counted]
        children = [[span] for span in spans]
        counts = [count for _, count in counted]
        chunk_counts = counts
    else:
        spans, sections = parent_child.passages(document, settings)
        children = [parent_child.chunks(document, span, settings) for span in spans]
        texts = [document.text[start:end] for start, end in chain(spans, *children)]
        totals = counter.count_batch(texts)
        counts, chunk_counts = totals[: len(spans)], totals[len(spans) :]
    return _drafts(document, sections, spans, counts, children, chunk_counts)


def _landmarks(document: LoadedDocument, sections: Sequence[Section]) -> list[Landmark]:
    """Every place in the document where page or heading path changes, in order; the first is 0."""
    page_starts = [page.start for page in document.pages]
    section_starts = [section.start for section in sections]
    marks: list[Landmark] = []
    for start in sorted({0, *page_starts, *section_starts}):
        page = document.pages[max(bisect_right(page_starts, start) - 1, 0)].number if page_starts else None
        section = bisect_right(section_starts, start) - 1
        marks.append(Landmark(start, page, sections[section].path if section >= 0 else ()))
    return marks


def _within(landmarks: Sequence[Landmark], start: int, end: int) -> tuple[Landmark, ...]:
    """Those of a span; the one in force at its start is moved there."""
    first = max(bisect_right(landmarks, start, key=lambda mark: mark.start) - 1, 0)
    last = bisect_right(landmarks, end - 1, key=lambda mark: mark.start)
    return (replace(landmarks[first], start=start), *landmarks[first + 1 : last])


def _drafts(
    document: LoadedDocument,
    sections: Sequence[Section],
    spans: Sequence[Span],
    counts: Sequence[int],
    children: Sequence[Sequence[Span]],
    chunk_counts: Sequence[int],
) -> tuple[PassageDraft, ...]:
    remaining = iter(chunk_counts)
    landmarks = _landmarks(document, sections)
    drafts = []
    for ordinal, ((start, end), count, parts) in enumerate(zip(spans, counts, children, strict=True)):
        marks = _within(landmarks, start, end)
        drafts.append(
            PassageDraft(
                ordinal=ordinal,
                start=start,
                end=end,
                headings=path_at(sections, start, end),
                page=marks[0].page,
                landmarks=marks,
                token_count=count,
                chunks=tuple(ChunkDraft(i, *part, next(remaining)) for i, part in enumerate(parts)),
            )
        )
    return tuple(drafts)


def warm() -> None:
    """Import the splitters' library now; for a thread."""
    character_splitter(1000, None)
