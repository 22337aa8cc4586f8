"""Any number of processes may start at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from cairn.db.embedded import EmbeddedServer
from cairn.db.migrate import migrate
from tests.migration_support import Release
from tests.waiting import patience

pytestmark = pytest.mark.siege


async def test_twenty_starts_leave_one_migrated_database(empty_database: str, tmp_path: Path) -> None:
    """With an index built concurrently: it waits for whoever waits for the lock in a transaction with a snapshot."""
    release = Release.copy(tmp_path / "release").add_revision(
        "t1", concurrently=("CREATE INDEX CONCURRENTLY IF NOT EXISTS t1_idx ON rag.passages (page)",)
    )
    processes = [release.start(empty_database) for _ in range(20)]
    outputs = await asyncio.gather(
        *(asyncio.to_thread(process.communicate, timeout=patience(120)) for process in processes)
    )
    assert [process.returncode for process in processes] == [0] * 20, outputs
    actions = [out.splitlines()[-1].split()[0] for out, _ in outputs]
    assert sorted(set(actions)) == ["migrated", "none"]
    assert actions.count("migrated") == 1
    connection = await asyncpg.connect(empty_database)
    try:
        assert await connection.fetchval("SELECT version_num FROM rag.alembic_version") == "t1"
        assert await connection.fetchval("SELECT count(*) FROM pg_index WHERE NOT indisvalid") == 0
        assert await connection.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0
    finally:
        await connection.close()


async def test_databases_of_one_cluster_migrate_at_once(server: EmbeddedServer, psql: Callable[..., str]) -> None:
    """Roles belong to the cluster, the lock to the database: the shared catalogs must stand it."""
    names = [f"at_once_{number}" for number in range(4)]
    for name in names:
        psql(f"CREATE DATABASE {name} STRATEGY file_copy")
    try:
        results = await asyncio.gather(*(migrate(server.dsn(name)) for name in names))
        assert [result.action for result in results] == ["migrated"] * len(names)
    finally:
        for name in names:
            psql(f"DROP DATABASE {name} WITH (FORCE)")
