"""How searches grow from 5,000 chunks to a million: each leg and both, recall, sizes, memory and a cold start.

Goals: hybrid at 1,000,000 chunks at most 3 times that at 50,000, recall@10 at least .95; loaded and indexed in under an hour on 2
cores. BENCH_SIZES names the sizes, each in a collection of its own; BENCH_GROWTH_HOME keeps what was loaded for the next run.
Texts are made by the generator of the corpus and cut by the product, vectors lie in clouds; nothing is embedded.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg

from cairn.db.embedded import ensure_running
from cairn.domain.passage import Leg, SearchRequest
from cairn.service.documents import get_collection, list_collections
from cairn.service.search import run_search
from cairn.settings import Settings, SettingsStore, VectorSettings
from cairn.wiring import Services
from tests.benchmarks.corpus import Corpus, Loadable, Query
from tests.benchmarks.draw import draw_growth
from tests.benchmarks.loading import bulk_load, opened, settled, with_ready_vectors
from tests.benchmarks.timing import percentile, record, resident_mb, sizes
from tests.conftest import temporary_home

LEGS: dict[str, tuple[Leg, ...]] = {"hybrid": ("vector", "lexical"), "vector": ("vector",), "lexical": ("lexical",)}
ASKED, COMPARED, COLD = 100, 30, 30
"""Queries that are timed by each leg, compared with the exact scan, and asked of a server that has just started."""
PICTURE = "BENCH_PICTURE"
"""Where the curve is drawn to (an .svg), if anywhere."""

SIZES = """
SELECT coalesce(sum(pg_relation_size(i.indexrelid)) FILTER (WHERE a.amname = 'hnsw'), 0) AS hnsw,
       coalesce(sum(pg_relation_size(i.indexrelid)) FILTER (WHERE a.amname = 'gin'), 0) AS gin,
       pg_database_size(current_database()) AS everything
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
WHERE c.relnamespace = 'rag'::regnamespace
"""


async def test_growth(closed_world: None) -> None:
    steps: dict[int, dict[str, Any]] = {}
    with ExitStack() as stack:
        kept = os.environ.get("BENCH_GROWTH_HOME")
        home = Path(kept) if kept else stack.enter_context(temporary_home(quick=False))
        for size in sizes("5000,50000"):
            corpus = Corpus(size, query_count=max(ASKED, 200))
            with ensure_running(home) as server:
                loaded = await _load(server.dsn(), corpus, f"growth_{size}")
            _forget_files()
            with ensure_running(home) as server:
                steps[size] = loaded | await _measure(server.dsn(), corpus, f"growth_{size}")
            _tell(size, steps[size])
            record("growth", {str(number): step for number, step in steps.items()} | {"goals": _goals(steps)})
    if target := os.environ.get(PICTURE):
        draw_growth({size: {leg: step[leg] for leg in LEGS} for size, step in steps.items()}, Path(target))


async def _load(dsn: str, corpus: Corpus, name: str) -> dict[str, Any]:
    """In bulk, to a ready index; what it took. A collection that is there already stays."""
    async with opened(dsn) as services:
        known = {one.name: one for one in await list_collections(services)}
        if name in known and known[name].chunk_count >= corpus.chunks:
            for _ in corpus.documents():  # makes the queries
                pass
            return {"loaded": "before"}
        load = await bulk_load(services, name, _told(corpus))
        started = time.perf_counter()
        await settled(services)
        return {
            "rows_s": round(load.rows), "index_s": round(load.index + time.perf_counter() - started),
            "per_second": round(load.chunks / (load.seconds + time.perf_counter() - started)),
        }  # fmt: skip


def _told(corpus: Corpus) -> Iterator[Loadable]:
    """The documents one by one: a million chunks with their vectors take more memory than there is."""
    made = 0
    for loadable in corpus.documents():
        before, made = made, made + len(loadable.vectors)
        if before // 50_000 != made // 50_000:
            print(f"  {made} chunks", flush=True)
        yield loadable


async def _measure(dsn: str, corpus: Corpus, name: str) -> dict[str, Any]:
    queries = corpus.queries[:ASKED]
    async with opened(dsn) as services:
        services = with_ready_vectors(services, corpus.queries)
        cold = await _latencies(services, name, LEGS["hybrid"], queries[:COLD])
        measured: dict[str, Any] = {
            "cold_p50_ms": round(percentile(cold, 50), 2),
            "cold_p95_ms": round(percentile(cold, 95), 2),
        }
        for leg, legs in LEGS.items():
            await _latencies(services, name, legs, queries)
            timed = [*await _latencies(services, name, legs, queries), *await _latencies(services, name, legs, queries)]
            measured[leg] = {"p50_ms": round(percentile(timed, 50), 2), "p95_ms": round(percentile(timed, 95), 2)}
        measured["recall_at_10"] = round(await _recall(services, name, queries[-COMPARED:]), 4)
        measured["chunks"] = (await get_collection(services, name)).chunk_count
        measured["process_mb"] = round(resident_mb(os.getpid()))
        connection = await asyncpg.connect(services.owner_dsn)
        row = await connection.fetchrow(SIZES)
        buffers = await connection.fetchval("SHOW shared_buffers")
        await connection.close()
    return measured | {
        "hnsw_mb": int(row["hnsw"]) >> 20, "gin_mb": int(row["gin"]) >> 20, "database_mb": int(row["everything"]) >> 20,
        "shared_buffers": buffers,
    }  # fmt: skip


async def _latencies(services: Services, name: str, legs: tuple[Leg, ...], queries: list[Query]) -> list[float]:
    found = []
    for query in queries:
        begun = time.perf_counter()
        result = await run_search(services, SearchRequest(query.text, (name,), legs=legs, cache=False))
        found.append((time.perf_counter() - begun) * 1000)
        assert result.passages
        assert not result.legs_failed
        assert not result.retries
    return found


async def _recall(services: Services, name: str, queries: list[Query]) -> float:
    """Share of the ten passages of an exact scan that the search by index finds."""
    exact = replace(services, settings=SettingsStore(initial=Settings(vector=VectorSettings(exact_below=10**8))))
    shares = []
    for query in queries:
        request = SearchRequest(query.text, (name,), legs=("vector",), cache=False)
        near, true = await run_search(services, request), await run_search(exact, request)
        assert true.exact
        wanted = {passage.passage_id for passage in true.passages}
        shares.append(len(wanted & {passage.passage_id for passage in near.passages}) / len(wanted))
    return statistics.mean(shares)


def _forget_files() -> None:
    """What the system keeps of files in memory, where that is allowed (root); else only PostgreSQL begins without."""
    subprocess.run(["sync"], check=True)
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
    except OSError as error:
        print(f"  The system's cache stays warm: {error.strerror}")


def _goals(steps: dict[int, dict[str, Any]]) -> dict[str, Any]:
    least, most = min(steps), max(steps)
    return {
        f"hybrid_{most}_over_{size}": round(steps[most]["hybrid"]["p50_ms"] / steps[size]["hybrid"]["p50_ms"], 2)
        for size in (least, 50_000) if size in steps and size != most
    }  # fmt: skip


def _tell(size: int, step: dict[str, Any]) -> None:
    legs = ", ".join(f"{leg} {step[leg]['p50_ms']} (p95 {step[leg]['p95_ms']})" for leg in LEGS)
    print(
        f"\n{size} chunks: ms {legs}; cold {step['cold_p50_ms']} (p95 {step['cold_p95_ms']}); recall@10 {step['recall_at_10']}; "
        f"HNSW {step['hnsw_mb']} MB, GIN {step['gin_mb']} MB, database {step['database_mb']} MB of all sizes so far, "
        f"shared_buffers {step['shared_buffers']}, process {step['process_mb']} MB; "
        + (f"{step['per_second']} chunks/s to a ready index" if "per_second" in step else "loaded before"), flush=True
    )  # fmt: skip
