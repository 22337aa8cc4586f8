"""Hybrid search in process, against peers and bare statements on the same server, with the same chunks and vectors.

Goals at 50,000 chunks, traces on: turn by turn p50 at most .60 of langchain-postgres on known items, .80 on questions, 1/20 of
llama-index; in windows .80 of langchain-postgres, and 1.6 times its rate at 16 clients. Peers rank chunks by both legs; Cairn
ranks passages lexically.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import numpy as np
import pytest
from pgvector import HalfVector
from pgvector.asyncpg import register_vector

from cairn.domain.passage import SearchRequest
from cairn.service.search import run_search
from cairn.wiring import Services
from tests.benchmarks.children import PEERS, REPO, Child
from tests.benchmarks.corpus import DIMENSIONS, Loadable, Query
from tests.benchmarks.loading import bulk_load, opened, settled, with_ready_vectors
from tests.benchmarks.real_corpus import corpus_of
from tests.benchmarks.timing import (
    Contestant,
    Turn,
    Windows,
    drive,
    interleave,
    percentile,
    record,
    sizes,
    table,
    take_turns,
)  # fmt: skip

CLIENTS = (1, 8, 16)
CAIRN, STATEMENT, VECTORS = "cairn in process", "its statement, pgbench", "bare pgvector"
NAMES = ("langchain", "llama-index")
TURNS = {("known", "langchain"): 0.60, ("questions", "langchain"): 0.80, ("known", "llama-index"): 0.05}
"""Most p50 turn by turn, of theirs."""
WINDOWS = {"langchain": (0.80, 1.6)}
"""Most p50 at 1 client and least rate at 16, in windows, of theirs."""

# What Cairn asks of the database, without Cairn.
SEARCH = (
    "SELECT * FROM rag.search_collection({tenant}, 'bench', {model}::smallint, '{vector}'::halfvec, 60, false, 3000, 80, 20000, "
    "'{text}', 50, 600, 1000, .7, NULL, 10);"
)
# The least that a vector search costs: ten chunks with their text by HNSW, no words, no passages, no fusion.
NEAREST = """
SELECT c.content, n.distance FROM (
  SELECT e.chunk_id, e.embedding::halfvec({dimensions}) <=> $1::halfvec({dimensions}) AS distance FROM rag.embeddings e
  WHERE {predicate} ORDER BY e.embedding::halfvec({dimensions}) <=> $1::halfvec({dimensions}) LIMIT 10) AS n
JOIN rag.chunks c ON c.id = n.chunk_id AND c.tenant_id = {tenant} ORDER BY 2
"""


@pytest.mark.parametrize("size", sizes())
async def test_search(
    dsn: str,
    program: Callable[[str], Path],
    processor: Callable[[], float],
    scheduled: Callable[[], float],
    tmp_path: Path,
    size: int,
) -> None:
    corpus, pgbench = corpus_of(size), program("pgbench")
    async with opened(dsn) as services:
        loadables = list(corpus.documents())
        load = await bulk_load(services, "bench", loadables)
        await settled(services)
        asked = corpus.queries + corpus.questions
        parts = {"known": range(len(corpus.queries)), "questions": range(len(corpus.queries), len(asked))}
        services = with_ready_vectors(services, asked)

        async def ask(number: int) -> None:
            found = await run_search(services, SearchRequest(asked[number].text, ("bench",), cache=False))
            assert found.passages
            assert not found.legs_failed
            assert not found.retries

        folders = {part: tmp_path / part for part in parts}
        for folder in folders.values():
            await asyncio.to_thread(folder.mkdir)
        nearest = await _nearest(services, asked)
        peers, loads = await _peers(dsn, loadables, asked, tmp_path), {"cairn": load.seconds}
        try:
            turns: dict[str, Turn] = {CAIRN: ask, VECTORS: nearest}
            for name in NAMES if peers else ():
                assert peers is not None
                answer = await peers.ask({"peer": name, "load": True})
                assert answer["found"] >= 10  # llama-index gives the hits of both legs, one after the other
                loads[name], turns[name] = answer["seconds"], partial(_ask_peer, peers, name)
            report: dict[str, Any] = {"chunks": load.chunks}
            report["load_per_second"] = {name: round(load.chunks / seconds) for name, seconds in loads.items()}
            print(f"\nLoaded to a ready index, chunks/s: {report['load_per_second']}")
            for part, numbers in parts.items():
                found = await take_turns(
                    {name: partial(_in, numbers, turn) for name, turn in turns.items()}, 100, scheduled
                )
                report[f"turns_{part}"] = _turns_table(f"Turn by turn, {part}, {load.chunks} chunks", part, found)
            for part, numbers in parts.items():
                contestants: dict[str, Contestant] = {
                    CAIRN: partial(drive, ask, numbers), VECTORS: partial(drive, nearest, numbers),
                    STATEMENT: await _pgbench(services, [asked[n] for n in numbers], pgbench, dsn, folders[part]),
                }  # fmt: skip
                for name in NAMES if peers else ():
                    assert peers is not None
                    contestants[name] = partial(peers.window, peer=name, between=[numbers.start, numbers.stop])
                windows = table(
                    f"Windows, {part}, {load.chunks} chunks",
                    await interleave(contestants, CLIENTS, processor), CAIRN,
                )  # fmt: skip
                report[f"windows_{part}"] = {"clients": windows, "goals": _window_goals(windows)}
        finally:
            if peers is not None:
                peers.close()
    record(f"search_{size}", report)


async def _in(numbers: range, turn: Turn, number: int) -> object:
    return await turn(numbers[number % len(numbers)])


async def _ask_peer(peers: Child, name: str, number: int) -> float:
    """Milliseconds by the peer's own clock."""
    return float((await peers.ask({"peer": name, "number": number}))["ms"])


def _turns_table(title: str, part: str, found: Mapping[str, Windows]) -> dict[str, Any]:
    """Print it, and return it for the report. Ratios are Cairn's p50 over theirs."""
    print(f"\n{title}   (Cairn's p50 over theirs)")
    out: dict[str, Any] = {}
    for name, item in found.items():
        ratio = found[CAIRN].p50 / item.p50
        goal = TURNS.get((part, name))
        out[name] = item.summary() | {"ratio": round(ratio, 3), "goal": goal}
        print(
            f"  {name:34} p50 {item.p50:8.2f} ms x{ratio:<6.3f} p95 {percentile(item.latencies, 95):8.2f} ms, "
            f"processor {out[name]['processor_ms']:6.2f} ms" + (f"   (goal {goal})" if goal else "")
        )
    return out


def _window_goals(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, float]:
    """Printed, and returned for the report: Cairn's p50 of theirs at 1 client, and its rate over theirs at 16."""
    alone, many = found["1"], found["16"]
    others = [name for name in alone if name != CAIRN]
    goals = {f"p50_of_{name}": round(1 / alone[name]["p50_ratio"], 3) for name in others}
    goals |= {f"rate_over_{name}": round(1 / many[name]["rate_ratio"], 2) for name in others}
    for name in others:
        p50, rate = WINDOWS.get(name, ("-", "-"))
        print(f"  Against {name}: p50 x{goals[f'p50_of_{name}']} (goal {p50}), "
              f"searches/s at 16 clients x{goals[f'rate_over_{name}']} (goal {rate})")  # fmt: skip
    return goals


async def _nearest(services: Services, asked: list[Query]) -> Turn:
    """A bare statement through a pool, by the index that serves the collection."""
    connection = await asyncpg.connect(services.owner_dsn)
    predicate = await connection.fetchval(
        "SELECT pg_get_expr(i.indpred, i.indrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "WHERE c.relname ~ '^embeddings_hnsw_' AND i.indisvalid ORDER BY length(c.relname) DESC LIMIT 1"
    )
    await connection.close()
    statement = NEAREST.format(dimensions=DIMENSIONS, predicate=predicate, tenant=services.principal.tenant_id)
    pool = await asyncpg.create_pool(
        services.owner_dsn, min_size=1, max_size=4, init=partial(register_vector, schema="public"),
        server_settings={"hnsw.ef_search": "80"},
    )  # fmt: skip
    vectors = [HalfVector(query.vector) for query in asked]

    async def ask(number: int) -> None:
        assert len(await pool.fetch(statement, vectors[number])) == 10

    return ask


async def _pgbench(
    services: Services, queries: list[Query], pgbench: Path, dsn: str, folder: Path
) -> Callable[[int, float], Awaitable[tuple[list[float], float]]]:
    """A contestant that runs the statement of a search, prepared, as the role that serves."""
    scripts: list[str] = []
    for number, query in enumerate(queries[:60]):
        vector = "[" + ",".join(f"{value:.5f}" for value in query.vector) + "]"
        file = folder / f"query{number}.sql"
        statement = SEARCH.format(
            vector=vector, tenant=services.principal.tenant_id, model=services.search_deps.model.id,
            text=query.text.replace("'", "''"),
        )  # fmt: skip
        file.write_text(" ".join(statement.split()) + "\n")
        scripts += ["-f", str(file)]
    place = urlsplit(dsn)
    parameters = {"role": "cairn_app", "hnsw.iterative_scan": "relaxed_order"}
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


async def _peers(dsn: str, loadables: list[Loadable], queries: list[Query], folder: Path) -> Child | None:
    """The process of the peers, with the same chunks and vectors; None where they are not installed."""
    if not PEERS.exists():
        print(f"\nNo peers: {PEERS} does not exist; make it with `make bench-peers`")
        return None
    texts = [chunk.content for loadable in loadables for chunk in loadable.document.chunks]
    np.savez(folder / "chunks.npz", texts=texts, vectors=np.concatenate([item.vectors for item in loadables]))
    np.savez(folder / "asked.npz", texts=[q.text for q in queries], vectors=np.stack([q.vector for q in queries]))
    child = Child([PEERS / "bin" / "python", REPO / "tests" / "benchmarks" / "peers.py"])
    child.tell({"dsn": dsn, "chunks": str(folder / "chunks.npz"), "queries": str(folder / "asked.npz")})
    return child
