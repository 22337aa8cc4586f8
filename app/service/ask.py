"""Asking a question: what a run is made with, and its events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import cast

from app.agents.strategies import STRATEGIES
from app.answering.context import Deps, Record
from app.answering.library import Library
from app.answering.run import run
from app.answering.trace import run_trace
from app.domain.event import TERMINAL, Event
from app.domain.passage import Passage, SearchRequest, SearchResult
from app.domain.plan import QueryPlan, Vocabulary
from app.domain.question import Question, Turn
from app.errors import NotFoundError
from app.memory.recall import recall, widest
from app.memory.remember import remembered
from app.providers.protocols import Vectors
from app.query.filters import Restrictions, Wish, restrict
from app.query.understand import understand
from app.retrieve.cache import cached_search
from app.retrieve.embed import query_vectors
from app.retrieve.plan import default_legs
from app.retrieve.rerank import Reranked, rerank, wants_reranking
from app.retrieve.search import nothing_found
from app.retrieve.trace import sampled
from app.settings import Settings
from app.store.holdings import look_up_words
from app.wiring import Services


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
    events_of_run = run(question, deps_for(services, question, settings, record), record)
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


def deps_for(services: Services, question: Question, settings: Settings, record: Record) -> Deps:
    """What the run is made with: one snapshot of the settings, the caller's rows, and each text embedded once."""
    search_deps, principal, database = services.search_deps, services.principal, services.database
    chat = services.chat_for(settings)

    async def remember(session_id: str) -> tuple[Turn, ...]:
        return await recall(database, principal, session_id, widest(settings.memory))

    async def known_words(words: Sequence[str]) -> Vocabulary:
        async with database.transaction(principal, readonly=True) as connection:
            return await look_up_words(connection, principal, question.collection, words)

    async def embed(texts: Sequence[str]) -> Vectors:
        return await query_vectors(search_deps, principal, texts, settings)

    async def restricted(asked: Sequence[Wish]) -> Restrictions:
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
                search_deps, principal, request, settings, question.run_id, answering=True, strategy=strategy
            )
        except NotFoundError:
            return nothing_found(request, question.run_id)

    async def reranked(text: str, passages: Sequence[Passage]) -> Reranked:
        choice = search_deps.reranker.get(settings)
        if not wants_reranking(choice, settings, answering=True):
            return Reranked(list(passages))
        return await rerank(choice, text, passages, settings.retrieve)

    return Deps(
        remember,
        understood,
        retrieve,
        reranked,
        Library(database, principal),
        search_deps.embedder,
        chat,
        settings,
        STRATEGIES,
    )
