"""Workers that are killed, stopped, frozen or cut off: every job still ends exactly as it should."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from database_proxy import database_proxy
from serving import starter
from starter import StartedProcess

from cairn.db.pool import Database
from cairn.domain.job import Job
from cairn.domain.principal import Principal
from cairn.jobs.context import JobContext
from cairn.jobs.worker import ANSWER_SECONDS, Worker
from cairn.settings import JobsSettings
from cairn.store import jobs
from tests.waiting import hang_guard, patience, until

pytestmark = pytest.mark.fault

LEASE = 60.0
"""So long that no machine stalls as long: what waits for its end calls `Yard.expire`."""
GIVE_UP_SECONDS = 2.0
"""After which a pool whose connections are cut is left alone."""
SETTINGS = {"leaseSeconds": LEASE, "heartbeatSeconds": 0.3, "pollSeconds": 0.1, "retrySeconds": 0.1}


class Yard:
    """A tenant with its queue, and the worker processes that serve it."""

    def __init__(self, dsn: str, database: Database, principal: Principal, folder: Path) -> None:
        self.dsn = dsn
        self.database = database
        self.principal = principal
        self._journal = folder / "journal"
        self._journal.touch()
        self._processes: list[StartedProcess] = []

    async def enqueue(self, kind: str = "work", seconds: float = 0) -> Job:
        async with self.database.transaction(self.principal) as connection:
            return await jobs.enqueue(connection, self.principal, kind, {"seconds": seconds}, max_attempts=3)

    async def get(self, job: Job) -> Job:
        async with self.database.transaction(self.principal) as connection:
            found = await jobs.get(connection, self.principal, job.id)
        assert found is not None
        return found

    async def until(self, job: Job, status: str, seconds: float = 20) -> Job:
        async with hang_guard(seconds):
            while True:
                if (found := await self.get(job)).status == status:
                    return found
                await asyncio.sleep(0.05)

    def start(self) -> StartedProcess:
        program = Path(__file__).with_name("worker_process.py")
        log = self._journal.with_suffix(".log")
        process = starter().start(
            dict(os.environ), log, str(program), self.dsn, str(self._journal), json.dumps(SETTINGS)
        )
        self._processes.append(process)
        return process

    async def expire(self, job: Job) -> None:
        """As if the job's lease were over."""
        owner = await asyncpg.connect(self.dsn)
        await owner.execute(
            "UPDATE rag.jobs SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1 AND status = 'running'",
            job.id,
        )
        await owner.close()

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        noted = [json.loads(line) for line in self._journal.read_text().splitlines()]
        return [event for event in noted if event["event"] in kinds]

    async def started(self, job: Job, times: int = 1) -> dict[str, Any]:
        """The journal's entry of the job's start number `times`."""
        found: list[dict[str, Any]] = []
        async with hang_guard(20):
            while len(found) < times:
                await asyncio.sleep(0.02)
                found = [event for event in self.events("start") if event["job"] == str(job.id)]
        return found[times - 1]

    def end_all(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


@pytest.fixture
async def yard(database: str, tmp_path: Path) -> AsyncIterator[Yard]:
    owner = await asyncpg.connect(database)
    tenant_id = await owner.fetchval("INSERT INTO rag.tenants (name) VALUES ('yard') RETURNING id")
    await owner.close()
    serving = await Database.open(database)
    yard = Yard(database, serving, Principal(tenant_id, "yard"), tmp_path)
    yield yard
    yard.end_all()
    await serving.close()


@pytest.fixture
def socket_folder() -> Iterator[Path]:
    """Paths of sockets must be short, which pytest's tmp_path is not."""
    with tempfile.TemporaryDirectory(prefix="cairn-") as name:
        yield Path(name)


async def test_workers_never_run_the_same_job(yard: Yard) -> None:
    made = [await yard.enqueue(seconds=0.002) for _ in range(200)]
    for _ in range(3):
        yard.start()
    for job in made:
        await yard.until(job, "succeeded", 60)
    runs = Counter(event["job"] for event in yard.events("start"))
    assert runs == Counter(str(job.id) for job in made), "each exactly once"
    assert len({event["pid"] for event in yard.events("start")}) > 1, "the test is void unless several took part"
    assert {(await yard.get(job)).attempts for job in made} == {1}


async def test_the_job_of_a_killed_worker_resumes_when_its_lease_is_over(yard: Yard) -> None:
    job = await yard.enqueue(seconds=1)
    first = yard.start()
    await yard.started(job)
    first.send_signal(signal.SIGKILL)
    first.wait()
    yard.start()
    following = await yard.enqueue()
    await yard.until(following, "succeeded")
    assert len(yard.events("start")) == 2, "its lease is not over"
    await yard.expire(job)
    again = await yard.started(job, times=2)
    ended = await yard.until(job, "succeeded")
    assert (ended.attempts, ended.result, ended.error) == (2, {"pid": again["pid"]}, None)


async def test_a_job_that_kills_its_worker_is_parked_after_three_attempts(yard: Yard) -> None:
    poison = await yard.enqueue("poison")
    others = [await yard.enqueue(seconds=0.05) for _ in range(5)]

    async def supervise() -> None:
        """Starts the worker again whenever it dies, as a process manager does."""
        while True:
            await asyncio.to_thread(yard.start().wait)
            await yard.expire(poison)

    supervisor = asyncio.create_task(supervise())
    try:
        for job in others:
            assert (await yard.until(job, "succeeded", 30)).attempts == 1
        parked = await yard.until(poison, "parked", 60)
        later = await yard.enqueue()
        await yard.until(later, "succeeded")
    finally:
        supervisor.cancel()
    assert (parked.attempts, parked.error) == (3, "its worker died 3 times")
    assert sum(event["job"] == str(poison.id) for event in yard.events("start")) == 3


async def test_a_worker_that_was_frozen_finds_itself_fenced(yard: Yard) -> None:
    job = await yard.enqueue(seconds=1.5)
    zombie = yard.start()
    await yard.started(job)
    zombie.send_signal(signal.SIGSTOP)
    await yard.expire(job)
    heir = yard.start()
    await yard.started(job, times=2)
    zombie.send_signal(signal.SIGCONT)
    ended = await yard.until(job, "succeeded")
    assert (ended.attempts, ended.result) == (2, {"pid": heir.pid})
    heir.kill()
    following = await yard.enqueue()
    served = await yard.until(following, "succeeded")
    assert served.result == {"pid": zombie.pid}, "the fenced worker goes on with other jobs"
    assert (await yard.get(job)).result == {"pid": heir.pid}


async def test_a_worker_that_is_asked_to_stop_gives_its_job_back(yard: Yard) -> None:
    job = await yard.enqueue(seconds=60)
    process = yard.start()
    await yard.started(job)
    process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(process.wait, patience()) == 0
    released = await yard.get(job)
    assert (released.status, released.attempts) == ("queued", 0)


# --- the database goes away -------------------------------------------------------------------------------------------

Work = Callable[[JobContext], Awaitable[dict[str, Any]]]


@contextlib.asynccontextmanager
async def cut_off_worker(dsn: str, handler: Work, **settings: float) -> AsyncIterator[Worker]:
    database = await Database.open(dsn)
    changed = JobsSettings.model_validate({**SETTINGS, **settings})
    worker, stop = Worker(database, {"work": handler}, lambda: changed, grace_seconds=0.2), asyncio.Event()
    task = asyncio.create_task(worker.run(stop))
    try:
        yield worker
    finally:
        stop.set()
        async with hang_guard(ANSWER_SECONDS + 10):
            await task
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(database.close(), GIVE_UP_SECONDS)


@pytest.mark.siege
async def test_an_outage_while_idle_is_survived(yard: Yard, socket_folder: Path) -> None:
    async def handler(context: JobContext) -> dict[str, Any]:
        return {}

    async with database_proxy(yard.dsn, socket_folder) as proxy, cut_off_worker(proxy.dsn, handler) as worker:
        await yard.until(await yard.enqueue(), "succeeded")
        await proxy.cut()
        waiting = await yard.enqueue()
        await until(lambda: time.monotonic() - worker.last_progress > 4)  # readiness can see that nothing moves
        assert (await yard.get(waiting)).status == "queued"
        connected = time.monotonic()
        await proxy.connect()
        await yard.until(waiting, "succeeded", 30)
        await until(lambda: worker.last_progress > connected)


@pytest.mark.siege
async def test_a_job_that_ends_during_an_outage_keeps_its_result(yard: Yard, socket_folder: Path) -> None:
    started, outage, finished = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(context: JobContext) -> dict[str, Any]:
        started.set()
        await outage.wait()
        finished.set()
        return {"attempt": context.job.attempts}

    async with (
        database_proxy(yard.dsn, socket_folder) as proxy,
        cut_off_worker(proxy.dsn, handler),
    ):
        job = await yard.enqueue()
        await asyncio.wait_for(started.wait(), patience())
        await proxy.cut()
        outage.set()
        await finished.wait()
        await asyncio.sleep(2)
        await proxy.connect()
        ended = await yard.until(job, "succeeded", 30)
    assert (ended.attempts, ended.result) == (1, {"attempt": 1})


@pytest.mark.siege
async def test_a_worker_on_a_silent_network_lets_go_when_its_lease_is_over(yard: Yard, socket_folder: Path) -> None:
    started = asyncio.Event()
    interrupted_at: list[float] = []

    async def handler(context: JobContext) -> dict[str, Any]:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            interrupted_at.append(time.monotonic())
            raise
        return {}

    async with database_proxy(yard.dsn, socket_folder) as proxy, cut_off_worker(proxy.dsn, handler, leaseSeconds=6):
        job = await yard.enqueue(seconds=1)
        await asyncio.wait_for(started.wait(), patience())
        proxy.freeze()
        await until(lambda: interrupted_at)
        yard.start()
        again = await yard.started(job)
        ended = await yard.until(job, "succeeded")
        assert (ended.attempts, ended.result) == (2, {"pid": again["pid"]})
        await proxy.cut()
