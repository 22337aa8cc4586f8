"""Grading what was found: by the chat model in parallel batches, else by scores. Nothing fails open: passages that
the model did not grade are graded by scores, and `degraded` says so."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np

from cairn.answer.grade import Grade, grade_by_model, relevance
from cairn.domain.passage import Passage
from cairn.errors import CairnError, ProviderError
from cairn.providers.protocols import embed_questions
from cairn.runs.context import Run

BATCH: Final = 5
"""Passages in one call."""
BEGINNING: Final = 1000
"""Characters of a passage that are read where no chunk of it was found."""
AT_ONCE: Final = 3
"""Calls of one run that are under way together."""


@dataclass(frozen=True, slots=True)
class Graded:
    """`scored`: how many of the grades are by scores; `failed`: that is so because the model failed."""

    grades: Mapping[UUID, Grade]
    scored: int = 0
    failed: bool = False
    degraded: tuple[str, ...] = ()


async def grade_passages(run: Run, passages: Sequence[Passage], *, by_model: bool) -> Graded:
    """A grade for each passage: whether it helps to answer the question of the plan, or one of its parts."""
    batches = [passages[at : at + BATCH] for at in range(0, len(passages), BATCH)]
    if run.deps.chat is None or not by_model:
        grades, notes = await _by_scores(run, passages)
        return Graded(grades, len(passages), degraded=notes)
    gate = asyncio.Semaphore(AT_ONCE)
    chat = run.record.metered("grade", run.deps.chat, run.settings)

    async def one(batch: Sequence[Passage]) -> tuple[Grade, ...] | ProviderError:
        async with gate:
            try:
                return await grade_by_model(run.plan.text, run.plan.subquestions, batch, chat)
            except ProviderError as error:
                return error

    replies = await asyncio.gather(*map(one, batches))
    found: dict[UUID, Grade] = {}
    left: list[Passage] = []
    reasons: list[str] = []
    for batch, reply in zip(batches, replies, strict=True):
        if isinstance(reply, ProviderError):
            left += batch
            reasons.append(f"{reply.code}: {reply.detail}")
        else:
            found |= {passage.passage_id: grade for passage, grade in zip(batch, reply, strict=True)}
    if not left:
        return Graded(found)
    scored, notes = await _by_scores(run, left)
    why = f"grading by the model failed for {len(left)} of {len(passages)} passages ({reasons[0]}): graded by scores"
    return Graded({**found, **scored}, len(left), True, (why, *notes))


async def _by_scores(run: Run, passages: Sequence[Passage]) -> tuple[dict[UUID, Grade], tuple[str, ...]]:
    """The best of the question and its parts counts. Without vectors the words alone decide, which is reported."""
    asked = (run.plan.text, *run.plan.subquestions)
    notes: tuple[str, ...] = ()
    cosines: dict[tuple[int, UUID], float] = {}
    try:
        cosines = await _cosines(run, asked, passages)
    except CairnError as error:
        notes = (f"vectors for grading could not be had ({error.code}: {error.detail}): graded by words alone",)
    grades = {}
    for passage in passages:
        chance = max(
            relevance(text, passage, cosines.get((n, passage.passage_id))) for n, text in enumerate(asked)
        )  # fmt: skip
        relevant = chance >= run.settings.rag.agentic_retrieval.confidence_threshold
        grades[passage.passage_id] = Grade(relevant, chance if relevant else 1 - chance)
    return grades, notes


async def _cosines(run: Run, asked: Sequence[str], passages: Sequence[Passage]) -> dict[tuple[int, UUID], float]:
    """By number of the question and passage: that of the passage's best chunk, from the vectors that are stored. Where these are
    of another model than the one that judges, that one reads the chunk which was found: cosines of two models say nothing to
    each other, and the regression knows only those of one."""
    judge, model = run.deps.judge, run.deps.judge_model
    chunks = await run.deps.library.chunk_vectors([passage.passage_id for passage in passages])
    own = [chunk for chunk in chunks if chunk.model_id == model.id]
    others = {chunk.passage_id for chunk in chunks} - {chunk.passage_id for chunk in own}
    places = [chunk.passage_id for chunk in own]
    rows = [chunk.vector.to_numpy().astype(np.float32) for chunk in own]
    if foreign := [passage for passage in passages if passage.passage_id in others]:
        places += [passage.passage_id for passage in foreign]
        rows += list(await judge.embed([_found_part(passage) for passage in foreign]))
    if not rows:
        return {}
    best: dict[tuple[int, UUID], float] = {}
    for n, row in enumerate(await embed_questions(judge, list(asked)) @ np.stack(rows).T):
        for place, cosine in zip(places, row, strict=True):
            best[n, place] = max(best.get((n, place), -1.0), float(cosine))
    return best


def _found_part(passage: Passage) -> str:
    """The chunk by which the passage was found, else its beginning."""
    start, end = passage.matched or (passage.start, passage.start + BEGINNING)
    return passage.content[max(0, start - passage.start) : max(0, end - passage.start)] or passage.content[:BEGINNING]
