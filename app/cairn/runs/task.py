"""A run under way in this process: one task, one log of events, one terminal event; and all of them, by id.

emit -> log -> any number of readers       what the strategy says
the answer, an error or a cancellation     becomes the terminal event, here and nowhere else:
    -> the conversation is saved -> the event is handed out -> the trace is left
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
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
    Surface,
    Token,
)
from cairn.domain.principal import Principal
from cairn.domain.question import Question
from cairn.domain.trace import RunTrace
from cairn.errors import CairnError, ConflictError, StoppingError
from cairn.runs.context import Report
from cairn.runs.log import DurableLog, EventLog, MemoryLog
from cairn.runs.save import record_reads, save_end
from cairn.settings import RunSettings
from cairn.store.session import Database

log = structlog.get_logger(__name__)

Work = Callable[[Report], Coroutine[Any, Any, Answer]]
"""Answers a question, and reports on the way. Raises CairnError."""
OnEnd = Callable[[Event], None]
"""Told the terminal event when readers can have it."""
NOTED_SECONDS: Final = (1.0, 10.0)
"""After so long, and then after twice as long each time up to the second, a run under way is traced: what a process that is
killed leaves of it."""


@dataclass(frozen=True, slots=True)
class Tracing:
    """`begun`: the trace of a run that begins; `note` leaves one of how far it is."""

    begun: RunTrace
    note: Callable[[], None]


UNWIND_SECONDS: Final = 2.0
"""For runs that were told to end to give back what they hold, and say so."""


class Task:
    """One question being answered. Exactly one terminal event ends it on every path, and it is the last.

    `progress`: the step that it is at. `give_up_model`: wait for the chat model no longer, and quote. `resumable`: it goes on
    when who asked leaves, and its events are stored. `asked_by`: Caller.id. `shown`: documents of its sources.
    """

    def __init__(
        self, question: Question, event_log: EventLog, save: Callable[[Event], Awaitable[Event]], on_end: OnEnd, *,
        resumable: bool = False, give_up_model: Callable[[], None] = lambda: None, asked_by: str = "",
    ) -> None:  # fmt: skip
        self.id = question.run_id
        self.question = question
        self.resumable = resumable
        self.asked_by = asked_by
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

    def events(self, after: int = 0) -> AsyncGenerator[Numbered]:
        """The events after a place, to the terminal one. Reading, and leaving, change nothing."""
        return self._log.read(after)

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


# --- all of them ------------------------------------------------------------------------------------------------------

RECENT: Final = 1000
"""Ids that are remembered until their traces are surely written."""

Key = tuple[int, UUID]


class Runs:
    """All runs under way in this process, by id. `settings` is asked before each run."""

    def __init__(self, database: Database, settings: Callable[[], RunSettings]) -> None:
        self._database = database
        self._settings = settings
        self._live: dict[Key, Task] = {}
        self._recent: dict[Key, None] = {}
        self._kept: dict[Key, asyncio.Task[None]] = {}
        self._closing = False

    def find(self, principal: Principal, run_id: UUID) -> Task | None:
        """The run, while it is under way here."""
        return self._live.get((principal.tenant_id, run_id))

    def end_of(self, principal: Principal, callers: Collection[str]) -> None:
        """Cancel what these callers of the tenant have under way here."""
        for (tenant, _), task in list(self._live.items()):
            if tenant == principal.tenant_id and task.asked_by in callers:
                task.cancel()

    def used(self, principal: Principal, run_id: UUID) -> bool:
        """Whether a run of this process has the id, or had it lately."""
        return (principal.tenant_id, run_id) in self._recent

    async def start(
        self, principal: Principal, question: Question, work: Work, on_end: OnEnd, *, surface: Surface = "query",
        resumable: bool = False, traced: Tracing | None = None, give_up_model: Callable[[], None] = lambda: None,
    ) -> Task:  # fmt: skip
        """Begin a run; a resumable one can be seen by others, and is traced, when this returns. Raises ConflictError for an id
        that is in use, StoppingError, and for a resumable one DatabaseUnavailableError."""
        if self._closing:
            raise StoppingError("the server is stopping; ask again")
        key = (principal.tenant_id, question.run_id)
        self._take(key, question.run_id)

        async def save(end: Event) -> Event:
            end = await record_reads(self._database, principal, question.run_id, end, task.shown)
            return await save_end(self._database, principal, question, end, task.steps)

        lease = timedelta(seconds=self._settings().lease_seconds)
        durable = DurableLog(self._database, principal, question.run_id, lease) if resumable else None
        try:
            if durable and not await durable.open(question, surface, traced.begun if traced else None):
                raise ConflictError(f"the run id {question.run_id} is in use")
        except BaseException:
            self._recent.pop(key, None)
            raise
        event_log = durable or MemoryLog()
        task = Task(
            question,
            event_log,
            save,
            on_end,
            resumable=resumable,
            give_up_model=give_up_model,
            asked_by=principal.caller.id,
        )
        self._live[key] = task
        self._kept[key] = asyncio.create_task(self._keep(key, task, task.start(work), durable, traced))
        if self._closing:  # since it was opened
            task.cancel(_stopped())
        return task

    def _take(self, key: Key, run_id: UUID) -> None:
        if key in self._recent:
            raise ConflictError(f"the run id {run_id} is in use")
        self._recent[key] = None
        if len(self._recent) > RECENT + len(self._live):
            del self._recent[next(old for old in self._recent if old not in self._live and old != key)]

    async def _keep(
        self, key: Key, task: Task, whole: asyncio.Task[None], durable: DurableLog | None, traced: Tracing | None
    ) -> None:
        """Until the run has ended and all it said is stored."""
        noting = asyncio.create_task(_note_regularly(traced.note)) if traced else None
        if noting:
            whole.add_done_callback(lambda _: noting.cancel())
        try:
            if durable:
                await durable.keep(task.cancel)
        except Exception:
            log.exception("run.bug", run_id=str(task.id))
            task.cancel()
        finally:
            try:
                await asyncio.wait([whole])
            finally:
                del self._live[key], self._kept[key]

    # --- the end of the process ---

    async def close_after(self, stop: asyncio.Event, resumable_seconds: float, plain_seconds: float) -> None:
        """`close`, once the process has been asked to stop."""
        await stop.wait()
        await self.close(resumable_seconds, plain_seconds)

    async def close(self, resumable_seconds: float = 0, plain_seconds: float = 0) -> None:
        """Runs may go on for so long, resumable ones less since their readers are to hear of the end; then they end as
        failed, and say so. No more are begun."""
        self._closing = True
        await asyncio.gather(
            self._end_after(resumable_seconds, resumable=True), self._end_after(plain_seconds, resumable=False)
        )

    async def _end_after(self, seconds: float, *, resumable: bool) -> None:
        ending = {key: task for key, task in self._live.items() if task.resumable == resumable}
        if not ending:
            return
        kept = [self._kept[key] for key in ending]
        _, cut_off = await asyncio.wait(kept, timeout=seconds)
        if cut_off:
            log.warning("runs.cut_off", runs=len(cut_off), resumable=resumable, seconds=seconds)
        for task in ending.values():
            task.cancel(_stopped())
        await asyncio.wait(kept, timeout=UNWIND_SECONDS)


async def _note_regularly(note: Callable[[], None]) -> None:
    pause, longest = NOTED_SECONDS
    while True:
        await asyncio.sleep(pause)
        try:
            note()
        except Exception:
            log.exception("run.not_noted")
        pause = min(2 * pause, longest)


def _stopped() -> Event:
    return Failed(StoppingError("the server that ran it was stopped; ask again"))
