"""All runs under way in this process, by id: begun, found, kept until they have ended, and ended with the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from cairn.domain.event import Event, Failed, Surface
from cairn.domain.principal import Principal
from cairn.domain.question import Question
from cairn.domain.trace import RunTrace
from cairn.errors import ConflictError, StoppingError
from cairn.runs.log import DurableLog, MemoryLog
from cairn.runs.save import record_reads, save_end
from cairn.runs.task import UNWIND_SECONDS, OnEnd, Task, Work
from cairn.settings import RunSettings
from cairn.store.session import Database

log = structlog.get_logger(__name__)

NOTED_SECONDS: Final = (1.0, 10.0)
"""After so long, and then after twice as long each time up to the second, a run under way is traced: what a process that is
killed leaves of it."""


@dataclass(frozen=True, slots=True)
class Tracing:
    """`begun`: the trace of a run that begins; `note` leaves one of how far it is."""

    begun: RunTrace
    note: Callable[[], None]


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
            asked_as=principal.caller.asked_as,
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
