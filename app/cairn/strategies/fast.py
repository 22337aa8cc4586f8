"""Retrieve, then answer: the way of most questions. Enhanced is the same with more to read and its parts searched for."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from cairn.answer.advice import empty_collection
from cairn.domain.answer import NOTHING_TO_READ
from cairn.domain.event import Progress, Token
from cairn.domain.passage import Passage
from cairn.runs.context import Outcome, Run
from cairn.runs.gather import gather
from cairn.runs.progress import counted, searching
from cairn.strategies.computed import compute_answer, show_table
from cairn.strategies.draft import answer_from

FEWEST: Final = 2
"""Passages that a model reads of a simple question at least."""
OTHERS_SHOWN = 5
"""Collections named to somebody who asks an empty one."""


async def fast(run: Run) -> Outcome:
    """Raises CairnError."""
    if run.route.strategy == "enhanced" and run.plan.subquestions:
        parts = len(run.plan.subquestions)
        run.emit(Progress("decompose", 20, f"The question has {counted(parts, 'part')}", numbers={"parts": parts}))
    run.emit(searching([run.plan.text]))
    material = await gather(run)
    if material.visible == 0:
        return await answer_empty(run)
    meant = None
    if run.deps.chat is None:
        computed, meant = await compute_answer(run)
        if computed is not None:
            return computed
    passages = _read_of_simple(run, material.passages)
    more = {**material.more, "read": len(passages)}
    read = replace(material, passages=passages, more=more)
    return await answer_from(run, read, partial(show_table, run, meant) if meant else None)


def _read_of_simple(run: Run, passages: tuple[Passage, ...]) -> tuple[Passage, ...]:
    """Of a simple question, which has its answer in one place, what a model reads: those that score next to the best one
    (`answer.simpleShare`, docs/adr/0052). Scores of a reranker say nothing about such shares, and a quotation costs nothing."""
    simple = run.plan.complexity.level == "SIMPLE" and run.route.strategy == "fast"
    if not simple or run.deps.chat is None or any(one.rerank_score is not None for one in passages):
        return passages
    least = run.settings.answer.simple_share * max((one.score for one in passages), default=0.0)
    return tuple(one for n, one in enumerate(passages) if n < FEWEST or one.score >= least)


async def answer_empty(run: Run) -> Outcome:
    """What to do about a collection without documents."""
    others = await run.deps.library.filled_collections(OTHERS_SHOWN)
    draft = empty_collection(run.plan.language, run.question.collection, others)
    run.emit(Progress("generate", 85, "The collection has no documents"))
    run.emit(Token(draft.text))
    return Outcome(draft, "fixed", confidence=0.0, coverage=NOTHING_TO_READ)
