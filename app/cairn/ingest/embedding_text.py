"""What is embedded of a chunk, wherever its vector is made: at ingestion, by a reindexing, for another model. Pure.

title, innermost heading, a sentence of context if a chat model wrote one, and the chunk with its rows in words
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cairn.language.tables import Row, Table, describe_row, tables_in
from cairn.providers.protocols import TokenCounter
from cairn.providers.windows import fits

FEWEST_WORDS = 4
"""A context of which less than that fits beside its chunk is left out."""


def embed_text(title: str | None, headings: Sequence[str], content: str, context: str = "") -> str:
    """The parts that are there, each once, on lines of their own."""
    above = [part for part in (title, headings[-1] if headings else None, context) if part]
    return "\n".join(dict.fromkeys([*above, content]))


def text_hash(embedded: str) -> bytes:
    """SHA-256, by which vectors are known."""
    return hashlib.sha256(embedded.encode()).digest()


@dataclass(frozen=True, slots=True)
class ChunkTexts:
    """The text of a document with its tables. `title`: as it is embedded, None where the document has but a file name."""

    text: str
    title: str | None
    tables: Sequence[Table]
    code: bool = False

    @classmethod
    def of(cls, text: str, title: str | None, *, code: bool) -> ChunkTexts:
        """Lines with bars in source code are no tables."""
        return cls(text, title, () if code else tables_in(text), code)

    def describe(self, span: tuple[int, int]) -> str:
        """The span with each row of a table in words."""
        return _describe_tables(self.text, self.tables, span) if self.tables else self.text[span[0] : span[1]]

    def embedded(self, span: tuple[int, int], headings: Sequence[str], context: str = "") -> str:
        """What the embedding model sees of the chunk at a span."""
        return embed_text(self.title, headings, self.describe(span), context)

    def embedded_whole(
        self, span: tuple[int, int], headings: Sequence[str], context: str, tokens: TokenCounter, most_tokens: int
    ) -> str:
        """The same with as much of the context as fits beside the chunk in what the model reads at once: nothing of the chunk
        gives way to it."""
        words = context.split()
        bare = self.embedded(span, headings)
        while len(words) >= FEWEST_WORDS:
            made = self.embedded(span, headings, " ".join(words))
            if fits(made, most_tokens, tokens):
                return made
            over = tokens.count(made) - most_tokens
            del words[-max(1, over // 2) :]  # a word is two tokens at most, mostly; cut again where it was not enough
        return bare


def _describe_tables(text: str, tables: Sequence[Table], span: tuple[int, int]) -> str:
    """The text of a span with each row in words: group, label, header and value together, and no header line. Of a row that
    reaches over the span, the cells in it."""
    start, end = span
    parts: list[str] = []
    position = start
    for table in tables[bisect_right(tables, start, key=lambda table: table.span[1]) :]:
        if table.span[0] >= end:
            break
        parts.append(text[position : table.span[0]])
        if table.header and table.header[0]:
            parts.append(table.header[0] + "\n")  # names the labels, or says what all values are counted in
        first, last = (bisect_right(table.rows, place, key=lambda row: row.end) for place in span)
        for row in table.rows[first : last + 1]:
            if row.start < end and not row.is_group:
                parts.append(_describe_within(text, table, row, span) + "\n")
        position = min(table.span[1], end)
    return "".join((*parts, text[position:end])).strip() or text[start:end]


def _describe_within(text: str, table: Table, row: Row, span: tuple[int, int]) -> str:
    """A row in words, of which only what stands in a span is said, and the label."""
    start, end = span
    if start <= row.start and row.end <= end:
        return describe_row(table, row)
    within = [text[max(first, start) : min(last, end)].strip() for first, last in row.cell_spans]
    columns = [at for at, cell in enumerate(within) if cell and at]
    return describe_row(table, replace(row, cells=(row.cells[0], *within[1:])), columns)
