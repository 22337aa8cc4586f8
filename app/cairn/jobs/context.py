"""What a handler sees of its job: who asked, how to report, and whether to go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Protocol, TypeVar

import structlog

from cairn.domain.job import Job, JobProgress, Signal
from cairn.domain.principal import Principal
from cairn.errors import reason_of
from cairn.store import jobs

log = structlog.get_logger(__name__)

PROGRESS_SECONDS = 0.5
"""Shortest time between two writes of progress: people read it, and each write is a row version."""

T = TypeVar("T")


class Transactions(Protocol):
    """The part of cairn.db.pool.Database that the queue needs."""

    notifies: bool

    @property
    def is_distributed(self) -> bool: ...

    def connection(self) -> AbstractAsyncContextManager[Any]: ...

    def transaction(self, principal: Principal) -> AbstractAsyncContextManager[Any]: ...


class JobCancelled(asyncio.CancelledError):
    """The job was cancelled or belongs to another worker. No `except Exception` of a handler catches it."""


class JobContext:
    """One attempt at a job, in the hands of its handler."""

    def __init__(
        self, database: Transactions, principal: Principal, job: Job, lease: timedelta, claimed_at: float
    ) -> None:
        """`claimed_at` is the monotonic time before the claim was sent: the lease counts from there."""
        self.principal = principal
        self.job = job
        self.signal: Signal = "go_on"
        self.interrupted = asyncio.Event()
        self.latest: JobProgress | None = None
        self.renewed_at = claimed_at
        self._database = database
        self._lease = lease
        self._written_at = 0.0

    @property
    def lease_left(self) -> float:
        """Seconds for which the job is surely ours; by the monotonic clock, counted from before each renewal."""
        return self.renewed_at + self._lease.total_seconds() - time.monotonic()

    async def progress(
        self, done: int, total: int | None = None, message: str = "", shares: Mapping[str, float] | None = None
    ) -> None:
        """Report. The last report always arrives, those between at most twice a second. Raises JobCancelled."""
        self.latest = JobProgress(done, total, message, dict(shares or {}))
        if time.monotonic() - self._written_at >= PROGRESS_SECONDS:
            await self.renew()
        self.check_cancelled()

    def check_cancelled(self) -> None:
        """Raises JobCancelled when there is no point in going on; for handlers whose work is in threads."""
        if self.signal != "go_on":
            raise JobCancelled(self.signal)

    async def renew(self) -> None:
        """Renew the lease and write the progress. A failure is no news until the lease is over: then it is lost."""
        sent_at = self._written_at = time.monotonic()
        try:
            # asked even after the lease: the database knows whether somebody else has the job
            signal = await bounded(max(self.lease_left, 1.0), self._heartbeat())
        except Exception as error:
            log.warning("job.heartbeat_failed", job=str(self.job.id), problem=reason_of(error))
            signal = "go_on" if self.lease_left > 0 else "lost"
        else:
            self.renewed_at = sent_at
        # once "cancel" or "lost", always so: a late answer of an earlier question changes nothing
        if self.signal == "go_on" != signal:
            self.signal = signal
            self.interrupted.set()

    async def _heartbeat(self) -> Signal:
        async with self._database.transaction(self.principal) as connection:
            return await jobs.heartbeat(connection, self.principal, self.job, self._lease, self.latest)


Handler = Callable[[JobContext], Awaitable[dict[str, Any]]]
"""Does a job and returns its result (a JSON object). It is run again after a crash, so its writes must be idempotent or
be one transaction; long computations belong into threads, since a blocked event loop renews no lease."""


async def bounded(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`. Raises TimeoutError after `seconds` without waiting for it to unwind: on a connection whose
    peer went silent even the rollback hangs, which asyncio.timeout would wait for."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # an abandoned error is no news
    try:
        await asyncio.wait([task], timeout=seconds)
        if not task.done():
            raise TimeoutError(f"no answer from the database within {seconds:.0f} s")
        return task.result()
    finally:
        task.cancel()
