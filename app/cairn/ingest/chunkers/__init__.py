"""LoadedDocument -> passages with their chunks. Pure; every offset counts code points of `document.text`.

A way to cut is a `Chunker` of CHUNKERS, chosen by the setting chunking.strategy. Another package adds one by an entry point of
the group `cairn.chunkers`: docs/extending.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from cairn.domain.document import ChunkDraft, Landmark, LoadedDocument, PassageDraft
from cairn.errors import CairnError, ParseError, SettingsError, named_reason
from cairn.ingest.chunkers.base import Chunker, CutRequest, PassageCut, Span
from cairn.ingest.chunkers.headings import HeadedSection, path_at, scan
from cairn.ingest.chunkers.parent_child import cut_by_characters
from cairn.ingest.chunkers.spans import character_splitter
from cairn.ingest.chunkers.tokens import cut_by_tokens
from cairn.language.tables import tables_in
from cairn.plugins import extensions, instance_of, once

if TYPE_CHECKING:
    from cairn.providers.protocols import TokenCounter
    from cairn.settings import ChunkingSettings, RagSettings

__all__ = ["CHUNKERS", "Chunker", "CutRequest", "PassageCut", "chunk", "find_chunkers", "warm"]

CHUNKERS: Final[Mapping[str, Chunker]] = {
    chunker.name: chunker
    for chunker in (Chunker("parent_child", cut_by_characters), Chunker("tokens", cut_by_tokens, heading_levels=3))
}


def chunk(
    document: LoadedDocument, settings: ChunkingSettings, rag: RagSettings, counter: TokenCounter
) -> tuple[PassageDraft, ...]:
    """Passages in document order that cover all text but white space; each with the chunks that cover it.

    Nothing but white space gives no passage. Raises SettingsError when the chunker of `settings.strategy` cannot be had,
    ParseError when that of another package fails on this document.
    """
    if not document.text.strip():
        return ()
    chunker = CHUNKERS.get(settings.strategy) or _added(settings.strategy)
    sections = scan(document.text, chunker.heading_levels) if document.markup == "markdown" else ()
    tables = () if document.markup == "code" else tables_in(document.text)
    request = CutRequest(document, sections, settings, rag, counter, tables)
    cuts = list(chunker.cut(request)) if chunker.name in CHUNKERS else _checked_cuts(chunker, request)
    return _drafts(document, sections, cuts, _token_counts(document.text, cuts, counter))


@once
def find_chunkers() -> Mapping[str, Chunker]:
    """Those of other packages, by name."""
    return extensions("chunkers", instance_of(Chunker), CHUNKERS)


def _added(name: str) -> Chunker:
    try:
        return find_chunkers()[name]
    except KeyError:
        known = ", ".join([*CHUNKERS, *find_chunkers()])
        raise SettingsError(f"chunking.strategy is {name!r}, and there is no such chunker; there are {known}") from None


def _checked_cuts(chunker: Chunker, request: CutRequest) -> list[PassageCut]:
    """Of another package: whatever it does wrong costs this document."""
    try:
        cuts = list(chunker.cut(request))
        before, text = -1, request.document.text
        for cut in cuts:
            start, end = cut.span
            if not before < start < end <= len(text) or not text[start:end].strip():
                raise ValueError(f"passage {cut.span} is blank, outside of the text or not behind the one before")
            if not cut.chunks or any(not start <= first < last <= end for first, last in cut.chunks):
                raise ValueError(f"the chunks of passage {cut.span} do not lie in it")
            before = start
    except CairnError:
        raise
    except Exception as error:
        raise ParseError(f"the chunker {chunker.name} failed on it: {named_reason(error)[:300]}") from error
    return cuts


def _token_counts(text: str, cuts: Sequence[PassageCut], counter: TokenCounter) -> Mapping[Span, int]:
    known = {cut.span: cut.tokens for cut in cuts if cut.tokens is not None}
    unknown = [span for span in dict.fromkeys(s for cut in cuts for s in (cut.span, *cut.chunks)) if span not in known]
    totals = counter.count_batch([text[start:end] for start, end in unknown])
    return known | dict(zip(unknown, totals, strict=True))


def _landmarks(document: LoadedDocument, sections: Sequence[HeadedSection]) -> list[Landmark]:
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
    sections: Sequence[HeadedSection],
    cuts: Sequence[PassageCut],
    tokens: Mapping[Span, int],
) -> tuple[PassageDraft, ...]:
    landmarks = _landmarks(document, sections)
    drafts = []
    for ordinal, cut in enumerate(cuts):
        marks = _within(landmarks, *cut.span)
        drafts.append(
            PassageDraft(
                ordinal=ordinal,
                start=cut.span[0],
                end=cut.span[1],
                headings=path_at(sections, *cut.span),
                page=marks[0].page,
                landmarks=marks,
                token_count=tokens[cut.span],
                chunks=tuple(ChunkDraft(number, *span, tokens[span]) for number, span in enumerate(cut.chunks)),
            )
        )
    return tuple(drafts)


def warm() -> None:
    """Import the splitters' library now; for a thread."""
    character_splitter(1000, None)
