"""All runs under way in this process, by id."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from datetime import timedelta
from uuid import UUID

import structlog

from app.domain.event import Event, Failed, Surface
from app.domain.principal import Principal
from app.domain.question import Question
from app.errors import ConflictError, StoppingError
from app.runs.journal import Journal
from app.runs.live import Live
from app.settings import RunSettings
from app.store.session import Database

log = structlog.get_logger(__name__)

RECENT = 1000
"""Ids that are remembered until their traces are surely written."""
UNWIND_SECONDS = 2.0
"""For runs that were told to end to say so in the database."""

Key = tuple[int, UUID]


class Runs:
    """`settings` is asked before each run."""

    def __init__(self, database: Database, settings: Callable[[], RunSettings]) -> None:
        self._database = database
        self._settings = settings
        self._live: dict[Key, Live] = {}
        self._recent: dict[Key, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    def find(self, principal: Principal, run_id: UUID) -> Live | None:
        """The run, while it is under way here."""
        return self._live.get((principal.tenant_id, run_id))

    def used(self, principal: Principal, run_id: UUID) -> bool:
        """Whether a run of this process has the id, or had it lately."""
        return (principal.tenant_id, run_id) in self._recent

    async def plain(self, principal: Principal, run_id: UUID, events: AsyncIterator[Event]) -> AsyncGenerator[Event]:
        """Run it while its events are read: who stops reading ends it. Raises ConflictError."""
        live = Live(run_id, resumable=False)
        self._enter(principal, live)
        task = live.start(events)
        task.add_done_callback(lambda _: self._leave(principal, live))  # its trace is recorded by then
        try:
            async for event in live.listen():
                yield event
        finally:
            live.cancel()
            await asyncio.wait([task])

    async def resumable(
        self, principal: Principal, question: Question, surface: Surface, events: AsyncIterator[Event]
    ) -> None:
        """Start it; it goes on whoever reads. Returns once others can see it. Raises ConflictError, StoppingError."""
        if self._closing:
            raise StoppingError("the server is stopping; ask again")
        live = Live(question.run_id, resumable=True)
        self._enter(principal, live)
        lease = timedelta(seconds=self._settings().lease_seconds)
        opened: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(
            self._kept(
                principal, live, Journal(self._database, principal, live, lease), question, surface, events, opened
            )
        )
        self._tasks.add(task)  # the loop holds tasks weakly
        task.add_done_callback(self._tasks.discard)
        if not await asyncio.shield(opened):
            raise ConflictError(f"the run id {question.run_id} is in use")

    async def _kept(
        self,
        principal: Principal,
        live: Live,
        journal: Journal,
        question: Question,
        surface: Surface,
        events: AsyncIterator[Event],
        opened: asyncio.Future[bool],
    ) -> None:
        try:
            opened.set_result(await journal.open(question, surface))
            if opened.result():
                task = live.start(events)
                await journal.keep()
                await asyncio.wait([task])
        except Exception as error:
            if opened.done():
                log.exception("run.bug", run_id=str(live.run_id))
            else:
                opened.set_exception(error)
        finally:
            live.cancel()
            self._leave(principal, live)

    async def close_after(self, stop: asyncio.Event, grace_seconds: float) -> None:
        """`close`, once the process has been asked to stop."""
        await stop.wait()
        await self.close(grace_seconds)

    async def close(self, grace_seconds: float = 0) -> None:
        """Resumable runs may go on for so long; then they end as failed, and say so in the database."""
        self._closing = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_seconds)
        for live in [found for found in self._live.values() if found.resumable]:
            live.cancel(Failed(StoppingError("the server that ran it was stopped; ask again")))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=UNWIND_SECONDS)

    def _enter(self, principal: Principal, live: Live) -> None:
        key = (principal.tenant_id, live.run_id)
        if key in self._recent:
            raise ConflictError(f"the run id {live.run_id} is in use")
        self._live[key] = live
        self._recent[key] = None
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]

    def _leave(self, principal: Principal, live: Live) -> None:
        self._live.pop((principal.tenant_id, live.run_id), None)
        live.stored.ring()
