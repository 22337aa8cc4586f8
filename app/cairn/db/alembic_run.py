"""Alembic, on a connection of ours. Imported only when there is something to migrate: it costs a second."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Mapping
from typing import Any

import asyncpg
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from cairn.db.schema import SchemaSource

# Alembic keeps the running migration in module globals: one at a time per process.
_ONE_AT_A_TIME = threading.Lock()


def _config(source: SchemaSource, output: io.StringIO | None = None) -> Config:
    config = Config(output_buffer=output or io.StringIO())
    config.set_main_option("script_location", str(source.migrations).replace("%", "%%"))
    return config


def upgrade(dsn: str, session: Mapping[str, str], source: SchemaSource) -> None:
    """Run the missing revisions, each in its transaction, on a loop of this thread's own. Raises what they raise."""

    async def connect() -> Any:
        # asyncpg reads the DSN itself, so that it means the same here as for the pool
        return await asyncpg.connect(dsn, server_settings=dict(session), timeout=15)

    def run(connection: Connection) -> None:
        config = _config(source)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")

    async def main() -> None:
        engine = create_async_engine("postgresql+asyncpg://", async_creator=connect, poolclass=NullPool)
        async with engine.connect() as connection:
            await connection.run_sync(run)
            await connection.commit()

    with _ONE_AT_A_TIME:
        asyncio.run(main())
