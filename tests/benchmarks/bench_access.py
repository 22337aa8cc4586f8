"""Hybrid search where a caller may read all, all but one document, half, a tenth, a hundredth or a thousandth of a collection,
against that by the operator, of whom nothing is withheld and whose statement is that of a collection without lists. All of them
take turns.

Goals: with access lists at most 1.3 of the operator's p50, recall@10 of the vectors at least .95 against comparing all that the
caller may read."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import asyncpg
import pytest
from pgvector import HalfVector

from cairn.domain.document import Source
from cairn.domain.passage import SearchRequest
from cairn.domain.principal import ALL_SCOPES, Caller
from cairn.service.access import set_folder_access
from cairn.service.documents import index_now
from cairn.service.keys import create_key
from cairn.service.search import run_search
from cairn.wiring import Services
from tests.benchmarks.conftest import Serving
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.http_load import Connection
from tests.benchmarks.loading import bulk_load, opened, settled, with_ready_vectors
from tests.benchmarks.real_corpus import corpus_of
from tests.benchmarks.timing import Windows, record, sizes, take_turns

SHARES = {"all": 1, "half": 2, "a tenth": 10, "a hundredth": 100, "a thousandth": 1000}
"""Group, and of how many documents it may read one, the first always."""
NAMES = ("all", "all but one", *list(SHARES)[1:])
RESTRICT = """
UPDATE rag.documents d SET metadata = jsonb_build_object('tenth', n.place / 7 % 10, 'hundredth', n.place / 7 % 100),
  access = ARRAY(
  SELECT 'group:' || s.name FROM unnest($1::text[], $2::integer[]) AS s (name, nth) WHERE n.place % s.nth = 1 % s.nth
) || CASE WHEN n.place <> 2 THEN '{group:all but one}'::text[] ELSE '{}' END
FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM rag.documents) AS n WHERE n.id = d.id
"""
FOUND = """
SELECT vector_passages[:10] AS passages FROM rag.search_collection(
  $1, 'bench', $2::smallint, $3::halfvec, 40, $4, 3000, 80, 20000, NULL, 50, 600, 1000, 1.0, NULL, 10, $5) LIMIT 1
"""


def member(services: Services, *groups: str) -> Services:
    caller = Caller("token:bench", "bench", frozenset({"read", "ask"}), groups=frozenset(groups))
    return replace(services, principal=replace(services.principal, caller=caller))


@pytest.mark.parametrize("size", sizes())
async def test_access(dsn: str, scheduled: Any, size: int) -> None:
    corpus = corpus_of(size)
    async with opened(dsn) as services:
        await bulk_load(services, "bench", list(corpus.documents()))
        await settled(services)
        services = with_ready_vectors(services, corpus.queries)
        callers = {"nobody named": member(services), **{name: member(services, name) for name in NAMES}}
        unused = {"operator": services, "nobody named": callers["nobody named"]}

        async def ask(caller: Services, number: int) -> None:
            text = corpus.queries[number % len(corpus.queries)].text
            found = await run_search(caller, SearchRequest(text, ("bench",), cache=False))
            assert not found.legs_failed

        before = await take_turns({name: partial(ask, one) for name, one in unused.items()}, 100, scheduled)
        await _restrict(services)
        turns = {"operator": partial(ask, services), **{name: partial(ask, callers[name]) for name in NAMES}}
        after = await take_turns(turns, 100, scheduled)
        recalls = {name: await _recall(callers[name], [one.vector for one in corpus.queries[:100]]) for name in NAMES}
    _report(f"access_unused_{size}", before, {})
    _report(f"access_{size}", after, recalls)


@pytest.mark.parametrize("size", sizes())
@pytest.mark.parametrize("what", ["a filter of a tenth", "a filter of a hundredth", "two collections"])
async def test_beside(dsn: str, scheduled: Any, what: str, size: int) -> None:
    """The same under filters, and over two collections, which go statement by statement."""
    corpus, other = corpus_of(size), Corpus(max(100, size // 5), seed=11)
    filters = {"a filter of a tenth": {"tenth": 3}, "a filter of a hundredth": {"hundredth": 3}}.get(what)
    collections = ("bench",) if filters else ("bench", "other")
    async with opened(dsn) as services:
        await bulk_load(services, "bench", list(corpus.documents()))
        await bulk_load(services, "other", list(other.documents()))
        await settled(services)
        services = with_ready_vectors(services, corpus.queries)
        await _restrict(services)
        callers = {"operator": services, **{name: member(services, name) for name in NAMES}}

        async def ask(caller: Services, number: int) -> None:
            text = corpus.queries[number % len(corpus.queries)].text
            found = await run_search(caller, SearchRequest(text, collections, filters=filters, cache=False))
            assert not found.legs_failed

        after = await take_turns({name: partial(ask, one) for name, one in callers.items()}, 60, scheduled)
    _report(f"access_{what.replace(' ', '_')}_{size}", after, {})


@pytest.mark.parametrize("size", sizes())
@pytest.mark.parametrize("reads", ["by the model", "ready"])
async def test_over_http(
    dsn: str, serve: Callable[..., AbstractContextManager[Serving]], scheduled: Any, reads: str, size: int
) -> None:
    """The same as callers meet it: `POST /search` by keys, where the model reads each question, and where vectors are ready.
    Against who is in all lists: of the scope `admin` it is recorded what it reads of restricted documents."""
    corpus = corpus_of(size)
    async with opened(dsn) as services:
        await bulk_load(services, "bench", list(corpus.documents()))
        await settled(services)
        secrets = {name: (await create_key(services, name, ["read"], groups=[name]))[1] for name in NAMES}
        secrets["operator"] = (await create_key(services, "operator", ALL_SCOPES))[1]
        await _restrict(services)
    with serve(dsn, None if reads == "by the model" else corpus.queries, CAIRN_AUTH="keys") as serving:
        connections = {
            name: Connection(*await asyncio.open_connection("127.0.0.1", serving.port, limit=2**24)) for name in secrets
        }

        async def ask(name: str, number: int) -> set[str]:
            text = corpus.queries[number % len(corpus.queries)].text
            body = {"query": text, "collection": "bench", "cache": False}
            answer = json.loads(await connections[name].post("/search", body, secrets[name]))
            return {one["external_id"] for one in answer["results"]}

        for number in range(10):
            assert await ask("all", number) == await ask("operator", number) != await ask("a tenth", number)
        after = await take_turns({name: partial(ask, name) for name in secrets}, 100, scheduled)
    _report(f"access_http_{reads}_{size}", after, {}, usual="all")


@pytest.mark.parametrize("size", sizes())
async def test_rule(dsn: str, size: int) -> None:
    """A rule that restricts so many documents with their part of the graph, changes their readers, and opens them."""
    async with opened(dsn) as services:
        texts = (
            Source(
                f"hr/{n}.md",
                f"{n}.md",
                f"Ada Keller{n % 997} wrote to Ben Maurer{n % 89} of Zenith{n % 401} Ltd.".encode(),
            )
            for n in range(size)
        )
        await index_now(services, "bench", texts)
        taken = {}
        for deed, access in (("restrict", ["group:hr"]), ("change", ["group:board"]), ("open", [])):
            started = time.perf_counter()
            done = await set_folder_access(services, "bench", "hr/", access)
            taken[deed] = round(time.perf_counter() - started, 2)
            assert done.changed == size
    print(f"\n{size} documents, seconds: {taken}")
    record(f"access_rule_{size}", taken)


async def _recall(caller: Services, vectors: list[Any]) -> float:
    """Of the ten passages nearest, as the statement finds them first, against comparing all."""
    shared = 0.0
    async with caller.database.connection(caller.principal) as connection:
        model = caller.search_deps.model.id
        for vector in vectors:
            found = []
            for scan in (False, True):
                given = (caller.principal.tenant_id, model, HalfVector(vector), scan, caller.principal.principals)
                row = await connection.fetchrow(FOUND, *given)
                found.append({bytes(one.bytes) for one in row["passages"] or ()})
            shared += len(found[0] & found[1]) / max(1, len(found[1]))
    return round(shared / len(vectors), 3)


async def _restrict(services: Services) -> None:
    owner = await asyncpg.connect(services.owner_dsn)
    try:
        await owner.execute(RESTRICT, list(SHARES), list(SHARES.values()))
        await owner.execute("ANALYZE rag.documents")
    finally:
        await owner.close()


def _report(name: str, after: Mapping[str, Windows], recalls: Mapping[str, float], usual: str = "operator") -> None:
    same = after[usual]
    report = {
        caller: {
            "p50_ratio": round(one.p50 / same.p50, 3),
            "processor_ratio": round(one.processor / same.processor, 3),
            "recall": recalls.get(caller),
        }
        for caller, one in after.items()
    }
    print(f"\n{name}: p50 {same.p50:.2f} ms of {usual}: {report}")
    record(name, {"usual_ms": same.p50, "after": report})
