"""The same searches over HTTP and in process: what the edge costs.

Goals: at least .6 of the in-process rate; at most 1.5 ms of the serving process's time on top of a search and of an answer from
the retrieval cache. Both sides use the same server, collection and query vectors, at the defaults (traces on, 4 connections).
The load generator shares the cores with the server, as it would on a user's machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from cairn.service.search import make_request, run_search
from tests.benchmarks import children
from tests.benchmarks.conftest import Serving
from tests.benchmarks.corpus import Corpus, Query
from tests.benchmarks.loading import bulk_load, opened, settled, with_ready_vectors
from tests.benchmarks.timing import Contestant, drive, interleave, processor_seconds, record, sizes, table

CLIENTS = (1, 8, 16)
SMALL = 300
"""Chunks, where the time of the server is measured and not that of the database."""
CACHED = 20
"""Queries whose results are in the retrieval cache."""
GOAL_MS = 1.5


@pytest.mark.parametrize("size", sizes("5000"))
async def test_http_against_in_process(
    dsn: str,
    serve: Callable[..., AbstractContextManager[Serving]],
    processor: Callable[[], float],
    size: int,
) -> None:
    corpus = Corpus(size)
    async with opened(dsn) as services:
        await bulk_load(services, "bench", corpus.documents())
        await settled(services)
        services = with_ready_vectors(services, corpus.queries)

        async def ask(query: Query) -> None:
            wanted = make_request(services.settings.current, query.text, ["bench"], cache=False)  # as the endpoint does
            found = await run_search(services, wanted)
            assert found.passages
            assert not found.legs_failed

        bodies = [{"query": query.text, "collection": "bench", "cache": False} for query in corpus.queries]
        with serve(dsn, corpus.queries) as serving:
            over_http = children.loader(serving.port, bodies)
            try:
                windows = await interleave(
                    {"in process": lambda clients, seconds: drive(ask, corpus.queries, clients, seconds),
                     "over HTTP": over_http.window},
                    CLIENTS,
                    processor,
                )  # fmt: skip
            finally:
                over_http.close()
    record(f"http_{size}", table(f"Hybrid search, {size} chunks", windows, "in process"))


async def test_processor_time_of_a_request(dsn: str, serve: Callable[..., AbstractContextManager[Serving]]) -> None:
    """Of the process that serves, and of this one where it searches itself: neither PostgreSQL's nor the client's."""
    corpus = Corpus(SMALL)
    async with opened(dsn) as services:
        await bulk_load(services, "bench", corpus.documents())
        await settled(services)
        services = with_ready_vectors(services, corpus.queries)

        def in_process(cache: bool) -> Contestant:
            async def ask(query: Query) -> None:
                wanted = make_request(services.settings.current, query.text, ["bench"], cache=cache)
                assert (await run_search(services, wanted)).from_cache <= cache

            return lambda clients, seconds: drive(ask, _asked(corpus, cache), clients, seconds)

        with serve(dsn, corpus.queries) as serving:
            loaders = {
                cache: children.loader(
                    serving.port,
                    [{"query": query.text, "collection": "bench", "cache": cache} for query in _asked(corpus, cache)],
                )
                for cache in (False, True)
            }
            try:
                windows = await interleave(
                    {"search in process": in_process(False), "search over HTTP": loaders[False].window,
                     "hit in process": in_process(True), "hit over HTTP": loaders[True].window},
                    (1,),
                    lambda: processor_seconds(serving.pid) + time.process_time(),
                    rounds=7, seconds=1.5,
                )  # fmt: skip
            finally:
                for loader in loaders.values():
                    loader.close()
    numbers = table(f"Processor time per request, {SMALL} chunks", windows, "search in process")
    spent = {name: item["processor_ms"] for name, item in numbers["1"].items()}
    for what in ("search", "hit"):
        alone, served = spent[f"{what} in process"], spent[f"{what} over HTTP"]
        numbers[what] = {
            "http_adds_ms": round(served - alone, 2),
            "ratio": round(served / alone, 2),
            "goal_ms": GOAL_MS,
        }
        print(f"  HTTP adds to a {what:6} {served - alone:5.2f} ms (goal {GOAL_MS}), x{served / alone:.2f}")
    record("http_processor", numbers)


def _asked(corpus: Corpus, cache: bool) -> list[Query]:
    return corpus.queries[:CACHED] if cache else corpus.queries
