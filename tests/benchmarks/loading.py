"""Getting a corpus into the product's tables by the product's own functions, so that every statistic is exact."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from uuid import UUID

import asyncpg
import numpy as np
from pgvector import HalfVector

from cairn.ingest.bulk import BulkRun
from cairn.ingest.embed import in_use
from cairn.ingest.pipeline import STORING
from cairn.ingest.publish_queue import TOGETHER_CHUNKS
from cairn.service.documents import ensure_collection
from cairn.service.jobs import build_indexes, order_plan
from cairn.settings import SettingsStore, read_environment
from cairn.store import documents
from cairn.wiring import Services, open_services
from tests.benchmarks.corpus import Loadable, Query, ReadyVectors


@dataclass(frozen=True)
class Load:
    """What a load cost, in seconds: rows with their lexical index and statistics, then the vector index."""

    chunks: int
    rows: float
    index: float

    @property
    def seconds(self) -> float:
        return self.rows + self.index


@asynccontextmanager
async def opened(dsn: str, settings: SettingsStore | None = None) -> AsyncIterator[Services]:
    """The product's services on a database, with a local model: MiniLM, where no settings are given."""
    environment = read_environment({"CAIRN_DATABASE_URL": dsn})
    async with open_services(environment, settings or SettingsStore()) as services:
        yield services


async def publish(services: Services, collection_id: UUID, loadables: Sequence[Loadable]) -> None:
    """Documents in one transaction, as the last stage of ingestion does it."""
    principal, model = services.principal, services.search_deps.model.id
    async with services.database.transaction(principal) as connection:
        registered = await documents.register_all(
            connection,
            principal,
            collection_id,
            [(one.document.source, one.document.content_hash) for one in loadables],
        )
        versions = [
            documents.NewVersion(known.id, one.document, {model: list(map(HalfVector, one.vectors.astype(np.float16)))})
            for known, one in zip(registered, loadables, strict=True)
        ]
        await documents.publish(connection, collection_id, model, versions, keep_original=False)


async def publish_all(
    services: Services, collection_id: UUID, loadables: Iterable[Loadable], writers: int = STORING,
    bulk: BulkRun | None = None,
) -> int:  # fmt: skip
    """By so many writers at once, in groups, as a run of the pipeline does it. Returns the number of chunks."""
    waiting, chunks = iter(loadables), 0

    def take() -> list[Loadable]:
        taken: list[Loadable] = []
        while sum(len(one.vectors) for one in taken) < TOGETHER_CHUNKS and (one := next(waiting, None)):
            taken.append(one)
        return taken

    async def write() -> None:
        nonlocal chunks
        while taken := take():
            many = sum(len(one.vectors) for one in taken)
            if bulk:
                await bulk.count(many)
            await publish(services, collection_id, taken)
            chunks += many

    async with asyncio.TaskGroup() as group:
        for _ in range(writers):
            group.create_task(write())
    return chunks


async def bulk_load(services: Services, name: str, loadables: Iterable[Loadable]) -> Load:
    """Everything into one collection as one run of the pipeline writes it: from vector.bulkAbove chunks on without HNSW, and the
    index by the job that the run orders. What an iterator takes to make them counts."""
    collection = await ensure_collection(services, name)
    target = services.target(services.principal, collection.id)
    bulk = BulkRun(services.database, target, await in_use(services.database, target))
    started = time.perf_counter()
    chunks = await publish_all(services, collection.id, loadables, bulk=bulk)
    await bulk.end()
    rows = time.perf_counter() - started
    started = time.perf_counter()
    await order_plan(services)
    await build_indexes(services)
    built = time.perf_counter() - started
    connection = await asyncpg.connect(services.owner_dsn)
    try:
        await connection.execute(
            "VACUUM ANALYZE rag.passages, rag.chunks, rag.embeddings, rag.lexical_index, rag.lexical_terms"
        )
    finally:
        await connection.close()
    return Load(chunks, rows, built)


def with_ready_vectors(services: Services, queries: Iterable[Query]) -> Services:
    """The same services, but queries are embedded by looking them up."""
    embedder = ReadyVectors({query.text: query.vector for query in queries})
    return replace(services, search_deps=replace(services.search_deps, embedder=embedder))


async def settled(services: Services) -> None:
    """What the worker of a serving process does after a load: the vector index that a large collection gets of its own."""
    await order_plan(services)
    await services.worker().run_until_idle()


_RECOUNT = """
WITH counted AS (
  SELECT key, count(*) AS df FROM rag.lexical_index l JOIN rag.collections c ON c.id = l.collection_id, unnest(keys) AS key
  WHERE c.name = $1 GROUP BY key
), kept AS (
  SELECT t.key, t.document_frequency AS df FROM rag.lexical_terms t JOIN rag.collections c ON c.id = t.collection_id
  WHERE c.name = $1
)
SELECT NOT EXISTS (SELECT FROM counted FULL JOIN kept USING (key) WHERE counted.df IS DISTINCT FROM kept.df)
"""


async def statistics_are_exact(services: Services, name: str) -> bool:
    """Whether the document frequencies on record equal a recount."""
    connection = await asyncpg.connect(services.owner_dsn)
    try:
        return bool(await connection.fetchval(_RECOUNT, name))
    finally:
        await connection.close()
