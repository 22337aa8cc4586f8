"""Daily partitions of the trace tables: made ahead, dropped after retention, never in the way of an insert."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from cairn.db.migrate import PARTITIONS_AHEAD, migrate
from tests.waiting import patience

INSERT = """
INSERT INTO rag.run_legs (tenant_id, started_at, run_id, leg, passage_ids, chunk_ids, scores, shares, fates)
VALUES (1, $1, gen_random_uuid(), 'vector', '{}', '{}', '{}', '{}', '{}') RETURNING tableoid::regclass::text
"""
COUNT = "SELECT count(*) FROM pg_class WHERE relnamespace = 'rag'::regnamespace AND relispartition AND relkind = 'r'"
TODAY = "SELECT (now() AT TIME ZONE 'UTC')::date"


@pytest.fixture
async def admin(database: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


@pytest.fixture
async def app(database: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(database, server_settings={"role": "cairn_app", "app.tenant": "1"})
    yield connection
    await connection.close()


async def parents(admin: Any) -> int:
    return int(await admin.fetchval("SELECT count(*) FROM pg_partitioned_table"))


async def reach_today(app: Any) -> None:
    """The database that tests begin with may have been made before midnight."""
    await app.fetchval("SELECT rag.ensure_trace_partitions($1)", PARTITIONS_AHEAD)


async def test_start_makes_a_week_once(admin: Any, app: Any, database: str) -> None:
    each = 1 + 1 + PARTITIONS_AHEAD  # default, today, ahead
    assert await admin.fetchval(COUNT) == each * await parents(admin)
    await reach_today(app)
    assert await app.fetchval("SELECT rag.ensure_trace_partitions($1)", PARTITIONS_AHEAD) == 0
    assert await app.fetchval("SELECT rag.ensure_trace_partitions($1)", PARTITIONS_AHEAD + 2) == 2 * await parents(
        admin
    )
    await admin.execute("DROP TABLE rag.runs_default")
    assert (await migrate(database)).action == "none"
    assert await admin.fetchval("SELECT to_regclass('rag.runs_default')") is not None


async def test_concurrent_calls_make_each_partition_once(admin: Any, database: str) -> None:
    connections = [await asyncpg.connect(database, server_settings={"role": "cairn_app"}) for _ in range(6)]
    try:
        await reach_today(connections[0])
        made = await asyncio.gather(*(c.fetchval("SELECT rag.ensure_trace_partitions(20)") for c in connections))
        assert sum(made) == (20 - PARTITIONS_AHEAD) * await parents(admin)
        dropped = await asyncio.gather(*(c.fetchval("SELECT rag.drop_trace_partitions(1)") for c in connections))
        assert sum(dropped) == 0
    finally:
        for connection in connections:
            await connection.close()


async def test_rows_go_to_their_utc_day(admin: Any, app: Any) -> None:
    today = await admin.fetchval(TODAY)
    for moment in ("00:00:00+00", "23:59:59.999999+00"):
        stamp = await admin.fetchval("SELECT ($1::date || ' ' || $2::text)::timestamptz", today, moment)
        assert await app.fetchval(INSERT, stamp) == f"rag.run_legs_{today:%Y%m%d}"


async def test_early_rows_wait_in_the_default_partition(admin: Any, app: Any) -> None:
    """A clock that is ahead, or a server that did not run for weeks, loses no trace."""
    later = await admin.fetchval("SELECT now() + interval '12 days'")
    assert await app.fetchval(INSERT, later) == "rag.run_legs_default"
    await app.execute("SELECT rag.ensure_trace_partitions(12)")
    assert await app.fetchval("SELECT tableoid::regclass::text FROM rag.run_legs") == f"rag.run_legs_{later:%Y%m%d}"
    assert await app.fetchval(INSERT, later) == f"rag.run_legs_{later:%Y%m%d}"


async def test_retention_drops_whole_days(admin: Any, app: Any) -> None:
    await admin.execute(f"SELECT rag.add_partition('rag.run_legs', ({TODAY}) - 3)")
    for days in (2, 3, 40):
        await app.execute(INSERT, await admin.fetchval("SELECT now() - make_interval(days => $1)", days))
    assert await app.fetchval("SELECT rag.drop_trace_partitions(4)") == 0
    assert await app.fetchval("SELECT count(*) FROM rag.run_legs") == 2, "the one of 40 days ago was in the default"
    assert await app.fetchval("SELECT rag.drop_trace_partitions(2)") == 1
    assert await app.fetchval("SELECT count(*) FROM rag.run_legs") == 1
    with pytest.raises(asyncpg.InvalidParameterValueError, match="one day at least"):
        await app.execute("SELECT rag.drop_trace_partitions(0)")


async def test_retention_does_not_wait_for_readers(admin: Any, app: Any) -> None:
    await admin.execute(f"SELECT rag.add_partition('rag.runs', ({TODAY}) - 9)")
    async with admin.transaction():
        await admin.execute("SELECT count(*) FROM rag.runs")
        assert await app.fetchval("SELECT rag.drop_trace_partitions(5)", timeout=patience(20)) == 0
    assert await app.fetchval("SELECT rag.drop_trace_partitions(5)") == 1
