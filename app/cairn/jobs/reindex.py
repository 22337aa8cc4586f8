"""Jobs over all documents of a collection: cutting them anew, and giving them the vectors of another model.

Both go document by document or batch by batch, each in its own transaction, while the old index serves. Run again after a
crash they go on with what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from cairn.errors import NotFoundError
from cairn.graph.refresh import follow
from cairn.ingest.embed import GROUP_CHUNKS, ModelInUse, Target, embed_texts
from cairn.ingest.embedding_text import ChunkTexts, text_hash
from cairn.ingest.loaders import kind_of_media_type
from cairn.ingest.model_jobs import order_model_jobs
from cairn.ingest.outlines import outline_reader
from cairn.ingest.reindex import reindex_document
from cairn.ingest.reweight import reweight_if_drifted
from cairn.jobs.context import Handler, JobContext
from cairn.jobs.vector_indexes import enqueue_plan
from cairn.providers.protocols import Embedder
from cairn.store import collections, contexts, documents, models, vectors
from cairn.store.session import Database

REINDEX = "reindex"
BACKFILL = "backfill"
BATCH_DOCUMENTS = 50
FIRST = UUID(int=0)

TargetFor = Callable[[JobContext, UUID], Target]


def reindex(database: Database, target_for: TargetFor) -> Handler:
    """The handler of `reindex`. Payload: collection_id, force. Result: documents redone, unchanged and overtaken.

    Documents that were written since the job was enqueued are done: by this job before a crash, or by an ingestion. Of the
    latter, some were begun before and cut as the settings said then, so in the end they are compared once, whatever `force` says.
    """

    async def handle(context: JobContext) -> dict[str, Any]:
        collection_id, force = UUID(context.job.payload["collection_id"]), bool(context.job.payload["force"])
        target, total, ordered = target_for(context, collection_id), None, context.job.created_at
        counts: Counter[str] = Counter(redone=0, unchanged=0, overtaken=0)
        seen: set[UUID] = set()
        before: datetime | None = ordered
        since: datetime | None = None
        after = FIRST
        while True:
            async with database.transaction(context.principal, readonly=True) as connection:
                found = await collections.by_id(connection, context.principal, collection_id)
                batch = await documents.list_stale(
                    connection, context.principal, collection_id,
                    after=after, before=before, since=since, limit=BATCH_DOCUMENTS,
                )  # fmt: skip
            total = found.document_count if found else 0
            if not batch and since:
                break
            if not batch:
                before, since, after = None, ordered, FIRST
                continue
            async with outline_reader(target.settings) as outlines:
                for stored in batch:
                    if stored.id not in seen:
                        await context.progress(counts.total(), total, stored.external_id[:200])
                        again = force and not since
                        done = await reindex_document(database, target, stored, outlines, force=again)
                        counts[done] += 1
                        if done != "overtaken":
                            seen.add(stored.id)
            after = batch[-1].id
        if counts["redone"]:
            await reweight_if_drifted(database, context.principal, collection_id, target.settings)
            await order_model_jobs(database, target)
            await follow(database, context.principal, collection_id, target.settings)
        await context.progress(counts.total(), total, "done")
        return dict(counts)

    return handle


def backfill(database: Database, target_for: TargetFor) -> Handler:
    """The handler of `backfill`. Payload: collection_id, model_id. Result: chunks embedded now. The model is then ready."""

    async def handle(context: JobContext) -> dict[str, Any]:
        principal = context.principal
        target, model_id = (
            target_for(context, UUID(context.job.payload["collection_id"])),
            context.job.payload["model_id"],
        )
        async with database.transaction(principal, readonly=True) as connection:
            model = (await vectors.models(connection, [model_id])).get(model_id)
            missing = await models.count_missing(connection, principal, target.collection_id, model_id)
        if model is None:
            raise NotFoundError(f"no embedding model {model_id}")
        used, done = ModelInUse(model, target.embedder_of(model)), 0
        known: dict[UUID, ChunkTexts] = {}
        while True:
            await context.progress(done, max(missing, done), f"embedding with {model.name}")
            added = await _fill_batch(database, context, target, used, known)
            done += added
            if not added and await _mark_ready(database, context, target, model_id):
                break
        await context.progress(done, done, "done")
        return {"embedded": done, "model": model.name}

    return handle


async def _fill_batch(
    database: Database, context: JobContext, target: Target, used: ModelInUse, known: dict[UUID, ChunkTexts]
) -> int:
    """Give the next chunks their vectors; how many, 0 when all have them. `known`: texts of the documents of the batch before,
    since a long document takes many."""
    principal, model_id = context.principal, used.model.id
    async with database.transaction(principal, readonly=True) as connection:
        found = await collections.by_id(connection, principal, target.collection_id)
        if found is None or await models.state(connection, principal, found.id, model_id) is None:
            raise NotFoundError("the collection is gone, or has given up the model")
        batch = await models.next_missing(
            connection, principal, found.id, model_id, found.model_id or model_id, GROUP_CHUNKS
        )
        read = {item.document_id: known.get(item.document_id) for item in batch}
        known.clear()
        for item in batch:
            if item.document_id not in known:
                kept = read[item.document_id]
                known[item.document_id] = kept or await _texts_of(connection, context, item)
        enriched = list({item.document_id for item in batch if item.enrichment})
        sentences = await contexts.load_applied(connection, principal, enriched) if enriched else {}
    texts = {
        item.id: _embedded(known[item.document_id], item, sentences.get(item.id, ""), used.embedder) for item in batch
    }
    hashes = {chunk_id: text_hash(text) for chunk_id, text in texts.items()}
    rows: list[tuple[UUID, bytes, HalfVector]] = []
    # of a document that not everybody may read nothing is computed with others (ADR 160)
    apart = {item.id: None if item.access is None else item.document_id for item in batch}
    readers = {item.id: item.access for item in batch}
    for key in dict.fromkeys(apart.values()):
        alike = [chunk_id for chunk_id, one in apart.items() if one == key]
        inputs = {hashes[chunk_id]: texts[chunk_id] for chunk_id in alike}
        made = await embed_texts(database, principal, used, inputs, readers[alike[0]], context.check_cancelled)
        rows += ((chunk_id, hashes[chunk_id], made[hashes[chunk_id]]) for chunk_id in alike)
    if rows:
        async with database.transaction(principal) as connection:
            await models.add_vectors(connection, principal, model_id, rows)
    return len(batch)


async def _texts_of(connection: Any, context: JobContext, item: models.MissingVectors) -> ChunkTexts:
    """Of a document that has been replaced meanwhile, something else: its chunks are gone, and so are their vectors."""
    _, text = await documents.text(connection, context.principal, item.document_id) or (0, "")
    kind = kind_of_media_type(item.media_type)
    return ChunkTexts.of(text, item.title, code=kind is not None and kind.loader.markup == "code")


def _embedded(texts: ChunkTexts, item: models.MissingVectors, sentence: str, embedder: Embedder) -> str:
    """What the serving model saw, with the context of the chunk; with the title or without, as was noted with contexts, else as
    the hash tells."""
    if item.enrichment:
        shown = texts if item.enrichment["titled"] else replace(texts, title=None)
        return shown.embedded_whole(item.span, item.headings, sentence, embedder.tokens, embedder.max_tokens)
    titled = texts.embedded(item.span, item.headings)
    bare = replace(texts, title=None).embedded(item.span, item.headings)
    return bare if item.content_hash is not None and text_hash(bare) == bytes(item.content_hash) else titled


async def _mark_ready(database: Database, context: JobContext, target: Target, model_id: int) -> bool:
    """Under the lock of the collection, so that nothing is published meanwhile; False when something was before."""
    principal, collection_id = context.principal, target.collection_id
    async with database.transaction(principal) as connection:
        if await models.lock(connection, principal, collection_id) is None:
            return True
        if await models.count_missing(connection, principal, collection_id, model_id):
            return False
        if await models.state(connection, principal, collection_id, model_id) == "backfilling":
            await models.place(connection, principal, collection_id, model_id)
            await models.set_state(connection, principal, collection_id, model_id, "ready")
        await enqueue_plan(connection, principal)  # its index should be there before the flip
        return True
