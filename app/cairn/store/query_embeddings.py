"""Embeddings of repeated queries, as questions (protocols.py, `embed_questions`): an LRU in the process, of each caller's own,
and behind it rag.query_embeddings for all callers and processes, without what was asked by who could read more than everybody."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict

import structlog
from pgvector import HalfVector

from cairn.db.queries import load_queries
from cairn.domain.principal import Principal
from cairn.errors import ReadOnlyError
from cairn.store.session import Database
from cairn.store.vectors import EmbeddingModel

SQL = load_queries("cache")
log = structlog.get_logger(__name__)

QUEUE_SIZE = 200
"""Embeddings waiting to be written; what does not fit is not shared with other processes."""

_Key = tuple[int, int, bytes]
_Own = tuple[_Key, tuple[str, ...]]
"""With the names of who asked: that somebody else asked it would show in how long it takes, and what it costs."""


class QueryEmbeddings:
    """`capacity` arguments are vectors per tenant in the database, and in all in this process; 0 keeps none."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._recent: OrderedDict[_Own, HalfVector] = OrderedDict()
        self._queue: asyncio.Queue[tuple[Principal, _Key, HalfVector, int]] = asyncio.Queue(QUEUE_SIZE)
        self._task: asyncio.Task[None] | None = None

    async def get(
        self, principal: Principal, model: EmbeddingModel, query: str, capacity: int, encoder: str = ""
    ) -> HalfVector | None:
        """The vector of the very same text under the same model and `encoder` (protocols.question_encoder), if it is known.
        Raises what the database raises."""
        if not capacity:
            return None
        key = _key(principal, model, query, encoder)
        own = key, principal.names
        if (found := self._recent.get(own)) is not None:
            self._recent.move_to_end(own)
            return found
        async with self._database.transaction(
            principal, readonly=True, config={"statement_timeout": "1000"}
        ) as connection:
            row = await connection.fetchrow(SQL["embedding"], *key)
        if row is None:
            return None
        vector: HalfVector = row["embedding"]
        self._remember(own, vector, capacity)
        if row["touch"]:
            self._share(principal, key, vector, capacity)
        return vector

    def put(
        self,
        principal: Principal,
        model: EmbeddingModel,
        query: str,
        vector: HalfVector,
        capacity: int,
        encoder: str = "",
    ) -> None:
        """Never waits and never raises; other processes know it a moment later."""
        if capacity:
            key = _key(principal, model, query, encoder)
            self._remember((key, principal.names), vector, capacity)
            self._share(principal, key, vector, capacity)

    async def flush(self) -> None:
        """Wait until everything put so far is in the database, or given up."""
        await self._queue.join()

    async def close(self) -> None:
        await self.flush()

    def _remember(self, key: _Own, vector: HalfVector, capacity: int) -> None:
        self._recent[key] = vector
        self._recent.move_to_end(key)
        while len(self._recent) > capacity:
            self._recent.popitem(last=False)

    def _share(self, principal: Principal, key: _Key, vector: HalfVector, capacity: int) -> None:
        try:
            self._queue.put_nowait((principal, key, vector, capacity))
        except asyncio.QueueFull:
            return
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain())

    async def _drain(self) -> None:
        while not self._queue.empty():
            principal, key, vector, capacity = self._queue.get_nowait()
            try:
                async with self._database.bookkeeping.transaction(
                    principal, config={"synchronous_commit": "off", "statement_timeout": "5000"}
                ) as connection:
                    await connection.execute(SQL["keep_embedding"], *key, vector, capacity)
            except ReadOnlyError:
                pass  # a standby keeps none, which health says
            except Exception:
                log.exception("query_embeddings.not_written")
            finally:
                self._queue.task_done()


def _key(principal: Principal, model: EmbeddingModel, query: str, encoder: str) -> _Key:
    text = f"{encoder}\0{query}" if encoder else query  # no query has a NUL
    return principal.tenant_id, model.id, hashlib.sha256(text.encode()).digest()
