"""A run from its message to its last event: understand -> choose -> the strategy -> the answer, as a stream of events.

How a stream ends. Exactly one terminal event comes on every path on which somebody reads on: `Answered`, `Failed`, or,
where the reading task is cancelled while the run waits, `Cancelled` and then CancelledError again, so that the
cancellation is not swallowed (read a stream to its end). A stream that is closed early (`aclose()`, a client that went
away) cannot send anything any more: it stops its model calls and ends without a terminal event, and whoever closed it
records the run as cancelled (`run_trace(..., terminal=None)`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import structlog

from app.answering.choose import Means, choose
from app.answering.code import relation_asked
from app.answering.context import Deps, Record, Report, Run, StepEvent
from app.answering.finish import finished
from app.answering.widen import can_widen, widen
from app.domain.answer import Answer
from app.domain.code import Symbol
from app.domain.event import Answered, Cancelled, Event, Failed, Progress, RunStarted
from app.domain.plan import QueryPlan
from app.domain.question import Question
from app.errors import CairnError
from app.graph.code.symbols import wanted_symbols

log = structlog.get_logger(__name__)


async def run(question: Question, deps: Deps, record: Record) -> AsyncIterator[Event]:
    """RunStarted, then Progress, SourcesFound and Token, and one terminal event. `record` fills as it goes."""
    yield RunStarted(question.run_id, question.strategy)
    said: asyncio.Queue[StepEvent | None] = asyncio.Queue()
    work = asyncio.create_task(answer(question, deps, record, said.put_nowait))
    work.add_done_callback(lambda _: said.put_nowait(None))
    try:
        while (event := await said.get()) is not None:
            yield event
        yield Answered(work.result())
    except asyncio.CancelledError:
        yield Cancelled(question.run_id)
        raise
    except CairnError as error:
        yield Failed(error)
    except Exception:
        log.exception("run.bug", run_id=str(question.run_id))
        yield Failed(CairnError("An internal error ended this run; the log has the details."))
    finally:
        work.cancel()
        await asyncio.wait([work])


async def answer(question: Question, deps: Deps, record: Record, report: Report) -> Answer:
    """Understand -> choose -> the strategy -> finish. `record` fills as it goes, `report` takes the events. Raises
    CairnError."""
    began = time.perf_counter()
    report(Progress("classify", 10))
    question = await _remembering(question, deps, record)
    plan = await deps.understand(question)
    record.spent("understand", began)
    symbols = await _symbols(question, plan, deps, record)
    route = choose(question, plan, _means(plan, deps, symbols))
    record.question, record.plan, record.route = question, plan, route
    run = Run(question, plan, route, deps, record, report, symbols)
    if can_widen(run):
        run.emit(Progress("expand", 20))
        run = await widen(run)
    outcome = await deps.strategies[route.strategy](run)
    record.spent("total", began)
    answer = finished(replace(run, plan=record.plan), outcome)  # with what the strategy added to it
    run.emit(Progress("complete", 100))
    return answer


async def _symbols(question: Question, plan: QueryPlan, deps: Deps, record: Record) -> tuple[Symbol, ...]:
    """Symbols that are asked about, those of a relation first of all; none where the caller chose the way, or set conditions."""
    relation = relation_asked(plan.text)
    queries = [relation] if relation else list(wanted_symbols(plan.text)) if deps.chat else []
    if not queries or question.strategy != "auto" or question.filters or not deps.settings.graph.enabled:
        return ()
    try:
        return tuple(await deps.library.symbols(question.collection, queries))
    except CairnError as error:
        record.degraded.append(f"the symbols of the collection could not be looked up: {error.detail}")
        return ()


def _means(plan: QueryPlan, deps: Deps, symbols: tuple[Symbol, ...]) -> Means:
    return Means(
        deps.settings.memory.context,
        symbols=bool(symbols),
        relation=relation_asked(plan.text) is not None,
        chat=deps.chat is not None,
        agentic=deps.settings.rag.agentic_retrieval.enabled,
    )


async def _remembering(question: Question, deps: Deps, record: Record) -> Question:
    """With what was said before in its session. That this cannot be read is reported; the question stands alone then."""
    if question.session_id is None or question.history:
        return question
    try:
        return replace(question, history=await deps.recall(question.session_id))
    except CairnError as error:
        record.degraded.append(f"memory: what was said before could not be read ({error.code}: {error.detail})")
        return question
