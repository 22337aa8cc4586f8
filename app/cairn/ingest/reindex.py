"""Cutting and embedding stored documents anew, from their normalised text: the loaded form is not kept.

What a loader found is recovered: markup from the media type, page starts from the landmarks of the old passages, and
whether the title was embedded from the hash of an old chunk. Everything else is the ordinary write path.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from cairn.domain.document import LoadedDocument, Markup, PageStart, PreparedDocument, Source
from cairn.ingest.contexts import WrittenContext, context_keys, with_contexts
from cairn.ingest.embed import Target, embed_documents, in_use, is_large
from cairn.ingest.embedding_text import ChunkTexts, text_hash
from cairn.ingest.loaders import kind_of_media_type
from cairn.ingest.outlines import OutlineReader
from cairn.ingest.prepare import prepare
from cairn.store import code_calls, contexts, documents, graph_stage, lexical, tables, vectors
from cairn.store.session import Database

Redone = Literal["redone", "unchanged", "overtaken"]
"""overtaken: another version was published meanwhile, with the settings in force then."""


async def reindex_document(
    database: Database,
    target: Target,
    stored: documents.StoredDocument,
    outlines: OutlineReader,
    *,
    force: bool,
    title: str | None = None,
) -> Redone:
    """Replace its passages, chunks, vectors and graph in one transaction; the version stays, and the old ones are found until
    then. `title`: one that it gets with that, and is found by. Raises what reading and embedding raise."""
    if title is not None:
        stored = _retitled(stored, title)
    while True:
        used = await in_use(database, target)
        now = replace(target, model=used[0].model, embedder=used[0].embedder)
        async with database.transaction(target.principal, readonly=True) as connection:
            text = await documents.text(connection, target.principal, stored.id)
            passages, chunks = await documents.load_pieces(connection, target.principal, stored.id, now.model.id)
            graph = await graph_stage.load_rows(connection, target.principal.tenant_id, stored.id)
            calls = await code_calls.load_calls(connection, target.principal.tenant_id, stored.id)
            places = await tables.load_places(connection, target.principal.tenant_id, stored.id)
            dominant = await lexical.find_dominant(connection, target.principal, target.collection_id)
            rules = await documents.derived_revision(connection, target.principal, stored.id)
        if text is None or text[0] != stored.version:
            return "overtaken"
        loaded = await outlines.outlined(recover(text[1], stored.media_type, passages), stored.external_id)
        ready = await asyncio.to_thread(_prepare, now, stored, loaded, chunks, dominant, title is not None)
        ready, enrichment = await _with_known_contexts(database, now, stored, loaded, ready)
        known = graph_stage.is_stored(target.collection_id, ready, graph) and calls == ready.graph.calls
        earlier = rules < ready.derived_revision
        known = known and places == [(table.start, table.end) for table in ready.tables]
        known = known and not (earlier and places)  # cells are not compared
        if not force and title is None and known and _same(ready, passages, chunks):
            if earlier:
                async with database.transaction(target.principal) as connection:
                    await documents.mark_derived(connection, target.principal, stored, ready.derived_revision)
            return "unchanged"
        [made] = await embed_documents(database, target.principal, target.collection_id, used, [ready])
        try:
            async with database.transaction(target.principal) as connection:
                if is_large(ready):
                    await vectors.drop_ahead(connection, target.principal, stored.id)
                done = await documents.republish(connection, target.collection_id, now.model.id, stored, ready, made)
                if done and title is not None:
                    await documents.set_title(connection, target.principal, stored.id, title)
                if done and enrichment:
                    await contexts.mark(connection, target.principal, stored.id, enrichment)
                return "redone" if done else "overtaken"
        except documents.ModelsChangedError:
            continue


def _retitled(stored: documents.StoredDocument, title: str) -> documents.StoredDocument:
    enrichment = {**stored.enrichment, "titled": True} if stored.enrichment else None
    return replace(stored, title=title, enrichment=enrichment)


def _prepare(
    target: Target,
    stored: documents.StoredDocument,
    loaded: LoadedDocument,
    chunks: Sequence[Any],
    dominant: str | None,
    retitled: bool,
) -> PreparedDocument:
    texts = ChunkTexts.of(loaded.text, stored.title, code=loaded.markup == "code")
    title = stored.title if retitled or title_was_embedded(texts, chunks, stored.enrichment) else None
    source = Source(stored.external_id, stored.title, b"", title=title)
    embedder = target.embedder
    return prepare(source, loaded, target.settings, embedder.tokens, dominant, most_tokens=embedder.max_tokens)


async def _with_known_contexts(
    database: Database,
    target: Target,
    stored: documents.StoredDocument,
    loaded: LoadedDocument,
    ready: PreparedDocument,
) -> tuple[PreparedDocument, Mapping[str, Any] | None]:
    """With the contexts that were written for these very chunks, and what is to be noted of them; None where some are missing,
    which a job writes then, or where the settings want none any more."""
    found, settings = stored.enrichment, target.settings
    if not found or not settings.rag.contextual_enrichment_enabled:
        return ready, None
    texts = ChunkTexts.of(loaded.text, stored.title if found["titled"] else None, code=loaded.markup == "code")
    async with database.transaction(target.principal, readonly=True) as connection:
        keys = list(context_keys(ready).values())
        cached = await contexts.load_cached(connection, target.principal, stored.id, found["writer"], keys)
    written = {key: WrittenContext(*one) for key, one in cached.items()}
    embedder = target.embedder
    enriched = await asyncio.to_thread(with_contexts, ready, texts, written, embedder.tokens, embedder.max_tokens)
    return enriched, found if len(ready.chunks) == found["of"] and all(key in written for key in keys) else None


def recover(text: str, media_type: str, passages: Sequence[Any]) -> LoadedDocument:
    """The document as its loader gave it. `passages`: rows with their landmarks, in order. Pure."""
    kind = kind_of_media_type(media_type)
    if kind is None:  # the package that read it is gone; only Markdown has headings
        markup: Markup = "markdown" if any(mark[2] for row in passages for mark in row["landmarks"]) else "plain"
    else:
        markup = kind.loader.markup
    pages: list[PageStart] = []
    for start, page in sorted((mark[0], mark[1]) for row in passages for mark in row["landmarks"] if mark[1]):
        if not pages or page > pages[-1].number:
            # the first page begins with the text, where white space may stand before the first passage
            pages.append(PageStart(0 if not pages and page == 1 else start, page))
    return LoadedDocument(
        text, media_type, markup, pages=tuple(pages), code_language=kind.code_language if kind else None
    )


def title_was_embedded(texts: ChunkTexts, chunks: Sequence[Any], enrichment: Mapping[str, Any] | None = None) -> bool:
    """A document without a title shows its name, which is not embedded; the hash of what was tells them apart, or what was
    noted when contexts were embedded. `texts`: with the title that is shown; `chunks`: rows with span, headings,
    content_hash. Pure."""
    if enrichment:
        return bool(enrichment["titled"])
    untitled = replace(texts, title=None)
    for row in chunks:
        if row["content_hash"] is not None:
            span, headings = (row["char_start"], row["char_end"]), row["headings"]
            titled, bare = (text_hash(one.embedded(span, headings)) for one in (texts, untitled))
            # under a heading that is the title, both are the same and tell nothing
            if titled != bare and bytes(row["content_hash"]) in (titled, bare):
                return titled == bytes(row["content_hash"])
    return bool(texts.title)


def _same(ready: PreparedDocument, passages: Sequence[Any], chunks: Sequence[Any]) -> bool:
    """Whether what is stored is what would be stored now."""
    fresh_passages = [
        (p.draft.start, p.draft.end, p.draft.page, list(p.draft.headings), p.draft.token_count, p.search_terms, p.config,
         [[mark.start, mark.page, list(mark.headings)] for mark in p.draft.landmarks])
        for p in ready.passages
    ]  # fmt: skip
    old_passages = [
        (r["char_start"], r["char_end"], r["page"], list(r["headings"]), r["token_count"], r["search_terms"], r["config"],
         r["landmarks"])
        for r in passages
    ]  # fmt: skip
    fresh_chunks = [(c.draft.start, c.draft.end, ready.token_counter, c.content_hash) for c in ready.chunks]
    old_chunks = [(r["char_start"], r["char_end"], r["token_counter"], _bytes(r["content_hash"])) for r in chunks]
    return fresh_passages == old_passages and fresh_chunks == old_chunks


def _bytes(value: bytes | None) -> bytes | None:
    return None if value is None else bytes(value)
