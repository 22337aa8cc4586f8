"""What a user can do, once for all surfaces: the API and the command line only render what these return."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, cast
from uuid import UUID

from app.agents.strategies import STRATEGIES
from app.answering.context import Deps, Record
from app.answering.library import Library
from app.answering.run import run
from app.answering.trace import run_trace
from app.domain.document import Collection, Document, Outcome, Source
from app.domain.event import TERMINAL, Event
from app.domain.graph_view import Refreshed
from app.domain.ids import new_id
from app.domain.job import Job, RecallCheck
from app.domain.passage import CacheStats, Passage, SearchRequest, SearchResult
from app.domain.plan import QueryPlan, Vocabulary
from app.domain.question import Question, Turn
from app.domain.trace import RunTrace
from app.errors import ConflictError, InputError, NotFoundError, TooLargeError
from app.graph.refresh import due, follow, refresh
from app.ingest.pipeline import OnOutcome, ingest
from app.ingest.prepare import source_hash
from app.jobs import vector_indexes
from app.jobs.index_uploads import KIND
from app.language.text import normalise
from app.memory.recall import recall, widest
from app.memory.remember import remembered
from app.providers.protocols import Vectors
from app.query.filters import Found, Wish
from app.query.restrict import restrict
from app.query.understand import understand
from app.retrieve.absent import nothing_found
from app.retrieve.cached import cached_search
from app.retrieve.query_vectors import query_vectors
from app.retrieve.rerank import Reranked, rerank, wanted
from app.retrieve.route import default_legs
from app.retrieve.trace import sampled, search_trace, succeeded
from app.settings import Settings
from app.store import cache, collections, documents, jobs, traces, uploads
from app.store import vector_indexes as vector_store
from app.store.vocabulary import vocabulary
from app.wiring import Services

COLLECTION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
SESSION_ID = re.compile(r"[^/\n]{1,128}")
MAX_EXTERNAL_ID = 512
"""Characters; a longer one would not fit into the unique index."""


# --- checks -----------------------------------------------------------------------------------------------------------


def checked_name(name: str) -> str:
    """A collection name. Raises InputError."""
    if not COLLECTION_NAME.fullmatch(name):
        raise InputError(
            f"{name[:140]!r} is not a collection name: 1 to 128 letters, digits, '.', '_' or '-', beginning with a "
            "letter or digit"
        )
    return name


def checked_session(session_id: str) -> str:
    """The id of a conversation, which is the client's own: any text that can stand in a path, cleaned. Raises InputError."""
    session_id = normalise(session_id)
    if not SESSION_ID.fullmatch(session_id) or session_id.strip(" .") == "":
        raise InputError(
            f"{session_id[:140]!r} is not a session id: 1 to 128 characters on one line, without '/', and not only dots or "
            "spaces"
        )
    return session_id


def checked_text(text: str, settings: Settings) -> str:
    """A query or question, cleaned (NUL, lone surrogates). Raises InputError when it is empty or too long."""
    text = normalise(text).replace("\ufffd", " ").strip()
    if not text:
        raise InputError("the query is empty; send at least one word")
    limit = settings.api.max_query_chars
    if len(text) > limit:
        raise InputError(f"the query has {len(text):,} characters; at most {limit:,} are allowed")
    return text


def checked_source(source: Source, settings: Settings) -> Source:
    """Raises InputError or TooLargeError for what can be said before reading the content."""
    if not source.external_id or len(source.external_id) > MAX_EXTERNAL_ID:
        raise InputError(f"a document id has 1 to {MAX_EXTERNAL_ID} characters, this one {len(source.external_id)}")
    if len(source.content) > settings.ingest.max_file_bytes:
        raise TooLargeError(
            f"{source.name} has {len(source.content):,} bytes; at most {settings.ingest.max_file_bytes:,} are "
            "accepted (setting ingest.maxFileBytes)"
        )
    return source


# --- collections and documents ------------------------------------------------------------------------------------------


async def create_collection(services: Services, name: str) -> Collection:
    """Raises ConflictError when the name is taken."""
    async with services.database.transaction(services.principal) as connection:
        collection, created = await collections.ensure(connection, services.principal, checked_name(name))
    if not created:
        raise ConflictError(f"a collection named {name} exists already")
    return collection


async def ensure_collection(services: Services, name: str) -> Collection:
    """The collection, created if need be: adding documents is what makes one."""
    async with services.database.transaction(services.principal) as connection:
        return (await collections.ensure(connection, services.principal, checked_name(name)))[0]


async def get_collection(services: Services, name: str) -> Collection:
    """Raises NotFoundError."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await collections.by_name(connection, services.principal, normalise(name))
    if found is None:
        raise NotFoundError(f"no collection named {name[:140]}; see GET /collections")
    return found


async def list_collections(services: Services, *, after: str = "", limit: int = 50) -> list[Collection]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await collections.page(connection, services.principal, after=after, limit=limit)


async def delete_collection(services: Services, name: str) -> None:
    """Remove it with all its documents. Raises NotFoundError."""
    collection = await get_collection(services, name)
    async with services.database.transaction(services.principal) as connection:
        await traces.forget_collection(connection, services.principal, collection.id)
        if not (gone := await collections.delete(connection, services.principal, name)):
            raise NotFoundError(f"no collection named {name}")
        await cache.forget(connection, gone)
        if collection.chunk_count > services.settings.current.vector.dedicated_above * 0.8:
            await vector_indexes.enqueue_plan(connection, services.principal)  # it may have had an index of its own


async def get_recall(services: Services, collection: Collection) -> RecallCheck | None:
    """How well the vector leg found its neighbours when that was last checked; None where it never was."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await vector_store.latest_check(connection, services.principal, collection.id)


async def recall_by_collection(services: Services, limit: int) -> dict[str, float]:
    """Of the last checks of collections that are too large for the exact scan, worst first."""
    above = services.settings.current.vector.exact_below
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await vector_store.latest_checks(connection, services.principal, above, limit)


async def order_upkeep(services: Services) -> None:
    """Enqueue what is to be done once a day: the plan of vector indexes, and recall checks of collections that are
    too large for the exact scan."""
    async with services.database.transaction(services.principal) as connection:
        settings = services.settings.current.vector
        if await vector_store.plan(connection, settings):
            await vector_indexes.enqueue_plan(connection, services.principal)
        for collection_id in await vector_store.unchecked(connection, services.principal, settings.exact_below):
            await vector_indexes.enqueue_check(connection, services.principal, collection_id)


async def index_now(
    services: Services,
    collection: str,
    sources: Iterable[Source],
    on_outcome: OnOutcome | None = None,
    *,
    communities: Literal["now", "later"] = "later",
) -> list[Outcome]:
    """Index and wait. Documents that cannot be read are rejected one by one. `communities`: whether those of a
    large collection are brought up to date at once, or by a job."""
    target = await ensure_collection(services, collection)
    outcomes = await ingest(
        services.database, services.target(services.principal, target.id), sources, on_outcome=on_outcome
    )
    if communities == "now":
        await refresh_communities(services, collection)
    else:
        await follow(services.database, services.principal, target.id, services.settings.current)
    return outcomes


async def refresh_communities(services: Services, collection: str, *, force: bool = False) -> Refreshed:
    """Find the communities of the collection anew if enough of it changed, or in any case. Raises NotFoundError."""
    found, settings = await get_collection(services, collection), services.settings.current
    async with services.database.transaction(services.principal, readonly=True) as connection:
        stale = await due(connection, services.principal, found.id, settings)
    if stale is None and not force:
        return Refreshed()
    return await refresh(services.database, services.principal, found.id, settings.graph.communities)


async def index_later(services: Services, collection: str, sources: Sequence[Source]) -> Job:
    """Store the files and enqueue the job that indexes them, in one transaction."""
    target = await ensure_collection(services, collection)
    async with services.database.transaction(services.principal) as connection:
        job = await jobs.enqueue(
            connection, services.principal, KIND, {"collection": target.name, "collection_id": str(target.id)},
            max_attempts=services.settings.current.jobs.max_attempts,
        )  # fmt: skip
        for source in sorted(sources, key=lambda source: source.external_id):  # in the order that all lock them in
            await documents.register(connection, services.principal, target.id, source, source_hash(source))
            await uploads.add(connection, services.principal, job_id=job.id, collection_id=target.id, source=source)
    return job


async def list_documents(services: Services, collection: str, *, after: str = "", limit: int = 50) -> list[Document]:
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await documents.page(connection, services.principal, found.id, after=after, limit=limit)


async def get_document(services: Services, collection: str, document_id: UUID) -> tuple[Document, str | None]:
    """The document and its text (None while it is not indexed). Raises NotFoundError."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        document = await documents.get(connection, services.principal, found.id, document_id)
        text = await documents.text(connection, services.principal, document_id) if document else None
    if document is None:
        raise NotFoundError(f"no document {document_id} in collection {collection}")
    return document, text[1] if text else None


async def delete_document(services: Services, collection: str, document_id: UUID) -> None:
    """Remove it with everything derived from it. Raises NotFoundError."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal) as connection:
        if not await documents.delete(connection, found.id, document_id):
            raise NotFoundError(f"no document {document_id} in collection {collection}")
    await follow(services.database, services.principal, found.id, services.settings.current)


# --- jobs, traces and cache ---------------------------------------------------------------------------------------------


async def get_job(services: Services, job_id: UUID) -> Job:
    """Raises NotFoundError."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await jobs.get(connection, services.principal, job_id)
    if found is None:
        raise NotFoundError(f"no job {job_id}")
    return found


async def cancel_job(services: Services, job_id: UUID) -> Job:
    """A queued job ends at once, a running one at its next step. Raises NotFoundError."""
    async with services.database.transaction(services.principal) as connection:
        found = await jobs.request_cancel(connection, services.principal, job_id)
    if found is None:
        raise NotFoundError(f"no job {job_id}")
    return found


async def get_trace(services: Services, run_id: UUID) -> RunTrace:
    """Waits for the trace to be written. Raises NotFoundError."""
    await services.traces.flush()
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await traces.get(connection, services.principal, run_id)
    if found is None:
        raise NotFoundError(f"no trace {run_id}; traces are kept for trace.retentionDays")
    return found


async def cache_stats(services: Services) -> CacheStats:
    """What the retrieval cache did for the tenant, and holds; what this process has not written yet included."""
    await services.retriever.ledger.flush()
    await services.retriever.embeddings.flush()
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await cache.stats(connection, services.principal, services.settings.current.cache)


async def clear_cache(services: Services, collection: str | None = None) -> int:
    """Remove cached results, of one collection or all; how many. Raises NotFoundError for an unknown collection."""
    found = await get_collection(services, collection) if collection is not None else None
    async with services.database.transaction(services.principal) as connection:
        if found is None:
            return await cache.clear(connection, services.principal)
        return await cache.forget(connection, found.id)


# --- search and questions -------------------------------------------------------------------------------------------------


async def run_search(services: Services, request: SearchRequest) -> SearchResult:
    """Search and leave a trace, also of a failure."""
    settings, started, run_id = services.settings.current, datetime.now(UTC), new_id()
    trace = search_trace(request, services.principal, settings, run_id, started)
    try:
        result = await cached_search(services.retriever, services.principal, request, settings, run_id)
        trace = succeeded(trace, result)
        return result
    except Exception as error:
        trace = replace(trace, outcome="error", error=str(error))
        raise
    finally:
        if settings.trace.enabled:
            services.traces.record(sampled(trace, settings.trace.sample_rate))


async def ask(services: Services, question: Question) -> AsyncIterator[Event]:
    """The events of one run; the last one is terminal. Leaves a trace on every path, also when nobody reads on, and in a
    session what was said. A collection that does not exist is an empty one: edges that mean another check it first."""
    events = ask_with(services, question, services.settings.current, Record(question))
    async with aclosing(events) as closing:
        async for event in closing:
            yield event


async def ask_with(
    services: Services, question: Question, settings: Settings, record: Record
) -> AsyncGenerator[Event, None]:
    """`ask` with settings of its own, filling a record that the caller reads."""
    started, terminal = datetime.now(UTC), None
    events_of_run = run(question, _kit(services, question, settings, record), record)
    stream = remembered(events_of_run, services.database, services.principal, question)
    try:
        async with aclosing(cast("AsyncGenerator[Event]", stream)) as events:
            async for event in events:
                terminal = event if isinstance(event, TERMINAL) else None
                yield event
    finally:
        if settings.trace.enabled:
            trace = run_trace(
                record, terminal, tenant_id=services.principal.tenant_id, started_at=started,
                settings_revision=settings.revision,
            )  # fmt: skip
            services.traces.record(sampled(trace, settings.trace.sample_rate))


def _kit(services: Services, question: Question, settings: Settings, record: Record) -> Deps:
    """What the run is made with: one snapshot of the settings, the caller's rows, and each text embedded once."""
    retriever, principal, database = services.retriever, services.principal, services.database
    chat = services.chat_for(settings)

    async def remember(session_id: str) -> tuple[Turn, ...]:
        return await recall(database, principal, session_id, widest(settings.memory))

    async def known_words(words: Sequence[str]) -> Vocabulary:
        async with database.transaction(principal, readonly=True) as connection:
            return await vocabulary(connection, principal, question.collection, words)

    async def embed(texts: Sequence[str]) -> Vectors:
        return await query_vectors(retriever, principal, texts, settings)

    async def restricted(asked: Sequence[Wish]) -> Found:
        return await restrict(database, principal, question.collection, asked)

    async def understood(asked: Question) -> QueryPlan:
        return await understand(
            asked.text, asked.history, vocabulary=known_words, embed=embed,
            chat=chat and record.metered("understand", chat, settings), settings=settings, exemplars=services.exemplars,
            find=restricted, has_graph="graph" in default_legs(settings) and settings.graph.routing == "type",
        )  # fmt: skip

    async def retrieve(request: SearchRequest, strategy: str) -> SearchResult:
        try:
            return await cached_search(
                retriever, principal, request, settings, question.run_id, answering=True, strategy=strategy
            )
        except NotFoundError:
            return nothing_found(request, question.run_id)

    async def reranked(text: str, passages: Sequence[Passage]) -> Reranked:
        request, choice = SearchRequest(text, (question.collection,)), retriever.reranker.get(settings)
        if not wanted(choice, request, settings, answering=True):
            return Reranked(list(passages))
        return await rerank(choice, request, passages, settings.retrieve)

    return Deps(
        remember,
        understood,
        retrieve,
        reranked,
        Library(database, principal),
        retriever.embedder,
        chat,
        settings,
        STRATEGIES,
    )
