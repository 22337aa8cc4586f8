"""A question from its message to its answer: understand -> choose -> the strategy -> finish."""

from __future__ import annotations

import time
from dataclasses import replace

from cairn.domain.answer import Answer
from cairn.domain.code import CodeFinding, Symbol
from cairn.domain.event import Progress
from cairn.domain.plan import QueryPlan
from cairn.domain.question import Question
from cairn.errors import CairnError
from cairn.graph.code.questions import asked_of_code, wanted_symbols
from cairn.query.complexity import SEVERAL_STEPS
from cairn.query.understand import understand
from cairn.retrieve.plan import default_legs
from cairn.runs.choose import Means, choose
from cairn.runs.context import Deps, Record, Report, Run, StepEvent
from cairn.runs.corpus import Scope
from cairn.runs.finish import make_answer
from cairn.runs.gather import can_widen, widen
from cairn.runs.outbound import OutboundEvents, let_out
from cairn.runs.progress import silent
from cairn.runs.recall import widest
from cairn.telemetry import span


async def answer(question: Question, deps: Deps, record: Record, report: Report) -> Answer:
    """The answer. `record` fills as it goes, `report` takes what happens meanwhile. Raises CairnError."""
    with span("run", {"cairn.run_id": str(question.run_id), "cairn.collection": question.collection}) as noted:
        made = await _answer(question, deps, record, report)
        noted.add({
            "cairn.strategy": record.route.strategy if record.route else None, "cairn.answered": made.answered,
            "cairn.searches": len(record.searches), "cairn.citations": len(made.citations),
            "cairn.degraded": len(made.degraded),
        })  # fmt: skip
        return made


async def _answer(question: Question, deps: Deps, record: Record, report: Report) -> Answer:
    began = time.perf_counter()
    report = _tell_silence(deps, record, report)
    report(Progress("classify", 10, "Reading the message"))
    question = await _recall_history(question, deps, record)
    with span("understand"):
        plan = await understand_question(question, deps, record)
    record.spent("understand", began)
    code = await _ask_code(question, plan, deps, record)
    symbols = () if code else await _find_symbols(question, plan, deps, record)
    route = choose(question, plan, _means(deps, symbols, code))
    record.question, record.plan, record.route = question, plan, route
    # a fixed reply is ours, and is told in one piece
    shown = report if route.strategy == "reply" else OutboundEvents(record, report, by_model=deps.chat is not None)
    run = Run(question, plan, route, deps, record, shown, symbols, code)
    if can_widen(run):
        run.emit(Progress("expand", 20, "Asking the model for other phrasings and parts of the question"))
        # what a chain lacks is its inner question, not other words for the whole
        run = await widen(run, expand=plan.complexity.override != SEVERAL_STEPS)
    with span(f"strategy {route.strategy}"):
        outcome = await deps.strategies[route.strategy](run)
    record.spent("total", began)
    answer = make_answer(replace(run, plan=record.plan), outcome)  # with what the strategy added to it
    answer = let_out(record, outcome, answer)
    run.emit(Progress("complete", 100, "Done"))
    return answer


def _tell_silence(deps: Deps, record: Record, report: Report) -> Report:
    """`report`, which from now on is told as well where the chat model says nothing for long."""
    percent = 0

    def told(event: StepEvent) -> None:
        nonlocal percent
        percent = event.percent if isinstance(event, Progress) else percent
        report(event)

    record.on_silence = lambda: report(silent(deps.settings.answer.silent_seconds, percent))
    return told


async def understand_question(question: Question, deps: Deps, record: Record) -> QueryPlan:
    """What is asked, read with what the collection knows. Raises nothing but cancellation."""
    settings, scope = deps.settings, Scope(deps.searcher, question.collection, question.filters)
    return await understand(
        question.text, question.history, vocabulary=scope.vocabulary, embed=scope.embed, find=scope.find,
        chat=deps.chat and record.metered("understand", deps.chat, settings),
        router=deps.router and record.metered("intent", deps.router, settings), settings=settings,
        exemplars=deps.exemplars, has_graph="graph" in default_legs(settings) and settings.graph.routing == "type",
    )  # fmt: skip


async def _ask_code(question: Question, plan: QueryPlan, deps: Deps, record: Record) -> tuple[CodeFinding, ...]:
    """What the code says to each part of the question, where all of them ask for that; nothing where one does not, for an
    answer must not leave it out, nor where the caller chose the way, or set conditions."""
    queries = [asked_of_code(text) for text in plan.subquestions or (plan.text,)]
    if not _may_look_up(question, deps):
        return ()
    found: list[CodeFinding] = []
    try:
        for query in queries:
            finding = await deps.library.ask_code(question.collection, query) if query else None
            if finding is None:
                return ()
            found.append(finding)
    except CairnError as error:
        record.degraded.append(f"the code of the collection could not be asked: {error.detail}")
        return ()
    return tuple(found)


async def _find_symbols(question: Question, plan: QueryPlan, deps: Deps, record: Record) -> tuple[Symbol, ...]:
    """Symbols that the question names, for a model to read on from."""
    queries = wanted_symbols(plan.text) if deps.chat else ()
    if not queries or not _may_look_up(question, deps):
        return ()
    try:
        return tuple(await deps.library.symbols(question.collection, queries))
    except CairnError as error:
        record.degraded.append(f"the symbols of the collection could not be looked up: {error.detail}")
        return ()


def _may_look_up(question: Question, deps: Deps) -> bool:
    return question.strategy == "auto" and not question.filters and deps.settings.graph.enabled


def _means(deps: Deps, symbols: tuple[Symbol, ...], code: tuple[CodeFinding, ...]) -> Means:
    return Means(
        deps.settings.memory.context,
        symbols=bool(symbols),
        code=bool(code),
        chat=deps.chat is not None,
        agentic=deps.settings.rag.agentic_retrieval.enabled,
    )


async def _recall_history(question: Question, deps: Deps, record: Record) -> Question:
    """With what was said before in its session. That this cannot be read is reported; the question stands alone then."""
    if question.session_id is None or question.history:
        return question
    try:
        return replace(question, history=await deps.library.recall(question.session_id, widest(deps.settings.memory)))
    except CairnError as error:
        record.degraded.append(f"memory: what was said before could not be read ({error.code}: {error.detail})")
        return question
