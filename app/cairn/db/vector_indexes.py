"""HNSW indexes, made as the owner: one that all vectors of a model share, and those of large single collections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import structlog

from cairn.db.build_memory import grant_memory, graph_bytes
from cairn.db.pool import translate
from cairn.db.table_lock import table_lock
from cairn.domain.job import PlannedIndex
from cairn.errors import DatabaseUnavailableError, ReadOnlyError, SettingsError, reason_of
from cairn.settings import VectorSettings

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
    """See `ensure_models`."""
    await ensure_models(owner_dsn, {name: dimensions}, settings)


async def ensure_models(owner_dsn: str, models: Mapping[str, int], settings: VectorSettings = VectorSettings()) -> None:
    """Make sure the models (names to dimensions) and their indexes exist; cheap when they do. An index that is there stays as it
    was built.

    Raises SettingsError when a name is known with another dimension, DatabaseUnavailableError.
    """
    try:
        connection = await asyncpg.connect(owner_dsn, timeout=15)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailableError(f"cannot connect to PostgreSQL: {reason_of(error)}") from error
    try:
        for name, dimensions in models.items():
            if await _ready(connection, name, dimensions):
                continue
            if await connection.fetchval("SELECT pg_is_in_recovery()"):
                raise ReadOnlyError(
                    f"the database is a standby without the embedding model {name} or its index: start a server with this "
                    "model at the primary first"
                )
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
        await connection.execute(_shared(index.removeprefix("rag."), model_id, dimensions, settings))
    await connection.execute(_MAKE_SEARCH, index)
    log.info("models.registered", model=name, dimensions=dimensions)


def _shared(name: str, model_id: int, dimensions: int, settings: VectorSettings, how: str = "CONCURRENTLY") -> str:
    return (
        f"CREATE INDEX {how} {name} ON rag.embeddings "
        f"USING hnsw ((embedding::halfvec({dimensions})) halfvec_cosine_ops) "
        f"{_parameters(settings)} WHERE model_id = {model_id} AND NOT own"
    )


def _own(index: PlannedIndex, settings: VectorSettings, how: str = "CONCURRENTLY") -> str:
    return (
        f"CREATE INDEX {how} {index.name} ON rag.embeddings "
        f"USING hnsw ((embedding::halfvec({index.dimensions})) halfvec_cosine_ops) "
        f"{_parameters(settings)} WHERE tenant_id = {index.tenant_id} "
        f"AND collection_id = '{index.collection_id}'::uuid AND model_id = {index.model_id} AND own"
    )


def _graph_bytes(index: PlannedIndex, settings: VectorSettings) -> int:
    return graph_bytes(index.chunk_count, index.dimensions, settings.m)


def _parameters(settings: VectorSettings) -> str:
    """Of a build. As shipped: halfvec, recall@10 .983 at efSearch 80 on 100k x 384."""
    return f"WITH (m = {settings.m}, ef_construction = {settings.ef_construction})"


# --- All at once, in a database that nobody uses yet ---

_MODELS = "SELECT id, dimensions FROM rag.embedding_models WHERE dimensions <= $1 ORDER BY id"
_IN_USE = """
SELECT x.tenant_id, x.collection_id, x.model_id, m.dimensions, x.chunk_count
FROM rag.vector_indexes AS x JOIN rag.embedding_models AS m ON m.id = x.model_id AND m.dimensions <= $1
WHERE x.state = 'ready' AND x.exclusive ORDER BY x.tenant_id, x.collection_id, x.model_id
"""
_CALL = "UPDATE rag.vector_indexes SET name = $4 WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3 AND name <> $4"


async def build_indexes(connection: Any, settings: VectorSettings) -> None:
    """In a transaction of the owner, where rows are there and indexes are not: the shared ones, those of collections that
    rag.vector_indexes calls ready, under the names that this code gives them, and the functions that search by them."""
    for row in await connection.fetch(_MODELS, MAX_INDEXED_DIMENSIONS):
        name = f"embeddings_hnsw_{row['id']}"
        await _build_here(connection, name, _shared(name, row["id"], row["dimensions"], settings, how=""))
    for row in await connection.fetch(_IN_USE, MAX_INDEXED_DIMENSIONS):
        index = PlannedIndex(**row, wanted=True, ready=True)
        await connection.execute(_CALL, index.tenant_id, index.collection_id, index.model_id, index.name)
        await grant_memory(connection, index.name, _graph_bytes(index, settings))
        await _build_here(connection, index.name, _own(index, settings, how=""))


async def _build_here(connection: Any, name: str, statement: str) -> None:
    try:
        async with connection.transaction():
            await connection.execute(statement)
    except asyncpg.DiskFullError:
        # /dev/shm of a container is too small for parallel workers
        await connection.execute("SET LOCAL max_parallel_maintenance_workers = 0")
        await connection.execute(statement)
    await connection.execute(_MAKE_SEARCH, f"rag.{name}")


# --- Building and dropping HNSW indexes of single collections: as the owner, concurrently, one at a time ---

# One without `own` in its predicate was made by a release before revision 0023.
_EXISTING = """
SELECT c.relname AS name, i.indisvalid AND pg_get_expr(i.indpred, i.indrelid) ~ '\\mown\\M' AS valid
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE i.indrelid = 'rag.embeddings'::regclass AND c.relname ~ '^embeddings_hnsw_[0-9]+_c[0-9a-f]{12}$'
"""

_OLD_SHARED = """
SELECT m.id, m.dimensions FROM rag.embedding_models AS m
JOIN pg_index AS i ON i.indexrelid = to_regclass('rag.embeddings_hnsw_' || m.id)
WHERE i.indisvalid AND pg_get_expr(i.indpred, i.indrelid) !~ '\\mown\\M' ORDER BY m.id
"""
_LEFT = r"""
SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE i.indrelid = 'rag.embeddings'::regclass AND c.relname ~ '^embeddings_hnsw_[0-9]+_(new|old)$'
"""
_GROWN = """
SELECT s.relname FROM pg_stat_user_tables AS s JOIN pg_class AS c ON c.oid = s.relid
WHERE s.schemaname = 'rag' AND s.n_mod_since_analyze > greatest(c.reltuples, 1000) ORDER BY s.relname
"""
_PROGRESS = "SELECT blocks_done, blocks_total FROM pg_stat_progress_create_index WHERE pid = $1"
PROGRESS_SECONDS = 2.0

Report = Callable[[int, int, str], Awaitable[None]]
"""Told how many blocks of the table are done, of how many, with a word on it; it may raise to stop the build."""


class VectorDdl:
    """Statements of one session that holds the lock of index builds."""

    def __init__(self, connection: Any, watching: Any, settings: VectorSettings) -> None:
        self._connection = connection
        self._watching = watching
        self._settings = settings

    async def existing(self) -> dict[str, bool]:
        """Indexes of single collections in the catalog, and whether they can be used as they are."""
        return {row["name"]: row["valid"] for row in await self._connection.fetch(_EXISTING)}

    async def analyze(self) -> None:
        """Renew the statistics of tables that have doubled since they were gathered: after a large load autovacuum may take
        minutes to come, and plans are bad until then."""
        for row in await self._connection.fetch(_GROWN):
            await self._connection.execute(f"ANALYZE rag.{row['relname']}")

    async def renew_shared(self, report: Report) -> list[str]:
        """Build shared indexes that hold all vectors anew, with those only that belong there, and put them in the place of the
        old ones, which serve until then; names of those built."""
        for row in await self._connection.fetch(_LEFT):  # by an interrupted renewal
            await self._connection.execute(f"DROP INDEX CONCURRENTLY rag.{row['relname']}")
        old = await self._connection.fetch(_OLD_SHARED)
        for row in old:
            name = f"embeddings_hnsw_{row['id']}"
            await self._build(
                f"{name}_new", _shared(f"{name}_new", row["id"], row["dimensions"], self._settings), report
            )
            async with self._connection.transaction():
                await self._connection.execute(f"ALTER INDEX rag.{name} RENAME TO {name}_old")
                await self._connection.execute(f"ALTER INDEX rag.{name}_new RENAME TO {name}")
                await self.make_search(name)
            await self._connection.execute(f"DROP INDEX CONCURRENTLY rag.{name}_old")
        return [f"embeddings_hnsw_{row['id']}" for row in old]

    async def create(self, index: PlannedIndex, report: Report) -> None:
        """Build it while everybody reads and writes. Takes minutes for millions of chunks."""
        await grant_memory(self._connection, index.name, _graph_bytes(index, self._settings))
        await self._build(index.name, _own(index, self._settings), report)

    async def _build(self, name: str, statement: str, report: Report) -> None:
        try:
            await self._watch(name, statement, report)
        except asyncpg.DiskFullError:
            # /dev/shm of a container is too small for parallel workers
            await self._connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS rag.{name}")
            await self._connection.execute("SET max_parallel_maintenance_workers = 0")
            await self._watch(name, statement, report)

    async def _watch(self, name: str, statement: str, report: Report) -> None:
        building = asyncio.create_task(self._connection.execute(statement))
        try:
            while not (await asyncio.wait([building], timeout=PROGRESS_SECONDS))[0]:
                row = await self._watching.fetchrow(_PROGRESS, self._connection.get_server_pid())
                if row is not None and row["blocks_total"]:
                    await report(row["blocks_done"], row["blocks_total"], f"building {name}: blocks of the table")
        except BaseException:
            building.cancel()
            await asyncio.wait([building])
            raise
        await building

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
        watching = await asyncpg.connect(owner_dsn, timeout=15)
        try:
            async with table_lock(owner_dsn, LOCK_TABLE, name="cairn-indexes"):
                yield VectorDdl(connection, watching, settings)
        finally:
            await watching.close(timeout=5)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise translate(error) or error from error
    finally:
        await connection.close(timeout=5)
