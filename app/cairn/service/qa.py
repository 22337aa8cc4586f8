"""Asking in several passes, and its sessions: what /qa does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from cairn.domain.answer import Answer, Citation
from cairn.domain.question import Question
from cairn.errors import NotFoundError
from cairn.runs.context import Record
from cairn.runs.task import OnEnd, Task
from cairn.service.ask import at_temperature, start
from cairn.settings import Settings
from cairn.store import audit, graph_code, qa_sessions, runs
from cairn.wiring import Services

STRONG: Final = 0.5
"""Cosine distance under which a result is a strong one."""
HIGH, MEDIUM = 0.3, 0.6
"""Distance of the best result, and MOST_STRONG of them, for high confidence; under MEDIUM and one for medium."""
MOST_STRONG: Final = 3


@dataclass(frozen=True, slots=True)
class SearchSummary:
    """Which legs have searched, how many passages were found, by them, by name or in the session before, and of how many of
    these the answer was made."""

    semantic: bool
    lexical: bool
    found: int
    used: int
    confidence: Literal["high", "medium", "low"]


async def start_qa(
    services: Services, question: Question, *, use_graph: bool, temperature: float | None, named: bool, on_end: OnEnd
) -> tuple[Task, Record]:
    """Begin a run with settings of its own; the record that it fills says what its searches found. Raises ConflictError."""
    record, settings = Record(question), _settings(services.settings.current, use_graph, temperature)
    return await start(services, question, named=named, settings=settings, record=record, on_end=on_end), record


def _settings(settings: Settings, use_graph: bool, temperature: float | None) -> Settings:
    if not use_graph:
        settings = settings.model_copy(update={"graph": settings.graph.model_copy(update={"enabled": False})})
    return at_temperature(settings, temperature)


def summarize_searches(record: Record, answer: Answer) -> SearchSummary:
    """Of all searches of the run."""
    results = [item.result for item in record.searches]
    legs = {leg for result in results for leg in result.legs_used}
    used = {passage.passage_id for passage in answer.sources}
    found = used | {passage.passage_id for result in results for passage in result.passages}
    cosines = [max(trace.scores, default=0.0) for result in results for trace in result.legs if trace.leg == "vector"]
    strong = sum(1 - score < STRONG for result in results[:1] for trace in result.legs
                 if trace.leg == "vector" for score in trace.scores)  # fmt: skip
    distance = 1 - max(cosines, default=0.0)
    sure: Literal["high", "medium", "low"] = "low"
    if strong >= MOST_STRONG and distance < HIGH:
        sure = "high"
    elif found and distance < MEDIUM:
        sure = "medium"
    return SearchSummary("vector" in legs, "lexical" in legs, len(found), len(used), sure)


async def locate_quotes(services: Services, citations: Sequence[Citation]) -> list[str | None]:
    """First and last line of each quote in its document, "12-14", or "12"; None where the document is gone."""
    ends = [((one.document_id, one.start), (one.document_id, max(one.start, one.end - 1))) for one in citations]
    async with services.database.transaction(services.principal, readonly=True) as connection:
        lines = await graph_code.line_numbers(
            connection, services.principal, [place for pair in ends for place in pair]
        )
    found = [(lines.get(first), lines.get(last)) for first, last in ends]
    return [None if not (a and b) else str(a) if a == b else f"{a}-{b}" for a, b in found]


async def delete_session(services: Services, session_id: str) -> None:
    """Raises NotFoundError."""
    async with services.database.transaction(services.principal) as connection:
        if not await qa_sessions.delete(connection, services.principal, session_id):
            raise NotFoundError(f"no session {session_id[:140]}; it may have been idle for too long")
        # what who could read more than everybody has begun is not for others to know of, nor is what it was called
        marked = {"tells_of_restricted": True} if await runs.asked_as(connection) else {}
        await audit.record(connection, services.principal, "qa_session.delete", session_id, marked)
