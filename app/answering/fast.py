"""Retrieve, then answer: the way of most questions. Enhanced is the same with more to read and its parts searched for."""

from __future__ import annotations

from app.answer.advice import empty_collection
from app.answering.context import Outcome, Run
from app.answering.draft import Material, answer_from
from app.answering.gather import gather
from app.answering.progress import counted, searching
from app.domain.answer import NOTHING_TO_READ
from app.domain.event import Progress, Token

OTHERS_SHOWN = 5
"""Collections named to somebody who asks an empty one."""


async def fast(run: Run) -> Outcome:
    """Raises CairnError."""
    if run.route.strategy == "enhanced" and run.plan.subquestions:
        parts = len(run.plan.subquestions)
        run.emit(Progress("decompose", 20, f"The question has {counted(parts, 'part')}", numbers={"parts": parts}))
    run.emit(searching([run.plan.text]))
    found = await gather(run)
    if found.visible == 0:
        return await answer_empty(run)
    material = Material(
        question=run.plan.text,
        passages=found.passages,
        confidence=found.confidence,
        visible=found.visible,
        parts=tuple((part.question, part.passages) for part in found.parts),
        degraded=found.degraded,
        graph=found.graph,
        more={"effective_top_k": found.effective_top_k, "read": len(found.passages)},
    )
    return await answer_from(run, material)


async def answer_empty(run: Run) -> Outcome:
    """What to do about a collection without documents."""
    others = await run.deps.library.filled_collections(OTHERS_SHOWN)
    draft = empty_collection(run.plan.language, run.question.collection, others)
    run.emit(Progress("generate", 85, "The collection has no documents"))
    run.emit(Token(draft.text))
    return Outcome(draft, "fixed", confidence=0.0, coverage=NOTHING_TO_READ)
