"""Writing: storage alone, bulk, and end to end against the embedding runtime alone.

Goals: storage at least 500 chunks/s with all indexes online and exact statistics, by as many writers as a run has; bulk at
least 1,200 chunks/s to a ready index; end to end at least 90 % of what the embedding runtime computes by itself from
the same texts.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

from cairn.domain.document import Indexed, Source
from cairn.ingest.pipeline import STORING
from cairn.service.documents import get_collection, index_now
from cairn.wiring import Services
from tests.benchmarks.corpus import Corpus, Loadable
from tests.benchmarks.loading import bulk_load, opened, publish_all, statistics_are_exact
from tests.benchmarks.timing import ROUNDS, record

PRESENT = int(os.environ.get("BENCH_PRESENT", "20000"))
"""Chunks that are loaded in bulk, and there before online storage is measured, so that the index is not empty."""
STORED = 1_000
EMBEDDED = int(os.environ.get("BENCH_EMBED", "300"))
"""Chunks per burst that go through the model: some 3 to 6 s each."""


async def test_storage_online_and_in_bulk(dsn: str, processor: Callable[[], float]) -> None:
    async with opened(dsn) as services:
        bulk = await bulk_load(services, "bench", list(Corpus(PRESENT).documents()))
        collection = await get_collection(services, "bench")
        online: dict[int, list[float]] = {1: [], STORING: []}
        stored, used = 0, 0.0
        for number in range(ROUNDS):
            for writers, rates in online.items():
                loadables = list(Corpus(STORED, seed=100 * writers + number).documents(f"{writers}-{number}-"))
                started, before = time.perf_counter(), processor()
                chunks = await publish_all(services, collection.id, loadables, writers)
                rates.append(chunks / (time.perf_counter() - started))
                stored, used = stored + chunks, used + processor() - before
        assert await statistics_are_exact(services, "bench")
    result = {
        "online_per_second": {writers: round(statistics.median(rates)) for writers, rates in online.items()},
        "online_per_second_all": {writers: [round(rate) for rate in rates] for writers, rates in online.items()},
        "online_processor_ms": round(1000 * used / stored, 2),
        "bulk_per_second": round(bulk.chunks / bulk.seconds), "bulk_rows_s": bulk.rows, "bulk_index_s": bulk.index,
    }  # fmt: skip
    print(f"\nStorage: {result['online_per_second']} chunks/s online by writers (goal 500), "
          f"{result['online_processor_ms']} ms of processor time per chunk; "
          f"{result['bulk_per_second']} chunks/s in bulk to a ready index (goal 1200)")  # fmt: skip
    record("ingest_storage", result)


async def test_end_to_end_against_the_embedding_runtime(dsn: str, processor: Callable[[], float]) -> None:
    """Bursts take turns. The texts of a burst are the same for both, and new to the tenant, so nothing is reused."""
    async with opened(dsn) as services:
        await services.search_deps.embedder.embed(["warm"])
        alone, whole, costs = [], [], []
        for number in range(ROUNDS + 1):
            documents = list(Corpus(EMBEDDED, seed=200 + number).documents(f"burst-{number}-"))
            marks = [processor()]
            computed = await _embed_alone(services, documents)
            marks.append(processor())
            stored = await _index(services, documents)
            marks.append(processor())
            if number:  # the first burst warms both
                alone.append(computed)
                whole.append(stored)
                chunks = sum(len(item.vectors) for item in documents)
                costs.append((1000 * (marks[1] - marks[0]) / chunks, 1000 * (marks[2] - marks[1]) / chunks))
    ratio = statistics.median(w / a for w, a in zip(whole, alone, strict=True))
    alone_ms, whole_ms = (statistics.median(column) for column in zip(*costs, strict=True))
    print(f"\nEnd to end {statistics.median(whole):.1f} chunks/s, embedding alone {statistics.median(alone):.1f}: "
          f"x{ratio:.3f} (goal .9); processor ms per chunk {whole_ms:.2f}, embedding alone {alone_ms:.2f}: "
          f"x{alone_ms / whole_ms:.3f}")  # fmt: skip
    result = {
        "whole_per_second": whole, "embedding_per_second": alone, "ratio": round(ratio, 3),
        "whole_processor_ms": round(whole_ms, 2), "embedding_processor_ms": round(alone_ms, 2),
    }  # fmt: skip
    record("ingest_end_to_end", result)


async def _embed_alone(services: Services, documents: list[Loadable]) -> float:
    """Chunks per second of the runtime, given everything at once in groups as the pipeline makes them."""
    texts = [chunk.embed_text for loadable in documents for chunk in loadable.document.chunks]
    started = time.perf_counter()
    for first in range(0, len(texts), 128):
        await services.search_deps.embedder.embed(texts[first : first + 128])
    return len(texts) / (time.perf_counter() - started)


async def _index(services: Services, documents: list[Loadable]) -> float:
    """Chunks per second from the text of documents to searchable."""
    sources: list[Source] = [loadable.document.source for loadable in documents]
    started = time.perf_counter()
    outcomes = await index_now(services, "bench", sources)
    seconds = time.perf_counter() - started
    assert all(isinstance(outcome, Indexed) and not outcome.duplicate for outcome in outcomes)
    return sum(outcome.chunk_count for outcome in outcomes if isinstance(outcome, Indexed)) / seconds
