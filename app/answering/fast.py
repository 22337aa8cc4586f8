"""Retrieve, then answer: the way of most questions. Enhanced is the same with more to read and its parts searched for."""

from __future__ import annotations

from collections.abc import AsyncIterator

from app.answer.advice import empty_collection
from app.answering.context import (
    Outcome,
    Piece,
    Run,
    coverage,
)
from app.answering.draft import Material, answered
from app.answering.gather import gather
from app.domain.event import Progress, Token

OTHERS_SHOWN = 5
"""Collections named to somebody who asks an empty one."""


async def fast(run: Run) -> AsyncIterator[Piece]:
    """Progress, sources, tokens and an Outcome. Raises CairnError."""
    if run.route.strategy == "enhanced" and run.plan.subquestions:
        yield Progress("decompose", 20)
    yield Progress("retrieve", 40)
    found = await gather(run)
    if found.visible == 0:
        async for piece in nothing_there(run):
            yield piece
        return
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
    async for piece in answered(run, material):
        yield piece


async def nothing_there(run: Run) -> AsyncIterator[Piece]:
    """What to do about a collection without documents."""
    others = await run.deps.library.filled_collections(OTHERS_SHOWN)
    draft = empty_collection(run.plan.language, run.question.collection, others)
    yield Progress("generate", 85)
    yield Token(draft.text)
    yield Outcome(draft, "fixed", confidence=0.0, coverage=coverage(0, 0))
