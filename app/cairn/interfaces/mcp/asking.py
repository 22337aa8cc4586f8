"""Tools that answer questions: answer_research_question, agentic_research_question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from cairn.domain.answer import PROBABLE, Answer
from cairn.domain.event import Answered, Cancelled, Failed, Progress
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.errors import CairnError, ConflictError
from cairn.interfaces.mcp.shapes import CitedSource, ResearchAnswer
from cairn.interfaces.mcp.tooling import InCollection, ToolAnswer, ToolWork, choose_collection
from cairn.service.ask import check_strategy, held, start
from cairn.service.conversations import check_session_id
from cairn.service.search import check_query

AGENTIC = "corrective"
"""Classifies, expands, grades, rewrites and checks: what agentic retrieval means in the settings."""
SWITCHED_OFF = (
    "agentic retrieval is switched off (rag.agenticRetrieval.enabled): answered as answer_research_question does"
)


class AgenticQuestion(InCollection):
    question: str = Field(description="In the user's own words; names, numbers and dates help.")
    filters: dict[str, Any] | None = Field(None, description="Only documents whose metadata contain this object.")
    session_id: str | None = Field(None, description="Keeps a conversation, so that follow-ups are understood.")


class ResearchQuestion(AgenticQuestion):
    strategy: str = Field(
        "auto", description="How to answer: auto, fast, enhanced, react, iterative, planned or corrective."
    )


async def answer_research_question(work: ToolWork, asked: ResearchQuestion) -> ToolAnswer:
    return await _answer(work, asked, check_strategy(asked.strategy), None)


async def agentic_research_question(work: ToolWork, asked: AgenticQuestion) -> ToolAnswer:
    if work.services.settings.current.rag.agentic_retrieval.enabled:
        return await _answer(work, asked, AGENTIC, None)
    return await _answer(work, asked, "auto", SWITCHED_OFF)


async def _answer(work: ToolWork, asked: AgenticQuestion, strategy: str, fallback: str | None) -> ToolAnswer:
    services = work.services
    question = Question(
        text=check_query(asked.question, services.settings.current),
        collection=await choose_collection(services, asked.collection),
        run_id=new_id(),
        strategy=strategy,
        filters=asked.filters,
        session_id=check_session_id(asked.session_id) if asked.session_id is not None else None,
    )
    answer = await _run(work, question)
    result = ResearchAnswer(
        answer=answer.answer,
        citations=[CitedSource.of(one) for one in answer.citations],
        answered=answer.answered,
        confidence=round(answer.confidence, 4),
        confidence_word=answer.confidence_word,
        grounded=answer.grounded,
        coverage=answer.coverage,
        insufficiencies=list(answer.insufficiencies),
        degraded=list(answer.degraded),
        collection=question.collection,
        strategy=str(answer.route.get("strategy", strategy)),
        fallback=fallback,
        session_id=answer.session_id,
        run_id=answer.run_id,
    )
    return ToolAnswer(result, _text(result, answer.remarks))


async def _run(work: ToolWork, question: Question) -> Answer:
    """The answer; its steps are reported. Whoever stops listening ends the run. Raises what it failed with."""
    async with held(await start(work.services, question)) as task:
        async for item in task.events():
            match item.event:
                case Progress(step, percent, message):
                    await work.report(percent, message or step)
                case Answered(answer):
                    return answer
                case Failed(error):
                    raise error
                case Cancelled():
                    raise ConflictError("the run was cancelled")
    raise CairnError("the run ended without a result; report this with the request id")


def _confidence(result: ResearchAnswer) -> list[str]:
    """What it is worth, in words; nothing of what has no probability."""
    word = result.confidence_word
    if word is None:
        return []
    told = word.replace("_", " ")
    return [f"{told} ({result.confidence:.2f})" if word in PROBABLE else told]


def _text(result: ResearchAnswer, remarks: Sequence[str]) -> str:
    lines = [result.answer]
    if result.citations:
        lines += ["", "Nearest:" if result.answered == "no" else "Sources:"]
    for one in result.citations:
        page = f", page {one.page}" if one.page else ""
        lines.append(f'[{one.n}] {one.title} ({one.external_id}{page}): "{one.quote}" {one.uri}')
    notes = [f"collection {result.collection}", *_confidence(result)]
    notes += [] if result.answered == "yes" else [f"answered: {result.answered}"]
    notes += ["NOT supported by its sources"] if result.grounded is False else []
    notes += [f"not found: {text}" for text in result.insufficiencies]
    notes += [result.fallback] if result.fallback else []
    lines += ["", f"({'; '.join([*notes, *remarks])})"]
    return "\n".join(lines)
