"""Cutting a range of text into spans with exact offsets.

langchain's splitter decides where, in its lossless form (no overlap, no stripping, separators kept), so that offsets
are a running sum; overlap is added afterwards by moving starts backwards. Its `add_start_index` is wrong for repeated
text, and one word of 500,000 characters makes it slow: the empty separator is not used, over-long runs are cut here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Literal

from cairn.domain.document import CODE, CONFIGURATION_TYPES
from cairn.ingest.chunkers.base import Span
from cairn.ingest.chunkers.rows import cells_of, end_of_table, is_inside, islands, rows_of
from cairn.language.stretches import stretches
from cairn.language.tables import Table

SEPARATORS = ("\n\n", "\n", ". ", "。", " ")
"""Paragraphs, lines, sentences, words, and the full stop of Chinese and Japanese, which write no spaces."""
SEPARATOR_PATTERNS = ("\n\n+", "\n+", r"\. +", "。", " +")
"""The same as patterns for the splitter: a run of white space is one separator, not a piece per character."""

_GAP = re.compile(r"\s{100,}")  # as many pieces to langchain, and nothing to a reader
WORD_START = re.compile(r"(?<=\s)\S")
_GENERAL = frozenset(("\n\n", "\n", r"\n\n", r"\n", " ", "", "$", "$$"))  # in LaTeX's list $ matches everywhere
_SMALL = 4
"""A piece under 1/4 of the limit is not left alone where its neighbour can share."""


def trim(text: str, span: Span) -> Span:
    """The span without white space at its ends; empty (start == end) if nothing else is in it."""
    start, end = span
    body = text[start:end]
    left = len(body) - len(body.lstrip())
    return start + left, max(start + left, start + len(body.rstrip()))


def pieces(text: str, span: Span, limit: int, language: str | None = None) -> list[Span]:
    """Neighbouring spans of at most `limit` characters that cover everything but long gaps, cut at the coarsest
    separator that does, or along the structure of a programming language."""
    return [
        piece
        for island in _islands(text, span)
        for part in _split(text, island, character_splitter(limit, language))
        for piece in _slices(part, limit)
    ]


def _split(text: str, span: Span, splitter: Any) -> list[Span]:
    start, end = span
    parts = splitter.split_text(text[start:end])
    offsets = list(accumulate(map(len, parts), initial=start))
    if offsets[-1] != end:
        raise AssertionError("the splitter lost text")  # lossless by construction; a new version may differ
    return list(pairwise(offsets))


def split_by(text: str, span: Span, splitter: Any) -> list[Span]:
    """Like `pieces` with a splitter of one's own; pieces may exceed its limit where nothing separates."""
    return [part for island in _islands(text, span) for part in _split(text, island, splitter)]


@lru_cache(maxsize=64)
def character_splitter(limit: int, language: str | None) -> Any:
    """langchain's splitter, at most `limit` characters a piece."""
    separators = code_separators(language) if language else list(SEPARATOR_PATTERNS)
    return lossless_splitter(separators, limit, len, "start" if language else "end")


def lossless_splitter(
    separators: list[str], limit: int, length: Callable[[str], int], keep: Literal["start", "end"]
) -> Any:
    """RecursiveCharacterTextSplitter whose pieces, joined, are the text. `keep`: the side the separator stays on."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(
        separators=separators,
        is_separator_regex=True,
        keep_separator=keep,
        strip_whitespace=False,
        chunk_size=limit,
        chunk_overlap=0,
        length_function=length,
    )


def code_separators(language: str) -> list[str]:
    """The splitter's own for the language, then lines and words: of configuration these alone; raises ValueError for a language
    it lacks."""
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    if CODE + language in CONFIGURATION_TYPES:
        return ["\n\n+", "\n+", " +"]
    found = RecursiveCharacterTextSplitter.get_separators_for_language(Language(language))
    return [separator for separator in found if separator not in _GENERAL] + ["\n\n+", "\n+", " +"]


def _islands(text: str, span: Span) -> Iterator[Span]:
    """The parts between long runs of white space, none longer than a stretch: the splitter looks through each in one go."""
    for start, end in stretches(text, *span):
        for gap in _GAP.finditer(text, start, end):
            if gap.start() > start:
                yield start, gap.start()
            start = gap.end()
        if start < end:
            yield start, end


def _slices(span: Span, limit: int) -> Iterator[Span]:
    start, end = span
    for cut in range(start, end, limit):
        yield cut, min(cut + limit, end)


def merge(spans: Sequence[Span], sizes: Sequence[int] | None, limit: int) -> list[Span]:
    """Neighbours joined, left to right, while they stay within `limit`; sizes are characters unless given."""
    merged: list[Span] = []
    total = 0
    for index, (start, end) in enumerate(spans):
        size = end - start if sizes is None else sizes[index]
        # in characters a gap between neighbours counts too
        joined = end - merged[-1][0] if merged and sizes is None else total + size
        if merged and joined <= limit:
            merged[-1], total = (merged[-1][0], end), joined
        else:
            merged.append((start, end))
            total = size
    return merged


def cut(
    text: str, span: Span, size: int, overlap: int, language: str | None = None, tables: Sequence[Table] = ()
) -> list[Span]:
    """Spans of at most `size` characters that cover `span` but for white space; all but the first reach back over up
    to `overlap` characters of the one before, to the start of a word where there is one. No row of `tables` is cut, or
    reached back into, unless it is longer than a span."""
    span = trim(text, span)
    if span[1] - span[0] <= size:
        return [span] if span[0] < span[1] else []
    overlap = min(overlap, size // 2)
    limit = size - overlap
    parts = [
        trim(text, part)
        for island in islands(tables, span)
        for part in (
            pieces(text, island.span, limit, language)
            if island.table is None
            else table_pieces(text, island.table, island.span, limit)
        )
    ]
    merged = merge([part for part in parts if part[0] < part[1]], None, limit)
    balanced = [trim(text, part) for part in _balance(text, merged, limit, tables)]
    return extend_back(text, balanced, overlap, tables)


def table_pieces(text: str, table: Table, span: Span, limit: int) -> list[Span]:
    """A table whole where it is no longer than `limit`, else its rows; rows that are longer, cut between cells."""
    if span[1] - span[0] <= limit:
        return [span]
    return [
        piece
        for row in rows_of(text, table, span)
        for part in ([row] if row[1] - row[0] <= limit else cells_of(table, row, limit))
        for piece in ([part] if part[1] - part[0] <= limit else pieces(text, part, limit))
    ]


def _balance(text: str, spans: list[Span], limit: int, tables: Sequence[Table]) -> list[Span]:
    """No small span: it shares the text of the span before it, or after it for the first."""
    result: list[Span] = []
    for span in spans:
        small = min(span[1] - span[0], result[-1][1] - result[-1][0] if result else limit) < limit // _SMALL
        if result and small and span[1] - result[-1][0] <= 2 * limit * (_SMALL - 1) // _SMALL:
            start, end = result[-1][0], span[1]
            middle = _middle(text, start, end)
            if not is_inside(tables, middle):
                result[-1] = (start, middle)
                span = (middle, end)
        result.append(span)
    return result


def _middle(text: str, start: int, end: int) -> int:
    """The best place to cut near the middle: the coarsest separator in the middle third."""
    third = (end - start) // 3
    low, high = start + third, end - third
    centre = (start + end) // 2
    for separator in SEPARATORS:
        after = text.find(separator, centre, high)
        before = text.rfind(separator, low, centre)
        found = [at + len(separator) for at in (after, before) if at >= 0]
        if found:
            return min(found, key=lambda at: abs(at - centre))
    return centre


def extend_back(text: str, spans: Sequence[Span], overlap: int, tables: Sequence[Table] = ()) -> list[Span]:
    """Each start but the first moved back by at most `overlap` characters, never before the span ahead of it or into a table."""
    extended = list(spans[:1])
    for (previous, _), (start, end) in pairwise(spans):
        low = max(start - overlap, previous + 1, end_of_table(tables, start))
        extended.append((_word_start(text, low, start), end))
    return extended


def _word_start(text: str, low: int, start: int) -> int:
    """The first start of a word in [low, start]; `low` itself inside a word that is longer than that."""
    if low >= start:
        return start
    found = WORD_START.search(text, low, start + 1)
    return found.start() if found else low
