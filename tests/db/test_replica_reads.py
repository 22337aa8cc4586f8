"""Reads on a real standby: never older than what this process has committed, and never an error while the primary lives."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cairn.db import replicas, runtime
from cairn.db.embedded import EmbeddedServer
from cairn.db.migrate import migrate
from cairn.db.pool import Database
from cairn.db.replicas import Replica, eligible, reading_contents, reads_contents, waiting_statement
from cairn.domain.document import Source
from cairn.domain.principal import Principal
from cairn.service.access import set_folder_access
from cairn.service.authenticate_local import KeyRing
from cairn.service.documents import delete_collection, get_collection, index_now, list_collections
from cairn.settings import ReplicaSettings, Settings, SettingsStore, read_environment
from cairn.store import collections
from cairn.wiring import open_services
from tests.standby import Pair, primary_and_standby
from tests.waiting import hang_guard, until

TENANT = Principal(1, "one")
PAIRS = 1000


@pytest.fixture(scope="module")
def pair(server: EmbeddedServer) -> Iterator[Pair]:
    with primary_and_standby(server.home / "postgres" / runtime.VERSION) as running:
        asyncio.run(migrate(running.primary.dsn))
        asyncio.run(running.primary.run("SELECT rag.ensure_tenant('one')"))
        yield running


@asynccontextmanager
async def opened(pair: Pair, *, size: int = 4, most_lag: float = 30.0) -> AsyncIterator[Database]:
    """Serving from both, as soon as the standby is used."""
    database = await Database.open(
        pair.primary.dsn, replicas=[pair.standby.dsn], most_lag_seconds=lambda: most_lag, max_size=size
    )
    try:
        await pair.catch_up()
        await until(lambda: problem(database) is None)
        yield database
    finally:
        await database.close()


def problem(database: Database) -> str | None:
    return database.replicas().replicas[0].problem


def reads(database: Database) -> int:
    return database.replicas().replicas[0].reads


async def write(database: Database, name: str) -> None:
    async with database.transaction(TENANT) as connection:
        await collections.ensure(connection, TENANT, name)


@reads_contents
async def is_there(database: Database, name: str) -> bool:
    async with database.transaction(TENANT, readonly=True) as connection:
        return bool(await connection.fetchval("SELECT count(*) FROM rag.collections WHERE name = $1", name))


@reads_contents
async def where(database: Database) -> str:
    """Which server answers a read of contents now."""
    return await where_any(database)


async def where_any(database: Database) -> str:
    """Which server answers what nothing is said about."""
    async with database.reading(TENANT) as connection:
        return "standby" if await connection.fetchval("SELECT pg_is_in_recovery()") else "primary"


@pytest.mark.siege
async def test_a_thousand_reads_after_writes_are_never_stale_and_nearly_all_on_the_standby(pair: Pair) -> None:
    async with opened(pair) as database:
        before, stale = reads(database), 0
        for number in range(PAIRS):
            await write(database, f"pair-{number}")
            await asyncio.sleep(0.01)  # about what embedding a query takes
            stale += not await is_there(database, f"pair-{number}")
        assert stale == 0
        assert reads(database) - before >= 0.95 * PAIRS


@pytest.mark.siege
async def test_with_replay_paused_reads_go_to_the_primary_until_it_goes_on(pair: Pair) -> None:
    async with opened(pair) as database:
        await pair.standby.run("SELECT pg_wal_replay_pause()")
        await until(lambda: pair.standby.run("SELECT pg_get_wal_replay_pause_state() = 'paused'"))
        assert await where(database) == "standby", "nothing was written, so it is not behind"
        await write(database, "while-paused")
        for _ in range(20):
            assert await is_there(database, "while-paused")
            assert await where(database) == "primary"
        await pair.standby.run("SELECT pg_wal_replay_resume()")
        await pair.catch_up()
        assert await where(database) == "standby"
        assert await is_there(database, "while-paused")


def test_what_waits_is_said_as_version_19_takes_it() -> None:
    assert waiting_statement(18, 0x1000000FF) is None
    assert waiting_statement(19, 0x1000000FF) == "WAIT FOR LSN '1/FF' WITH (TIMEOUT '50ms', NO_THROW)"


async def test_a_replica_that_takes_no_such_statement_is_asked_once(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is taken for a version that has the statement; the primary answers, and the replica is used when it is far enough."""
    monkeypatch.setattr(replicas, "WAITING_SINCE", 15)
    async with opened(pair) as database:
        await pair.standby.run("SELECT pg_wal_replay_pause()")
        await until(lambda: pair.standby.run("SELECT pg_get_wal_replay_pause_state() = 'paused'"))
        for name in ("first", "second"):
            await write(database, name)
            assert await is_there(database, name)
        await pair.standby.run("SELECT pg_wal_replay_resume()")
        await pair.catch_up()
        assert await where(database) == "standby"
    assert pair.standby.log.count('syntax error at or near "WAIT"') == 1


async def test_bookkeeping_keeps_no_read_from_the_standby(pair: Pair) -> None:
    async with opened(pair) as database:
        await pair.standby.run("SELECT pg_wal_replay_pause()")
        try:
            async with database.bookkeeping.transaction(TENANT) as connection:
                await collections.ensure(connection, TENANT, "bookkept")
            assert await where(database) == "standby"
            async with database.primary.transaction(TENANT, readonly=True) as connection:
                assert not await connection.fetchval("SELECT pg_is_in_recovery()")
        finally:
            await pair.standby.run("SELECT pg_wal_replay_resume()")


async def test_who_may_read_what_counts_at_once_in_other_processes(pair: Pair, tmp_path: Path) -> None:
    own = {"CAIRN_DATABASE_URL": pair.primary.dsn, "CAIRN_HOME": str(tmp_path), "CAIRN_EMBEDDING_MODEL": "minilm"}
    async with (
        open_services(read_environment(own), SettingsStore()) as elsewhere,
        opened(pair, most_lag=3600) as database,
    ):
        await index_now(elsewhere, "staff", [Source("hr/pay.md", "pay.md", b"Marie earns 4811.")])
        listening = asyncio.create_task(KeyRing(database).listen())
        try:
            await pair.catch_up()
            await until(lambda: where_now(database, "standby"))
            await pair.standby.run("SELECT pg_wal_replay_pause()")
            await until(lambda: pair.standby.run("SELECT pg_get_wal_replay_pause_state() = 'paused'"))
            await set_folder_access(elsewhere, "staff", "hr", ["group:hr"])
            await until(lambda: where_now(database, "primary"))
            await pair.standby.run("SELECT pg_wal_replay_resume()")
            await until(lambda: where_now(database, "standby"))
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            await pair.standby.run("SELECT pg_wal_replay_resume()")


async def where_now(database: Database, server: str) -> bool:
    return await where(database) == server


@pytest.mark.siege
async def test_one_that_is_further_behind_than_allowed_is_not_used(pair: Pair, tmp_path: Path) -> None:
    own = {"CAIRN_DATABASE_URL": pair.primary.dsn, "CAIRN_REPLICA_URL": pair.standby.dsn, "CAIRN_HOME": str(tmp_path)}
    store = SettingsStore(initial=Settings(replicas=ReplicaSettings(max_lag_seconds=0.5)))
    async with open_services(read_environment(own), store) as services:
        database = services.database
        await pair.catch_up()
        await until(lambda: problem(database) is None)
        await pair.standby.run("SELECT pg_wal_replay_pause()")
        try:
            await pair.primary.run("UPDATE rag.tenants SET name = name WHERE id = 1")  # by somebody else
            await until(lambda: problem(database) is not None)
            assert "behind" in str(problem(database))
            assert await where(database) == "primary"
            (state,) = database.replicas().replicas
            assert (state.lag_bytes or 0) > 0
            assert 0.5 < (state.lag_seconds or 0) < 30, "the setting, and not what it is where nothing is set"
        finally:
            await pair.standby.run("SELECT pg_wal_replay_resume()")
        await until(lambda: problem(database) is None)
        assert await where(database) == "standby"
        assert database.replicas().replicas[0].lag_bytes == 0


@pytest.mark.sweep(2)
@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGINT])
async def test_a_standby_that_ends_costs_no_read_and_comes_back(pair: Pair, how: signal.Signals) -> None:
    async with opened(pair) as database:
        with reading_contents():
            async with database.transaction(TENANT, readonly=True) as connection:
                assert await connection.fetchval("SELECT pg_is_in_recovery()")
                await asyncio.to_thread(pair.standby.stop, how)
                assert not await connection.fetchval("SELECT pg_is_in_recovery()"), "it goes on at the primary"
        for number in range(20):
            await write(database, f"ended-{how}-{number}")
            assert await is_there(database, f"ended-{how}-{number}")
        assert problem(database) is not None
        await asyncio.to_thread(pair.standby.start)
        await until(lambda: problem(database) is None, 40)
        assert await where(database) == "standby"


@pytest.mark.siege
async def test_a_standby_that_hangs_costs_no_read(pair: Pair) -> None:
    async with opened(pair) as database:
        try:
            with reading_contents():
                async with database.transaction(TENANT, readonly=True) as connection:
                    assert await connection.fetchval("SELECT pg_is_in_recovery()")
                    pair.standby.freeze(stopped=True)
                    assert await connection.fetchval("SELECT 1", timeout=12) == 1
                    assert not await connection.fetchval("SELECT pg_is_in_recovery()")
                    assert await where(database) == "primary"
            async with hang_guard(20):
                assert await is_there(database, "nothing") is False
        finally:
            pair.standby.freeze(stopped=False)
        await until(lambda: problem(database) is None, 40)


async def test_the_limit_of_a_slow_statement_is_no_failure_of_the_standby(pair: Pair) -> None:
    with reading_contents():
        async with opened(pair) as database, database.reading(TENANT) as connection:
            with pytest.raises(TimeoutError):
                await connection.fetchval("SELECT pg_sleep(60)", timeout=0.2)
            assert problem(database) is None


async def test_what_a_standby_refuses_is_done_at_the_primary(pair: Pair) -> None:
    async with opened(pair) as database:
        for refused in ("SELECT pg_current_wal_lsn()", "LISTEN nothing", "SELECT rag.ensure_tenant('new')"):
            with reading_contents():
                async with database.reading(TENANT) as connection:
                    await connection.execute(refused) if refused.startswith("LISTEN") else await connection.fetchval(
                        refused
                    )
        assert database.replicas().replicas[0].failed_over == 3
        assert problem(database) is None
        assert await where(database) == "standby"


@pytest.mark.siege
async def test_a_snapshot_that_the_replay_ends_is_taken_again_at_the_primary(pair: Pair) -> None:
    tries: list[bool] = []

    @reads_contents
    async def read(database: Database) -> int:
        async with database.transaction(TENANT, readonly=True, isolation="repeatable_read") as connection:
            tries.append(await connection.fetchval("SELECT pg_is_in_recovery()"))
            if len(tries) == 1:
                await pair.primary.run("DELETE FROM rag.collections WHERE name = 'conflict'")
                await pair.primary.run("VACUUM rag.collections")
                for _ in range(200):
                    await connection.fetchval("SELECT count(*) FROM rag.collections")
                    await asyncio.sleep(0.02)
            count: int = await connection.fetchval("SELECT count(*) FROM rag.collections WHERE name = 'conflict'")
            return count

    async with opened(pair) as database:
        await write(database, "conflict")
        await pair.catch_up()
        assert await read(database) == 0
        assert tries == [True, False]
        await until(lambda: problem(database) is None)


async def test_only_reads_of_contents_leave_the_primary(pair: Pair) -> None:
    """What is read to be changed, or may be newer in another process, is the primary's without a word."""
    async with opened(pair) as database:
        before = reads(database)
        assert await where_any(database) == "primary"
        for isolation in ("read_committed", "repeatable_read"):
            async with database.transaction(TENANT, readonly=True, isolation=isolation) as connection:
                assert not await connection.fetchval("SELECT pg_is_in_recovery()")
        assert reads(database) == before
        assert await where(database) == "standby"

        async def begun_within() -> str:
            with reading_contents():
                return await asyncio.create_task(where_any(database))

        assert await begun_within() == "standby", "work that begins within stays bound by it"
        assert await where_any(database) == "primary"


async def test_lists_may_be_a_moment_old_and_what_changes_something_is_not(pair: Pair, tmp_path: Path) -> None:
    own = {"CAIRN_DATABASE_URL": pair.primary.dsn, "CAIRN_REPLICA_URL": pair.standby.dsn, "CAIRN_HOME": str(tmp_path)}
    async with open_services(read_environment(own), SettingsStore()) as services:
        await pair.catch_up()
        await until(lambda: problem(services.database) is None)
        await pair.standby.run("SELECT pg_wal_replay_pause()")
        try:
            other = await Database.open(pair.primary.dsn)  # of another process
            async with other.transaction(services.principal) as connection:
                await collections.ensure(connection, services.principal, "by-another")
            await other.close()
            assert "by-another" not in [one.name for one in await list_collections(services)]
            assert (await get_collection(services, "by-another")).name == "by-another"
            await delete_collection(services, "by-another")
            assert await where(services.database) == "primary", "its own commit is not on the standby"
        finally:
            await pair.standby.run("SELECT pg_wal_replay_resume()")


@pytest.mark.siege
async def test_reads_of_one_piece_of_work_never_go_back_in_time(pair: Pair) -> None:
    async with opened(pair) as database:
        with reading_contents():
            assert await where(database) == "standby"
            with reading_contents(primary=True):
                assert await where(database) == "primary"
            assert await where(database) == "primary", "what was read there may not be on the standby yet"
        assert await where(database) == "standby"
        with reading_contents():
            assert await where_any(database.primary) == "primary"
            assert await where(database) == "standby", "that was about something else"
        database.note_elsewhere()
        assert await where(database) == "primary"

        async def back() -> bool:
            return await where(database) == "standby"

        await until(back)


def test_who_may_answer() -> None:
    behind, busy, idle, away = (Replica(name, "", away=None) for name in ("behind", "busy", "idle", "away"))
    behind.replayed, busy.replayed, idle.replayed = 10, 20, 30
    busy.in_use, away.away = 3, "it does not answer"
    every = [behind, busy, idle, away]
    assert eligible(every, 20, 30) == [idle, busy, behind]
    assert eligible(every, 5, 30) == [behind, idle, busy]
    assert eligible(every, None, 30) == [], "nobody knows what was committed last"
    idle.lag_seconds = 31
    assert eligible(every, 20, 30) == [busy, behind]


async def test_copies_of_another_server_and_other_rights_are_never_used(pair: Pair, database: str) -> None:
    opened = await Database.open(pair.primary.dsn, replicas=[database, pair.primary.dsn])
    try:
        await until(lambda: all("not connected" not in str(one.problem) for one in opened.replicas().replicas))
        other, itself = opened.replicas().replicas
        assert "copy of another server" in str(other.problem)
        assert "promoted" in str(itself.problem)
        assert await where(opened) == "primary"
    finally:
        await opened.close()


async def test_a_standby_that_was_promoted_is_never_used_again(pair: Pair) -> None:
    async with opened(pair) as database:
        await write(database, "before")
        await pair.catch_up()
        with reading_contents():
            async with database.transaction(TENANT, readonly=True) as connection:
                assert await connection.fetchval("SELECT pg_is_in_recovery()")
                assert await pair.standby.run("SELECT pg_promote()")
                await pair.standby.run("UPDATE rag.collections SET name = 'diverged' WHERE name = 'before'")
                assert await connection.fetchval("SELECT count(*) FROM rag.collections WHERE name = 'before'") == 1
        assert "promoted" in str(problem(database))
        await asyncio.to_thread(pair.standby.stop)
        await asyncio.to_thread(pair.standby.start)
        await asyncio.sleep(1.5)
        assert "promoted" in str(problem(database))
        assert await where(database) == "primary"
