"""Walking the graph: 100,000 entities, 500,000 relations, power law of degrees; 5 seeds, default caps.

Goals: p95 under 3 ms for two hops and 10 ms for three on an idle machine. What counts on a busy one is the ratio to the
naive join (both directions by OR, no caps) over the same seeds, and the floor: an empty statement of the same connection.
"""

from __future__ import annotations

import os
import random
import time
from typing import Any
from uuid import UUID

import asyncpg

from app.db.migrate import migrate
from app.domain.graph_walk import WalkLimits
from app.store import graph
from tests.benchmarks.graph_data import load_graph
from tests.benchmarks.timing import percentile, record

ENTITIES = int(os.environ.get("BENCH_ENTITIES", "100000"))
RELATIONS = int(os.environ.get("BENCH_RELATIONS", "500000"))
WALKS = int(os.environ.get("BENCH_WALKS", "300"))
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


async def _times(connection: Any, inputs: list[list[UUID]], ask: Any) -> list[float]:
    found = []
    for chosen in inputs:
        begun = time.perf_counter()
        await ask(connection, chosen)
        found.append((time.perf_counter() - begun) * 1000)
    return found
