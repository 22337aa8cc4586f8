"""Retrieval that corrects itself: what was found is graded and the answer is checked; where either is not
good enough, another query is made of what was found, and it is looked for again.

    expand, decompose, filters -> retrieve -> grade -> rerank -> generate -> check
                                     ^          |                              |
                                     +----------+-- rewrite, at most maxRetries in all

Each step is a toggle in `rag.agenticRetrieval`. Without a chat model the parts are those that rules find, passages are graded
by scores, queries are rewritten by rules, and the answer is quoted. Of several answers only the first is streamed; the best
one is given, with what its sources do not support.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Final

from app.agents.rounds import Hunt
from app.answer.context import Context, assemble
from app.answer.extract import not_found
from app.answering.check import Checked, check_settings, feedback
from app.answering.context import (
    Outcome,
    Run,
    coverage,
    half_up,
)
from app.answering.draft import (
    Material,
    advise,
    attempt_answer,
    quote_from,
    settle,
)
from app.answering.fast import answer_empty
from app.answering.gather import widen
from app.domain.event import Progress, SourcesFound, Token
from app.domain.passage import Passage
from app.errors import BudgetExceededError, ProviderError

NO_MODEL: Final = "no chat model: passages are graded by scores, queries rewritten by rules, and the answer is quoted"


async def corrective(run: Run) -> Outcome:
    """Raises CairnError."""
    steps, budget = run.settings.rag.agentic_retrieval, run.record.open_budget(run.settings)
    _prepare(run)
    run = await widen(run, split=steps.query_decomposition_enabled, expand=steps.query_expansion_enabled)
    run = replace(run, reranks=False)  # not each search: once, and only what is relevant
    hunt, answers = Hunt(run, steps.max_retries, run.plan.text), Answers(quote=run.deps.chat is None)
    while True:
        await hunt.rounds()
        if not hunt.visible:
            return await answer_empty(run)
        if not (hunt.relevant or hunt.doubtful):
            break
        run.emit(Progress("rerank", 70))
        material = await _material(run, hunt, answers)
        await _answer(run, material, answers)
        if answers.done or not hunt.retries or budget.out():
            break
        run.emit(Progress("rewrite", 60))
        await hunt.rewrite()
        answers.retries += bool(answers.issues)
        if hunt.query in hunt.tried and not answers.issues:
            break  # the same passages and nothing to tell the model: it would answer the same
    outcome = await _outcome(run, hunt, answers)
    if not run.record.streamed:
        run.emit(Token(outcome.draft.text))
    return outcome


def _prepare(run: Run) -> None:
    """Tell the steps before the first search; filters were read when the message was understood, and apply from there on."""
    steps = run.settings.rag.agentic_retrieval
    if steps.query_expansion_enabled and run.deps.chat is not None:
        run.emit(Progress("expand", 20))
    if steps.query_decomposition_enabled:
        run.emit(Progress("decompose", 20))
    if run.settings.rewrite.filters:
        run.emit(Progress("filters", 25))


# --- what an answer is made of ----------------------------------------------------------------------------------------


async def _material(run: Run, hunt: Hunt, answers: Answers) -> Material:
    """The relevant passages, reranked, as many as are read."""
    relevant, began = hunt.relevant, time.perf_counter()
    ranked = await run.deps.searcher.rerank(run.plan.text, relevant)
    run.record.spent("rerank", began)
    if ranked.problem:
        hunt.degraded.append(ranked.problem)
    if ranked.reranker and relevant:
        answers.moved = _moved(relevant, ranked.passages)
    read = half_up(run.settings.routing.enhanced_factor * run.settings.rag.top_k)
    passages = (*ranked.passages, *hunt.doubtful)
    run.record.merged = hunt.trace(passages, read)
    return Material(
        question=run.plan.text,
        passages=passages[:read],
        confidence=hunt.sure,
        visible=hunt.visible,
        parts=hunt.subquestions(),
    )


def _moved(before: tuple[Passage, ...], after: list[Passage]) -> float:
    """How many places a passage was moved by reranking, on average (avg_rerank_delta)."""
    place = {passage.passage_id: at for at, passage in enumerate(before)}
    return sum(abs(place[passage.passage_id] - at) for at, passage in enumerate(after)) / len(after)


# --- answers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with what it was made of; `outcome` where it is a quotation, which needs no check."""

    material: Material
    context: Context
    checked: Checked
    outcome: Outcome | None = None


@dataclass(slots=True)
class Answers:
    """The answers of a run so far. `quote`: the model is not asked, or not any more. `retries`: after answers that were
    ungrounded. `issues`: what the check found wrong with the last one. `moved`: places that reranking moved a passage."""

    quote: bool
    count: int = 0
    ungrounded: int = 0
    retries: int = 0
    done: bool = False
    best: Answered | None = None
    issues: tuple[str, ...] = ()
    moved: float | None = None
    degraded: list[str] = field(default_factory=list)

    def add(self, made: Answered) -> None:
        checked = made.checked
        self.ungrounded += checked.refuted
        self.issues = feedback(checked) if checked.refuted else ()
        self.done = checked.draft.found and not checked.refuted
        if self.best is None or checked.score > self.best.checked.score:
            self.best = made


async def _answer(run: Run, material: Material, answers: Answers) -> None:
    """One more answer. A model that fails before anything was streamed is replaced by quotations; later, the best answer
    that there is stays."""
    context = assemble(material.passages, run.deps.embedder.tokens.count, run.settings.answer.max_context_tokens)
    answers.count += 1
    run.emit(SourcesFound(context.passages))
    run.emit(Progress("generate", 85))
    if not answers.quote and context.passages:
        try:
            checked = await attempt_answer(run, material, context, answers.count, answers.issues)
            answers.add(Answered(material, context, checked))
            return
        except ProviderError as error:
            reason = f"{error.code}: {error.detail}"
            if answers.best is not None:
                answers.done = True
                answers.degraded.append(f"attempt {answers.count} failed ({reason})")
                return
            if run.record.streamed and not isinstance(error, BudgetExceededError):
                raise
            answers.quote = True
            answers.degraded.append(f"generation failed ({reason}): the answer was extracted instead")
    outcome = await quote_from(run, material)
    answers.add(Answered(material, context, Checked(outcome.draft, None), outcome))


# --- the end ----------------------------------------------------------------------------------------------------------


async def _outcome(run: Run, hunt: Hunt, answers: Answers) -> Outcome:
    best = answers.best
    if best is None:
        outcome = await _nothing_relevant(run, hunt)
    elif best.outcome is not None:
        outcome = best.outcome
    else:
        strict = check_settings(run.settings).strict
        outcome = await settle(run, best.material, best.context, best.checked, strict=strict)
    if not hunt.relevant and not outcome.draft.found:
        told = (_read_in_vain(hunt), *outcome.draft.insufficiencies)
        outcome = replace(outcome, draft=replace(outcome.draft, insufficiencies=told))
    agentic = {
        **hunt.figures(),
        "answers": answers.count,
        "hallucinations": answers.ungrounded,
        "hallucination_retries": answers.retries,
        "rerank_delta": answers.moved,
    }
    notes = (*((NO_MODEL,) if run.deps.chat is None else ()), *hunt.degraded, *answers.degraded, *outcome.degraded)
    more = {**outcome.more, "agentic": agentic, "read": len(outcome.sources)}
    return replace(outcome, iterations=max(answers.count, 1), degraded=notes, more=more)


async def _nothing_relevant(run: Run, hunt: Hunt) -> Outcome:
    """What was read does not answer, and says so."""
    draft = await advise(run, not_found(run.plan.text, hunt.found))
    run.record.merged = hunt.trace((), 0)
    return Outcome(draft, "fixed", (), hunt.confidence, coverage(len(hunt.found), hunt.visible))


def _read_in_vain(hunt: Hunt) -> str:
    rounds = f"{len(hunt.lists)} {'rounds' if len(hunt.lists) > 1 else 'round'}"
    return f"{len(hunt.found)} passages were found in {rounds}, and none is relevant."
