"""Who starts while PostgreSQL recovers waits for it; who is refused for another reason is told at once."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from cairn.db.migrate import migrate
from cairn.db.pool import Database
from cairn.db.recovery import connect_when_up
from cairn.errors import DatabaseUnavailableError
from tests.faults.database_proxy import database_proxy


async def test_a_start_waits_for_a_server_that_recovers(database: str, tmp_path: Path) -> None:
    async with database_proxy(database, tmp_path) as proxy:
        proxy.recover(2)
        await migrate(proxy.dsn)
        proxy.recover(2)
        opened = await Database.open(proxy.dsn)
        async with opened.connection() as connection:
            assert await connection.fetchval("SELECT 1") == 1
        await opened.close()


async def test_not_for_ever(database: str, tmp_path: Path) -> None:
    async with database_proxy(database, tmp_path) as proxy:
        proxy.recover(1000)
        with pytest.raises(asyncpg.CannotConnectNowError):
            await connect_when_up(lambda: asyncpg.connect(proxy.dsn), seconds=0)


async def test_a_server_that_is_down_is_told_at_once(database: str, tmp_path: Path) -> None:
    async with database_proxy(database, tmp_path) as proxy:
        await proxy.cut()
        with pytest.raises(DatabaseUnavailableError, match=r"\Acannot connect to PostgreSQL"):
            await migrate(proxy.dsn)
