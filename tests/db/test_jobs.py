"""The queue in the database and the worker in this process; tests/faults/test_worker_kill.py has the real crashes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from cairn.db.pool import Database
from cairn.db.queries import load_queries
from cairn.domain.document import Source
from cairn.domain.ids import new_id
from cairn.domain.job import Job, JobProgress, Upload
from cairn.domain.principal import Principal
from cairn.errors import ConflictError, DatabaseUnavailableError, ParseError, ProviderError, SettingsError
from cairn.jobs.context import Handler, JobCancelled, JobContext
from cairn.jobs.outcome import NotHereError
from cairn.jobs.worker import FALSE_ALARMS, Worker
from cairn.settings import Environment, JobsSettings
from cairn.store import jobs
from tests.sharing import SHARED
from tests.waiting import hang_guard, until

pytestmark = SHARED

_numbers = itertools.count(1)
OVER = timedelta(0)
"""A lease that is over at once, as if its worker had died long ago."""
LEASE = timedelta(seconds=30)


@dataclass(frozen=True)
class World:
    dsn: str
    database: Database
    ours: Principal
    theirs: Principal

    async def enqueue(self, kind: str = "work", principal: Principal | None = None, **more: Any) -> Job:
        who = principal or self.ours
        async with self.database.transaction(who) as connection:
            return await jobs.enqueue(connection, who, kind, more.pop("payload", {}), **{"max_attempts": 3, **more})

    async def get(self, job: Job) -> Job:
        async with self.database.transaction(self.ours) as connection:
            found = await jobs.get(connection, self.ours, job.id)
        assert found is not None
        return found

    async def claim(
        self, worker: str = "w1", lease: timedelta = LEASE, kinds: tuple[str, ...] = ("work",)
    ) -> Job | None:
        async with self.database.connection() as connection:
            claimed = await jobs.claim(connection, worker, kinds, lease)
        return claimed and claimed[1]

    async def call(self, function: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        """A store function in a transaction of our tenant."""
        async with self.database.transaction(self.ours) as connection:
            return await function(connection, self.ours, *arguments, **more)

    def worker(self, handler: Handler, **settings: float) -> Worker:
        changed = {"heartbeatSeconds": 0.1, "pollSeconds": 0.1, "retrySeconds": 60, **settings}
        return Worker(self.database, {"work": handler}, lambda: JobsSettings.model_validate(changed), grace_seconds=0.2)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def serving(environment_of_module: Environment) -> AsyncIterator[Database]:
    opened = await Database.open(str(environment_of_module.database_url))
    yield opened
    await opened.close()


@pytest_asyncio.fixture(loop_scope="module")
async def world(environment_of_module: Environment, serving: Database) -> World:
    """Two tenants that only this test has, and no job of another one."""
    dsn, number = str(environment_of_module.database_url), next(_numbers)
    owner = await asyncpg.connect(dsn)
    await owner.execute("TRUNCATE rag.jobs CASCADE")
    rows = await owner.fetch(
        "INSERT INTO rag.tenants (name) VALUES ($1), ($2) RETURNING id, name", f"ours {number}", f"theirs {number}"
    )
    await owner.close()
    return World(dsn, serving, *(Principal(row["id"], row["name"]) for row in rows))


@contextlib.asynccontextmanager
async def running(worker: Worker) -> AsyncIterator[asyncio.Event]:
    stop = asyncio.Event()
    task = asyncio.create_task(worker.run(stop))
    try:
        yield stop
    finally:
        stop.set()
        async with hang_guard():
            await task


async def forever(context: JobContext) -> dict[str, Any]:
    await asyncio.Event().wait()
    return {}


# --- enqueue ----------------------------------------------------------------------------------------------------------


async def test_enqueue_belongs_to_the_callers_transaction(world: World) -> None:
    made = []

    async def broken_request() -> None:
        async with world.database.transaction(world.ours) as connection:
            made.append(await jobs.enqueue(connection, world.ours, "work", {}, max_attempts=3))
            assert await world.claim() is None, "nobody sees it before the commit"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await broken_request()
    assert await world.call(jobs.get, made[0].id) is None
    kept = await world.enqueue(payload={"path": "a.txt"}, max_attempts=5)
    assert (kept.status, kept.attempts, kept.max_attempts, kept.payload) == ("queued", 0, 5, {"path": "a.txt"})
    assert kept == await world.get(kept)


async def test_one_unfinished_job_per_dedupe_key_and_tenant(world: World) -> None:
    first = await world.enqueue(dedupe_key="reindex:a")
    assert (await world.enqueue(dedupe_key="reindex:a")).id == first.id
    assert (await world.enqueue(dedupe_key="reindex:b")).id != first.id
    assert (await world.enqueue(dedupe_key="reindex:a", principal=world.theirs)).id != first.id
    running_job = await world.claim()
    assert running_job is not None
    assert (await world.enqueue(dedupe_key="reindex:a")).id == first.id
    assert await world.call(jobs.finish, running_job, {})
    assert (await world.enqueue(dedupe_key="reindex:a")).id != first.id


async def test_simultaneous_enqueues_with_one_key_make_one_job(world: World) -> None:
    made = await asyncio.gather(*(world.enqueue(dedupe_key="same") for _ in range(12)))
    assert len({job.id for job in made}) == 1


async def test_a_delayed_job_waits(world: World) -> None:
    late = await world.enqueue(delay=timedelta(hours=1))
    soon = await world.enqueue(delay=timedelta(seconds=0.3))
    assert await world.claim() is None
    claimed = await until(world.claim)
    assert claimed.id == soon.id != late.id
    assert await world.claim() is None


# --- claim, lease, fencing --------------------------------------------------------------------------------------------


async def test_claims_the_oldest_job_of_its_kinds(world: World) -> None:
    foreign = await world.enqueue("other kind")
    first, second = await world.enqueue(), await world.enqueue()
    claimed = [await world.claim(), await world.claim(), await world.claim()]
    assert [job and job.id for job in claimed] == [first.id, second.id, None]
    assert claimed[0]
    assert (claimed[0].status, claimed[0].attempts, claimed[0].worker) == ("running", 1, "w1")
    assert (await world.get(foreign)).status == "queued"


async def test_a_job_that_kills_its_worker_is_parked_and_the_queue_goes_on(world: World) -> None:
    poison, healthy = await world.enqueue(), await world.enqueue()
    for attempt in (1, 2, 3):
        taken = await world.claim(lease=OVER)
        assert taken
        assert (taken.id, taken.attempts) == (poison.id, attempt)
    taken = await world.claim()
    assert taken
    assert taken.id == healthy.id, "the claim that parks goes on to the next job"
    parked = await world.get(poison)
    assert (parked.status, parked.attempts, parked.error) == ("parked", 3, "its worker died 3 times")
    assert parked.finished_at is not None
    assert parked.worker is None


async def test_a_death_does_not_hide_the_error_before_it(world: World) -> None:
    job = await world.enqueue(max_attempts=2)
    first = await world.claim()
    await world.call(jobs.fail, first, "no such table", retry_in=OVER)
    await world.claim(lease=OVER)
    assert await world.claim() is None
    assert (
        await world.get(job)
    ).error == "its worker died in attempt 2; an attempt before it failed with: no such table"


async def test_a_zombie_worker_changes_nothing(world: World) -> None:
    job = await world.enqueue()
    zombie, owner = await world.claim("zombie", OVER), await world.claim("owner")
    assert zombie
    assert owner
    assert zombie.id == owner.id == job.id
    before = await world.get(job)
    assert await world.call(jobs.heartbeat, zombie, LEASE, JobProgress(9, 9)) == "lost"
    assert not await world.call(jobs.finish, zombie, {"by": "zombie"})
    assert not await world.call(jobs.fail, zombie, "no", retry_in=OVER)
    assert not await world.call(jobs.fail, zombie, "no")
    assert not await world.call(jobs.park, zombie, "no")
    assert not await world.call(jobs.end_cancelled, zombie)
    assert not await world.call(jobs.release, zombie)
    assert await world.get(job) == before
    assert await world.call(jobs.finish, owner, {"by": "owner"})
    assert not await world.call(jobs.finish, owner, {"by": "owner again"}), "an end is final"
    assert (await world.get(job)).result == {"by": "owner"}


async def test_the_same_worker_is_fenced_from_its_own_earlier_attempt(world: World) -> None:
    await world.enqueue()
    earlier, later = await world.claim("w", OVER), await world.claim("w")
    assert earlier
    assert later
    assert (earlier.attempts, later.attempts) == (1, 2)
    assert not await world.call(jobs.finish, earlier, {})
    assert await world.call(jobs.finish, later, {})


async def test_a_heartbeat_keeps_the_job(world: World) -> None:
    job = await world.enqueue()
    mine = await world.claim(lease=OVER)
    assert mine
    assert await world.call(jobs.heartbeat, mine, LEASE, JobProgress(1, 4, "page 1\x00", {"a\x00": 0.5})) == "go_on"
    assert await world.claim("thief") is None
    assert (await world.get(job)).progress == JobProgress(1, 4, "page 1\ufffd", {"a\ufffd": 0.5})


async def test_what_a_newer_process_says_of_a_job_is_left_out(world: World) -> None:
    job = await world.enqueue()
    owner = await asyncpg.connect(world.dsn)
    await owner.execute("""UPDATE rag.jobs SET progress = '{"done": 1, "total": 2, "mood": "cheerful"}'""")
    await owner.close()
    assert (await world.get(job)).progress == JobProgress(1, 2)


async def test_a_claim_reads_no_ended_jobs(world: World) -> None:
    owner = await asyncpg.connect(world.dsn)
    await owner.execute(
        "INSERT INTO rag.jobs (tenant_id, id, kind, status) SELECT $1, uuidv7(), 'work', 'succeeded'"
        " FROM generate_series(1, 5000)",
        world.ours.tenant_id,
    )
    await owner.execute("ANALYZE rag.jobs")
    await world.enqueue()
    for statement in ("SELECT * FROM rag.claim_job('w', '{work}', '30 s')", "SELECT * FROM rag.queue_state()"):
        async with owner.transaction():
            assert await owner.fetch(statement)
            rows = await owner.fetchval(
                "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'rag.jobs'::regclass"
            )
        assert rows < 10, statement
    await owner.close()


async def test_no_statement_takes_an_instant_from_the_app(world: World) -> None:
    owner = await asyncpg.connect(world.dsn)
    statements = load_queries("jobs")
    for name, text in statements.items():
        types = {kind.name for kind in (await owner.prepare(text)).get_parameters()}
        assert not types & {"timestamptz", "timestamp", "date", "time"}, name
    functions = await owner.fetch(
        "SELECT p.proname FROM pg_proc p, unnest(p.proargtypes) t(kind) WHERE p.pronamespace = 'rag'::regnamespace"
        " AND p.proname IN ('claim_job', 'queue_state') AND t.kind IN ('timestamptz'::regtype, 'timestamp'::regtype)"
    )
    assert functions == []
    await owner.close()


async def test_queue_state_counts_over_all_tenants(world: World) -> None:
    async def state() -> Any:
        async with world.database.connection() as connection:
            return await jobs.queue_state(connection)

    assert (await state()).oldest_runnable_seconds is None
    began = time.monotonic()
    await world.enqueue()
    await world.enqueue(principal=world.theirs)
    await world.enqueue(delay=timedelta(hours=1))
    await world.claim()
    await asyncio.sleep(0.2)
    found = await state()
    assert (found.queued, found.running, found.runnable) == (2, 1, 1)
    assert 0.2 <= found.oldest_runnable_seconds <= time.monotonic() - began


# --- cancel, revive, uploads ------------------------------------------------------------------------------------------


async def add_upload(world: World, job: Job, content: bytes = b"bytes") -> UUID:
    async with world.database.transaction(world.ours) as connection:
        collection = await connection.fetchval(
            "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES ($1, $2, $3, 1) RETURNING id",
            *(world.ours.tenant_id, new_id(), str(new_id())),
        )
        source = Source("docs/a.txt", "a.txt", content, title="A", metadata={"year": 2026})
        return await jobs.add_upload(connection, world.ours, job_id=job.id, collection_id=collection, source=source)


async def test_uploads_come_back_as_they_were(world: World) -> None:
    job = await world.enqueue()
    first, second = await add_upload(world, job, b"\x00\xff"), await add_upload(world, job)
    assert await world.call(jobs.list_uploads, job.id) == [first, second]
    found: Upload = await world.call(jobs.get_upload, first)
    assert found.source == Source("docs/a.txt", "a.txt", b"\x00\xff", title="A", metadata={"year": 2026})
    assert (found.id, found.job_id) == (first, job.id)


@pytest.mark.parametrize(
    ("end", "kept"),
    [
        (lambda world, job: world.call(jobs.finish, job, {}), False),
        (lambda world, job: world.call(jobs.fail, job, "unreadable"), True),
        (lambda world, job: world.call(jobs.end_cancelled, job), False),
        (lambda world, job: world.call(jobs.park, job, "3 times"), True),
        (lambda world, job: world.call(jobs.fail, job, "later", retry_in=LEASE), True),
        (lambda world, job: world.call(jobs.release, job), True),
    ],
    ids=["succeeded", "failed", "cancelled", "parked", "retried", "released"],
)
async def test_uploads_are_kept_until_the_job_is_done(world: World, end: Any, kept: bool) -> None:
    job = await world.enqueue()
    bystander = await add_upload(world, await world.enqueue("other"))
    upload = await add_upload(world, job)
    assert await end(world, await world.claim())
    assert (await world.call(jobs.get_upload, upload) is not None) is kept
    assert await world.call(jobs.get_upload, bystander) is not None


@pytest.mark.parametrize("end", ["parked", "failed"])
async def test_a_parked_or_failed_job_is_revived_with_its_files(world: World, end: str) -> None:
    """Whoever removed the cause needs no second upload; a cancellation that came too late is forgotten."""
    job = await world.enqueue(max_attempts=1)
    upload = await add_upload(world, job)
    mine = await world.claim()
    await world.call(jobs.request_cancel, job.id)
    assert await world.call(jobs.park if end == "parked" else jobs.fail, mine, "no key")
    revived = await world.call(jobs.revive, job.id)
    assert (revived.status, revived.attempts, revived.error, revived.finished_at) == ("queued", 0, None, None)
    again = await world.claim()
    assert again is not None
    assert (again.id, again.attempts, again.cancel_requested) == (job.id, 1, False)
    assert await world.call(jobs.get_upload, upload) is not None
    assert await world.call(jobs.revive, job.id) is None, "a running job is left alone"
    assert await world.call(jobs.finish, again, {})
    assert await world.call(jobs.revive, job.id) is None
    assert await world.call(jobs.get_upload, upload) is None


async def test_a_job_is_not_revived_beside_one_that_does_the_same(world: World) -> None:
    old = await world.enqueue(dedupe_key="reindex:a")
    assert await world.call(jobs.fail, await world.claim(), "broken")
    new = await world.enqueue(dedupe_key="reindex:a")
    with pytest.raises(ConflictError, match="already"):
        await world.call(jobs.revive, old.id)
    assert ((await world.get(old)).status, (await world.get(new)).status) == ("failed", "queued")


async def test_ended_jobs_go_after_their_days(world: World) -> None:
    """Of every tenant, with the files that they kept; younger ones and unfinished ones stay, however old."""
    ended, waiting, young = await world.enqueue(), await world.enqueue("other"), await world.enqueue("third")
    foreign = await world.enqueue("foreign", world.theirs)
    upload = await add_upload(world, ended)
    assert await world.call(jobs.fail, await world.claim(), "broken")
    assert await world.call(jobs.finish, await world.claim(kinds=("third",)), {})
    assert (await world.claim(kinds=("foreign",))) is not None
    owner = await asyncpg.connect(world.dsn)
    await owner.execute("UPDATE rag.jobs SET status = 'parked', finished_at = now(), worker = NULL, lease_until = NULL "
                        "WHERE id = $1", foreign.id)  # fmt: skip
    await owner.execute(
        "UPDATE rag.jobs SET created_at = now() - interval '90 days', run_at = now() - interval '90 days'"
    )
    await owner.execute(
        "UPDATE rag.jobs SET finished_at = finished_at - interval '30 days 1 minute' WHERE id = ANY ($1)",
        [ended.id, foreign.id],
    )
    async with world.database.connection() as connection:
        assert await jobs.expire(connection, 31, 10) == 0
        assert [await jobs.expire(connection, 30, 1) for _ in range(3)] == [1, 1, 0]
    left = {row["id"] for row in await owner.fetch("SELECT id FROM rag.jobs")}
    await owner.close()
    assert left == {waiting.id, young.id}
    assert await world.call(jobs.get_upload, upload) is None


async def test_cancel_of_a_queued_job_ends_it_at_once(world: World) -> None:
    job = await world.enqueue()
    upload = await add_upload(world, job)
    ended = await world.call(jobs.request_cancel, job.id)
    assert (ended.status, ended.cancel_requested) == ("cancelled", True)
    assert ended.finished_at is not None
    assert await world.claim() is None
    assert await world.call(jobs.get_upload, upload) is None


async def test_cancel_of_a_running_job_reaches_its_heartbeat(world: World) -> None:
    job = await world.enqueue()
    mine = await world.claim()
    told = await world.call(jobs.request_cancel, job.id)
    assert (told.status, told.cancel_requested) == ("running", True)
    assert await world.call(jobs.heartbeat, mine, LEASE) == "cancel"
    assert await world.call(jobs.fail, mine, "broke meanwhile", retry_in=OVER)
    assert (await world.get(job)).status == "cancelled", "a cancelled job is not tried again"


async def test_cancel_outlives_the_worker(world: World) -> None:
    job = await world.enqueue()
    upload = await add_upload(world, job)
    await world.claim(lease=OVER)
    await world.call(jobs.request_cancel, job.id)
    assert await world.claim() is None
    assert ((await world.get(job)).status, await world.call(jobs.get_upload, upload)) == ("cancelled", None)


async def test_cancel_of_an_ended_job_changes_nothing(world: World) -> None:
    job = await world.enqueue()
    await world.call(jobs.finish, await world.claim(), {"kept": True})
    before = await world.get(job)
    assert await world.call(jobs.request_cancel, job.id) == before
    assert await world.call(jobs.request_cancel, new_id()) is None


async def test_a_parked_job_can_be_revived_or_cancelled(world: World) -> None:
    job = await world.enqueue()
    assert await world.call(jobs.revive, job.id) is None, "only parked jobs"
    await world.call(jobs.park, await world.claim(), "3 times")
    revived = await world.call(jobs.revive, job.id)
    assert (revived.status, revived.attempts, revived.error) == ("queued", 0, None)
    await world.call(jobs.park, await world.claim(), "again")
    assert (await world.call(jobs.request_cancel, job.id)).status == "cancelled"


async def test_another_tenant_neither_sees_nor_touches_a_job(world: World) -> None:
    job = await world.enqueue()
    upload = await add_upload(world, job)
    mine = await world.claim()
    assert mine
    before = await world.get(job)
    for claimed_id in (world.theirs, world.ours):  # its own id in the statement, and ours: row security stands behind
        async with world.database.transaction(world.theirs) as connection:
            assert await jobs.get(connection, claimed_id, job.id) is None
            assert await jobs.list_(connection, claimed_id) == []
            assert await jobs.request_cancel(connection, claimed_id, job.id) is None
            assert not await jobs.finish(connection, claimed_id, mine, {})
            assert await jobs.heartbeat(connection, claimed_id, mine, LEASE) == "lost"
            assert await jobs.get_upload(connection, claimed_id, upload) is None
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with world.database.transaction(world.theirs) as connection:
            await jobs.enqueue(connection, world.ours, "work", {}, max_attempts=3)
    async with world.database.connection() as connection:
        assert await connection.fetch("SELECT * FROM rag.jobs") == []
    assert await world.get(job) == before


async def test_list_pages_newest_first(world: World) -> None:
    made = [await world.enqueue() for _ in range(5)]
    expected = sorted((job.id for job in made), reverse=True)
    page = await world.call(jobs.list_, limit=3)
    rest = await world.call(jobs.list_, before=page[-1].id)
    assert [job.id for job in page + rest] == expected
    await world.call(jobs.request_cancel, made[0].id)
    assert [job.id for job in await world.call(jobs.list_, status="cancelled")] == [made[0].id]


# --- the worker -------------------------------------------------------------------------------------------------------


async def test_the_worker_runs_jobs_of_all_tenants_as_their_tenant(world: World) -> None:
    seen = []

    async def handler(context: JobContext) -> dict[str, Any]:
        seen.append(context.principal)
        await context.progress(1, 2, "half")
        await context.progress(2, 2, "done")
        return {"pages": context.job.payload.get("pages")}

    job = await world.enqueue(payload={"pages": 7})
    await world.enqueue(principal=world.theirs)
    assert await world.worker(handler).run_until_idle() == 2
    ended = await world.get(job)
    assert (ended.status, ended.result, ended.attempts) == ("succeeded", {"pages": 7}, 1)
    assert ended.progress == JobProgress(2, 2, "done"), "the last report always arrives"
    assert seen == [world.ours, world.theirs]


def raising(error: BaseException) -> Handler:
    async def handler(context: JobContext) -> dict[str, Any]:
        raise error

    return handler


@pytest.mark.parametrize("error", [ParseError("not a PDF"), ProviderError("bad key", retryable=False)])
async def test_an_error_that_will_not_pass_fails_at_once(world: World, error: Exception) -> None:
    job = await world.enqueue()
    assert await world.worker(raising(error), retrySeconds=0).run_until_idle() == 1
    ended = await world.get(job)
    assert (ended.status, ended.attempts, ended.error) == ("failed", 1, str(error))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ProviderError("429", retryable=True), "429"),
        (DatabaseUnavailableError("gone"), "gone"),
        (KeyError("x\x00"), "KeyError: 'x\\x00'"),
        (asyncio.CancelledError(), "RuntimeError: the handler cancelled itself"),
    ],
    ids=repr,
)
async def test_an_error_that_may_pass_is_retried_and_then_parked(world: World, error: BaseException, text: str) -> None:
    job = await world.enqueue()
    assert await world.worker(raising(error), retrySeconds=0).run_until_idle() == 3
    ended = await world.get(job)
    assert (ended.status, ended.attempts, ended.error) == ("parked", 3, text)


async def test_retries_back_off(world: World) -> None:
    job = await world.enqueue()
    assert await world.worker(raising(OSError("busy")), retrySeconds=60).run_until_idle() == 1
    waiting = await world.get(job)
    async with world.database.connection() as connection:
        now = await connection.fetchval("SELECT clock_timestamp()")
    assert (waiting.status, waiting.worker) == ("queued", None)
    assert 20 < (waiting.run_at - now).total_seconds() <= 60


@pytest.mark.parametrize(
    "result", [{"text": "a\x00b"}, {"value": object()}, {"text": "\ud800"}], ids=["nul", "object", "surrogate"]
)
async def test_a_result_that_cannot_be_stored_is_an_error_of_the_job(world: World, result: dict[str, Any]) -> None:
    async def handler(context: JobContext) -> dict[str, Any]:
        return result

    job = await world.enqueue(max_attempts=1)
    next_job = await world.enqueue("work")
    assert await world.worker(handler).run_until_idle() == 2
    ended = await world.get(job)
    assert ended.status == "parked"
    assert ended.error
    assert (await world.get(next_job)).status == "queued", "the queue went on"


async def test_a_running_job_is_cancelled(world: World) -> None:
    job = await world.enqueue()
    async with running(world.worker(forever)):
        await until(lambda: status_is(world, job, "running"))
        await world.call(jobs.request_cancel, job.id)
        await until(lambda: status_is(world, job, "cancelled"), 5)


async def status_is(world: World, job: Job, *wanted: str) -> bool:
    return (await world.get(job)).status in wanted


async def test_a_handler_cannot_swallow_its_cancellation(world: World) -> None:
    swallowed = []

    async def handler(context: JobContext) -> dict[str, Any]:
        for step in range(1000):
            try:
                await context.progress(step, 1000)
                context.check_cancelled()
            except Exception as error:  # as a batch does which goes on with its next file
                swallowed.append(error)
            await asyncio.sleep(0.01)
        return {}

    job = await world.enqueue()
    async with running(world.worker(handler)):
        await until(lambda: status_is(world, job, "running"))
        await world.call(jobs.request_cancel, job.id)
        await until(lambda: status_is(world, job, "cancelled"), 5)
    assert swallowed == []


async def test_check_cancelled_says_so_before_the_handler_is_interrupted(world: World) -> None:
    job = await world.enqueue()
    mine = await world.claim()
    assert mine
    context = JobContext(world.database, world.ours, mine, LEASE, asyncio.get_running_loop().time())
    context.check_cancelled()
    await world.call(jobs.request_cancel, job.id)
    with pytest.raises(JobCancelled):
        await context.progress(1)
    with pytest.raises(JobCancelled):
        context.check_cancelled()


async def test_progress_is_written_at_most_twice_a_second(world: World) -> None:
    owner = await asyncpg.connect(world.dsn)
    await owner.execute(
        "CREATE TABLE public.writes (n int);"
        "CREATE FUNCTION public.count_write() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS"
        " $$ BEGIN INSERT INTO public.writes VALUES (1); RETURN NULL; END $$;"
        "CREATE TRIGGER count_write AFTER UPDATE OF progress ON rag.jobs"
        " FOR EACH ROW EXECUTE FUNCTION public.count_write()"
    )

    async def handler(context: JobContext) -> dict[str, Any]:
        for step in range(500):
            await context.progress(step + 1, 500)
        return {}

    job = await world.enqueue()
    assert await world.worker(handler, heartbeatSeconds=5).run_until_idle() == 1
    assert (await world.get(job)).progress == JobProgress(500, 500)
    assert 3 <= await owner.fetchval("SELECT count(*) FROM public.writes") < 10  # claim, first report, end, and time
    await owner.execute("DROP FUNCTION public.count_write CASCADE; DROP TABLE public.writes")
    await owner.close()


async def test_a_stop_gives_the_job_back_uncounted(world: World) -> None:
    job = await world.enqueue()
    async with running(world.worker(forever)) as stop:
        await until(lambda: status_is(world, job, "running"))
        stop.set()
    released = await world.get(job)
    assert (released.status, released.attempts, released.worker) == ("queued", 0, None)
    next_one = await world.claim("another")
    assert next_one
    assert next_one.id == job.id


async def test_a_stop_lets_a_job_end_within_the_grace(world: World) -> None:
    started = asyncio.Event()

    async def handler(context: JobContext) -> dict[str, Any]:
        started.set()
        await asyncio.sleep(0.1)
        return {"ended": True}

    job, waiting = await world.enqueue(), await world.enqueue()
    async with running(world.worker(handler)) as stop:
        await started.wait()
        stop.set()
    assert (await world.get(job)).result == {"ended": True}
    assert (await world.get(waiting)).attempts == 0, "a worker that stops claims nothing more"


async def test_an_idle_worker_is_woken_by_the_commit(world: World) -> None:
    async def handler(context: JobContext) -> dict[str, Any]:
        return {}

    async def listens() -> bool:
        return bool(
            await owner.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'"
            )
        )

    owner = await asyncpg.connect(world.dsn)
    async with running(world.worker(handler, pollSeconds=3600)):
        await until(listens)
        job = await world.enqueue()
        await until(lambda: status_is(world, job, "succeeded"))
    await owner.close()


async def test_polling_finds_work_without_a_notification(world: World) -> None:
    async def handler(context: JobContext) -> dict[str, Any]:
        return {}

    async with running(world.worker(handler, pollSeconds=0.2)):
        job = await world.enqueue(delay=timedelta(seconds=0.5))  # of its commit is told while it is not due
        await until(lambda: status_is(world, job, "succeeded"), 5)


async def test_last_progress_moves_while_idle_and_while_busy(world: World) -> None:
    worker = world.worker(forever)

    async def moved() -> bool:
        return worker.last_progress > before

    async with running(worker):
        before = worker.last_progress
        await until(moved)
        job = await world.enqueue()
        await until(lambda: status_is(world, job, "running"))
        before = worker.last_progress
        await until(moved)


# --- who can do it ----------------------------------------------------------------------------------------------------


async def test_a_job_is_left_to_a_worker_that_can_do_it(world: World) -> None:
    async def work(context: JobContext) -> dict[str, Any]:
        return {"by": context.job.worker}

    job = await world.enqueue()
    unable = Worker(world.database, {"work": work}, JobsSettings, "unable", able=lambda kind: kind != "work")
    assert await unable.run_until_idle() == 0
    assert (await world.get(job)).attempts == 0
    assert await Worker(world.database, {"work": work}, JobsSettings, "able").run_until_idle() == 1
    assert (await world.get(job)).result == {"by": "able"}


@pytest.mark.parametrize("lacking", [NotHereError("no chat model here"), SettingsError("no chat model here")])
async def test_a_job_that_turns_out_to_need_another_process_goes_back(world: World, lacking: Exception) -> None:
    async def work(context: JobContext) -> dict[str, Any]:
        raise lacking

    job = await world.enqueue()
    assert await world.worker(work).run_until_idle() == 1
    back = await world.get(job)
    assert (back.status, back.attempts, back.worker, back.error) == ("queued", 0, None, "no chat model here")


async def test_a_flood_of_notifications_wakes_an_idle_worker_seldom(world: World) -> None:
    """Whoever may connect may notify: an analyst, for example."""
    looked, done, stop = list[str](), asyncio.Event(), asyncio.Event()

    async def handle(_: JobContext) -> dict[str, Any]:
        done.set()
        return {}

    worker = Worker(
        world.database, {"work": handle}, lambda: JobsSettings.model_validate({"pollSeconds": 1}),
        able=lambda kind: looked.append(kind) is None,
    )  # fmt: skip
    running, clock = asyncio.create_task(worker.run(stop)), asyncio.get_running_loop()
    stranger = await asyncpg.connect(world.dsn)
    try:
        began = clock.time()
        for _ in range(3000):
            await stranger.execute("NOTIFY cairn_jobs, 'forged'")
        assert len(looked) <= (FALSE_ALARMS + 2) * (clock.time() - began + 1)
        await world.enqueue()
        async with hang_guard():
            await done.wait()
    finally:
        await stranger.close()
        stop.set()
        await running
