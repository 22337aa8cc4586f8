"""The rounds of a corrective run: what was looked for, what was found, and how it was graded, over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from cairn.answer.grade import Grade
from cairn.domain.passage import Passage
from cairn.domain.trace import BELOW_TOP_K, LegTrace
from cairn.errors import CairnError, ProviderError
from cairn.query.multi_hop import multi_hop
from cairn.query.rewrite_after import rewrite_after
from cairn.query.rewrite_by_model import rewrite_query_by_model
from cairn.retrieve.operators import parse_operators
from cairn.runs.context import Run, SubquestionPassages
from cairn.runs.gather import gather, merge
from cairn.runs.progress import documents_of, grading, searching
from cairn.strategies.agents.grading import grade_passages

CANDIDATES: Final = 20
"""Passages of one round that are graded."""
NEEDED_BY_HOPS: Final = 2
"""Relevant passages without which a question of several hops is looked for again; others need one."""


@dataclass(slots=True)
class Rounds:
    """`retries`: rewrites that are left, of grading and of checking together. `query`: what is looked for now. `lists`: what
    each round found. `by_model`: whether the model grades; not any more once it has failed for a whole round."""

    run: Run
    retries: int
    query: str
    tried: list[str] = field(default_factory=list)
    lists: list[tuple[Passage, ...]] = field(default_factory=list)
    parts: tuple[SubquestionPassages, ...] = ()
    grades: dict[UUID, Grade] = field(default_factory=dict)
    scored: int = 0
    by_model: bool = True
    visible: int = 0
    confidence: float = 0.0
    rewrites: int = 0
    degraded: list[str] = field(default_factory=list)

    async def look(self) -> bool:
        """Search for the query and grade what is found. False where it was tried already, and nothing is done. Raises
        CairnError when the first search fails."""
        if self.query in self.tried:
            return False
        self.run.emit(searching([self.query], documents=documents_of(self.found)))
        await self._retrieve()
        fresh = [passage for passage in self.lists[-1] if passage.passage_id not in self.grades]
        if fresh and self._grading:
            self.run.emit(grading(len(fresh)))
            await self._grade(fresh)
        return True

    async def rewrite(self) -> None:
        """Another query out of what was found, for the next round; where there is nothing new to try, the same."""
        self.retries -= 1
        found = await rewrite_query(self.run, self.relevant, self.irrelevant, self.tried)
        if found is not None:
            self.query = found
            self.rewrites += 1

    @property
    def relevant(self) -> tuple[Passage, ...]:
        """Of all rounds, best first: the first of each round leads, so that a later one is not read in vain."""
        lists = [[passage for passage in found if self.counts(passage)] for found in self.lists]
        return merge([kept for kept in lists if kept], sum(map(len, lists)))[0] if any(lists) else ()

    @property
    def irrelevant(self) -> tuple[Passage, ...]:
        return tuple(passage for passage in self.found if not self.counts(passage))

    def _counting(self, passages: Sequence[Passage]) -> tuple[Passage, ...]:
        """Relevant ones, each once."""
        return tuple({passage.passage_id: passage for passage in passages if self.counts(passage)}.values())

    @property
    def found(self) -> tuple[Passage, ...]:
        """Everything, those of the last round first."""
        return tuple({p.passage_id: p for found in reversed(self.lists) for p in found}.values())

    @property
    def enough(self) -> bool:
        needed = NEEDED_BY_HOPS if multi_hop(self.run.plan) else 1
        return len(self.relevant) >= min(needed, self.visible)

    @property
    def sure(self) -> float:
        """Confidence of the retrieval, not above that of the passage graded best."""
        if not self.relevant:
            return min(self.confidence, max(map(self._chance, self.found), default=0.0))
        best = max(
            (self.grades[p.passage_id].confidence for p in self.relevant if p.passage_id in self.grades), default=1.0
        )
        return min(self.confidence, best)

    def counts(self, passage: Passage) -> bool:
        """Whether the passage is relevant, surely enough; where nothing is graded, all are."""
        if not self._grading:
            return True
        grade, least = self.grades.get(passage.passage_id), self.run.settings.rag.agentic_retrieval.confidence_threshold
        return grade is not None and grade.relevant and grade.confidence >= least

    @property
    def doubtful(self) -> tuple[Passage, ...]:
        """Passages to read after the relevant ones. Scores tell what the question's words are about, but not the second hop
        of a chain (docs/quality.md, "Grading"): what they reject is read last, what a model rejects never."""
        if self.scored < len(self.grades):
            return ()
        return tuple(passage for found in self.lists for passage in found if not self.counts(passage))

    def subquestions(self) -> tuple[SubquestionPassages, ...]:
        """Each with the relevant passages that were found for it, and those of the rounds after the first."""
        later = [passage for found in self.lists[1:] for passage in found]
        return tuple(
            SubquestionPassages(part.question, self._counting((*part.passages, *later))) for part in self.parts
        )

    def figures(self) -> Mapping[str, Any]:
        """For route and trace: numbers, no words, since those may be of a document that goes."""
        return {
            "rounds": len(self.lists),
            "rewrites": self.rewrites,
            "expansions": len(self.run.plan.expansions),
            "subquestions": len(self.run.plan.subquestions),
            "graded": len(self.grades),
            "graded_by_scores": self.scored,
            "relevant": sum(self.counts(passage) for passage in self.found) if self._grading else 0,
        }

    def trace(self, ranked: Sequence[Passage], read: int) -> LegTrace:
        """What became of each passage, `ranked` ones first; its score is how probably it is relevant."""
        order = tuple({p.passage_id: p for p in (*ranked, *self.irrelevant)}.values())
        places = range(len(order))
        return LegTrace(
            leg="merged",
            passage_ids=tuple(passage.passage_id for passage in order),
            scores=tuple(map(self._chance, order)),
            fates=tuple(
                "kept" if n < min(read, len(ranked)) else BELOW_TOP_K if n < len(ranked) else "not relevant"
                for n in places
            ),
        )

    # --- one round ------------------------------------------------------------------------------------------------------

    @property
    def _grading(self) -> bool:
        return self.run.settings.rag.agentic_retrieval.document_grading_enabled

    def _chance(self, passage: Passage) -> float:
        grade = self.grades.get(passage.passage_id)
        return passage.score if grade is None else grade.confidence if grade.relevant else 1 - grade.confidence

    async def _retrieve(self) -> None:
        first, plan = not self.tried, self.run.plan
        self.tried.append(self.query)
        run = (
            self.run
            if first
            else replace(self.run, plan=replace(plan, text=self.query, subquestions=(), expansions=()))
        )
        try:
            found = await gather(run, read=CANDIDATES, purpose="question" if first else "rewrite")
        except CairnError as error:
            if first:
                raise
            self.degraded.append(f"searching again failed ({error.code}: {error.detail})")
            self.lists.append(())
            return
        self.lists.append(found.passages)
        self.degraded += found.degraded
        self.parts = found.parts if first else self.parts
        self.visible, self.confidence = found.visible, max(self.confidence, found.confidence)

    async def _grade(self, passages: list[Passage]) -> None:
        done = await grade_passages(self.run, passages, by_model=self.by_model)
        self.grades |= done.grades
        self.scored += done.scored
        self.by_model = self.by_model and done.scored < len(passages)
        self.degraded += done.degraded


# --- the next query -----------------------------------------------------------------------------------------------------


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
