"""HNSW indexes, made as the owner: one that all vectors of a model share, and those of large single collections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import structlog

from app.db.pool import translate
from app.db.table_lock import table_lock
from app.domain.job import PlannedIndex
from app.errors import DatabaseUnavailableError, SettingsError, reason_of
from app.settings import VectorSettings

log = structlog.get_logger(__name__)

LOCK_TABLE = "rag.embedding_models"
MAX_INDEXED_DIMENSIONS = 4000

# An index without the function that searches by it was left by an interrupted start, or made by an older release.
_INDEX_STATE = """
SELECT i.indisvalid AS valid, to_regproc('rag.' || rag.search_name(c.relname)) IS NOT NULL AS searched
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid WHERE i.indexrelid = to_regclass($1)
"""
_MAKE_SEARCH = "SELECT rag.make_search($1::text::regclass)"


async def ensure_model(owner_dsn: str, name: str, dimensions: int, settings: VectorSettings = VectorSettings()) -> None:
    """Make sure the model and its index exist; cheap when they do. An index that is there stays as it was built.

    Raises SettingsError when the name is known with another dimension, DatabaseUnavailableError.
    """
    try:
        connection = await asyncpg.connect(owner_dsn, timeout=15)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailableError(f"cannot connect to PostgreSQL: {reason_of(error)}") from error
    try:
        if not await _ready(connection, name, dimensions):
            async with table_lock(owner_dsn, LOCK_TABLE, name="cairn-indexes"):
                await _create(connection, name, dimensions, settings)
    finally:
        await connection.close(timeout=5)


async def _ready(connection: Any, name: str, dimensions: int) -> bool:
    row = await connection.fetchrow("SELECT id, dimensions FROM rag.embedding_models WHERE name = $1", name)
    if row is None:
        return False
    if row["dimensions"] != dimensions:
        raise SettingsError(
            f"embedding model {name} has {row['dimensions']} dimensions in this database, but gives {dimensions} now; "
            "its vectors cannot be compared: use another model name or another database"
        )
    state = await connection.fetchrow(_INDEX_STATE, _index_name(row["id"]))
    return state is not None and state["valid"] and state["searched"]


def _index_name(model_id: int) -> str:
    return f"rag.embeddings_hnsw_{model_id}"


async def _create(connection: Any, name: str, dimensions: int, settings: VectorSettings) -> None:
    """With the lock held: somebody may have made them meanwhile."""
    await connection.execute(
        "INSERT INTO rag.embedding_models (name, dimensions) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
        name, dimensions,
    )  # fmt: skip
    if await _ready(connection, name, dimensions) or dimensions > MAX_INDEXED_DIMENSIONS:
        return  # longer vectors are scanned exactly
    model_id = await connection.fetchval("SELECT id FROM rag.embedding_models WHERE name = $1", name)
    index = _index_name(model_id)
    state = await connection.fetchrow(_INDEX_STATE, index)
    if not (state and state["valid"]):
        await connection.execute(f"DROP INDEX IF EXISTS {index}")  # an invalid one, left by an interrupted build
        await connection.execute(
            f"CREATE INDEX CONCURRENTLY {index.removeprefix('rag.')} ON rag.embeddings "
            f"USING hnsw ((embedding::halfvec({dimensions})) halfvec_cosine_ops) "
            f"{_parameters(settings)} WHERE model_id = {model_id}"
        )
    await connection.execute(_MAKE_SEARCH, index)
    log.info("models.registered", model=name, dimensions=dimensions)


def _parameters(settings: VectorSettings) -> str:
    """Of a build. As shipped: halfvec, recall@10 .983 at efSearch 80 on 100k x 384."""
    return f"WITH (m = {settings.m}, ef_construction = {settings.ef_construction})"


# --- Building and dropping HNSW indexes of single collections: as the owner, concurrently, one at a time ---

_EXISTING = """
SELECT c.relname AS name, i.indisvalid AS valid
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE i.indrelid = 'rag.embeddings'::regclass AND c.relname ~ '^embeddings_hnsw_[0-9]+_c[0-9a-f]{12}$'
"""


class VectorDdl:
    """Statements of one session that holds the lock of index builds."""

    def __init__(self, connection: Any, settings: VectorSettings) -> None:
        self._connection = connection
        self._settings = settings

    async def existing(self) -> dict[str, bool]:
        """Indexes of single collections in the catalog, and whether they are valid."""
        return {row["name"]: row["valid"] for row in await self._connection.fetch(_EXISTING)}

    async def create(self, index: PlannedIndex) -> None:
        """Build it while everybody reads and writes. Takes minutes for millions of chunks."""
        statement = (
            f"CREATE INDEX CONCURRENTLY {index.name} ON rag.embeddings "
            f"USING hnsw ((embedding::halfvec({index.dimensions})) halfvec_cosine_ops) "
            f"{_parameters(self._settings)} WHERE tenant_id = {index.tenant_id} "
            f"AND collection_id = '{index.collection_id}'::uuid AND model_id = {index.model_id}"
        )
        try:
            await self._connection.execute(statement)
        except asyncpg.DiskFullError:
            # /dev/shm of a container is too small for parallel workers
            await self.drop(index.name)
            await self._connection.execute("SET max_parallel_maintenance_workers = 0")
            await self._connection.execute(statement)

    async def make_search(self, name: str) -> None:
        """Make the function that searches by it; without one, searches do not use the index."""
        await self._connection.execute(_MAKE_SEARCH, f"rag.{name}")

    async def drop(self, name: str) -> None:
        """With the function that searches by it. `name` as `existing` or `PlannedIndex.name` give it."""
        function = await self._connection.fetchval("SELECT rag.search_name($1)", name)
        await self._connection.execute(f"DROP FUNCTION IF EXISTS rag.{function}")
        await self._connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS rag.{name}")


@asynccontextmanager
async def vector_ddl(owner_dsn: str, settings: VectorSettings = VectorSettings()) -> AsyncIterator[VectorDdl]:
    """The session, when its turn has come. Raises DatabaseUnavailableError."""
    try:
        # a build whose worker was killed ends within seconds, so that its successor gets the lock
        session = {"client_connection_check_interval": "5s", "statement_timeout": "0", "lock_timeout": "0"}
        connection = await asyncpg.connect(owner_dsn, timeout=15, server_settings=session)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailableError(f"cannot connect to PostgreSQL: {reason_of(error)}") from error
    try:
        async with table_lock(owner_dsn, LOCK_TABLE, name="cairn-indexes"):
            yield VectorDdl(connection, settings)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise translate(error) or error from error
    finally:
        await connection.close(timeout=5)
