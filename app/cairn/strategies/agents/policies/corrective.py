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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from cairn.domain.event import Progress, SourcesFound
from cairn.domain.passage import Passage
from cairn.domain.trace import BELOW_TOP_K, LegTrace
from cairn.errors import CairnError, ProviderError
from cairn.query.complexity import ENHANCED_FACTOR
from cairn.query.multi_hop import multi_hop
from cairn.query.rewrite_after import rewrite_after
from cairn.query.rewrite_by_model import rewrite_query_by_model
from cairn.retrieve.operators import parse_operators
from cairn.runs.context import Material, Outcome, Run, SubquestionPassages, half_up
from cairn.runs.gather import gather, merge, widen
from cairn.runs.progress import counted, documents_of, grading, reading, searching
from cairn.settings import AgenticSettings
from cairn.strategies.agents.finish import Conclusion, context_of, finish, material_of
from cairn.strategies.agents.grading import grade_passages
from cairn.strategies.agents.loop import work
from cairn.strategies.agents.memory import Look, Memory, OwnAnswer
from cairn.strategies.agents.tools.registry import open_toolbox
from cairn.strategies.check import Checked, feedback
from cairn.strategies.draft import attempt_answer, give_up_writing, quote_from
from cairn.strategies.fast import answer_empty

CANDIDATES: Final = 20
"""Passages of one round that are graded."""
NEEDED_BY_HOPS: Final = 2
"""Relevant passages without which a question of several hops is looked for again; others need one."""
NO_MODEL: Final = "no chat model: passages are graded by scores, queries rewritten by rules, and the answer is quoted"


async def corrective(run: Run) -> Outcome:
    """Raises CairnError."""
    steps = run.settings.rag.agentic_retrieval
    _announce(run)
    toolbox = open_toolbox(run, ())
    run = await widen(run, split=steps.query_decomposition_enabled, expand=steps.query_expansion_enabled)
    run = replace(run, reranks=False)  # not each search: once, and only what is relevant
    policy = Corrective(Memory(run, toolbox), steps.max_retries, run.plan.text, quotes=run.deps.chat is None)
    await work(policy)
    if not policy.visible:
        return await answer_empty(run)
    if not policy.answers:  # the budget ended before there was enough
        await policy.answer()
    return await finish(policy.memory, policy.conclusion())


def _announce(run: Run) -> None:
    """Tell the steps before the first search; filters were read when the message was understood, and apply from there on."""
    steps = run.settings.rag.agentic_retrieval
    if steps.query_expansion_enabled and run.deps.chat is not None:
        run.emit(Progress("expand", 20, "Asking the model for other phrasings of the question"))
    if steps.query_decomposition_enabled:
        run.emit(Progress("decompose", 20, "Looking for parts of the question"))
    if run.settings.rewrite.filters:
        named = ", ".join(f"{name} = {value}" for name, value in run.plan.filters.items())
        run.emit(Progress("filters", 25, f"Restricted to {named}" if named else "The question restricts nothing"))


@dataclass(slots=True)
class Corrective:
    """The policy: a query in each step. `retries`: rewrites that are left, of grading and of checking together. `quotes`: the
    model is not asked for an answer, or not any more; `by_model`: it grades, until it has failed for a whole round. `visible`,
    `confidence` and `parts` are of the searches; `scored` counts grades by scores, `refuted` answers that their sources refuted,
    `went_back` searches after them. `answered`: the step before has made an answer; `done`: a good one. `moved`: places that
    reranking moved a passage."""

    memory: Memory
    retries: int
    query: str
    quotes: bool = False
    by_model: bool = True
    visible: int = 0
    confidence: float = 0.0
    parts: tuple[SubquestionPassages, ...] = ()
    rewrites: int = 0
    scored: int = 0
    answers: int = 0
    refuted: int = 0
    went_back: int = 0
    answered: bool = False
    done: bool = False
    moved: float | None = None

    @property
    def run(self) -> Run:
        return self.memory.run

    @property
    def steps(self) -> AgenticSettings:
        return self.run.settings.rag.agentic_retrieval

    @property
    def most_steps(self) -> int:
        return self.steps.max_retries + 1

    # --- decide -------------------------------------------------------------------------------------------------------

    async def decide(self, step: int) -> str | None:
        """The question; then another query. None where there is none, and nothing to tell the model that has answered: it
        would read the same passages and answer the same."""
        if step > 1:
            self.run.emit(Progress("rewrite", 60, f"Looking for another query because {self._why()}"))
            await self._rewrite()
            self.went_back += self.answered and bool(self.memory.unmet)
            if self.query in self.memory.queries and self.answered and not self.memory.unmet:
                return None
        return self.query

    def _why(self) -> str:
        if self.answered and self.memory.unmet:
            return "the sources do not support the answer"
        if self.answered:
            return "the answer says that the documents do not tell"
        return f"of {counted(len(self.found), 'passage')} {len(self.relevant)} are relevant"

    async def _rewrite(self) -> None:
        """Another query out of what was found, for the next round; where there is nothing new to try, the same."""
        self.retries -= 1
        query = await rewrite_query(self.run, self.relevant, self.irrelevant, self.memory.queries)
        if query is not None:
            self.query = query
            self.rewrites += 1

    # --- act ----------------------------------------------------------------------------------------------------------

    async def act(self, step: int, decision: str) -> bool:
        """Search and grade; answer where that is enough, or nothing more can be done about it."""
        budget = self.memory.toolbox.budget
        looked = await self._look()
        if not self.visible:
            return False
        if looked and not self._enough and self.retries and not budget.out():
            self.answered = False
            return True
        self.answered = await self.answer()
        return self.answered and not self.done and self.retries > 0 and not budget.out()

    async def _look(self) -> bool:
        """Search for the query and grade what is found. False where it was tried already, and nothing is done. Raises
        CairnError when the first search fails."""
        memory = self.memory
        if self.query in memory.queries:
            return False
        self.run.emit(searching([self.query], documents=documents_of(self.found)))
        memory.looks.append(Look(self.query, await self._retrieve(first=not memory.looks)))
        fresh = [passage for passage in memory.looks[-1].passages if passage.passage_id not in memory.grades]
        if fresh and self.steps.document_grading_enabled:
            self.run.emit(grading(len(fresh)))
            done = await grade_passages(self.run, fresh, by_model=self.by_model)
            memory.grades |= done.grades
            self.scored += done.scored
            self.by_model = self.by_model and done.scored < len(fresh)
            self.run.record.degraded += done.degraded
        return True

    async def _retrieve(self, *, first: bool) -> tuple[Passage, ...]:
        run, plan = self.run, self.run.plan
        if not first:
            run = replace(run, plan=replace(plan, text=self.query, subquestions=(), expansions=()))
        try:
            found = await gather(run, read=CANDIDATES, purpose="question" if first else "rewrite")
        except CairnError as error:
            if first:
                raise
            run.record.degraded.append(f"searching again failed ({error.code}: {error.detail})")
            return ()
        run.record.degraded += found.degraded
        self.parts = found.parts if first else self.parts
        self.visible, self.confidence = found.visible, max(self.confidence, found.confidence)
        return found.passages

    # --- what was found -----------------------------------------------------------------------------------------------

    @property
    def found(self) -> tuple[Passage, ...]:
        """Everything, those of the last round first."""
        return tuple({p.passage_id: p for look in reversed(self.memory.looks) for p in look.passages}.values())

    @property
    def relevant(self) -> tuple[Passage, ...]:
        """Of all rounds, best first: the first of each round leads, so that a later one is not read in vain."""
        lists = [[passage for passage in look.passages if self._counts(passage)] for look in self.memory.looks]
        return merge([kept for kept in lists if kept], sum(map(len, lists)))[0] if any(lists) else ()

    @property
    def irrelevant(self) -> tuple[Passage, ...]:
        return tuple(passage for passage in self.found if not self._counts(passage))

    @property
    def doubtful(self) -> tuple[Passage, ...]:
        """Passages to read after the relevant ones. Scores tell what the question's words are about, but not the second hop
        of a chain (docs/quality.md, "Grading"): what they reject is read last, what a model rejects never."""
        if self.scored < len(self.memory.grades):
            return ()
        return tuple(passage for look in self.memory.looks for passage in look.passages if not self._counts(passage))

    def _counts(self, passage: Passage) -> bool:
        """Whether the passage is relevant, surely enough; where nothing is graded, all are."""
        if not self.steps.document_grading_enabled:
            return True
        grade = self.memory.grades.get(passage.passage_id)
        return grade is not None and grade.relevant and grade.confidence >= self.steps.confidence_threshold

    def _chance(self, passage: Passage) -> float:
        """How probably it is relevant."""
        grade = self.memory.grades.get(passage.passage_id)
        return passage.score if grade is None else grade.confidence if grade.relevant else 1 - grade.confidence

    @property
    def _enough(self) -> bool:
        needed = NEEDED_BY_HOPS if multi_hop(self.run.plan) else 1
        return len(self.relevant) >= min(needed, self.visible)

    @property
    def _sure(self) -> float:
        """Confidence of the retrieval, not above that of the passage graded best."""
        if not self.relevant:
            return min(self.confidence, max(map(self._chance, self.found), default=0.0))
        grades = (self.memory.grades.get(passage.passage_id) for passage in self.relevant)
        return min(self.confidence, max((grade.confidence for grade in grades if grade), default=1.0))

    # --- answers ------------------------------------------------------------------------------------------------------

    async def answer(self) -> bool:
        """One more answer from what is relevant; False where nothing is. A model that fails is replaced by quotations, also where
        it has begun to write; later, the best answer that there is stays."""
        if not (self.relevant or self.doubtful):
            return False
        run, relevant = self.run, len(self.relevant)
        said = f"Ordering {counted(relevant, 'relevant passage')}"
        run.emit(Progress("rerank", 70, said, numbers={"passages": relevant}))
        material = await self._material()
        context = context_of(run, material)
        self.answers += 1
        run.emit(SourcesFound(context.passages))
        run.emit(reading(len(context.passages)))
        if not self.quotes and context.passages:
            try:
                checked = await attempt_answer(run, material, context, self.answers, self.memory.unmet)
                self._add(OwnAnswer(checked.draft.text, context, checked, material))
                return True
            except ProviderError as error:
                if self.memory.answer is not None:
                    self.done = True
                    run.record.degraded.append(f"attempt {self.answers} failed ({error.code}: {error.detail})")
                    return True
                self.quotes = True
                run.record.degraded.append(give_up_writing(run, error, "the answer was extracted instead"))
        outcome = await quote_from(run, material)
        self._add(OwnAnswer(outcome.draft.text, context, Checked(outcome.draft, None), material, outcome))
        return True

    async def _material(self) -> Material:
        """The relevant passages, reranked, as many as are read."""
        run, relevant, began = self.run, self.relevant, time.perf_counter()
        ranked = await run.deps.searcher.rerank(run.plan.text, relevant, run.record.meter(run.settings))
        run.record.spent("rerank", began)
        if ranked.problem:
            run.record.degraded.append(ranked.problem)
        if ranked.reranker and relevant:
            self.moved = _moved(relevant, ranked.passages)
        read = half_up(ENHANCED_FACTOR * run.settings.rag.top_k)
        passages = (*ranked.passages, *self.doubtful)
        run.record.merged = self._trace(passages, read)
        later = [passage for look in self.memory.looks[1:] for passage in look.passages]
        parts = tuple(
            SubquestionPassages(part.question, self._counting((*part.passages, *later))) for part in self.parts
        )
        return material_of(
            self.memory, passages[:read], confidence=self._sure, visible=self.visible, parts=parts
        )  # fmt: skip

    def _counting(self, passages: Sequence[Passage]) -> tuple[Passage, ...]:
        """Relevant ones, each once."""
        return tuple({passage.passage_id: passage for passage in passages if self._counts(passage)}.values())

    def _add(self, made: OwnAnswer) -> None:
        """The best one is the run's; what the check found wrong with the last one is told the model that writes the next."""
        assert made.checked is not None
        checked, best = made.checked, self.memory.answer
        self.refuted += checked.refuted
        self.memory.unmet = feedback(checked) if checked.refuted else ()
        self.done = checked.draft.found and not checked.refuted
        if best is None or best.checked is None or checked.score > best.checked.score:
            self.memory.answer = made

    # --- the end ------------------------------------------------------------------------------------------------------

    def conclusion(self) -> Conclusion:
        run, relevant, looks = self.run, self.relevant, self.memory.looks
        if run.deps.chat is None:
            run.record.degraded.insert(0, NO_MODEL)
        if self.memory.answer is None:
            run.record.merged = self._trace((), 0)
        agentic = {  # numbers, no words, since those may be of a document that goes
            "rounds": len(looks),
            "rewrites": self.rewrites,
            "expansions": len(run.plan.expansions),
            "subquestions": len(run.plan.subquestions),
            "graded": len(self.memory.grades),
            "graded_by_scores": self.scored,
            "relevant": sum(map(self._counts, self.found)) if self.steps.document_grading_enabled else 0,
            "answers": self.answers,
            "hallucinations": self.refuted,
            "hallucination_retries": self.went_back,
            "rerank_delta": self.moved,
        }
        protocol = (
            None if run.deps.chat is None else "text"
        )  # it calls no tools, and asks for grades and queries in words
        more: dict[str, Any] = {"agentic": agentic, "protocol": protocol}
        in_rounds = f"{len(looks)} {'rounds' if len(looks) > 1 else 'round'}"
        in_vain = f"{len(self.found)} passages were found in {in_rounds}, and none is relevant."
        material = material_of(self.memory, self.found, confidence=self.confidence, visible=self.visible)
        return Conclusion(
            material, more, () if relevant else (in_vain,), nothing_relevant=not relevant, iterations=max(self.answers, 1)
        )  # fmt: skip

    def _trace(self, ranked: Sequence[Passage], read: int) -> LegTrace:
        """What became of each passage, `ranked` ones first; its score is how probably it is relevant."""
        order = tuple({p.passage_id: p for p in (*ranked, *self.irrelevant)}.values())
        return LegTrace(
            leg="merged",
            passage_ids=tuple(passage.passage_id for passage in order),
            scores=tuple(map(self._chance, order)),
            fates=tuple(
                "kept" if n < min(read, len(ranked)) else BELOW_TOP_K if n < len(ranked) else "not relevant"
                for n in range(len(order))
            ),
        )


def _moved(before: tuple[Passage, ...], after: list[Passage]) -> float:
    """How many places a passage was moved by reranking, on average (avg_rerank_delta)."""
    place = {passage.passage_id: at for at, passage in enumerate(before)}
    return sum(abs(place[passage.passage_id] - at) for at, passage in enumerate(after)) / len(after)


async def rewrite_query(
    run: Run, relevant: Sequence[Passage], irrelevant: Sequence[Passage], tried: Sequence[str]
) -> str | None:
    """The next query after a round that was not good enough, out of what it did find: by the chat model, else by rules. One
    that was not tried; None where there is nothing new to try. A model that fails is reported."""
    question = parse_operators(run.plan.text).text  # what the message excludes is not looked for
    if run.deps.chat is not None and run.settings.rewrite.model:
        chat = run.record.metered("rewrite_query", run.deps.chat, run.settings)
        try:
            return await rewrite_query_by_model(question, relevant, irrelevant, tried, chat, run.settings.rewrite)
        except ProviderError as error:
            run.record.degraded.append(
                f"rewriting by the model failed ({error.code}: {error.detail}): rewritten by rules"
            )
    found = rewrite_after(question, relevant, irrelevant, tried)
    return None if found in (question, *tried) else found
