"""Retrieval that corrects itself: what was found is graded and the answer is checked; where either is not
good enough, another query is made of what was found, and it is looked for again.

    expand, decompose, filters -> retrieve -> grade -> rerank -> generate -> check
                                     ^          |                              |
                                     +----------+-- rewrite, at most maxRetries in all

    decide  a query             act  retrieve, grade; where that is enough, answer and check

Each step is a toggle in `rag.agenticRetrieval`. Without a chat model the parts are those that rules find, passages are graded
by scores, queries are rewritten by rules, and the answer is quoted. Of several answers only the first is streamed; the best
one is given, with what its sources do not support. Where nothing is relevant to the end, a web search may be asked
(cairn/strategies/web.py), if the settings name one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Final

from cairn.answer.context import Context, assemble_with_graph
from cairn.answer.extract import not_found
from cairn.domain.answer import coverage_of
from cairn.domain.event import Progress, SourcesFound, Token
from cairn.domain.passage import Passage
from cairn.errors import ProviderError
from cairn.query.complexity import ENHANCED_FACTOR
from cairn.runs.context import Outcome, Run, half_up
from cairn.runs.gather import widen
from cairn.runs.progress import counted, reading
from cairn.strategies.agents.loop import work
from cairn.strategies.agents.rounds import Rounds
from cairn.strategies.check import Checked, check_settings, feedback
from cairn.strategies.draft import (
    Material,
    advise,
    attempt_answer,
    give_up_writing,
    quote_from,
    settle,
)
from cairn.strategies.fast import answer_empty
from cairn.strategies.web import answer_from_web

NO_MODEL: Final = "no chat model: passages are graded by scores, queries rewritten by rules, and the answer is quoted"


async def corrective(run: Run) -> Outcome:
    """Raises CairnError."""
    steps = run.settings.rag.agentic_retrieval
    _prepare(run)
    run.record.open_budget(run.settings)
    run = await widen(run, split=steps.query_decomposition_enabled, expand=steps.query_expansion_enabled)
    run = replace(run, reranks=False)  # not each search: once, and only what is relevant
    policy = Corrective(run, Rounds(run, steps.max_retries, run.plan.text), Answers(quote=run.deps.chat is None))
    await work(policy)
    if not policy.rounds.visible:
        return await answer_empty(run)
    if not policy.answers.count:  # the budget ended before there was enough
        await policy.answer()
    outcome = await _outcome(run, policy.rounds, policy.answers)
    if run.deps.web is not None and not policy.rounds.relevant and not outcome.draft.found:
        outcome = await answer_from_web(run, outcome)
    if not run.record.streamed:
        run.emit(Token(outcome.draft.text))
    return outcome


@dataclass(slots=True)
class Corrective:
    """The policy: a query in each step."""

    run: Run
    rounds: Rounds
    answers: Answers
    answered: bool = False
    """Whether the step before has made an answer."""

    @property
    def most_steps(self) -> int:
        return self.run.settings.rag.agentic_retrieval.max_retries + 1

    async def decide(self, step: int) -> str | None:
        """The question; then another query. None where there is none, and nothing to tell the model that has answered: it
        would read the same passages and answer the same."""
        rounds, answers = self.rounds, self.answers
        if step > 1:
            self.run.emit(Progress("rewrite", 60, f"Looking for another query because {self._why()}"))
            await rounds.rewrite()
            answers.retries += self.answered and bool(answers.issues)
            if rounds.query in rounds.tried and self.answered and not answers.issues:
                return None
        return rounds.query

    def _why(self) -> str:
        if self.answered and self.answers.issues:
            return "the sources do not support the answer"
        if self.answered:
            return "the answer says that the documents do not tell"
        return f"of {counted(len(self.rounds.found), 'passage')} {len(self.rounds.relevant)} are relevant"

    async def act(self, step: int, decision: str) -> bool:
        """Search and grade; answer where that is enough, or nothing more can be done about it."""
        rounds, budget = self.rounds, self.run.record.open_budget(self.run.settings)
        looked = await rounds.look()
        if not rounds.visible:
            return False
        if looked and not rounds.enough and rounds.retries and not budget.out():
            self.answered = False
            return True
        self.answered = await self.answer()
        return self.answered and not self.answers.done and rounds.retries > 0 and not budget.out()

    async def answer(self) -> bool:
        """One more answer from what is relevant; False where nothing is."""
        if not (self.rounds.relevant or self.rounds.doubtful):
            return False
        relevant = len(self.rounds.relevant)
        self.run.emit(
            Progress("rerank", 70, f"Ordering {counted(relevant, 'relevant passage')}", numbers={"passages": relevant})
        )
        material = await _material(self.run, self.rounds, self.answers)
        await _answer(self.run, material, self.answers)
        return True


def _prepare(run: Run) -> None:
    """Tell the steps before the first search; filters were read when the message was understood, and apply from there on."""
    steps = run.settings.rag.agentic_retrieval
    if steps.query_expansion_enabled and run.deps.chat is not None:
        run.emit(Progress("expand", 20, "Asking the model for other phrasings of the question"))
    if steps.query_decomposition_enabled:
        run.emit(Progress("decompose", 20, "Looking for parts of the question"))
    if run.settings.rewrite.filters:
        named = ", ".join(f"{name} = {value}" for name, value in run.plan.filters.items())
        run.emit(Progress("filters", 25, f"Restricted to {named}" if named else "The question restricts nothing"))


# --- what an answer is made of ----------------------------------------------------------------------------------------


async def _material(run: Run, rounds: Rounds, answers: Answers) -> Material:
    """The relevant passages, reranked, as many as are read."""
    relevant, began = rounds.relevant, time.perf_counter()
    ranked = await run.deps.searcher.rerank(run.plan.text, relevant, run.record.meter(run.settings))
    run.record.spent("rerank", began)
    if ranked.problem:
        rounds.degraded.append(ranked.problem)
    if ranked.reranker and relevant:
        answers.moved = _moved(relevant, ranked.passages)
    read = half_up(ENHANCED_FACTOR * run.settings.rag.top_k)
    passages = (*ranked.passages, *rounds.doubtful)
    run.record.merged = rounds.trace(passages, read)
    return Material(
        question=run.plan.text,
        passages=passages[:read],
        confidence=rounds.sure,
        visible=rounds.visible,
        parts=rounds.subquestions(),
        graph=run.record.graph,
    )


def _moved(before: tuple[Passage, ...], after: list[Passage]) -> float:
    """How many places a passage was moved by reranking, on average (avg_rerank_delta)."""
    place = {passage.passage_id: at for at, passage in enumerate(before)}
    return sum(abs(place[passage.passage_id] - at) for at, passage in enumerate(after)) / len(after)


# --- answers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnswerMade:
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
    best: AnswerMade | None = None
    issues: tuple[str, ...] = ()
    moved: float | None = None
    degraded: list[str] = field(default_factory=list)

    def add(self, made: AnswerMade) -> None:
        checked = made.checked
        self.ungrounded += checked.refuted
        self.issues = feedback(checked) if checked.refuted else ()
        self.done = checked.draft.found and not checked.refuted
        if self.best is None or checked.score > self.best.checked.score:
            self.best = made


async def _answer(run: Run, material: Material, answers: Answers) -> None:
    """One more answer. A model that fails is replaced by quotations, also where it has begun to write; later, the best
    answer that there is stays."""
    count, most = run.deps.judge.tokens.count, run.settings.answer.max_context_tokens
    context = assemble_with_graph(material.passages, material.graph, count, most)
    answers.count += 1
    run.emit(SourcesFound(context.passages))
    run.emit(reading(len(context.passages)))
    if not answers.quote and context.passages:
        try:
            checked = await attempt_answer(run, material, context, answers.count, answers.issues)
            answers.add(AnswerMade(material, context, checked))
            return
        except ProviderError as error:
            if answers.best is not None:
                answers.done = True
                answers.degraded.append(f"attempt {answers.count} failed ({error.code}: {error.detail})")
                return
            answers.quote = True
            answers.degraded.append(give_up_writing(run, error, "the answer was extracted instead"))
    outcome = await quote_from(run, material)
    answers.add(AnswerMade(material, context, Checked(outcome.draft, None), outcome))


# --- the end ----------------------------------------------------------------------------------------------------------


async def _outcome(run: Run, rounds: Rounds, answers: Answers) -> Outcome:
    best = answers.best
    if best is None:
        outcome = await _nothing_relevant(run, rounds)
    elif best.outcome is not None:
        outcome = best.outcome
    else:
        strict = check_settings(run.settings).strict
        outcome = await settle(run, best.material, best.context, best.checked, strict=strict)
    if not rounds.relevant and not outcome.draft.found:
        told = (_read_in_vain(rounds), *outcome.draft.insufficiencies)
        outcome = replace(outcome, draft=replace(outcome.draft, insufficiencies=told))
    agentic = {
        **rounds.figures(),
        "answers": answers.count,
        "hallucinations": answers.ungrounded,
        "hallucination_retries": answers.retries,
        "rerank_delta": answers.moved,
    }
    notes = (*((NO_MODEL,) if run.deps.chat is None else ()), *rounds.degraded, *answers.degraded, *outcome.degraded)
    protocol = None if run.deps.chat is None else "text"  # it calls no tools, and asks for grades and queries in words
    more = {**outcome.more, "agentic": agentic, "read": len(outcome.sources), "protocol": protocol}
    return replace(outcome, iterations=max(answers.count, 1), degraded=notes, more=more)


async def _nothing_relevant(run: Run, rounds: Rounds) -> Outcome:
    """What was read does not answer, and says so."""
    draft = await advise(run, not_found(run.plan.text, rounds.found), rounds.found)
    run.record.merged = rounds.trace((), 0)
    return Outcome(draft, "fixed", (), rounds.confidence, coverage_of(len(rounds.found), rounds.visible))


def _read_in_vain(rounds: Rounds) -> str:
    looked = f"{len(rounds.lists)} {'rounds' if len(rounds.lists) > 1 else 'round'}"
    return f"{len(rounds.found)} passages were found in {looked}, and none is relevant."
