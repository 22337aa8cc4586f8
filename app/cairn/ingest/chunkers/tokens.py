"""Chunks measured in tokens of the embedding model, cut under each Markdown heading."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from cairn.ingest.chunkers.base import CutRequest, PassageCut, Span
from cairn.ingest.chunkers.parent_child import whole_sections
from cairn.ingest.chunkers.rows import end_of_table, islands, rows_of
from cairn.ingest.chunkers.spans import (
    SEPARATOR_PATTERNS,
    WORD_START,
    code_separators,
    lossless_splitter,
    merge,
    split_by,
    trim,
)

if TYPE_CHECKING:
    from cairn.domain.document import LoadedDocument
    from cairn.language.tables import Table
    from cairn.providers.protocols import TokenCounter

_LONG_RUN = re.compile(r"\S{200}")  # tokenizers take quadratic time over words without end
_CHARS_PER_TOKEN = 8
"""How far back overlap is looked for; more than any tokenizer's mean."""


def cut_by_tokens(request: CutRequest) -> Iterator[PassageCut]:
    """Passages of at most `rag.chunk_size` tokens, each its own only chunk.

    Neighbours under the same heading share up to `rag.chunk_overlap` tokens.
    """
    document, tokens = request.document, request.counter
    text, size = document.text, request.rag.chunk_size
    overlap = 0 if document.markup == "rows" else min(request.rag.chunk_overlap, size // 2)
    units = list(whole_sections(request.sections)) if request.sections else [(0, len(text))]
    count = _remembering(tokens.count)
    cut = _cut_units(document, units, size - overlap, count, tokens, request.tables)
    spans = [(base, reach) for unit in cut for base, reach in _reach_back(text, unit, overlap, count, request.tables)]
    counts = tokens.count_batch([text[start:end] for _, (start, end) in spans])
    for span, counted in _within_limit(text, spans, counts, size, tokens.count):
        yield PassageCut(span, (span,), counted)


def _cut_units(
    document: LoadedDocument,
    units: Sequence[Span],
    limit: int,
    count: Callable[[str], int],
    tokens: TokenCounter,
    tables: Sequence[Table],
) -> list[list[Span]]:
    """Per unit, neighbouring spans whose counts add up to at most `limit`."""
    text, language = document.text, document.code_language
    separators = code_separators(language) if language else list(SEPARATOR_PATTERNS)
    splitter = lossless_splitter(separators, limit, count, "start" if language else "end")
    atoms = [
        [
            span
            for island in islands(tables, unit)
            for row in ([island.span] if island.table is None else rows_of(text, island.table, island.span))
            for run in _short_runs(text, row)
            for part in split_by(text, run, splitter)
            if (span := trim(text, part))[0] < span[1]
        ]
        for unit in units
    ]
    sizes = iter(tokens.count_batch([text[start:end] for unit in atoms for start, end in unit]))
    return [merge(unit, [next(sizes) for _ in unit], limit) for unit in atoms]


def _short_runs(text: str, span: Span) -> Iterator[Span]:
    """The span, cut inside words of more than 200 characters."""
    start, end = span
    for run in _LONG_RUN.finditer(text, start, end):
        yield start, run.end()
        start = run.end()
    if start < end:
        yield start, end


def _reach_back(
    text: str, spans: Sequence[Span], overlap: int, count: Callable[[str], int], tables: Sequence[Table]
) -> Iterator[tuple[Span, Span]]:
    """Each span, and the same with its start moved back over at most `overlap` tokens to the start of a word."""
    for index, (start, end) in enumerate(spans):
        begin = start
        if index and overlap:
            low = max(start - overlap * _CHARS_PER_TOKEN, spans[index - 1][0] + 1, end_of_table(tables, start))
            words = [match.start() for match in WORD_START.finditer(text, low, start)]
            # the earliest word from which on the count fits; fewer tokens the later one starts
            at = bisect_left(words, True, key=lambda word: count(text[word:start]) <= overlap)
            begin = words[at] if at < len(words) else start
        yield (start, end), (begin, end)


def _within_limit(
    text: str, spans: Sequence[tuple[Span, Span]], counts: Sequence[int], size: int, count: Callable[[str], int]
) -> Iterator[tuple[Span, int]]:
    """Counts of parts need not add up to that of the whole: what came out too long loses its overlap, or is cut."""
    for (base, reach), total in zip(spans, counts, strict=True):
        if total <= size:
            yield reach, total
        else:
            yield from _halved(text, base, size, count)


def _halved(text: str, span: Span, size: int, count: Callable[[str], int]) -> Iterator[tuple[Span, int]]:
    start, end = span
    total = count(text[start:end])
    if total <= size or end - start < 2:
        yield span, total
        return
    middle = (start + end) // 2
    for half in (trim(text, (start, middle)), trim(text, (middle, end))):
        if half[0] < half[1]:
            yield from _halved(text, half, size, count)


def _remembering(count: Callable[[str], int]) -> Callable[[str], int]:
    """The splitter asks for every word; words repeat. At least 1: pieces of length 0 make langchain repeat text."""
    seen: dict[str, int] = {}

    def remembered(text: str) -> int:
        if len(text) > 40:
            return max(count(text), 1)
        if text not in seen:
            seen[text] = max(count(text), 1)
        return seen[text]

    return remembered
