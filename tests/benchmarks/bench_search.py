"""Hybrid search in process, against the raw statement in pgbench and against peers on the same server and vectors.

Goals at 50,000 chunks: p50 at most .65 of langchain-postgres and 1/15 of llama-index; at 16 clients at least 1.7 and 20
times their rate; at least .85 of the raw statement. Peers rank chunks by both legs; Cairn ranks passages lexically.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from app.domain.passage import SearchRequest
from app.service.documents import get_collection
from app.service.search import run_search
from app.wiring import Services
from tests.benchmarks.children import PEERS, REPO, Child
from tests.benchmarks.corpus import DIMENSIONS, Corpus, Loadable, Query
from tests.benchmarks.loading import bulk_load, opened, settled, with_ready_vectors
from tests.benchmarks.timing import Contestant, drive, interleave, record, sizes, table

CLIENTS = (1, 8, 16)
RAW_NAME = "raw statement, pgbench"
NAMES = ("langchain", "llama-index")
GOALS = {"langchain": (0.65, 1.7), "llama-index": (round(1 / 15, 3), 20), RAW_NAME: (None, 0.85)}
"""Most p50 at 1 client and least rate at 16, relative to each."""

# Both legs, fusion and the passages in one statement: what the engine asks of the database, without the engine.
RAW = """
WITH vector AS MATERIALIZED (
  SELECT c.passage_id, min(best.distance) AS distance FROM (
    SELECT e.chunk_id, e.embedding::halfvec({dimensions}) <=> '{vector}'::halfvec({dimensions}) AS distance
    FROM rag.embeddings e WHERE e.tenant_id = {tenant} AND e.collection_id = '{collection}' AND e.model_id = {model}
    ORDER BY e.embedding::halfvec({dimensions}) <=> '{vector}'::halfvec({dimensions}) LIMIT 100) AS best
  JOIN rag.chunks c ON c.tenant_id = {tenant} AND c.id = best.chunk_id GROUP BY c.passage_id
), lexical AS MATERIALIZED (
  SELECT passage_id, score FROM rag.lexical_search('{collection}', '{text}', 50, 2000, 20000, NULL)
), fused AS (
  SELECT passage_id, sum(share) AS score FROM (
    SELECT passage_id, .7 / (60 + row_number() OVER (ORDER BY distance)) AS share FROM vector UNION ALL
    SELECT passage_id, .3 / (60 + row_number() OVER (ORDER BY score DESC)) FROM lexical) AS legs
  GROUP BY passage_id ORDER BY 2 DESC LIMIT 10
)
SELECT f.score, p.id, p.content, p.char_start, p.char_end, p.headings, d.external_id, d.title, d.metadata
FROM fused f JOIN rag.passages p ON p.tenant_id = {tenant} AND p.id = f.passage_id
JOIN rag.documents d ON d.tenant_id = {tenant} AND d.id = p.document_id ORDER BY f.score DESC;
"""


@pytest.mark.parametrize("size", sizes())
async def test_search(
    dsn: str, program: Callable[[str], Path], processor: Callable[[], float], tmp_path: Path, size: int
) -> None:
    corpus, pgbench = Corpus(size), program("pgbench")
    async with opened(dsn) as services:
        loadables = list(corpus.documents())
        load = await bulk_load(services, "bench", loadables)
        await settled(services)
        services = with_ready_vectors(services, corpus)

        async def ask(query: Query) -> None:
            found = await run_search(services, SearchRequest(query.text, ("bench",), cache=False))
            assert found.passages
            assert not found.legs_failed

        contestants: dict[str, Contestant] = {
            "cairn in process": lambda clients, seconds: drive(ask, corpus.queries, clients, seconds),
            RAW_NAME: await _pgbench(services, corpus.queries, pgbench, dsn, tmp_path),
        }
        peers = await _peers(dsn, loadables, corpus.queries, tmp_path) if PEERS.exists() else None
        loads = {"cairn": load.seconds}
        if peers is None:
            print(f"\nNo peers: {PEERS} does not exist; make it with `make bench-peers`")
        else:
            for name in NAMES:
                answer = await peers.ask({"peer": name, "load": True})
                assert answer["found"] >= 10  # llama-index gives the hits of both legs, one after the other
                loads[name] = answer["seconds"]
                contestants[name] = partial(peers.window, peer=name)
        try:
            windows = await interleave(contestants, CLIENTS, processor)
        finally:
            if peers is not None:
                peers.close()
    rates = {name: round(load.chunks / seconds) for name, seconds in loads.items()}
    print(f"\nLoaded to a ready index, chunks/s: {rates}")
    found = table(f"Hybrid search, {load.chunks} chunks", windows, "cairn in process")
    record(
        f"search_{size}", {"chunks": load.chunks, "load_per_second": rates, "clients": found, "goals": _goals(found)}
    )


def _goals(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, float]:
    """Printed, and returned for the report: Cairn's p50 of theirs at 1 client, and its rate over theirs at 16."""
    alone, many = found["1"], found["16"]
    goals = {f"p50_of_{name}": round(1 / alone[name]["p50_ratio"], 3) for name in GOALS if name in alone}
    goals |= {f"rate_over_{name}": round(1 / many[name]["rate_ratio"], 2) for name in GOALS if name in many}
    for name, (p50, rate) in GOALS.items():
        if name in alone:
            print(f"  Against {name}: p50 x{goals[f'p50_of_{name}']} (goal {p50}), "
                  f"searches/s at 16 clients x{goals[f'rate_over_{name}']} (goal {rate})")  # fmt: skip
    return goals


async def _pgbench(
    services: Services, queries: list[Query], pgbench: Path, dsn: str, folder: Path
) -> Callable[[int, float], Awaitable[tuple[list[float], float]]]:
    """A contestant that runs the raw statement, prepared, as the role that serves."""
    collection = await get_collection(services, "bench")
    scripts: list[str] = []
    for number, query in enumerate(queries[:60]):
        vector = "[" + ",".join(f"{value:.5f}" for value in query.vector) + "]"
        file = folder / f"query{number}.sql"
        statement = RAW.format(
            dimensions=DIMENSIONS, vector=vector, tenant=services.principal.tenant_id, collection=collection.id,
            model=services.search_deps.model.id, text=query.text.replace("'", "''"),
        )  # fmt: skip
        file.write_text(" ".join(statement.split()) + "\n")
        scripts += ["-f", str(file)]
    place = urlsplit(dsn)
    parameters = {
        "role": "cairn_app", "app.tenant": services.principal.tenant_id, "hnsw.ef_search": 100,
        "hnsw.iterative_scan": "relaxed_order",
    }  # fmt: skip
    environment = {
        **os.environ, "PGHOST": parse_qs(place.query)["host"][0], "PGUSER": place.username or "",
        "PGOPTIONS": " ".join(f"-c {name}={value}" for name, value in parameters.items()),
    }  # fmt: skip

    async def run(clients: int, seconds: float) -> tuple[list[float], float]:
        log = folder / "pgbench_log"
        command = [pgbench, "-n", "-M", "prepared", "-c", str(clients), "-j", "1", "-T", str(max(1, round(seconds))), "-l",
                   f"--log-prefix={log}", *scripts, place.path.lstrip("/")]  # fmt: skip
        done = await asyncio.to_thread(
            subprocess.run, command, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        await asyncio.sleep(0.2)  # its backends end, and their processor time is booked
        latencies = _logged(folder)
        rate = re.search(r"^tps = ([\d.]+)", done.stdout, re.MULTILINE)
        assert rate is not None, done.stdout
        return latencies, len(latencies) / float(rate[1])

    return run


def _logged(folder: Path) -> list[float]:
    """Latencies in ms out of pgbench's logs, which are removed."""
    found = []
    for file in folder.glob("pgbench_log.*"):
        found += [int(line.split()[2]) / 1000 for line in file.read_text().splitlines()]
        file.unlink()
    return found


async def _peers(dsn: str, loadables: list[Loadable], queries: list[Query], folder: Path) -> Child:
    """The process of the peers, with the same chunks and vectors."""
    texts = [chunk.content for loadable in loadables for chunk in loadable.document.chunks]
    np.savez(folder / "chunks.npz", texts=texts, vectors=np.concatenate([item.vectors for item in loadables]))
    np.savez(folder / "asked.npz", texts=[q.text for q in queries], vectors=np.stack([q.vector for q in queries]))
    child = Child([PEERS / "bin" / "python", REPO / "tests" / "benchmarks" / "peers.py"])
    child.tell({"dsn": dsn, "chunks": str(folder / "chunks.npz"), "queries": str(folder / "asked.npz")})
    return child
