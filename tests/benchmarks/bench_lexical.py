"""The lexical leg against what most PostgreSQL RAG systems send (OR + ts_rank_cd), and against a scan of all candidates.

    pytest -s tests/benchmarks/bench_lexical.py      (BENCH_PASSAGES=100000, BENCH_QUERIES=60)

One synthetic collection (80 words per passage, Zipf over 30,000 words), queries are spans of 6 to 11 words of a passage, the
three forms take turns in one session. Goals at 100,000 passages: p50 at most 1/30 of OR + ts_rank_cd,
and at most 1/3 of the full scan with equal lists.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.db.conftest import environment

__all__ = ["environment"]

PASSAGES = int(os.environ.get("BENCH_PASSAGES", "100000"))
QUERIES = int(os.environ.get("BENCH_QUERIES", "60"))
DEPTH = 50
FILL = f"""
SELECT rag.ensure_tenant('bench');
SELECT set_config('app.tenant', (SELECT id::text FROM rag.tenants WHERE name = 'bench'), false);
INSERT INTO rag.collections (tenant_id, id, name, lex_seed, chunk_count)
SELECT id, md5('c')::uuid, 'bench', 7, 0 FROM rag.tenants WHERE name = 'bench';
INSERT INTO rag.documents (tenant_id, id, collection_id, external_id, title, version, status, content_hash, media_type,
  metadata, chunk_count)
SELECT c.tenant_id, md5('d' || i)::uuid, c.id, 'd' || i, 'd', 1, 'indexed', '', 'text/plain', '{{}}', 1
FROM rag.collections c, generate_series(1, {PASSAGES}) i WHERE c.name = 'bench';
INSERT INTO rag.passages (tenant_id, id, document_id, collection_id, ordinal, char_start, char_end, headings,
  token_count, content, search_terms, regconfig)
SELECT d.tenant_id, md5(d.external_id || 'p')::uuid, d.id, d.collection_id, 0, 0, 100, '{{}}', 80,
  (SELECT string_agg('w' || floor(exp(random() * ln(30000)))::int, ' ') FROM generate_series(1, 80) WHERE d.id IS NOT NULL),
  '', 'english'
FROM rag.documents d;
INSERT INTO rag.lexical_stats SELECT tenant_id, collection_id, 'english', count(*), count(*) * 80, 80
FROM rag.passages GROUP BY 1, 2;
CREATE TEMP TABLE posting AS SELECT p.tenant_id, p.id, p.document_id, p.collection_id, x.*
FROM rag.passages p JOIN rag.collections c ON c.id = p.collection_id,
  LATERAL rag.lexical_posting(p.search_vector, 'english', c.lex_seed, 80) x;
INSERT INTO rag.lexical_index SELECT tenant_id, id, document_id, collection_id, 'english', length, 80, keys, weights
FROM posting;
INSERT INTO rag.lexical_terms SELECT tenant_id, collection_id, u.key, count(*), max(u.w)
FROM posting, unnest(keys, key_weights) u(key, w) GROUP BY 1, 2, 3;
"""
BM25 = "SELECT passage_id, score, exact FROM rag.lexical_search($1, $2, $3, $4, $5)"
TS_RANK = """
SELECT p.id FROM rag.passages p, to_tsquery('english', $2) q
WHERE p.tenant_id = rag.current_tenant() AND p.collection_id = $1 AND p.search_vector @@ q
ORDER BY ts_rank_cd(p.search_vector, q) DESC LIMIT $3
"""


@pytest.fixture
async def corpus(database: str) -> AsyncIterator[Any]:
    """A session of the owner, whom row security does not slow down, in a filled database."""
    connection = await asyncpg.connect(database, command_timeout=3600)
    await connection.execute(FILL)
    await connection.execute("VACUUM ANALYZE rag.passages, rag.lexical_index, rag.lexical_terms, rag.lexical_stats")
    yield connection
    await connection.close()


async def spans(connection: Any) -> list[str]:
    chance = random.Random(3)
    rows = await connection.fetch("SELECT content FROM rag.passages ORDER BY id LIMIT $1", QUERIES)
    texts = [row["content"].split() for row in rows]
    starts = [chance.randrange(len(words) - 11) for words in texts]
    return [" ".join(words[at : at + chance.randint(6, 11)]) for words, at in zip(texts, starts, strict=True)]


async def timed(work: Callable[[], Awaitable[Any]]) -> tuple[float, Any]:
    begun = time.perf_counter()
    result = await work()
    return (time.perf_counter() - begun) * 1000, result


async def test_lexical_search_against_ts_rank_and_full_scan(corpus: Any) -> None:
    """BM25 with pruning is the fast form as well as the good one."""
    collection = UUID(await corpus.fetchval("SELECT md5('c')"))
    times: dict[str, list[float]] = {"pruned": [], "full": [], "ts_rank_cd": []}
    exact = 0
    for number, query in enumerate([*(await spans(corpus))[:3], *await spans(corpus)]):
        pruned_ms, pruned = await timed(lambda q=query: corpus.fetch(BM25, collection, q, DEPTH, 2000, 20000))
        full_ms, full = await timed(lambda q=query: corpus.fetch(BM25, collection, q, DEPTH, 10**9, 10**9))
        any_word = " | ".join(query.split())
        ts_ms, _ = await timed(lambda q=any_word: corpus.fetch(TS_RANK, collection, q, DEPTH))
        if number < 3:
            continue  # warming up
        if pruned and pruned[0]["exact"]:
            exact += 1
            assert [tuple(row) for row in pruned] == [tuple(row) for row in full], query
        for name, spent in (("pruned", pruned_ms), ("full", full_ms), ("ts_rank_cd", ts_ms)):
            times[name].append(spent)
    median = {name: statistics.median(values) for name, values in times.items()}
    report = {
        "benchmark": "lexical",
        "passages": PASSAGES,
        "p50_ms": {name: round(value, 2) for name, value in median.items()},
        "p95_ms": {name: round(statistics.quantiles(values, n=20)[-1], 2) for name, values in times.items()},
        "ts_rank_cd_over_pruned": round(median["ts_rank_cd"] / median["pruned"], 1),
        "full_over_pruned": round(median["full"] / median["pruned"], 2),
        "exact_share": round(exact / QUERIES, 3),
    }
    print("\n" + json.dumps(report))
    if PASSAGES >= 100_000:
        assert report["ts_rank_cd_over_pruned"] >= 30
