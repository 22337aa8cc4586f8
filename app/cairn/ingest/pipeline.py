"""The write path on one screen: load -> chunk -> embed -> store, three stages that overlap.

A document becomes searchable in one transaction, small ones together with their neighbours, two transactions at a time. A
document that cannot be read is rejected alone; a failure of the database or of the embedding provider stops the run and is
raised, and running it again is safe: what is stored already comes back as a duplicate. What has its vectors when the provider
fails is stored first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pgvector import HalfVector

from cairn.domain.document import Indexed, Outcome, PreparedDocument, Rejected, Source, Status
from cairn.domain.usage import Holding, total
from cairn.errors import (
    CairnError,
    InputError,
    MissingPartError,
    ParseError,
    ProviderError,
    TenantFullError,
    TooLargeError,
    UnsupportedTypeError,
    WithheldError,
)
from cairn.ingest.bulk import BulkRun
from cairn.ingest.embed import (
    GROUP_CHUNKS,
    NOT_DURABLE,
    Check,
    ModelInUse,
    OnShare,
    Target,
    choose_model,
    embed_documents,
    in_use,
    is_large,
)
from cairn.ingest.give_back import FROM_CHARS, give_back_soon
from cairn.ingest.loaders import REVISION
from cairn.ingest.model_jobs import order_model_jobs
from cairn.ingest.outlines import OutlineReader, outline_reader
from cairn.ingest.parse import parse, with_stated_metadata
from cairn.ingest.prepare import prepare, source_hash_aside, titled_as_before
from cairn.ingest.publish_queue import Embedded, Turns
from cairn.ingest.reweight import order_index_if_due, reweight_if_drifted
from cairn.store import documents, lexical, limits, originals, vectors
from cairn.store.session import Database

# Failures of one document; every other CairnError stops the run.
DOCUMENT_ERRORS = (
    ParseError, InputError, MissingPartError, TenantFullError, TooLargeError, UnsupportedTypeError, WithheldError,
)  # fmt: skip

STORING = 2
"""Documents that are stored at once. Most of it is insertion into HNSW, which one connection does on one core; more would
leave the pool's other users too little."""

RENEW_SECONDS = 20.0
"""How often a run says of the new documents it has begun that they are being worked on."""
ABANDONED_SECONDS = 90.0
"""A document that nobody has said so of for this long was left by a process that died."""
ABANDONED = "the process that was indexing it is gone; hand it over again"


OnOutcome = Callable[[Outcome], None]


@dataclass(frozen=True, slots=True)
class _Run:
    """What the first stage needs of it. `target`: with the model that serves the collection; `begun`: ids of documents that
    are being worked on."""

    target: Target
    report: OnOutcome
    begun: set[str]


_Arrivals = Callable[[_Run], AsyncIterator[Embedded]]
"""The first stage: documents that are cut and not known yet, with the vectors that they bring along."""


async def ingest(
    database: Database,
    target: Target,
    sources: Iterable[Source] | AsyncIterator[Source],
    *,
    on_outcome: OnOutcome | None = None,
    on_share: OnShare | None = None,
    check: Check | None = None,
) -> list[Outcome]:
    """Index the sources; outcomes in the order in which they were reached.

    `on_outcome` sees each as it happens, `on_share` how much of one is read, then how much of a large one is
    embedded; `check` is called between steps and may raise to stop (cancellation).
    """

    target, arriving = await choose_model(database, target, _each(sources))

    async def load_all(run: _Run) -> AsyncIterator[Embedded]:
        async with database.transaction(target.principal, readonly=True) as connection:
            dominant = await lexical.find_dominant(connection, target.principal, target.collection_id)
        async with outline_reader(target.settings) as outlines:
            async for source in arriving:
                if check:
                    check()
                run.begun.add(source.external_id)
                if item := await _load(database, run.target, source, run.report, dominant, outlines, on_share):
                    yield item

    return await _ingest(database, target, load_all, on_outcome, check, on_share)


async def ingest_prepared(
    database: Database,
    target: Target,
    items: AsyncIterator[Embedded | Rejected],
    *,
    on_outcome: OnOutcome | None = None,
) -> list[Outcome]:
    """The same of documents that were cut and embedded elsewhere. Vectors that the collection needs besides are made here."""

    async def admit_all(run: _Run) -> AsyncIterator[Embedded]:
        async for item in items:
            if isinstance(item, Rejected):
                run.report(item)
                continue
            source = item.document.source
            run.begun.add(source.external_id)
            try:
                document = item.document
                known = await _register(
                    database, run.target, source, document.content_hash, document.loader_revision, run.report
                )
                if known and not await _reads_the_same(database, run.target, source, known, document, run.report):
                    yield replace(item, registered=known)
            except DOCUMENT_ERRORS as error:
                run.report(await _reject(database, run.target, source, error))

    return await _ingest(database, target, admit_all, on_outcome, None)


async def _ingest(
    database: Database,
    target: Target,
    arrivals: _Arrivals,
    on_outcome: OnOutcome | None,
    check: Check | None,
    on_share: OnShare | None = None,
) -> list[Outcome]:
    used = await in_use(database, target)
    target = replace(target, model=used[0].model, embedder=used[0].embedder)
    prepared: asyncio.Queue[Embedded | None] = asyncio.Queue(maxsize=64)
    embedded = Turns()
    outcomes: list[Outcome] = []
    begun: set[str] = set()
    bulk = BulkRun(database, target, used)
    failures: list[ProviderError] = []
    read = 0

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        begun.discard(outcome.external_id)
        if on_outcome:
            on_outcome(outcome)

    async def load_all() -> None:
        nonlocal read
        async for item in arrivals(_Run(target, report, begun)):
            read += len(item.document.text)
            await bulk.count(len(item.document.chunks))
            await prepared.put(item)
        await prepared.put(None)

    async def embed_all(loading: asyncio.Task[None]) -> None:
        try:
            while group := await _next_group(prepared):
                for item in await _embed(database, target, used, group, check, on_share):
                    await embedded.put(item)
        except ProviderError as error:  # what has its vectors was paid for, and is stored
            failures.append(error)
            loading.cancel()
        await embedded.close()

    async def store_all() -> None:
        async with asyncio.TaskGroup() as storing:
            for _ in range(STORING):
                storing.create_task(embedded.work(store))
        await bulk.end()
        new = any(isinstance(outcome, Indexed) and not outcome.duplicate for outcome in outcomes)
        await _order_what_follows(database, target, new=new)

    async def store(items: list[Embedded]) -> None:
        for outcome in await _publish(database, target, items):
            report(outcome)

    try:
        async with _kept_alive(database, target, begun, bulk), asyncio.TaskGroup() as group:
            loading = group.create_task(load_all())
            group.create_task(embed_all(loading))
            group.create_task(store_all())
    except BaseExceptionGroup as errors:
        raise _first(errors) from None
    finally:
        if read >= FROM_CHARS:
            give_back_soon()
    if failures:
        raise failures[0]
    return outcomes


async def _order_what_follows(database: Database, target: Target, *, new: bool) -> None:
    """Once all is stored: weights and indexes where they are due; `new`: and what models are to read of new documents."""
    await reweight_if_drifted(database, target.principal, target.collection_id, target.settings)
    await order_index_if_due(database, target.principal, target.collection_id, target.settings.vector)
    if new:
        await order_model_jobs(database, target)


@asynccontextmanager
async def _kept_alive(database: Database, target: Target, begun: Collection[str], bulk: BulkRun) -> AsyncIterator[None]:
    """Within it others see that this run lives, and what it works on."""
    renewing = asyncio.create_task(_keep_alive(database, target, begun, bulk))
    try:
        yield
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])
        with suppress(CairnError):  # after a failure: else the renewal lapses
            await bulk.end()


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
    on_share: OnShare | None,
) -> Embedded | None:
    """Parse and cut one source, without vectors yet; None when there is nothing to do (reported)."""
    digest = await source_hash_aside(source)
    source = await asyncio.to_thread(with_stated_metadata, source)
    try:
        known = await _register(database, target, source, digest, REVISION, report)
        if known is None:
            return None
        telling = on_share and partial(on_share, source.external_id)
        loaded = await outlines.outlined(await parse(source, target.settings.ingest, telling), source.external_id)
        if on_share:
            await on_share(source.external_id, None)
        again = known.has_content(digest)
        ready = await asyncio.to_thread(
            prepare, titled_as_before(source, known.title) if again else source, loaded, target.settings,
            target.embedder.tokens, dominant, most_tokens=target.embedder.max_tokens,
        )  # fmt: skip
        ready = replace(ready, source=source, content_hash=digest)
        if await _reads_the_same(database, target, source, known, ready, report):
            return None
        if is_large(ready):  # long enough for somebody to look
            await _status(database, target, source, "embedding")
        return Embedded(ready, {}, known)
    except DOCUMENT_ERRORS as error:
        report(await _reject(database, target, source, error))
        return None


async def _register(
    database: Database, target: Target, source: Source, digest: bytes, loader_revision: int, report: OnOutcome
) -> documents.KnownDocument | None:
    """None where it is there already, read by such loaders, which is reported; else what is known of it, which is shown as being
    parsed if it is not indexed. Raises TenantFullError, and leaves nothing of a new document then."""
    async with database.transaction(target.principal, config=NOT_DURABLE) as connection:
        known = await documents.register(connection, target.principal, target.collection_id, source, digest, "parsing")
        if known.is_current(digest, loader_revision):
            report(await _keep_as_it_is(connection, target, source, known))
            return None
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
    return known


async def _keep_as_it_is(connection: Any, target: Target, source: Source, known: documents.KnownDocument) -> Indexed:
    """Nothing changes but what the caller says of it, and that its file is kept."""
    await documents.take_access(connection, target.principal, target.collection_id, source, known)
    if updated := known.metadata != source.metadata:
        await documents.update_metadata(connection, target.collection_id, known.id, source.metadata)
    if target.settings.ingest.keep_original and not known.has_file and not source.is_text:
        await originals.keep(connection, target.principal, known.id, source.content)
    return _duplicate(source, known, updated=updated)


async def _reads_the_same(
    database: Database,
    target: Target,
    source: Source,
    before: documents.KnownDocument,
    document: PreparedDocument,
    report: OnOutcome,
) -> bool:
    """Whether today's loaders read of the content what earlier ones did. Then the document stays, as read by today's, and that is
    reported."""
    if not before.has_content(document.content_hash):
        return False
    async with database.transaction(target.principal) as connection:
        [known] = await documents.register_all(
            connection, target.principal, target.collection_id, [(source, document.content_hash)]
        )
        _require_same(known, before)
        text = await documents.text(connection, target.principal, known.id)
        if text != (before.version, document.text) or known.media_type != document.media_type:
            return False
        if known.title != document.title:
            return False
        await documents.mark_read(connection, target.principal, known.id, document.loader_revision)
        report(await _keep_as_it_is(connection, target, source, known))
    return True


def _require_same(known: documents.KnownDocument, registered: documents.KnownDocument | None) -> None:
    """Raises InputError where the document was deleted since it was begun: it would come back, and open to everybody. In the
    transaction that has registered it again, which goes back then."""
    if registered is not None and known.id != registered.id:
        raise InputError("it was deleted while it was indexed; send it again if it is to be there")


def _growth(known: documents.KnownDocument, source: Source, chunks: int) -> Holding:
    """What the tenant would keep more of, with this version of a document in the place of what is known."""
    old = known if known.status == "indexed" else None
    return Holding(
        int(old is None), source.byte_size - (old.byte_size if old else 0), chunks - (old.chunk_count if old else 0)
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


async def _next_group(queue: asyncio.Queue[Embedded | None]) -> list[Embedded]:
    """What is ready now, up to GROUP_CHUNKS; waits for at least one document; empty at the end."""
    first = await queue.get()
    if first is None:
        return []
    group, size = [first], len(first.document.chunks)
    while size < GROUP_CHUNKS and not queue.empty():
        following = queue.get_nowait()
        if following is None:
            queue.put_nowait(None)  # seen again by the next call
            break
        group.append(following)
        size += len(following.document.chunks)
    return group


async def _embed(
    database: Database,
    target: Target,
    used: Sequence[ModelInUse],
    group: Sequence[Embedded],
    check: Check | None = None,
    on_share: OnShare | None = None,
) -> list[Embedded]:
    """With the vectors of all models in use, and of no other: those that are lacking are made."""
    needed = {one.model.id for one in used}
    lacking = [one for one in used if any(one.model.id not in item.vectors for item in group)]
    made: Sequence[dict[int, list[HalfVector]]] = [{}] * len(group)
    if lacking:
        texts = [item.document for item in group]
        made = await embed_documents(database, target.principal, target.collection_id, lacking, texts, check, on_share)
    return [
        replace(item, vectors={model: vectors for model, vectors in (new | item.vectors).items() if model in needed})
        for item, new in zip(group, made, strict=True)
    ]


async def _publish(database: Database, target: Target, items: list[Embedded]) -> list[Outcome]:
    """All in one transaction. Where one of them cannot be stored each gets its own, so that it fails alone."""
    made_by = {(item.document.loader_revision, item.document.derived_revision) for item in items}
    if len(items) > 1 and len(made_by) == 1:
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
            target = replace(target, model=used[0].model, embedder=used[0].embedder)
            [item] = await _embed(database, target, used, [item])
        except DOCUMENT_ERRORS as error:
            return await _reject(database, target, item.document.source, error)


async def _publish_once(database: Database, target: Target, items: list[Embedded]) -> list[Outcome]:
    """Raises ModelsChangedError when the collection needs other vectors than those of the items, and one of DOCUMENT_ERRORS when
    one of them cannot be stored."""
    principal, prepared = target.principal, [item.document for item in items]
    async with database.transaction(principal) as connection:
        registered = await documents.register_all(
            connection, principal, target.collection_id, [(one.source, one.content_hash) for one in prepared]
        )  # fmt: skip
        outcomes: dict[str, Outcome] = {}
        versions, grows = [], []
        for known, item in zip(registered, items, strict=True):
            document, source = item.document, item.document.source
            _require_same(known, item.registered)
            if item.registered is None or known.has_readers_of(item.registered):
                await documents.take_access(connection, principal, target.collection_id, source, known)
            elif source.access and (known.access is None or not set(known.access) <= set(source.access)):
                raise InputError("who may read it changed while it was indexed; send it again")
            if is_large(document):
                await vectors.drop_ahead(connection, principal, known.id)
            if known.is_current(document.content_hash, document.loader_revision):
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


__all__ = ["ABANDONED", "ABANDONED_SECONDS", "Target", "ingest", "ingest_prepared"]
