"""The write path on one screen: load -> chunk -> embed -> store, three stages that overlap.

A document becomes searchable in one transaction, small ones together with their neighbours, two transactions at a time. A
document that cannot be read is rejected alone; a failure of the database or of the embedding provider stops the run and is
raised, and running it again is safe: what is stored already comes back as a duplicate.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace

from app.domain.document import Indexed, Outcome, PreparedDocument, Rejected, Source, Status
from app.domain.usage import Holding, total
from app.errors import CairnError, InputError, ParseError, TenantFullError, TooLargeError, UnsupportedTypeError
from app.ingest.bulk import BulkRun
from app.ingest.embed import GROUP_CHUNKS, NOT_DURABLE, Check, Target, embed_documents, in_use, is_large
from app.ingest.enrichment import order_enrichment
from app.ingest.extraction import order_extraction
from app.ingest.outlines import OutlineReader, outline_reader
from app.ingest.parse import parse
from app.ingest.prepare import prepare, source_hash
from app.ingest.reweight import order_index_if_due, reweight_if_drifted
from app.ingest.turns import Embedded, Turns
from app.store import documents, lexical, limits, originals, vectors
from app.store.session import Database

# Failures of one document; every other CairnError stops the run.
DOCUMENT_ERRORS = (ParseError, InputError, TenantFullError, TooLargeError, UnsupportedTypeError)

STORING = 2
"""Documents that are stored at once. Most of it is insertion into HNSW, which one connection does on one core; more would
leave the pool's other users too little."""

RENEW_SECONDS = 20.0
"""How often a run says of the new documents it has begun that they are being worked on."""
ABANDONED_SECONDS = 90.0
"""A document that nobody has said so of for this long was left by a process that died."""
ABANDONED = "the process that was indexing it is gone; hand it over again"


OnOutcome = Callable[[Outcome], None]


async def ingest(
    database: Database,
    target: Target,
    sources: Iterable[Source] | AsyncIterator[Source],
    *,
    on_outcome: OnOutcome | None = None,
    check: Check | None = None,
) -> list[Outcome]:
    """Index the sources; outcomes in the order in which they were reached.

    `on_outcome` sees each as it happens; `check` is called between steps and may raise to stop (cancellation).
    """
    used = await in_use(database, target)
    target = replace(target, model=used[0].model, embedder=used[0].embedder)
    prepared: asyncio.Queue[PreparedDocument | None] = asyncio.Queue(maxsize=64)
    embedded = Turns()
    outcomes: list[Outcome] = []
    begun: set[str] = set()
    bulk = BulkRun(database, target, used)

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        begun.discard(outcome.external_id)
        if on_outcome:
            on_outcome(outcome)

    async def load_all() -> None:
        async with database.transaction(target.principal, readonly=True) as connection:
            dominant = await lexical.find_dominant(connection, target.principal, target.collection_id)
        async with outline_reader(target.settings) as outlines:
            async for source in _each(sources):
                if check:
                    check()
                begun.add(source.external_id)
                if (ready := await _load(database, target, source, report, dominant, outlines)) is not None:
                    await bulk.count(len(ready.chunks))
                    await prepared.put(ready)
        await prepared.put(None)

    async def embed_all() -> None:
        while group := await _next_group(prepared):
            made = await embed_documents(database, target.principal, target.collection_id, used, group, check)
            for item in map(Embedded, group, made):
                await embedded.put(item)
        await embedded.close()

    async def store_all() -> None:
        async with asyncio.TaskGroup() as storing:
            for _ in range(STORING):
                storing.create_task(embedded.work(store))
        await bulk.end()
        await reweight_if_drifted(database, target.principal, target.collection_id, target.settings)
        await order_index_if_due(database, target.principal, target.collection_id, target.settings.vector)
        if any(isinstance(outcome, Indexed) and not outcome.duplicate for outcome in outcomes):
            await order_extraction(database, target)
            await order_enrichment(database, target)

    async def store(items: list[Embedded]) -> None:
        for outcome in await _publish(database, target, items):
            report(outcome)

    renewing = asyncio.create_task(_keep_alive(database, target, begun, bulk))
    try:
        async with asyncio.TaskGroup() as group:
            for stage in (load_all(), embed_all(), store_all()):
                group.create_task(stage)
    except BaseExceptionGroup as errors:
        raise _first(errors) from None
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])
        with suppress(CairnError):  # after a failure: else the renewal lapses
            await bulk.end()
    return outcomes


async def _keep_alive(database: Database, target: Target, begun: Collection[str], bulk: BulkRun) -> None:
    """Until it is cancelled. A renewal that fails is tried again: the run itself will say what is wrong."""
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        with suppress(CairnError):
            await bulk.renew()
        if begun:
            with suppress(CairnError):
                async with database.transaction(target.principal, config=NOT_DURABLE) as connection:
                    await documents.keep_alive(connection, target.principal, target.collection_id, begun)


async def _each(sources: Iterable[Source] | AsyncIterator[Source]) -> AsyncIterator[Source]:
    if isinstance(sources, AsyncIterator):
        async for source in sources:
            yield source
    else:
        for source in sources:
            yield source


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The cause to show: stages fail together, and the first real error says why."""
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


async def _load(
    database: Database,
    target: Target,
    source: Source,
    report: OnOutcome,
    dominant: str | None,
    outlines: OutlineReader,
) -> PreparedDocument | None:
    """Parse and cut one source; None when there is nothing to do (reported)."""
    digest = source_hash(source)
    try:
        if await _register(database, target, source, digest, report):
            return None
        loaded = await outlines.outlined(await parse(source, target.settings.ingest), source.external_id)
        ready = await asyncio.to_thread(
            prepare, source, loaded, target.settings, target.embedder.tokens, dominant,
            most_tokens=target.embedder.max_tokens,
        )  # fmt: skip
        if is_large(ready):  # long enough for somebody to look
            await _status(database, target, source, "embedding")
        return ready
    except DOCUMENT_ERRORS as error:
        report(await _reject(database, target, source, error))
        return None


async def _register(database: Database, target: Target, source: Source, digest: bytes, report: OnOutcome) -> bool:
    """Whether it is there already, which is reported; else it is shown as being parsed. Raises TenantFullError, and leaves
    nothing of a new document then."""
    async with database.transaction(target.principal, config=NOT_DURABLE) as connection:
        known = await documents.register(connection, target.principal, target.collection_id, source, digest, "parsing")
        if known.status == "indexed" and known.content_hash == digest:
            if updated := known.metadata != source.metadata:
                await documents.update_metadata(connection, target.collection_id, known.id, source.metadata)
            if target.settings.ingest.keep_original and not known.has_file and not source.is_text:
                await originals.keep(connection, target.principal, known.id, source.content)
            report(_duplicate(source, known, updated=updated))
            return True
        await limits.check_room(
            connection,
            _growth(known, source, chunks=known.chunk_count or 1),
            target.settings.limits.holding,
            published=False,
        )
        if known.status != "parsing":
            await documents.set_status(
                connection, target.principal, target.collection_id, source.external_id, "parsing", None
            )
    return False


def _growth(known: documents.KnownDocument, source: Source, chunks: int) -> Holding:
    """What the tenant would keep more of, with this version of a document in the place of what is known."""
    old = known if known.status == "indexed" else None
    return Holding(
        int(old is None), len(source.content) - (old.byte_size if old else 0), chunks - (old.chunk_count if old else 0)
    )


async def _reject(database: Database, target: Target, source: Source, error: CairnError) -> Rejected:
    await _status(database, target, source, "failed", error.detail)
    return Rejected(source.external_id, source.name, error.code, error.detail)


def _duplicate(source: Source, known: documents.KnownDocument, *, updated: bool) -> Indexed:
    return Indexed(
        external_id=source.external_id,
        name=source.name,
        document_id=known.id,
        version=known.version,
        passage_count=known.passage_count,
        chunk_count=known.chunk_count,
        duplicate=True,
        updated=updated,
    )


async def _status(database: Database, target: Target, source: Source, status: Status, error: str | None = None) -> None:
    async with database.transaction(target.principal, config=NOT_DURABLE) as connection:
        await documents.set_status(
            connection, target.principal, target.collection_id, source.external_id, status, error
        )


async def _next_group(queue: asyncio.Queue[PreparedDocument | None]) -> list[PreparedDocument]:
    """What is ready now, up to GROUP_CHUNKS; waits for at least one document; empty at the end."""
    first = await queue.get()
    if first is None:
        return []
    group, size = [first], len(first.chunks)
    while size < GROUP_CHUNKS and not queue.empty():
        following = queue.get_nowait()
        if following is None:
            queue.put_nowait(None)  # seen again by the next call
            break
        group.append(following)
        size += len(following.chunks)
    return group


async def _publish(database: Database, target: Target, items: list[Embedded]) -> list[Outcome]:
    """All in one transaction. Where one of them cannot be stored each gets its own, so that it fails alone."""
    if len(items) > 1:
        with suppress(documents.ModelsChangedError, *DOCUMENT_ERRORS):
            return await _publish_once(database, target, items)
    return [await _publish_alone(database, target, item) for item in items]


async def _publish_alone(database: Database, target: Target, item: Embedded) -> Outcome:
    while True:
        try:
            [outcome] = await _publish_once(database, target, [item])
            return outcome
        except documents.ModelsChangedError:
            used = await in_use(database, target)
            [made] = await embed_documents(database, target.principal, target.collection_id, used, [item.document])
            target, item = replace(target, model=used[0].model, embedder=used[0].embedder), replace(item, vectors=made)
        except DOCUMENT_ERRORS as error:
            return await _reject(database, target, item.document.source, error)


async def _publish_once(database: Database, target: Target, items: list[Embedded]) -> list[Outcome]:
    """Raises ModelsChangedError when the collection needs other vectors than those of the items, and one of DOCUMENT_ERRORS when
    one of them cannot be stored."""
    principal, prepared = target.principal, [item.document for item in items]
    async with database.transaction(principal) as connection:
        registered = await documents.register_all(
            connection, principal, target.collection_id, [(one.source, one.content_hash) for one in prepared]
        )
        outcomes: dict[str, Outcome] = {}
        versions, grows = [], []
        for known, item in zip(registered, items, strict=True):
            document, source = item.document, item.document.source
            if is_large(document):
                await vectors.drop_ahead(connection, principal, known.id)
            if known.status == "indexed" and known.content_hash == document.content_hash:
                outcomes[source.external_id] = _duplicate(source, known, updated=False)  # another run was faster
                continue
            versions.append(documents.NewVersion(known.id, document, item.vectors))
            grows.append(_growth(known, source, len(document.chunks)))
        if versions:
            published = await documents.publish(
                connection, target.collection_id, target.model.id, versions,
                keep_original=target.settings.ingest.keep_original,
            )  # fmt: skip
            outcomes |= {outcome.external_id: outcome for outcome in published}
            await limits.check_room(connection, total(grows), target.settings.limits.holding, published=True)
    return [outcomes[document.source.external_id] for document in prepared]


__all__ = ["ABANDONED", "ABANDONED_SECONDS", "Target", "ingest"]
