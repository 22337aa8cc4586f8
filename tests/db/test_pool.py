"""Connections of the pool: what each of them asks the database before it does its work."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cairn.wiring import Services
from tests.waiting import hang_guard, patience


async def test_what_arrays_are_made_of_is_asked_once_in_a_process(services: Services) -> None:
    """asyncpg would ask on each connection, by a query that takes longer than a search."""
    asked: list[str] = []

    async def use(connection: Any) -> None:
        assert await connection.fetchval("SELECT $1::uuid[]", []) == []
        assert await connection.fetchval("SELECT $1::jsonb[]", [{"a": 1}]) == [{"a": 1}]
        assert await connection.fetchval("SELECT $1::int2[] || 5::int2", [1]) == [1, 5]
        assert await connection.fetchval("SELECT array_agg(i)::float8[] FROM generate_series(1, 2) AS i") == [1.0, 2.0]

    database, principal = services.database, services.principal
    async with database.transaction(principal) as first:
        await use(first)
        async with database.transaction(principal) as second:
            assert second.get_server_pid() != first.get_server_pid()
            second.add_query_logger(lambda done: asked.append(done.query))
            await use(second)
    assert asked
    assert not [query for query in asked if "typeinfo_tree" in query or "jit" in query]


async def test_a_transaction_that_is_interrupted_twice_leaves_nothing_behind_and_says_nothing(
    services: Services, owner: Any
) -> None:
    """As Ctrl-C does: once for the command, once more for what of it still waits for the server. asyncpg complains of a
    transaction that could not be rolled back to the event loop, which writes that to stderr."""
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
    await owner.execute("SELECT pg_advisory_lock(7)")

    async def wait_for_lock() -> None:
        async with services.database.transaction(services.principal) as connection:
            await connection.execute("SELECT pg_advisory_xact_lock_shared(7)")

    waiting = asyncio.create_task(wait_for_lock())
    async with hang_guard():
        while not await owner.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
            await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert not complaints
    async with services.database.transaction(services.principal) as connection:
        assert await connection.fetchval("SELECT 1") == 1
    assert not await owner.fetchval("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")


async def test_a_statement_that_is_given_up_while_it_is_prepared_leaves_no_lock_behind(
    services: Services, owner: Any
) -> None:
    """Found by seed 247: a search of a run that was cancelled then kept its session open, with a snapshot and locks of all tables
    that the statement names, until something else used it: a migration would have waited for it."""
    async with services.database.connection() as connection:
        asking = asyncio.create_task(connection.fetch("SELECT count(*) AS given_up FROM rag.passages"))
        await asyncio.sleep(0)  # it is sent, to be prepared
        async with hang_guard():
            while not asking._fut_waiter.done():  # the answer is there, and the task has not gone on with it
                await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
    async with owner.transaction():
        await owner.execute(f"SET LOCAL lock_timeout = '{patience():.0f}s'")
        await owner.execute("LOCK TABLE rag.passages IN ACCESS EXCLUSIVE MODE")
