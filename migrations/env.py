"""Alembic's entry: the connection is handed over by cairn.db.migrate, which holds the lock.

An empty database is made of cairn.db.tables without it (cairn.db.create). For developers,
`alembic -c migrations/alembic.ini revision --autogenerate` compares CAIRN_DATABASE_URL with cairn.db.tables.
"""

from __future__ import annotations

import os
from typing import Any

from alembic import context
from sqlalchemy import Connection

from cairn.db.tables import SCHEMA, metadata


def include_name(name: str | None, kind: str, parents: Any) -> bool:
    """Only schema rag; HNSW indexes per model and daily partitions are made at run time."""
    if kind == "schema":
        return name == SCHEMA
    if kind == "index":
        return not (name or "").startswith("embeddings_hnsw_")
    if kind == "table":
        return not (name or "").startswith(("runs_", "run_legs_"))
    return True


def configure(**target: Any) -> None:
    context.configure(
        target_metadata=metadata,
        include_schemas=True,
        include_name=include_name,
        compare_type=True,
        transaction_per_migration=True,
        version_table="alembic_version",
        version_table_schema=SCHEMA,
        **target,
    )


def run(connection: Connection) -> None:
    configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()


if (given := context.config.attributes.get("connection")) is not None:
    run(given)
else:
    url = os.environ["CAIRN_DATABASE_URL"].replace("postgresql://", "postgresql+asyncpg://", 1)
    from sqlalchemy.ext.asyncio import create_async_engine

    async def main() -> None:
        engine = create_async_engine(url)
        async with engine.connect() as connection:
            await connection.run_sync(run)
        await engine.dispose()

    import asyncio

    asyncio.run(main())
