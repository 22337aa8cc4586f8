"""A migration that is killed at any step is finished by the next start."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cairn.db.migrate import migrate
from tests.migration_support import Release
from tests.waiting import patience

pytestmark = pytest.mark.fault

# Sleeps until the test allows the next attempt to run through.
WAIT = "SELECT pg_sleep(CASE WHEN to_regclass('public.go_on') IS NULL THEN 600 ELSE 0 END)"
INDEX = "CREATE INDEX CONCURRENTLY IF NOT EXISTS killed_idx ON rag.passages (page)"
GONE = "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'cairn-migrate'"
# should a statement outlive its process after all, it does not hold up the end of the test
TERMINATE = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'cairn-migrate' AND datname = current_database()"""


def in_a_revision(release: Release) -> str:
    release.add_revision("t1", "CREATE TABLE rag.half (id int)", WAIT, "INSERT INTO rag.half VALUES (1)")
    return "SELECT pg_sleep%"


def in_a_concurrent_index(release: Release) -> str:
    release.add_revision("t1", "CREATE TABLE IF NOT EXISTS rag.half (id int)", concurrently=(INDEX,))
    return "CREATE INDEX CONCURRENTLY%"


def in_sql_files(release: Release) -> str:
    release.add_revision("t1", "CREATE TABLE rag.half (id int)")
    release.add_sql("functions/zz.sql", f"CREATE FUNCTION rag.killed() RETURNS int LANGUAGE sql AS 'SELECT 1'; {WAIT};")
    return "CREATE FUNCTION rag.killed%"


async def until(connection: Any, query: str, *arguments: Any, seconds: float = 30) -> None:
    deadline = time.monotonic() + patience(seconds)
    while not await connection.fetchval(query, *arguments):
        assert time.monotonic() < deadline, f"not within {patience(seconds)} s: {query} {arguments}"
        await asyncio.sleep(0.05)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("step", [in_a_revision, in_a_concurrent_index, in_sql_files])
async def test_a_killed_migration_is_finished_by_the_next_start(step: Any, database: str, tmp_path: Path) -> None:
    release = Release.copy(tmp_path / "release")
    reached = step(release)
    admin = await asyncpg.connect(database)
    reader = await asyncpg.connect(database)
    # an old snapshot holds CREATE INDEX CONCURRENTLY up after its first phase
    snapshot = reader.transaction(isolation="repeatable_read")
    await snapshot.start()
    await reader.execute("SELECT count(*) FROM rag.passages")
    process = release.start(database)
    try:
        active = (
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE $1 AND state = 'active' AND wait_event IS NOT NULL"
        )
        await until(admin, active + " AND application_name = 'cairn-migrate'", reached)
        process.kill()
        process.wait()
        # its statements end with it (client_connection_check_interval) and do not work on beside the next start
        await until(admin, GONE, seconds=10)
        await admin.execute("CREATE TABLE public.go_on ()")
        await snapshot.rollback()
        assert (await migrate(database, source=release.source, lock_seconds=patience(30))).action == "migrated"
        assert await admin.fetchval("SELECT version_num FROM rag.alembic_version") == "t1"
        assert await admin.fetchval("SELECT count(*) FROM pg_index WHERE NOT indisvalid") == 0
        assert await admin.fetchval("SELECT to_regclass('rag.half') IS NOT NULL")
        assert (await migrate(database, source=release.source)).action == "none"
    finally:
        process.kill()
        process.communicate()
        await admin.execute(TERMINATE)
        await reader.close()
        await admin.close()
