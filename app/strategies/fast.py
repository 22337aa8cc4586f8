"""One retrieval, one answer: retrieve -> number the sources -> generate or extract -> answer, as a stream of events.

How a stream ends. Exactly one terminal event comes on every path on which somebody reads on: `Answered`, `Failed`, or,
where the reading task is cancelled while the run waits, `Cancelled` and then CancelledError again, so that the
cancellation is not swallowed (read a stream to its end). A stream that is closed early (`aclose()`, a client that went
away) cannot send anything any more: it stops its model call and ends without a terminal event, and whoever closed it
records the run as cancelled (`run_trace(..., terminal=None)`).

When a model fails. Before its first token, the sentences are extracted instead and `degraded` says so. After it, the
run fails: clients have shown half an answer by then, and not all of them replace it by the terminal event's text.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

import structlog

from app.answer.context import Context, assemble
from app.answer.extract import empty_collection, extract
from app.answer.generate import generate
from app.domain.answer import Answer, Draft
from app.domain.event import Answered, Cancelled, Event, Failed, Progress, RunStarted, SourcesFound, Token
from app.domain.passage import SearchRequest, SearchResult
from app.domain.question import Question
from app.errors import CairnError, ProviderError
from app.providers.protocols import ChatModel, Embedder
from app.settings import Settings
from app.strategies.choose import Route

log = structlog.get_logger(__name__)

Retrieve = Callable[[SearchRequest], Awaitable[SearchResult]]
"""A search for the caller who asks; raises CairnError."""


@dataclass(frozen=True, slots=True)
class Answerer:
    """What answers are made with. Without `chat` they are extracted."""

    embedder: Embedder
    chat: ChatModel | None = None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A draft with how it was made."""

    draft: Draft
    extracted: bool
    degraded: tuple[str, ...] = ()


async def fast(
    question: Question, route: Route, retrieve: Retrieve, answerer: Answerer, settings: Settings
) -> AsyncIterator[Event]:
    """RunStarted, Progress, SourcesFound, Token*, and one terminal event (see the module for how streams end)."""
    yield RunStarted(question.run_id, route.strategy)
    try:
        async with aclosing(cast("Any", _run(question, route, retrieve, answerer, settings))) as events:
            async for event in events:
                yield event
    except asyncio.CancelledError:
        yield Cancelled(question.run_id)
        raise
    except CairnError as error:
        yield Failed(error)
    except Exception:
        log.exception("run.bug", run_id=str(question.run_id))
        yield Failed(CairnError("An internal error ended this run; the log has the details."))


async def _run(
    question: Question, route: Route, retrieve: Retrieve, answerer: Answerer, settings: Settings
) -> AsyncIterator[Event]:
    begun = time.perf_counter()
    yield Progress("retrieve", 40)
    result = await retrieve(_request(question, settings))
    retrieved = time.perf_counter()
    context = assemble(result.passages, answerer.embedder.tokens.count, settings.answer.max_context_tokens)
    yield SourcesFound(context.passages)
    yield Progress("generate", 85)
    outcome: _Outcome | None = None
    async with aclosing(cast("Any", _answer(question, result, context, answerer, settings))) as pieces:
        async for piece in pieces:
            if isinstance(piece, Token):
                yield piece
            else:
                outcome = piece
    assert outcome is not None
    ended = time.perf_counter()
    timings = {
        **{stage: spent for stage, spent in result.timings_ms.items() if stage != "total"},
        "retrieve": _ms(retrieved - begun),
        "answer": _ms(ended - retrieved),
        "total": _ms(ended - begun),
    }
    yield Progress("complete", 100)
    yield Answered(_assembled(question, route, result, context, outcome, timings))


def _request(question: Question, settings: Settings) -> SearchRequest:
    return SearchRequest(
        query=question.text,
        collections=(question.collection,),
        top_k=settings.rag.top_k,
        legs=("vector", "lexical") if settings.rag.hybrid_search_enabled else ("vector",),
        filters=question.filters,
    )


async def _answer(
    question: Question, result: SearchResult, context: Context, answerer: Answerer, settings: Settings
) -> AsyncIterator[Token | _Outcome]:
    """Tokens, then the outcome."""
    degraded: tuple[str, ...] = ()
    if answerer.chat and context.passages:
        started = False
        try:
            async with aclosing(cast("Any", _generated(question, result, context, answerer.chat, settings))) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Token):
                        started = True
                        yield piece
                    else:
                        yield _Outcome(piece, extracted=False)
                        return
        except ProviderError as error:
            if started:
                raise
            degraded = (f"generation failed ({error.code}: {error.detail}): the answer was extracted instead",)
    draft = await _extracted(question, result, context, answerer.embedder, settings)
    yield Token(draft.text)
    yield _Outcome(draft, extracted=True, degraded=degraded)


def _generated(
    question: Question, result: SearchResult, context: Context, chat: ChatModel, settings: Settings
) -> AsyncIterator[Token | Draft]:
    return generate(
        question.text,
        context,
        chat,
        settings.answer,
        temperature=settings.rag.qa.temperature,
        confidence=_retrieval_confidence(result),
    )


async def _extracted(
    question: Question, result: SearchResult, context: Context, embedder: Embedder, settings: Settings
) -> Draft:
    """From the passages in order of relevance; what the context leaves out counts too, for nothing limits us here."""
    if result.visible_passages == 0:
        return empty_collection(question.text, question.collection)
    return await extract(question.text, result.passages, embedder, settings.answer)


# --- the answer -----------------------------------------------------------------------------------------------------


def _assembled(
    question: Question,
    route: Route,
    result: SearchResult,
    context: Context,
    outcome: _Outcome,
    timings: Mapping[str, float],
) -> Answer:
    """A quotation is grounded by construction; whether a generated answer is, nobody has checked here (None)."""
    draft = outcome.draft
    verbatim = outcome.extracted and draft.found
    return Answer(
        answer=draft.text,
        citations=draft.citations,
        sources=result.passages if outcome.extracted else context.passages,
        confidence=round(min(_retrieval_confidence(result), draft.confidence), 4),
        grounded=True if verbatim else None,
        groundedness_score=1.0 if verbatim else None,
        insufficiencies=draft.insufficiencies,
        coverage=coverage(len(result.passages), result.visible_passages),
        route={
            "strategy": route.strategy,
            "reason": route.reason,
            "answerer": _name(outcome),
            "found": draft.found,
            "from_cache": result.from_cache,
        },
        degraded=(*route.degraded, *result.degraded, *outcome.degraded),
        session_id=question.session_id,
        run_id=question.run_id,
        timings_ms=timings,
        usage=draft.usage,
    )


def _name(outcome: _Outcome) -> str:
    return "extractive" if outcome.extracted else str(outcome.draft.usage.get("model", "model"))


def _retrieval_confidence(result: SearchResult) -> float:
    """The best leg's; 0 where none has any."""
    return max(result.confidence.values(), default=0.0)


def coverage(read: int, visible: int) -> str:
    """How much of the collection the answer has seen."""
    kind = "complete" if read >= visible else "sampled"
    return f"{kind}: {read} of {visible} passages"


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
