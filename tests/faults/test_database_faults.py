"""Locks that somebody holds, processes that hang, networks that drop and delay, pools that are used up, clocks that jump: a
clear error in bounded time, nothing lost, and service again as soon as the fault is gone."""

from __future__ import annotations

import asyncio
import contextlib
import random
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from database_proxy import DatabaseProxy, database_proxy
from recounts import faults

from cairn.db import pool
from cairn.db.pool import Database
from cairn.domain.document import Indexed
from cairn.errors import CairnError, DatabaseUnavailableError, QueryTimeoutError
from cairn.service.documents import get_collection, index_later, index_now
from cairn.service.jobs import get_job
from cairn.service.runs import get_run
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import Services, open_services
from tests.documents import find, index_texts, text_source
from tests.waiting import hang_guard, until

pytestmark = pytest.mark.fault


@pytest.fixture
async def services(database: str, tmp_path: Path) -> AsyncIterator[Services]:
    environment = read_environment(
        {"CAIRN_DATABASE_URL": database, "CAIRN_HOME": str(tmp_path), "CAIRN_TENANT": "default"}
    )
    async with open_services(environment, SettingsStore()) as opened:
        yield opened


@pytest.fixture
async def owner(database: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


@pytest.fixture
def socket_folder() -> Iterator[Path]:
    """Paths of sockets must be short, which pytest's tmp_path is not."""
    with tempfile.TemporaryDirectory(prefix="cairn-") as name:
        yield Path(name)


@contextlib.asynccontextmanager
async def through(proxy: DatabaseProxy, services: Services) -> AsyncIterator[Services]:
    """The same services, with a pool of their own behind the proxy."""
    database = await Database.open(proxy.dsn)
    try:
        yield replace(services, database=database, search_deps=replace(services.search_deps, database=database))
    finally:
        database._pool.terminate()  # a proxy that answers no more answers no goodbye either


# --- locks ------------------------------------------------------------------------------------------------------------


@pytest.mark.siege
async def test_a_lock_that_somebody_holds_takes_no_connection_for_long(
    services: Services, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an owner's session that was left open, or a migration by hand."""
    monkeypatch.setitem(pool._LIMITS, "lock_timeout", "300ms")
    await index_texts(services, {"kept": "A stone on the ridge."})
    async with owner.transaction():
        await owner.execute("LOCK TABLE rag.documents IN ACCESS EXCLUSIVE MODE")
        writes = [index_texts(services, {f"d{n}": f"Stone {n}."}) for n in range(8)]
        async with hang_guard():
            refused = await asyncio.gather(*writes, return_exceptions=True)
        assert all(isinstance(one, DatabaseUnavailableError | AssertionError) for one in refused), refused
        async with services.database.connection() as connection:
            assert await connection.fetchval("SELECT 1") == 1, "the pool is free for what needs no such lock"
    monkeypatch.undo()
    await index_texts(services, {"later": "Another stone on the ridge."})
    assert {one.external_id for one in (await find(services, "stone ridge")).passages} == {"kept", "later"}


async def test_a_transaction_of_a_process_that_hangs_is_ended(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await index_texts(services, {"kept": "A stone on the ridge."})
    held, let_go = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        monkeypatch.setitem(pool._LIMITS, "idle_in_transaction_session_timeout", "300ms")
        async with services.database.transaction(services.principal) as connection:
            await connection.execute("SELECT * FROM rag.collections FOR UPDATE")
            held.set()
            await let_go.wait()

    hanging = asyncio.create_task(hang())
    await held.wait()
    monkeypatch.undo()
    async with hang_guard():
        await index_texts(services, {"kept": "Another stone on the ridge."})
    let_go.set()
    with pytest.raises(DatabaseUnavailableError):
        await hanging


# --- networks ---------------------------------------------------------------------------------------------------------


@pytest.mark.siege
async def test_a_network_that_went_silent_takes_no_connection_for_long(
    services: Services, database: str, socket_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "ANSWER_SECONDS", 0.5)
    await index_texts(services, {"kept": "A stone on the ridge."})
    async with database_proxy(database, socket_folder) as proxy, through(proxy, services) as remote:
        assert (await find(remote, "stone", cache=False)).passages
        proxy.freeze()
        async with hang_guard():
            with pytest.raises(CairnError) as caught:
                async with remote.database.transaction(remote.principal) as connection:
                    await connection.fetchval("SELECT 1")
        assert isinstance(caught.value, DatabaseUnavailableError | QueryTimeoutError)
        await proxy.cut()
        await proxy.connect()
        async with hang_guard():
            await until(lambda: _answers(remote))


async def _answers(services: Services) -> bool:
    with contextlib.suppress(CairnError):
        return bool((await find(services, "stone", cache=False)).passages)
    return False


@pytest.mark.siege
async def test_nothing_is_lost_on_a_network_that_drops_and_delays(
    services: Services, database: str, owner: Any, socket_folder: Path
) -> None:
    """One packet in 150 breaks its connection, others come late: what was acknowledged is there, whole."""
    chance, known = random.Random(3), dict[str, str | None]()
    async with database_proxy(database, socket_folder) as proxy, through(proxy, services) as remote:
        proxy.trouble(lambda: None if chance.random() < 1 / 150 else chance.choice([0, 0, 0, 0.01, 0.03]))

        async def write(number: int) -> None:
            for turn in range(6):
                name, text = f"d{number}-{turn % 3}", f"Stone {turn} of writer {number} lies on the ridge. " * 20
                known[name] = None  # unknown: the old one or the new one
                with contextlib.suppress(CairnError):
                    (outcome,) = await index_now(remote, "test", [text_source(name, text)])
                    if isinstance(outcome, Indexed):
                        known[name] = text.strip()
                with contextlib.suppress(CairnError):
                    await find(remote, "stone ridge", cache=False)

        async with hang_guard(60):
            while not any(known.values()):  # the test is void unless some got through
                await asyncio.gather(*(write(number) for number in range(3)))
        proxy.trouble(float)
        async with hang_guard():
            await until(lambda: _answers(remote))
    assert await faults(owner) == {}
    stored = {
        row["external_id"]: row["text"].strip()
        for row in await owner.fetch(
            "SELECT d.external_id, t.text FROM rag.documents d JOIN rag.document_texts t ON t.document_id = d.id"
        )
    }
    acknowledged = {name: text for name, text in known.items() if text}
    assert {name: stored.get(name) for name in acknowledged} == acknowledged


# --- pools ------------------------------------------------------------------------------------------------------------


async def test_a_pool_that_is_used_up_says_so_and_serves_again(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await index_texts(services, {"kept": "A stone on the ridge."})
    monkeypatch.setattr(pool, "ACQUIRE_SECONDS", 0.3)
    async with contextlib.AsyncExitStack() as held:
        for _ in range(4):
            await held.enter_async_context(services.database.connection())
        async with hang_guard():
            with pytest.raises(DatabaseUnavailableError, match="connection"):
                await get_collection(services, "test")
    monkeypatch.undo()
    async with hang_guard(30):
        found = await asyncio.gather(*(find(services, f"stone {n}", cache=False) for n in range(40)))
    assert all(one.passages and not one.degraded for one in found), "a pool of four serves forty, one after the other"


# --- clocks and leases ------------------------------------------------------------------------------------------------


async def test_a_clock_that_was_set_back_leaves_nothing_waiting(services: Services, owner: Any) -> None:
    """What was written while the database's clock was a day ahead: a job that was due, the lease of a dead worker, a run."""
    job = await index_later(services, "test", [text_source("one", "A stone on the ridge.")])
    await owner.execute("UPDATE rag.jobs SET run_at = run_at + interval '1 day'")
    assert await services.worker().run_until_idle() >= 1
    assert (await get_job(services, job.id)).status == "succeeded"
    job = await index_later(services, "test", [text_source("two", "Another stone.")])
    await owner.execute(
        "UPDATE rag.jobs SET status = 'running', worker = 'dead', attempts = 1, "
        "lease_until = clock_timestamp() + interval '1 day' WHERE id = $1", job.id,
    )  # fmt: skip
    await services.worker().run_until_idle()
    ended = await get_job(services, job.id)
    assert (ended.status, ended.attempts) == ("succeeded", 2)
    run_id = await owner.fetchval(
        "INSERT INTO rag.resumable_runs (tenant_id, id, surface, owner, lease_until) "
        "VALUES ($1, gen_random_uuid(), 'query', gen_random_uuid(), clock_timestamp() + interval '1 day') RETURNING id",
        services.principal.tenant_id,
    )
    assert (await get_run(services, run_id)).status == "failed", "its process is gone"


@pytest.mark.siege
async def test_a_lease_that_is_stolen_in_the_middle_ends_the_job_once(services: Services, owner: Any) -> None:
    """As if the database's clock had jumped ahead under a worker that lives: another one takes the job, both index the same
    documents, and one of them ends it."""
    sources = [text_source(f"d{n}", f"Stone {n} lies on ridge {n}. " * 20) for n in range(24)]
    job = await index_later(services, "test", sources)
    first = asyncio.create_task(services.worker().run_until_idle())

    async def begun() -> bool:
        return bool(await owner.fetchval("SELECT count(*) > 3 FROM rag.documents WHERE status = 'indexed'"))

    await until(begun)

    async def steal() -> int:
        stolen = await owner.execute(
            "UPDATE rag.jobs SET lease_until = clock_timestamp() WHERE id = $1 AND status = 'running'", job.id
        )
        assert stolen == "UPDATE 1", "stolen too late: the test is void"
        return await services.worker().run_until_idle()

    async with hang_guard(60):
        while not await steal():  # the first one had the row in its hands just then, or has taken its lease back
            pass
        await first
    ended = await get_job(services, job.id)
    assert (ended.status, ended.attempts) == ("succeeded", 2)
    assert await faults(owner) == {}
    assert (await get_collection(services, "test")).document_count == len(sources)
