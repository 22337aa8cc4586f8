"""What a trace costs a search: blocks of searches with and without traces, interleaved in one process.

    pytest -s tests/benchmarks/bench_traces.py      (BENCH_ROUNDS=20, BENCH_BLOCK=100, BENCH_DOCUMENTS=300)

A block with traces ends when they are written, so background work is paid by the block that caused it. It is two batches
of the writer, as a busy server has them. The report is the median over rounds of time with / time without; the goal is
under 1.05.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import time

from cairn.domain.document import Source
from cairn.domain.passage import SearchRequest
from cairn.interfaces.server import collect_rarely
from cairn.service.documents import index_now
from cairn.service.search import run_search
from cairn.wiring import Services
from tests.db.conftest import environment, services

__all__ = ["environment", "services"]  # fixtures

BEGINNINGS = ("gran", "bas", "mar", "quar", "feld", "mic", "gne", "sch")
ENDINGS = ("ite", "alt", "ble", "tz", "spar", "iss", "ist", "ock")
WORDS = [f"{beginning}{ending}" for beginning in BEGINNINGS for ending in ENDINGS]
BLOCK = int(os.environ.get("BENCH_BLOCK", "100"))


async def corpus(services: Services, count: int) -> None:
    chance = random.Random(1)
    sources = [
        Source(f"d{i}", f"d{i}", " ".join(chance.choices(WORDS, k=200)).encode(), None, "text/plain", {})
        for i in range(count)
    ]
    await index_now(services, "bench", sources)


async def block(services: Services, queries: list[str], traced: bool) -> float:
    settings = services.settings.current
    trace = settings.trace.model_copy(update={"enabled": traced})
    services.settings.current = settings.model_copy(update={"trace": trace})
    begun = time.perf_counter()
    for query in queries:
        await run_search(services, SearchRequest(query=query, collections=("bench",), cache=False))
    await services.traces.flush()
    return (time.perf_counter() - begun) / len(queries) * 1000


async def measure(services: Services, rounds: int) -> dict[str, float]:
    chance = random.Random(2)
    times: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds + 2):
        queries = [" ".join(chance.choices(WORDS, k=6)) for _ in range(BLOCK)]
        for traced in (True, False) if number % 2 else (False, True):
            spent = await block(services, queries, traced)
            if number >= 2:  # after warming up
                times[traced].append(spent)
    ratios = [on / off for on, off in zip(times[True], times[False], strict=True)]
    quartiles = statistics.quantiles(ratios, n=4)
    return {
        "searches": rounds * BLOCK * 2,
        "ms_without": round(statistics.median(times[False]), 3),
        "ms_with": round(statistics.median(times[True]), 3),
        "ratio": round(statistics.median(ratios), 4),
        "ratio_quartile_1": round(quartiles[0], 4),
        "ratio_quartile_3": round(quartiles[2], 4),
    }


async def test_what_traces_cost(services: Services) -> None:
    """Median ratio of searches with traces to searches without, interleaved; the aim is under 1.05."""
    rounds, documents = int(os.environ.get("BENCH_ROUNDS", "20")), int(os.environ.get("BENCH_DOCUMENTS", "300"))
    await corpus(services, documents)
    collect_rarely()
    report = await measure(services, rounds)
    print("\n" + json.dumps({"benchmark": "traces", **report}))
