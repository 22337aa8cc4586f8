"""Asking a question: a run is begun, with what it is made with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from app.agents.strategies import STRATEGIES
from app.answering.context import Deps, Record, Report
from app.answering.library import Library
from app.answering.run import answer
from app.answering.trace import run_trace
from app.domain.answer import Answer
from app.domain.event import Event, Surface
from app.domain.passage import Passage, SearchRequest, SearchResult
from app.domain.plan import QueryPlan, Vocabulary
from app.domain.question import Question, Turn
from app.errors import NotFoundError
from app.memory.recall import recall, widest
from app.providers.protocols import Vectors
from app.query.filters import Found, Wish
from app.query.restrict import restrict
from app.query.understand import understand
from app.retrieve.cache import cached_search
from app.retrieve.embed import query_vectors
from app.retrieve.plan import default_legs
from app.retrieve.rerank import Reranked, rerank, wants_reranking
from app.retrieve.search import nothing_found
from app.retrieve.trace import sampled
from app.runs.task import OnEnd, Task, final
from app.service.runs import check_free
from app.settings import Settings
from app.store.vocabulary import vocabulary
from app.wiring import Services


async def start(
    services: Services,
    question: Question,
    *,
    surface: Surface = "query",
    resumable: bool = False,
    named: bool = False,
    settings: Settings | None = None,
    record: Record | None = None,
    on_end: OnEnd | None = None,
) -> Task:
    """Begin to answer a question. The run leaves a trace on every path, and in a session what was said. A collection that
    does not exist is an empty one: edges that mean another check it first.

    `named`: the caller chose the run id. `settings`: of this run alone. `record` fills as it goes. `on_end` is told the
    terminal event. Raises ConflictError where the id is in use, StoppingError, DatabaseUnavailableError.
    """
    if named:
        await check_free(services, question.run_id)
    chosen, filled, began = settings or services.settings.current, record or Record(question), datetime.now(UTC)

    async def work(report: Report) -> Answer:
        return await answer(question, deps_for(services, question, chosen, filled), filled, report)

    def leave_trace(end: Event) -> None:
        if chosen.trace.enabled:
            trace = run_trace(
                filled, end, tenant_id=services.principal.tenant_id, started_at=began, settings_revision=chosen.revision
            )
            services.traces.record(sampled(trace, chosen.trace.sample_rate))
        if on_end:
            on_end(end)

    return await services.runs.start(
        services.principal, question, work, leave_trace, surface=surface, resumable=resumable
    )


async def ask(services: Services, question: Question) -> Answer:
    """The answer to a question, in one piece. Raises what the run failed with."""
    return (await final(await start(services, question))).answer


def deps_for(services: Services, question: Question, settings: Settings, record: Record) -> Deps:
    """What the run is made with: one snapshot of the settings, the caller's rows, and each text embedded once."""
    search_deps, principal, database = services.search_deps, services.principal, services.database
    chat = services.chat_for(settings)

    async def remember(session_id: str) -> tuple[Turn, ...]:
        return await recall(database, principal, session_id, widest(settings.memory))

    async def known_words(words: Sequence[str]) -> Vocabulary:
        async with database.transaction(principal, readonly=True) as connection:
            return await vocabulary(connection, principal, question.collection, words)

    async def embed(texts: Sequence[str]) -> Vectors:
        return await query_vectors(search_deps, principal, texts, settings)

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
