"""The same searches over HTTP and in process: what the edge costs.

Goal: at least .6 of the in-process rate. Both sides use the same server, collection and query vectors, at the defaults
(traces on, 4 connections). The load generator shares the cores with the server, as it would on a user's machine.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from app.domain.passage import SearchRequest
from app.service.search import run_search
from tests.benchmarks import children
from tests.benchmarks.conftest import Serving
from tests.benchmarks.corpus import Corpus, Query
from tests.benchmarks.loading import bulk_load, opened, settled, with_ready_vectors
from tests.benchmarks.timing import drive, interleave, record, sizes, table

CLIENTS = (1, 8, 16)


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
            found = await run_search(services, SearchRequest(query.text, ("bench",), cache=False))
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
