"""From a loaded document to passages, chunks and a graph that can be embedded and stored. Pure."""

from __future__ import annotations

import asyncio
import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from cairn.domain.document import (
    ChunkDraft,
    LoadedDocument,
    PassageDraft,
    PreparedChunk,
    PreparedDocument,
    PreparedPassage,
    Source,
    landmark_at,
)
from cairn.domain.graph import NO_GRAPH
from cairn.domain.ids import new_id
from cairn.domain.names import clean_title
from cairn.domain.table import DocumentTable
from cairn.errors import EmptyDocumentError
from cairn.graph.code.rows import code_graph
from cairn.graph.rows import document_graph
from cairn.ingest.chunkers import chunk
from cairn.ingest.embedding_text import ChunkTexts, embed_text, text_hash
from cairn.ingest.loaders import REVISION
from cairn.ingest.table_cells import by_place, document_tables
from cairn.language.identifiers import identifier_terms
from cairn.language.identify import detect_language, passage_configuration
from cairn.language.records import records_in
from cairn.language.tables import Table
from cairn.providers.protocols import TokenCounter
from cairn.providers.windows import windows
from cairn.settings import Settings

RULES: Final = 7
"""Raised by 1 when the same text comes to another graph, other symbols of code or other cells of tables: what earlier rules made
is then made anew by `cairn reindex`. tests/unit/test_derived_revision.py sees it."""

HASHED_HERE: Final = 1 << 20
"""Bytes that are hashed at once: it takes a millisecond or two."""


def source_hash(source: Source) -> bytes:
    """SHA-256 of title and content: equal hash under the same identity means nothing to do."""
    return hashlib.sha256((source.title or "").encode() + b"\0" + source.content).digest()


async def source_hash_aside(source: Source) -> bytes:
    """The same, where others wait for their turn meanwhile: a large file in a thread."""
    if len(source.content) < HASHED_HERE:
        return source_hash(source)
    return await asyncio.to_thread(source_hash, source)


def titled_as_before(source: Source, title: str) -> Source:
    """For reading the same content anew: under the title that is shown, which a person may have given it, unless that is only the
    name. Pure."""
    return replace(source, title=title) if source.title is None and title != source.name else source


def search_terms(title: str | None, headings: tuple[str, ...], content: str, above: str = "") -> str:
    """Lexemes that the passage's own words lack: title, headings, `above` (`names_above`), whole and split identifiers."""
    context = " ".join(dict.fromkeys(part for part in (title, *headings, above) if part))
    return f"{context} {identifier_terms(f'{context} {content}')}".strip()


def names_above(tables: Sequence[Table], start: int) -> str:
    """Header and group of the row that a passage begins with, where they stand before it; else ""."""
    at = bisect_left(tables, start, key=lambda table: table.span[0]) - 1
    if at < 0 or start >= tables[at].span[1]:
        return ""
    table = tables[at]
    row = bisect_right(table.rows, start, key=lambda row: row.end)
    return " ".join([*table.header, table.rows[row].group if row < len(table.rows) else ""]).strip()


def prepare(
    source: Source, loaded: LoadedDocument, settings: Settings, tokens: TokenCounter, dominant: str | None = None, *,
    most_tokens: int | None = None,
) -> PreparedDocument:  # fmt: skip
    """Cut, describe and hash. Raises EmptyDocumentError when there is no text.

    `most_tokens`: what the embedding model reads at once; a chunk that is longer, with its title and heading, becomes several.

    Each passage is stemmed in its own language, an uncertain one as its document, an uncertain document as most of the
    collection (`dominant`, None while that is empty), else as the setting says; code always as the setting says.
    """
    drafts = chunk(loaded, settings.chunking, settings.rag, tokens)
    if not drafts:
        raise EmptyDocumentError(f"{source.name} holds no text")
    return assemble(source, loaded, drafts, settings, tokens, dominant, most_tokens=most_tokens)


def assemble(
    source: Source, loaded: LoadedDocument, drafts: Sequence[PassageDraft], settings: Settings, tokens: TokenCounter,
    dominant: str | None = None, *, most_tokens: int | None = None,
) -> PreparedDocument:  # fmt: skip
    """The same of a document that is cut already; without `most_tokens` chunks stay as they are."""
    title = source.title or clean_title(loaded.title or "")
    default = settings.ingest.language
    detect = settings.ingest.detect_language and loaded.markup != "code"
    language, config = detect_language(loaded.text, dominant or default) if detect else (None, default)
    texts = ChunkTexts.of(loaded.text, title, code=loaded.markup == "code")
    fitting = Fitting(tokens, most_tokens)
    passages: list[PreparedPassage] = []
    chunks: list[PreparedChunk] = []
    for draft in drafts:
        content = loaded.text[draft.start : draft.end]
        terms = search_terms(title, draft.headings, content, names_above(texts.tables, draft.start))
        spoken = passage_configuration(content, config) if detect else config
        passage = PreparedPassage(new_id(), draft, content, terms, spoken)
        passages.append(passage)
        chunks.extend(_chunks(texts, passage.id, draft, len(chunks), fitting))
    graph = NO_GRAPH
    if settings.graph.enabled and loaded.markup != "code":
        graph = document_graph(loaded.text, passages, title=title or "", language=language, settings=settings.graph)
    elif settings.graph.enabled and loaded.outline:
        graph = code_graph(loaded.outline, passages, source.external_id)
    return PreparedDocument(
        source=source,
        title=title or source.name,
        titled=bool(title),
        text=loaded.text,
        media_type=loaded.media_type,
        language=language,
        content_hash=source_hash(source),
        token_counter=tokens.name,
        passages=tuple(passages),
        chunks=tuple(chunks),
        graph=graph,
        notes=loaded.notes,
        tables=tables_of(texts, drafts, language),
        loader_revision=REVISION,
        derived_revision=RULES,
    )


def tables_of(texts: ChunkTexts, drafts: Sequence[PassageDraft], language: str | None) -> tuple[DocumentTable, ...]:
    """The document's tables, read as values, also those that are written as records."""
    records = () if texts.code else records_in(texts.text)
    if not texts.tables and not records:
        return ()
    marks = [mark for draft in drafts for mark in draft.landmarks]
    headings = by_place([mark.start for mark in marks], [mark.headings for mark in marks], ())
    pages = by_place([mark.start for mark in marks], [mark.page for mark in marks], None)
    return document_tables(texts.text, texts.tables, headings, language, records=records, page_at=pages)


@dataclass(frozen=True, slots=True)
class Fitting:
    """Cuts chunks so that the model reads them to the end under their title and heading."""

    tokens: TokenCounter
    most_tokens: int | None
    _contexts: dict[str, int] = field(default_factory=dict)

    def cut(
        self, text: str, piece: ChunkDraft, context: str, describe: Callable[[ChunkDraft], str]
    ) -> list[ChunkDraft]:
        """The chunk, or the parts of it in order. `describe`: what is embedded of one, under its context.

        A context that would take more than half of what is read is not made room for: the embedder reads such a text in
        windows.
        """
        if self.most_tokens is None:
            return [piece]
        if context not in self._contexts:
            self._contexts[context] = self.tokens.count(context) if context else 0
        room = max(self.most_tokens - self._contexts[context], self.most_tokens // 2)
        content, described = text[piece.start : piece.end], describe(piece)
        total = piece.token_count if described == content else self.tokens.count(described)
        if total <= room:
            return [piece]
        spans = windows(content, max(piece.token_count * room // total, 1), self.tokens)
        if len(spans) < 2:
            return [piece]
        parts = [self._part(text, piece, *span) for span in spans]
        return [fitting for part in parts for fitting in self.cut(text, part, context, describe)]

    def _part(self, text: str, piece: ChunkDraft, start: int, end: int) -> ChunkDraft:
        start, end = piece.start + start, piece.start + end
        return ChunkDraft(piece.ordinal, start, end, self.tokens.count(text[start:end]))


def _chunks(
    texts: ChunkTexts, passage_id: UUID, draft: PassageDraft, first: int, fitting: Fitting
) -> list[PreparedChunk]:
    def describe(piece: ChunkDraft) -> str:
        return texts.describe((piece.start, piece.end))

    prepared: list[PreparedChunk] = []
    pieces: list[ChunkDraft] = []
    for drafted in draft.chunks:
        above = embed_text(texts.title, landmark_at(draft.landmarks, drafted.start).headings, "")
        pieces += fitting.cut(texts.text, drafted, above, describe)
    for number, piece in enumerate(pieces):
        landmark = landmark_at(draft.landmarks, piece.start)
        embedded = texts.embedded((piece.start, piece.end), landmark.headings)
        prepared.append(
            PreparedChunk(
                id=new_id(),
                passage_id=passage_id,
                ordinal=first + number,
                draft=piece,
                landmark=landmark,
                content=texts.text[piece.start : piece.end],
                embed_text=embedded,
                content_hash=text_hash(embedded),
            )
        )
    return prepared
