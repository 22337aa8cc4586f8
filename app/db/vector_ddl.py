"""Building and dropping HNSW indexes of single collections: as the owner, concurrently, one at a time.

The catalog is the truth: an index that an interrupted build left behind is invalid, and is dropped before it is built
again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from app.db.models import EF_CONSTRUCTION, LOCK_KEY, M
from app.db.pool import translate
from app.domain.vector_index import PlannedIndex
from app.errors import DatabaseUnavailableError

LOCK_PAUSE_SECONDS = 0.2

_EXISTING = """
SELECT c.relname AS name, i.indisvalid AS valid
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE i.indrelid = 'rag.embeddings'::regclass AND c.relname ~ '^embeddings_hnsw_[0-9]+_c[0-9a-f]{12}$'
"""


class VectorDdl:
    """Statements of one session that holds the lock of index builds."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def existing(self) -> dict[str, bool]:
        """Indexes of single collections in the catalog, and whether they are valid."""
        return {row["name"]: row["valid"] for row in await self._connection.fetch(_EXISTING)}

    async def create(self, index: PlannedIndex) -> None:
        """Build it while everybody reads and writes. Takes minutes for millions of chunks."""
        statement = (
            f"CREATE INDEX CONCURRENTLY {index.name} ON rag.embeddings "
            f"USING hnsw ((embedding::halfvec({index.dimensions})) halfvec_cosine_ops) "
            f"WITH (m = {M}, ef_construction = {EF_CONSTRUCTION}) WHERE tenant_id = {index.tenant_id} "
            f"AND collection_id = '{index.collection_id}'::uuid AND model_id = {index.model_id}"
        )
        try:
            await self._connection.execute(statement)
        except asyncpg.DiskFullError:
            # /dev/shm of a container is too small for parallel workers
            await self.drop(index.name)
            await self._connection.execute("SET max_parallel_maintenance_workers = 0")
            await self._connection.execute(statement)

    async def drop(self, name: str) -> None:
        """`name` as `existing` or `PlannedIndex.name` give it."""
        await self._connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS rag.{name}")


@asynccontextmanager
async def vector_ddl(owner_dsn: str) -> AsyncIterator[VectorDdl]:
    """The session. Waits for its turn by asking again and again: waiting in the lock would hang with a concurrent build
    (facts). Raises DatabaseUnavailableError."""
    try:
        # a build whose worker was killed ends within seconds, so that its successor gets the lock
        settings = {"client_connection_check_interval": "5s", "statement_timeout": "0", "lock_timeout": "0"}
        connection = await asyncpg.connect(owner_dsn, timeout=15, server_settings=settings)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailableError(f"cannot connect to PostgreSQL: {error}") from error
    try:
        while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", LOCK_KEY):
            await asyncio.sleep(LOCK_PAUSE_SECONDS)
        yield VectorDdl(connection)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise translate(error) or error from error
    finally:
        await connection.close(timeout=5)
