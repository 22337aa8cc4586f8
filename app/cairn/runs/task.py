"""A run under way in this process: one task, one log of events, one terminal event.

emit -> log -> any number of readers       what the strategy says
the answer, an error or a cancellation     becomes the terminal event, here and nowhere else:
    -> the conversation is saved -> the event is handed out -> the trace is left
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import UUID

import structlog

from cairn.domain.answer import Answer
from cairn.domain.event import (
    Answered,
    Cancelled,
    Event,
    Failed,
    Numbered,
    Progress,
    RunStarted,
    SourcesFound,
    StepEvent,
    Token,
)
from cairn.domain.principal import Principal
from cairn.domain.question import Question
from cairn.errors import CairnError, ConflictError
from cairn.runs.context import Report
from cairn.runs.log import EventLog

log = structlog.get_logger(__name__)

Work = Callable[[Report], Coroutine[Any, Any, Answer]]
"""Answers a question, and reports on the way. Raises CairnError."""
OnEnd = Callable[[Event], None]
"""Told the terminal event when readers can have it."""
UNWIND_SECONDS: Final = 2.0
"""For runs that were told to end to give back what they hold, and say so."""


class Task:
    """One question being answered. Exactly one terminal event ends it on every path, and it is the last.

    `progress`: the step that it is at. `give_up_model`: wait for the chat model no longer, and quote. `resumable`: it goes on
    when who asked leaves, and its events are stored. `asked_by`, `asked_as`: Caller.id and Caller.asked_as. `shown`: documents
    of its sources.
    """

    def __init__(
        self, question: Question, event_log: EventLog, save: Callable[[Event], Awaitable[Event]], on_end: OnEnd, *,
        resumable: bool = False, give_up_model: Callable[[], None] = lambda: None, asked_by: str = "",
        asked_as: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.id = question.run_id
        self.question = question
        self.resumable = resumable
        self.asked_by = asked_by
        self.asked_as = asked_as
        self.progress: Progress | None = None
        self.give_up_model = give_up_model
        self.steps: list[Progress] = []
        self.shown: set[UUID] = set()
        self._shown: list[str] = []
        self._log = event_log
        self._save = save
        self._on_end = on_end
        self._instead: Event | None = None
        self._asked_at: float | None = None
        self._work: asyncio.Task[Answer] | None = None
        self._whole: asyncio.Task[None] | None = None

    def start(self, work: Work) -> asyncio.Task[None]:
        """Begin; what is returned is done once the run has ended and left its trace."""
        self._log.append(RunStarted(self.id, self.question.strategy))
        self._work = asyncio.create_task(work(self.emit))
        self._whole = asyncio.create_task(self._end())
        return self._whole

    def events(self, after: int = 0, reader: Principal | None = None) -> AsyncGenerator[Numbered]:
        """The events after a place, to the terminal one; see EventLog.read. Reading, and leaving, change nothing."""
        return self._log.read(after, reader)

    def cancel(self, instead: Event | None = None) -> None:
        """Ask for its end; `instead`: the terminal event then, where it is not to be Cancelled. What has come to its end by
        itself stays as it is. Asked again soon, it changes nothing: the run may be giving back what it holds."""
        if self._work is None or self._work.done():
            return
        self._instead = self._instead or instead
        if self._asked_at is None or time.monotonic() - self._asked_at > UNWIND_SECONDS:
            self._asked_at = time.monotonic()
            self._work.cancel()

    async def stop(self) -> None:
        """Cancel it, and wait until it has ended."""
        self.cancel()
        if self._whole is not None:
            await asyncio.wait([self._whole])

    def emit(self, event: StepEvent) -> None:
        """What the strategy says. Returns at once, whoever reads; after the end nothing is said any more."""
        if isinstance(event, Progress):
            self.progress = event
            self.steps.append(event)
        if isinstance(event, Token):
            self._shown.append(event.text)
        if isinstance(event, SourcesFound):
            self.shown.update(one.document_id for one in event.passages if one.url is None)
        self._log.append(event)

    async def _end(self) -> None:
        assert self._work is not None
        end: Event = Cancelled(self.id)
        try:
            await asyncio.wait([self._work])
            end = self._outcome(self._work)
            end = await self._save(end)
        except Exception:
            log.exception("run.not_saved", run_id=str(self.id))
        finally:
            self._log.append(end)
            try:
                self._on_end(end)
            except Exception:
                log.exception("run.bug", run_id=str(self.id))

    def _outcome(self, work: asyncio.Task[Answer]) -> Event:
        """The one place where what a run came to becomes its terminal event."""
        if work.cancelled() and self._asked_at is not None:
            return self._instead or Cancelled(self.id)
        error = None if work.cancelled() else work.exception()
        if isinstance(error, CairnError):
            return Failed(error)
        if error is None and not work.cancelled():
            made = work.result()
            return Answered(made, replaced=made.answer.strip() != "".join(self._shown).strip())
        # a cancellation that nobody asked for came from inside: of a library, or of a task that the strategy waited for
        log.error("run.bug", run_id=str(self.id), exc_info=error or asyncio.CancelledError())
        return Failed(CairnError("An internal error ended this run; the log has the details."))


@asynccontextmanager
async def held(task: Task) -> AsyncIterator[Task]:
    """By who asked: leaving ends a run that is not resumable."""
    try:
        yield task
    finally:
        if not task.resumable:
            await task.stop()


async def final(task: Task, each: Callable[[Event], None] = lambda event: None) -> Answered:
    """The answer, for who asked; `each` sees all events on the way. Raises what the run failed with, and ConflictError where
    it was cancelled."""
    async with held(task):
        async for item in task.events():
            each(item.event)
            match item.event:
                case Answered():
                    return item.event
                case Failed(error):
                    raise error
                case Cancelled():
                    raise ConflictError("the run was cancelled")
    raise CairnError("the run ended without a result; report this with the request id")
