"""The worker: claims one job at a time, keeps its lease, and records how it ended.

A job is delivered at least once. A worker that dies is replaced when its lease is over; one that was only cut off finds
itself fenced. The loop itself survives every failure but its own cancellation.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from datetime import timedelta
from typing import Any
from uuid import uuid4

import structlog

from cairn.domain.job import Job
from cairn.domain.principal import Principal
from cairn.errors import CairnError, DatabaseUnavailableError, QueryTimeoutError
from cairn.jobs.context import Handler, JobContext, Transactions, bounded
from cairn.jobs.outcome import CANCELLED, RELEASED, Ending, NotHereError, describe, failure, success
from cairn.settings import JobsSettings
from cairn.store import jobs
from cairn.telemetry import span

log = structlog.get_logger(__name__)

MAX_PAUSE_SECONDS = 5.0
"""Longest pause between two looks at a database that is away: recovery is noticed within 30 s."""
FALSE_ALARMS = 10
"""In a second, of an idle worker; then it is not woken for the rest of that."""
UNHEARD_SECONDS = 2.0
"""Longest pause of an idle worker that hears of no job, because a pooler lies between."""
ANSWER_SECONDS = 10.0
"""How long the queue waits for the database's answer; its statements take milliseconds."""
UNWIND_SECONDS = 10.0
"""How long a cancelled handler may take to clean up before it is given up."""

OUTAGES = (DatabaseUnavailableError, QueryTimeoutError, TimeoutError)


class Worker:
    """Runs the jobs of all tenants whose kind has a handler."""

    def __init__(
        self,
        database: Transactions,
        handlers: Mapping[str, Handler],
        settings: Callable[[], JobsSettings],
        name: str | None = None,
        *,
        grace_seconds: float = 10.0,
        able: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`settings` is asked before each step. `able`: whether this process can do jobs of a kind now; others are left to who
        can. `name` must be unique among living workers. On a stop the current job
        has `grace_seconds` to end by itself."""
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self.last_progress = time.monotonic()
        """Monotonic time of the last answer from the database; readiness looks at it."""
        self._database = database
        self._handlers = handlers
        self._settings = settings
        self._grace_seconds = grace_seconds
        self._able = able
        self._roused = False
        self._alarms: deque[float] = deque(maxlen=FALSE_ALARMS)
        """When it looked in vain although it was woken."""

    # --- the loop -----------------------------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set. Whatever happens to one job or to the database, the loop goes on."""
        failures = 0
        while not stop.is_set():
            try:
                found, roused, self._roused = await self._work_once(stop), self._roused, False
                if not found:
                    if roused:
                        self._alarms.append(time.monotonic())
                    await self._wait_for_work(stop)
                failures = 0
            except Exception as error:
                failures += 1
                unforeseen = not isinstance(error, OUTAGES)
                log.warning("worker.failed", worker=self.name, problem=describe(error), exc_info=unforeseen)
                await _either(_pause(failures), stop.wait())
        log.info("worker.stopped", worker=self.name)

    async def run_until_idle(self) -> int:
        """Work until nothing is due; the number of attempts made. Raises DatabaseUnavailableError or TimeoutError."""
        attempts = 0
        while await self._work_once(asyncio.Event()):
            attempts += 1
        return attempts

    async def _wait_for_work(self, stop: asyncio.Event) -> None:
        seconds = self._settings().poll_seconds
        if not self._database.notifies:
            await _either(min(seconds, UNHEARD_SECONDS), stop.wait())
            return
        await bounded(seconds + ANSWER_SECONDS, self._listen(seconds, stop))

    async def _listen(self, seconds: float, stop: asyncio.Event) -> None:
        # the connection is borrowed only while idle, so listening never takes one from a handler
        async with self._database.connection() as connection, jobs.wakeups(connection) as news:
            await _either(seconds, stop.wait(), news.wait())
            woken = news.is_set()
        if woken:
            await self._calm(stop)

    async def _calm(self, stop: asyncio.Event) -> None:
        """Whoever may connect to the database may notify, and need not have a job: it looks in vain FALSE_ALARMS times a
        second."""
        if len(self._alarms) == FALSE_ALARMS and (left := self._alarms[0] + 1.0 - time.monotonic()) > 0:
            await _either(left, stop.wait())
        self._roused = True

    async def _work_once(self, stop: asyncio.Event) -> bool:
        """Claim a job and see it through; False when there is none."""
        context = await self._claim()
        if context is None:
            return False
        job, started = context.job, time.monotonic()
        log.info("job.started", job=str(job.id), kind=job.kind, attempt=job.attempts, worker=self.name)
        with span(f"job {job.kind}", {"cairn.job_id": str(job.id), "cairn.attempt": job.attempts}) as noted:
            ending = await self._attempt(context, stop)
            outcome = await self._settle(context, ending, stop) if ending else "lost"
            noted.add({"cairn.outcome": outcome})
        seconds = round(time.monotonic() - started, 3)
        log.info("job.ended", job=str(job.id), kind=job.kind, outcome=outcome, seconds=seconds, worker=self.name)
        return True

    # --- claiming -----------------------------------------------------------------------------------------------------

    async def _claim(self) -> JobContext | None:
        lease = timedelta(seconds=self._settings().lease_seconds)
        sent_at = time.monotonic()
        claimed = await bounded(ANSWER_SECONDS, self._take(lease))
        self.last_progress = time.monotonic()
        return claimed and JobContext(self._database, *claimed, lease, sent_at)

    async def _take(self, lease: timedelta) -> tuple[Principal, Job] | None:
        kinds = list(filter(self._able, self._handlers))
        async with self._database.connection() as connection:
            if not self._database.is_distributed:
                return await jobs.claim(connection, self.name, kinds, lease)
            claimed = await jobs.claim_any(connection, self.name, kinds, lease)
        if claimed is None:
            return None
        # at another node, so in another transaction: one that fails costs the job an attempt
        async with self._database.transaction(Principal(claimed[0], "")) as connection:
            return await jobs.load_claimed(connection, *claimed)

    # --- one attempt --------------------------------------------------------------------------------------------------

    async def _attempt(self, context: JobContext, stop: asyncio.Event) -> Ending | None:
        """Run the handler beside its heartbeat; how it ended, or None when the job is not ours to settle."""
        handler = asyncio.ensure_future(self._handlers[context.job.kind](context))
        helpers = [asyncio.ensure_future(self._keep_lease(context)), asyncio.ensure_future(self._grace(stop))]
        try:
            await asyncio.wait([handler, *helpers], return_when=asyncio.FIRST_COMPLETED)
            if not handler.done():
                handler.cancel()
                await asyncio.wait([handler], timeout=UNWIND_SECONDS)
            return self._judge(context, handler, stop)
        finally:
            for task in (handler, *helpers):
                task.cancel()

    async def _keep_lease(self, context: JobContext) -> None:
        """Ends when the job was cancelled or lost."""
        while True:
            settings = self._settings()
            # three chances per lease, whatever the settings say
            pause = min(settings.heartbeat_seconds, settings.lease_seconds / 3, max(context.lease_left, 0))
            await _either(pause, context.interrupted.wait())
            if context.interrupted.is_set():
                return
            await context.renew()
            self.last_progress = max(self.last_progress, context.renewed_at)

    async def _grace(self, stop: asyncio.Event) -> None:
        await stop.wait()
        await asyncio.sleep(self._grace_seconds)

    def _judge(
        self, context: JobContext, handler: asyncio.Future[dict[str, Any]], stop: asyncio.Event
    ) -> Ending | None:
        if not handler.done():
            log.error("job.stuck", job=str(context.job.id), kind=context.job.kind, seconds=UNWIND_SECONDS)
            return None
        if not handler.cancelled():
            error = handler.exception()
            return self._failure(context, error) if error else success(handler.result(), context.latest)
        if context.signal == "cancel":
            return CANCELLED
        if context.signal == "lost":
            return None
        return RELEASED if stop.is_set() else self._failure(context, RuntimeError("the handler cancelled itself"))

    def _failure(self, context: JobContext, error: BaseException) -> Ending:
        ending = failure(context.job, error, base=self._settings().retry_seconds, spread=random.random())
        unforeseen = None if isinstance(error, CairnError | NotHereError) else error
        log.warning("job.error", job=str(context.job.id), problem=describe(error), exc_info=unforeseen)
        return ending

    async def _settle(self, context: JobContext, ending: Ending, stop: asyncio.Event) -> str:
        """Record the end, however long the database is away: the work is done, only its record is missing."""
        failures = 0
        while True:
            try:
                kept = await bounded(ANSWER_SECONDS, self._record(context, ending))
                return ending.name if kept else "lost"
            except OUTAGES as error:
                failures += 1
                log.warning("job.unsettled", job=str(context.job.id), problem=describe(error))
                if stop.is_set():
                    return "lost"
                await _either(_pause(failures), stop.wait())
            except Exception as error:
                if ending.name != "succeeded":
                    raise
                # the handler returned what JSON or PostgreSQL cannot hold
                ending = self._failure(context, error)

    async def _record(self, context: JobContext, ending: Ending) -> bool:
        async with self._database.transaction(context.principal) as connection:
            return await ending.record(connection, context.principal, context.job)


def _pause(failures: int) -> float:
    """Seconds until the next try after so many failures in a row, with jitter."""
    return min(0.2 * 2.0 ** min(failures, 10), MAX_PAUSE_SECONDS) * random.uniform(0.5, 1)


async def _either(seconds: float, *waits: Coroutine[Any, Any, Any]) -> None:
    """Until `seconds` have passed or one of the waits is over."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
