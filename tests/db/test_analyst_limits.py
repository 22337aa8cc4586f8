"""A login that may only read takes nothing from the others: no writing, no locks, no session that goes on for ever."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from cairn.db.pool import CONNECTION_ERRORS, Database
from cairn.service.operation import watch_analysts
from cairn.settings import AnalystSettings
from cairn.wiring import Services
from tests.waiting import patience

Open = Callable[[], Awaitable[Any]]


@pytest.fixture
async def analyst(database: str, owner: Any) -> AsyncIterator[Open]:
    """Opens sessions of an analyst, who lifts every limit that a session can lift."""
    await owner.execute("SELECT rag.ensure_tenant('one')")
    await owner.execute("CREATE ROLE busy LOGIN CONNECTION LIMIT 4; ALTER ROLE busy SET statement_timeout = '1s'")
    await owner.execute("SELECT rag.grant_analyst('busy', 'one')")
    opened: list[Any] = []

    async def open_session() -> Any:
        session = await asyncpg.connect(database.replace("//cairn@", "//busy@"))
        await session.execute("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0")
        opened.append(session)
        return session

    yield open_session
    for session in opened:
        session.terminate()
    await owner.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'busy'")
    await owner.execute("DROP OWNED BY busy; DROP ROLE busy")


WRITING = (
    "SELECT lo_create(0)",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT lo_creat(-1)",
    "SELECT lo_put(1, 0, 'x')",
    "SELECT lo_open(1, 131072)",
    "SELECT lo_import('/etc/passwd')",
    "SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000))",
    "SELECT pg_logical_emit_message(true, 'x', 'x'::bytea)",
    "SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 1000000) AS n",
    "SELECT pg_try_advisory_xact_lock(1)",
    "SET temp_buffers = '8GB'; CREATE TEMP TABLE t (a int)",
    "SET temp_buffers = '8GB'; SELECT 1 AS a INTO TEMP t",
    "SET temp_buffers = '8GB'; CREATE TEMP VIEW v AS SELECT 1",
    "SET temp_file_limit = -1",
    "BEGIN; LOCK TABLE rag.documents",
    "BEGIN; LOCK TABLE analyst.documents IN SHARE MODE",
)


async def test_analysts_neither_write_nor_lock(analyst: Open) -> None:
    session = await analyst()
    for statement in WRITING:
        refused = False
        try:
            await session.execute(statement)
        except asyncpg.InsufficientPrivilegeError:
            refused = True
        assert refused, statement
        await session.execute("ROLLBACK")


async def test_the_connection_limit_of_the_recipe_holds(analyst: Open) -> None:
    for _ in range(4):
        await analyst()
    with pytest.raises(asyncpg.TooManyConnectionsError):
        await analyst()


async def test_a_login_without_a_connection_limit_gets_one(database: str, owner: Any) -> None:
    await owner.execute("SELECT rag.ensure_tenant('one'); CREATE ROLE greedy LOGIN")
    opened: list[Any] = []
    try:
        await owner.execute("SELECT rag.grant_analyst('greedy', 'one')")
        with contextlib.suppress(asyncpg.TooManyConnectionsError):
            while len(opened) < 60:
                opened.append(await asyncpg.connect(database.replace("//cairn@", "//greedy@")))
        assert len(opened) == 10
        await owner.execute("ALTER ROLE greedy CONNECTION LIMIT 20; SELECT rag.grant_analyst('greedy', 'one')")
        limit = "SELECT rolconnlimit FROM pg_roles WHERE rolname = $1"
        assert await owner.fetchval(limit, "greedy") == 20, "what its owner decided stays"
        await owner.execute(
            "CREATE ROLE serves LOGIN; GRANT cairn_app TO serves; SELECT rag.grant_analyst('serves', 'one')"
        )
        assert await owner.fetchval(limit, "serves") == -1, "serving has connections of its own"
    finally:
        for session in opened:
            await session.close()
        await owner.execute("DROP OWNED BY greedy; DROP ROLE greedy; DROP OWNED BY serves; DROP ROLE serves")


BUSY = {
    "a long statement": "SELECT pg_sleep(600)",
    "one that catches its cancelling": "DO $$ BEGIN LOOP BEGIN PERFORM pg_sleep(600); "
    "EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$",
    "an idle transaction": "BEGIN; SELECT count(*) FROM analyst.documents",
    "a failed transaction": "BEGIN; SELECT 1/0",
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", BUSY)
async def test_the_server_ends_what_takes_too_long(name: str, services: Services, analyst: Open) -> None:
    """Whatever the session has set for itself; others of the same login go on, and so does what serves."""
    session, quiet = await analyst(), await analyst()
    busy = asyncio.create_task(session.execute(BUSY[name]))
    watching = asyncio.create_task(watch_analysts(with_limits(services, statement_seconds=2, idle_seconds=1)))
    try:
        async with asyncio.timeout(patience(30)):
            while not session.is_closed():
                await asyncio.sleep(0.1)
        await asyncio.gather(busy, return_exceptions=True)
        assert await quiet.fetchval("SELECT 1") == 1
        async with services.database.connection() as connection:
            assert await connection.fetchval("SELECT 1") == 1
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_many_short_statements_in_one_transaction_are_a_long_one(
    services: Services, analyst: Open, owner: Any
) -> None:
    session = await analyst()
    await session.execute("BEGIN")
    async with asyncio.timeout(patience(30)):
        while not session.is_closed():
            with contextlib.suppress(*CONNECTION_ERRORS):
                await session.execute("SELECT 1")
            await owner.execute("SELECT rag.end_overdue_analysts(1, 60)")


async def test_owner_servers_and_strangers_are_left_alone(services: Services, owner: Any, database: str) -> None:
    """Whoever is no analyst, or more than that."""
    await owner.execute("BEGIN; SELECT count(*) FROM rag.documents")
    other = await asyncpg.connect(database)
    try:
        async with services.database.transaction(services.principal) as serving:
            await asyncio.sleep(1.1)
            assert tuple(await other.fetchrow("SELECT * FROM rag.end_overdue_analysts(1, 1)")) == (0, 0)
            assert await serving.fetchval("SELECT 1") == 1
        await owner.execute("ROLLBACK")
    finally:
        await other.close()


def with_limits(services: Services, **limits: int) -> Services:
    current = services.settings.current
    services.settings.current = current.model_copy(update={"analysts": AnalystSettings(**limits)})
    return replace(services)


async def test_only_what_serves_may_call_the_watchdog(analyst: Open, database: str) -> None:
    session = await analyst()
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await session.execute("SELECT rag.end_overdue_analysts(1, 1)")
    serving = await Database.open(database, max_size=1)
    try:
        async with serving.connection() as connection:
            assert await connection.fetchval("SELECT ended FROM rag.end_overdue_analysts(300, 60)") == 0
    finally:
        await serving.close()
