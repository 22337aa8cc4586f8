"""Saving what was said: at the end of every path, in one transaction, in order.

A question and its answer are saved together. A question whose run failed or was cancelled is saved alone, with the reason
in its metadata: it was said, and a follow-up may refer to it, but nothing was answered. Both are saved when the run ends,
so of two questions asked at once that one comes first which was answered first, and no exchange is torn apart.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import structlog

from cairn.domain.answer import Answer
from cairn.domain.event import Answered, Event, Failed, Progress
from cairn.domain.principal import Principal
from cairn.domain.question import Question
from cairn.errors import CairnError
from cairn.runs.sources import sources_of
from cairn.store import audit, memory
from cairn.store.memory import NewMessage
from cairn.store.session import Database

log = structlog.get_logger(__name__)

MOST_STEPS: Final = 60
"""Of an agent that took more, the last ones are kept."""
STEP_CHARS: Final = 300


async def save_end(
    database: Database, principal: Principal, question: Question, end: Event, steps: Sequence[Progress] = ()
) -> Event:
    """Save how a run of a conversation ended, before anybody hears of it; the terminal event, `Answered` with the message
    that was saved. A question without a session is not saved. `steps`: what was done on the way.

    A run ends as it does, whether it can be saved or not; an answer that could not be says so in `degraded`.
    """
    if question.session_id is None:
        return end
    try:
        if not isinstance(end, Answered):
            await save_question(
                database, principal, session_id=question.session_id, collection=question.collection,
                question=question.text, run_id=question.run_id, error=end.error if isinstance(end, Failed) else None,
            )  # fmt: skip
            return end
        message_id = await save_exchange(
            database, principal, session_id=question.session_id, collection=question.collection,
            question=question.text, answer=end.answer, steps=steps,
        )  # fmt: skip
        return replace(end, message_id=message_id)
    except CairnError as problem:
        log.warning("memory.not_saved", run_id=str(question.run_id), problem=problem.detail)
        if not isinstance(end, Answered):
            return end
        note = f"memory: this exchange could not be saved ({problem.code}: {problem.detail})"
        return replace(end, answer=replace(end.answer, degraded=(*end.answer.degraded, note)))


async def record_reads(
    database: Database, principal: Principal, run_id: UUID, end: Event, shown: Collection[UUID]
) -> Event:
    """Record which restricted documents the caller read by the scope admin alone (cairn/store/audit.py): those `shown` on the
    way, and what an answer has words of. The terminal event; an answer of which that failed says so in `degraded`."""
    read = set(shown)
    if isinstance(end, Answered):
        read |= {one.document_id for one in end.answer.sources if one.url is None}
        read |= {one.document_id for one in end.answer.citations if one.url is None}
        read.update(end.answer.drew_on)
    try:
        await audit.record_restricted_reads(database, principal, "answer", read, run_id)
    except CairnError as problem:
        log.warning("run.read_not_recorded", run_id=str(run_id), error=problem.detail)
        if isinstance(end, Answered):
            note = f"audit: what was read could not be recorded ({problem.code}: {problem.detail})"
            return replace(end, answer=replace(end.answer, degraded=(*end.answer.degraded, note)))
    return end


async def save_exchange(
    database: Database, principal: Principal, *, session_id: str, collection: str | None, question: str, answer: Answer,
    steps: Sequence[Progress] = (),
) -> UUID:  # fmt: skip
    """Save a question with its answer and sources, what a reader was told besides, and the steps; the id of the assistant's
    message. Raises DatabaseUnavailableError."""
    said = NewMessage(
        "assistant",
        answer.answer,
        answer.run_id,
        sources_of(answer),
        {
            "confidence": answer.confidence,
            "confidence_word": answer.confidence_word,
            "answered": answer.answered,
            "grounded": answer.grounded,
            **({"model_failure": answer.model_failure.sentence} if answer.model_failure else {}),
            **_told_besides(answer, steps),
            **({"usage": dict(answer.usage), "written_by": answer.written_by} if answer.usage else {}),
        },
        answer.drew_on,
    )
    async with database.transaction(principal) as connection:
        messages = [NewMessage("user", question, answer.run_id), said]
        return (await memory.add(connection, principal, session_id, collection, messages))[1]


def _told_besides(answer: Answer, steps: Sequence[Progress]) -> dict[str, Any]:
    """What goes with the first document of its sources that is deleted. The words of a step that may have those of documents are
    not kept."""
    remarks = [*answer.insufficiencies, *answer.remarks]
    details = answer.model_failure.details if answer.model_failure else ()
    kept = [
        {"step": one.step, "percent": one.percent, "message": "" if one.documents else one.message[:STEP_CHARS]}
        | ({"numbers": dict(one.numbers)} if one.numbers else {})
        for one in steps[-MOST_STEPS:]
    ]
    told = {"remarks": remarks, "details": list(details), "steps": kept}
    return {name: said for name, said in told.items() if said}


async def save_question(
    database: Database,
    principal: Principal,
    *,
    session_id: str,
    collection: str | None,
    question: str,
    run_id: UUID,
    error: CairnError | None,
) -> UUID:
    """Save a question that got no answer: its run failed with `error`, or was cancelled (None); the message's id."""
    notes: dict[str, Any] = {"outcome": "error" if error else "cancelled"}
    if error:
        notes["error"] = {"code": error.code, "detail": error.detail}
    async with database.transaction(principal) as connection:
        messages = [NewMessage("user", question, run_id, notes=notes)]
        return (await memory.add(connection, principal, session_id, collection, messages))[0]
