"""A question from its message to its answer: understand -> choose -> the strategy -> finish."""

from __future__ import annotations

import time
from dataclasses import replace

from cairn.domain.answer import Answer
from cairn.domain.code import CodeFinding
from cairn.domain.event import Progress, StepEvent
from cairn.domain.plan import QueryPlan
from cairn.domain.question import Question
from cairn.errors import CairnError
from cairn.query.complexity import SEVERAL_STEPS
from cairn.query.understand import understand
from cairn.retrieve.plan import default_legs
from cairn.runs.choose import Route, Situation, choose
from cairn.runs.context import Deps, Record, Report, Run
from cairn.runs.finish import make_answer
from cairn.runs.gather import can_widen, widen
from cairn.runs.outbound import OutboundEvents, let_out
from cairn.runs.progress import silent
from cairn.runs.recall import widest
from cairn.runs.searcher import Scope
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
    route, code = await _choose_way(question, plan, deps, record)
    record.question, record.plan, record.route = question, plan, route
    # a fixed reply is ours, and is told in one piece
    shown = report if route.strategy == "reply" else OutboundEvents(record, report, by_model=deps.chat is not None)
    run = Run(question, plan, route, deps, record, shown, code)
    if can_widen(run):
        run.emit(Progress("expand", 20, "Asking the model for other phrasings and parts of the question"))
        # what a chain lacks is its inner question, not other words for the whole
        run = await widen(run, expand=plan.complexity.override != SEVERAL_STEPS)
    with span(f"strategy {route.strategy}"):
        outcome = await deps.strategies[route.strategy](run)
    record.spent("total", began)
    answer = make_answer(replace(run, plan=record.plan), outcome)  # with what the strategy added to it
    if route.strategy == "planned":  # its contract names the chunk of each citation (docs/agents.md)
        answer = await _with_chunks(answer, deps, record)
    answer = let_out(record, answer)
    run.emit(Progress("complete", 100, "Done"))
    return answer


async def _with_chunks(answer: Answer, deps: Deps, record: Record) -> Answer:
    """Each citation with the chunk that its quotation begins in. That they cannot be read is reported."""
    places = [(one.passage_id, one.start) for one in answer.citations]
    try:
        chunks = await deps.library.chunks_at(places) if places else []
    except CairnError as error:
        told = f"chunks of citations could not be read ({error.code}: {error.detail})"
        return replace(answer, degraded=(*answer.degraded, told))
    cited = tuple(
        replace(one, chunk_id=chunk or one.chunk_id) for one, chunk in zip(answer.citations, chunks, strict=True)
    )
    return replace(answer, citations=cited)


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
    settings, scope = deps.settings, Scope(deps.searcher, deps.library, question.collection, question.filters)
    return await understand(
        question.text, question.history, vocabulary=scope.vocabulary, embed=scope.embed, find=scope.find,
        chat=deps.chat and record.metered("understand", deps.chat, settings),
        router=deps.router and record.metered("intent", deps.router, settings), settings=settings,
        exemplars=deps.exemplars, has_graph="graph" in default_legs(settings) and settings.graph.routing == "type",
    )  # fmt: skip


async def _choose_way(
    question: Question, plan: QueryPlan, deps: Deps, record: Record
) -> tuple[Route, tuple[CodeFinding, ...]]:
    """The way, with what the code says where it answers. Where the way goes by symbols of code these are looked up; if the
    collection has none of the kind, the next way is taken. Not where the caller set conditions: symbols are of all documents."""
    may = deps.settings.graph.enabled and not question.filters
    situation = Situation(
        plan, question.strategy, filtered=bool(question.filters), chat=deps.chat is not None,
        agentic=deps.settings.rag.agentic_retrieval.enabled, code=may, symbols=may,
    )  # fmt: skip
    route = choose(situation)
    if route.row == "code":
        if found := await _ask_code(question, plan, deps, record):
            return route, found
        situation = replace(situation, code=False)
        route = choose(situation)
    if route.row == "symbols" and not await _knows_symbols(question, plan, deps, record):
        route = choose(replace(situation, symbols=False))
    return route, ()


async def _ask_code(question: Question, plan: QueryPlan, deps: Deps, record: Record) -> tuple[CodeFinding, ...]:
    """What the code says to each part of the question; nothing where it does not know of one."""
    found: list[CodeFinding] = []
    try:
        for query in plan.code:
            finding = await deps.library.ask_code(question.collection, query)
            if finding is None:
                return ()
            found.append(finding)
    except CairnError as error:
        record.degraded.append(f"the code of the collection could not be asked: {error.detail}")
        return ()
    return tuple(found)


async def _knows_symbols(question: Question, plan: QueryPlan, deps: Deps, record: Record) -> bool:
    """Whether the collection has any of the symbols that the question names, for a model to read on from."""
    try:
        return bool(await deps.library.symbols(question.collection, plan.symbols))
    except CairnError as error:
        record.degraded.append(f"the symbols of the collection could not be looked up: {error.detail}")
        return False


async def _recall_history(question: Question, deps: Deps, record: Record) -> Question:
    """With what was said before in its session. That this cannot be read is reported; the question stands alone then."""
    if question.session_id is None or question.history:
        return question
    try:
        return replace(question, history=await deps.library.recall(question.session_id, widest(deps.settings.memory)))
    except CairnError as error:
        record.degraded.append(f"memory: what was said before could not be read ({error.code}: {error.detail})")
        return question
