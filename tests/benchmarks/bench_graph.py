"""Walking the graph: 100,000 entities, 500,000 relations, power law of degrees; 5 seeds, default caps.

Goals: p95 under 3 ms for two hops and 10 ms for three on an idle machine. What counts on a busy one is the ratio to the
naive join (both directions by OR, no caps) over the same seeds, and the floor: an empty statement of the same connection.

And what the graph leg adds to a search: questions that name something, and those that do not, with it and without.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import replace
from typing import Any
from uuid import UUID

import asyncpg

from cairn.db.migrate import migrate
from cairn.domain.graph import WalkLimits
from cairn.domain.passage import LEGS, SearchRequest
from cairn.service.search import run_search
from cairn.settings import IngestSettings, Settings
from cairn.store import graph
from tests.benchmarks.corpus import Corpus, Language
from tests.benchmarks.graph_data import load_graph
from tests.benchmarks.loading import bulk_load, opened, with_ready_vectors
from tests.benchmarks.timing import percentile, record

ENTITIES = int(os.environ.get("BENCH_ENTITIES", "100000"))
RELATIONS = int(os.environ.get("BENCH_RELATIONS", "500000"))
WALKS = int(os.environ.get("BENCH_WALKS", "300"))
CHUNKS = int(os.environ.get("BENCH_CHUNKS", "10000"))
NAIVE_WALKS = max(WALKS // 20, 5)

NAIVE = """
WITH RECURSIVE walk AS (
  SELECT unnest($1::uuid[]) AS node, 1::float8 AS score, 0 AS hop
  UNION
  SELECT CASE WHEN r.source_id = w.node THEN r.target_id ELSE r.source_id END, w.score * r.strength / 1000, w.hop + 1
  FROM walk w JOIN rag.relations r ON r.tenant_id = $2 AND r.collection_id = $3 AND (r.source_id = w.node OR r.target_id = w.node)
  WHERE w.hop < $4
)
SELECT node, max(score) FROM walk GROUP BY node ORDER BY 2 DESC LIMIT 50
"""


async def test_walks(dsn: str) -> None:
    await migrate(dsn)
    tenant, collection = await load_graph(dsn, ENTITIES, RELATIONS)
    chance = random.Random(1)
    connection = await asyncpg.connect(dsn)
    result: dict[str, Any] = {"entities": ENTITIES, "relations": RELATIONS}
    try:
        await connection.execute("CREATE INDEX ON rag.relations (source_id); CREATE INDEX ON rag.relations (target_id)")
        ids = [
            row[0]
            for row in await connection.fetch("SELECT md5('e' || n)::uuid FROM generate_series(0, $1) n", ENTITIES - 1)
        ]
        await connection.execute("ANALYZE rag.relations; SET ROLE cairn_app")
        await connection.execute("SELECT set_config('app.tenant', $1, false)", str(tenant))
        floor = await _times(connection, [[]] * 100, lambda c, _: c.fetchval("SELECT 1"))
        result["floor_p50_ms"] = percentile(floor, 50)
        for hops in (1, 2, 3):
            seeds = [chance.sample(ids, 5) for _ in range(WALKS)]
            limits = WalkLimits(hops=hops)  # default caps

            async def walk(c: Any, chosen: list[UUID], limits: WalkLimits = limits) -> Any:
                return await graph.walk(c, collection, dict.fromkeys(chosen, 1.0), limits)

            async def naive(c: Any, chosen: list[UUID], hops: int = hops) -> Any:
                return await c.fetch(NAIVE, chosen, tenant, collection, hops)

            await _times(connection, seeds[:20], walk)
            times = await _times(connection, seeds, walk)
            rows = len(await walk(connection, seeds[0]))
            slow = await _times(connection, seeds[:NAIVE_WALKS], naive)
            result[str(hops)] = {
                "p50_ms": round(percentile(times, 50), 2), "p95_ms": round(percentile(times, 95), 2), "rows": rows,
                "naive_p50_ms": round(percentile(slow, 50), 2), "naive_p95_ms": round(percentile(slow, 95), 2),
                "ratio": round(percentile(times, 50) / percentile(slow, 50), 4),
            }  # fmt: skip
            print(f"\n{hops} hops: {result[str(hops)]}")
    finally:
        await connection.close()
    print(f"load average {os.getloadavg()[0]:.1f}, floor {result['floor_p50_ms']:.2f} ms")
    record("graph_walk", result)


class _Named(Language):
    """Text with names of people in it, some of them frequent."""

    def _sentence(self, topic: int, length: int = 0) -> str:
        words = super()._sentence(topic, length).split()
        if len(words) > 6 and self.random.random() < 0.4:
            words.insert(int(self.random.integers(2, 6)), self.name())
        return " ".join(words)

    def name(self) -> str:
        given, family = (self.random.random(2) ** 2 * (60, 400)).astype(int)
        return f"{self.words[1000 + given].capitalize()} {self.words[2000 + family].capitalize()}"


async def test_searches_with_and_without_the_graph(dsn: str) -> None:
    """A question that names nothing costs nothing; one that does, one statement more."""
    language, corpus = _Named(7), Corpus(CHUNKS)
    settings = Settings(ingest=IngestSettings(detect_language=False))
    loadables = [corpus.document(language, settings, f"document-{n:05}", CHUNKS) for n in range(CHUNKS // 20)]
    places = [(one, len(one.vectors) // 2) for one in loadables[:100]]
    corpus.queries = [language.query(one, place) for one, place in places]
    corpus.queries = [replace(query, text=query.text.lower()) for query in corpus.queries]
    named = [replace(query, text=f"{query.text} of {language.name()}") for query in corpus.queries]
    asked = {"no name": corpus.queries, "a name": named}
    corpus.queries = corpus.queries + named
    async with opened(dsn) as services:
        await bulk_load(services, "bench", loadables)
        services = with_ready_vectors(services, corpus.queries)
        result: dict[str, Any] = {"chunks": CHUNKS}
        for kind, queries in asked.items():
            times: dict[str, list[float]] = {"text": [], "graph": []}
            for query in queries[:10] + queries:
                for name, legs in (("text", LEGS[:2]), ("graph", LEGS)):
                    begun = time.perf_counter()
                    found = await run_search(services, SearchRequest(query.text, ("bench",), legs=legs, cache=False))
                    times[name].append((time.perf_counter() - begun) * 1000)
                    assert not found.degraded
                    assert ("graph" in found.legs_used) == (name == "graph" and kind == "a name")
            p50, p95 = ({name: percentile(spent[10:], p) for name, spent in times.items()} for p in (50, 95))
            result[kind] = {
                "text_p50_ms": round(p50["text"], 2), "p50_ms": round(p50["graph"], 2), "p95_ms": round(p95["graph"], 2),
                "p50_ratio": round(p50["graph"] / p50["text"], 3),
            }  # fmt: skip
            print(f"\nSearches, {kind}: {result[kind]}")
    print(f"load average {os.getloadavg()[0]:.1f}")
    record("graph_leg", result)


async def _times(connection: Any, inputs: list[list[UUID]], ask: Any) -> list[float]:
    found = []
    for chosen in inputs:
        begun = time.perf_counter()
        await ask(connection, chosen)
        found.append((time.perf_counter() - begun) * 1000)
    return found
