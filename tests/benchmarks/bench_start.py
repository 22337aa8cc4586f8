"""From `cairn serve` to the first answer, and the memory of the serving process.

Goals: first search within 2 s of the start; under 400 MB with the local embedder. The database is there and migrated, as
at every start but the first; its own memory is PostgreSQL's (256 MB of shared buffers) and not counted here.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import httpx2

from tests.benchmarks.conftest import Serving
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.loading import bulk_load, opened
from tests.benchmarks.timing import ROUNDS, processor_seconds, record, resident_mb

SEARCHES = 200
INDEXED = 500


async def test_cold_start_and_memory(dsn: str, serve: Callable[..., AbstractContextManager[Serving]]) -> None:
    corpus, more = Corpus(2_000), Corpus(INDEXED, seed=99)
    async with opened(dsn) as services:
        await bulk_load(services, "bench", corpus.documents())
    ready, first, worked = [], [], []
    for last in [False] * (ROUNDS - 1) + [True]:
        started = time.perf_counter()
        with serve(dsn) as serving, _client(serving) as client:
            ready.append(serving.seconds)
            _search(client, corpus.queries[0].text)
            first.append(time.perf_counter() - started)
            worked.append(processor_seconds(serving.pid))
            if last:
                memory = {"after_first_search": resident_mb(serving.pid)}
                for number in range(SEARCHES):
                    _search(client, corpus.queries[number % len(corpus.queries)].text)
                memory["after_200_searches"] = resident_mb(serving.pid)
                documents = [
                    {"external_id": item.document.source.name, "text": item.document.text} for item in more.documents()
                ]
                answer = client.post("/index", json={"collection": "more", "documents": documents}).json()
                assert len(answer["indexed"]) == len(documents)
                memory["after_indexing_500_chunks"] = resident_mb(serving.pid)
    result = {
        "ready_s": round(statistics.median(ready), 2), "first_search_s": round(statistics.median(first), 2),
        "processor_s": round(statistics.median(worked), 2),
        "resident_mb": {name: round(value) for name, value in memory.items()},
    }  # fmt: skip
    print(f"\nReady after {result['ready_s']} s, first search after {result['first_search_s']} s (goal 2), "
          f"{result['processor_s']} s of processor time; "
          f"resident MB {result['resident_mb']} (goal 400)")  # fmt: skip
    record("start", result)


def _client(serving: Serving) -> httpx2.Client:
    return httpx2.Client(base_url=f"http://127.0.0.1:{serving.port}", timeout=120, trust_env=False)


def _search(client: httpx2.Client, text: str) -> None:
    answer = client.post("/search", json={"query": text, "collection": "bench", "cache": False})
    assert answer.status_code == 200, answer.text
    assert answer.json()["results"]
    assert not answer.json()["legs_failed"]
