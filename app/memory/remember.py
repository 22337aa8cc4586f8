"""A run of a conversation, remembered: its events, and what was said saved before the last of them is passed on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar, cast

import structlog

from app.domain.event import Answered, Cancelled, Event, Failed
from app.domain.principal import Principal
from app.domain.question import Question
from app.errors import CairnError
from app.memory.save import save_exchange, save_question
from app.store.session import Database

log = structlog.get_logger(__name__)
T = TypeVar("T")


async def remembered(
    events: AsyncIterator[Event], database: Database, principal: Principal, question: Question
) -> AsyncIterator[Event]:
    """The same events; `Answered` names the message that was saved. A question without a session passes as it is.

    A stream that its reader closes early is cancelled, and saved as such. An answer that could not be saved is still an
    answer: it is passed on, and says so in `degraded`.
    """
    saved = question.session_id is None
    try:
        async with aclosing(cast("AsyncGenerator[Event]", events)) as running:
            async for event in running:
                if not saved and isinstance(event, Answered | Failed | Cancelled):
                    saved = True
                    event = await _to_its_end(_saved(event, database, principal, question))
                yield event
    finally:
        if not saved:
            await _to_its_end(_unanswered(database, principal, question, None))


async def _saved(event: Event, database: Database, principal: Principal, question: Question) -> Event:
    assert question.session_id is not None
    if not isinstance(event, Answered):
        error = event.error if isinstance(event, Failed) else None
        await _unanswered(database, principal, question, error)
        return event
    try:
        message_id = await save_exchange(
            database, principal, session_id=question.session_id, collection=question.collection,
            question=question.text, answer=event.answer,
        )  # fmt: skip
    except CairnError as problem:
        log.warning("memory.not_saved", run_id=str(question.run_id), problem=problem.detail)
        note = f"memory: this exchange could not be saved ({problem.code}: {problem.detail})"
        return Answered(replace(event.answer, degraded=(*event.answer.degraded, note)))
    return Answered(event.answer, message_id)


async def _unanswered(database: Database, principal: Principal, question: Question, error: CairnError | None) -> None:
    """The run ends as it does, whether its question can be saved or not."""
    assert question.session_id is not None
    try:
        await save_question(
            database, principal, session_id=question.session_id, collection=question.collection,
            question=question.text, run_id=question.run_id, error=error,
        )  # fmt: skip
    except CairnError as problem:
        log.warning("memory.not_saved", run_id=str(question.run_id), problem=problem.detail)


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """A client that leaves while its exchange is being saved does not undo that."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
