"""The vector leg on 100,000 chunks of 384 dimensions: recall@10 against the exact scan, and time as a ratio to it.

Run by `make bench`. Vectors are synthetic: clusters on a manifold of 48 dimensions, which are about as hard for HNSW as
those of MiniLM. Times are of the whole statement through the store, in one process, so that ratios mean something.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

import asyncpg
import numpy as np
from pgvector import HalfVector
from pgvector.asyncpg import register_vector

from cairn.db.embedded import EmbeddedServer
from cairn.db.pool import Database
from cairn.db.vector_indexes import ensure_model, vector_ddl
from cairn.domain.passage import SearchRequest
from cairn.domain.principal import Principal
from cairn.retrieve.context import QueryVectors, SearchContext, SearchDeps
from cairn.retrieve.vector import ServedCollection, search
from cairn.settings import Settings, VectorSettings
from cairn.store import vector_indexes, vectors
from tests.benchmarks.timing import record

SIZES = {"c100": 88_900, "c10": 10_000, "c1": 1_000, "c01": 100}
DIMENSIONS, INTRINSIC, CLUSTERS, QUERIES = 384, 48, 500, 100
SHARES = {"filter 10 %": {"p10": True}, "filter 1 %": {"p1": True}, "filter 0.1 %": {"p01": True}}

ROWS = """
CREATE TEMP TABLE load (n integer, collection uuid, embedding halfvec(384));
"""
FILL = """
INSERT INTO rag.documents (tenant_id, id, collection_id, external_id, title, version, status, content_hash, media_type,
  metadata, chunk_count)
SELECT {tenant}, md5('d' || n)::uuid, collection, 'd' || n, 'd', 1, 'indexed', '', 'text/plain',
  jsonb_build_object('p10', n % 10 = 3, 'p1', n % 100 = 7, 'p01', n % 1000 = 9), 1 FROM load;
INSERT INTO rag.passages (tenant_id, id, document_id, collection_id, ordinal, char_start, char_end, headings,
  token_count, content, search_terms, regconfig)
SELECT {tenant}, md5('p' || n)::uuid, md5('d' || n)::uuid, collection, 0, 0, 1, '{{}}', 1, 'x', '', 'simple' FROM load;
INSERT INTO rag.chunks (tenant_id, id, passage_id, document_id, collection_id, ordinal, char_start, char_end, headings,
  token_count, token_counter, content)
SELECT {tenant}, md5('k' || n)::uuid, md5('p' || n)::uuid, md5('d' || n)::uuid, collection, 0, 0, 1, '{{}}', 1, 't', 'x'
FROM load;
INSERT INTO rag.embeddings (tenant_id, chunk_id, model_id, document_id, collection_id, content_hash, embedding)
SELECT {tenant}, md5('k' || n)::uuid, {model}, md5('d' || n)::uuid, collection, '', embedding FROM load;
"""


def clustered(count: int, rng: np.random.Generator, basis: Any, centres: Any) -> Any:
    latent = centres[rng.integers(CLUSTERS, size=count)] + rng.normal(size=(count, INTRINSIC)) * 0.8
    full = latent @ basis + rng.normal(size=(count, DIMENSIONS)) * 0.02
    return (full / np.linalg.norm(full, axis=1, keepdims=True)).astype(np.float16)


async def load(dsn: str) -> tuple[Any, float]:
    """Fills the database and builds the shared index; the queries, and the seconds of the build."""
    rng = np.random.default_rng(7)
    basis, centres = rng.normal(size=(INTRINSIC, DIMENSIONS)), rng.normal(size=(CLUSTERS, INTRINSIC))
    await ensure_model(dsn, "synthetic", DIMENSIONS)
    owner = await asyncpg.connect(dsn)
    await register_vector(owner, schema="public")
    tenant = await owner.fetchval("SELECT rag.ensure_tenant('bench')")
    model = await owner.fetchval("SELECT id FROM rag.embedding_models WHERE name = 'synthetic'")
    definition = await owner.fetchval("SELECT pg_get_indexdef($1::regclass)", f"rag.embeddings_hnsw_{model}")
    await owner.execute(f"DROP INDEX rag.embeddings_hnsw_{model}")
    await owner.execute("SET session_replication_role = replica")  # no foreign keys are checked while loading
    await owner.execute(ROWS)
    first = 0
    for number, (name, size) in enumerate(SIZES.items()):
        collection = UUID(int=number + 1)
        await owner.execute(
            "INSERT INTO rag.collections (tenant_id, id, name, lex_seed, chunk_count, model_id) VALUES ($1, $2, $3, 0, $4, $5)",
            tenant, collection, name, size, model,
        )  # fmt: skip
        made = clustered(size, rng, basis, centres)
        records = ((first + i, collection, HalfVector(row)) for i, row in enumerate(made))
        await owner.copy_records_to_table("load", records=records)
        first += size
    await owner.execute(FILL.format(tenant=tenant, model=model))
    started = time.perf_counter()
    await owner.execute(definition)
    seconds = time.perf_counter() - started
    await owner.execute("ANALYZE")
    await owner.close()
    return clustered(QUERIES, rng, basis, centres), seconds


class Bench:
    """One way of searching, against the exact scan of the same rows."""

    def __init__(self, database: Database, principal: Principal, model: vectors.EmbeddingModel, queries: Any) -> None:
        self.database, self.principal, self.model, self.queries = database, principal, model, queries

    async def run(
        self, settings: VectorSettings, name: str, filters: Mapping[str, Any] | None
    ) -> tuple[list[list[UUID]], float, str]:
        """Top 10 of each query, median milliseconds, and the regimes."""
        number = list(SIZES).index(name) + 1
        found, times, how = [], [], set()
        async with self.database.transaction(self.principal, readonly=True) as connection:
            for row in self.queries:
                started = time.perf_counter()
                visible = SIZES[name]
                if filters:
                    counted = await vectors.count_visible_chunks(
                        connection, [UUID(int=number)], filters, settings.exact_below
                    )
                    visible = counted[UUID(int=number)]
                context = SearchContext(
                    cast("SearchDeps", None), self.principal, SearchRequest("", (name,), filters=filters),
                    Settings(vector=settings), vectors=QueryVectors({self.model.id: HalfVector(row)}),
                )  # fmt: skip
                served = [ServedCollection(UUID(int=number), visible, self.model)]
                result = await search(connection, context, served, 30)
                times.append((time.perf_counter() - started) * 1000)
                found.append([hit.passage_id for hit in result.hits[:10]])
                how |= {part["regime"] + (" (fell back)" if part["fell_back"] else "") for part in result.how["parts"]}
        return found, float(np.median(times)), ", ".join(sorted(how))


def recall(found: list[list[UUID]], true: list[list[UUID]]) -> float:
    return float(np.mean([len(set(a) & set(b)) / max(1, len(b)) for a, b in zip(found, true, strict=True)]))


async def measure(dsn: str) -> dict[str, Any]:
    queries, build = await load(dsn)
    report: dict[str, Any] = {"shared_build_s": round(build, 1), "rows": []}
    database = await Database.open(dsn)
    async with database.connection() as connection:
        tenant = await connection.fetchval("SELECT rag.ensure_tenant('bench')")
        model = await vectors.model(connection, "synthetic")
    assert model is not None
    bench = Bench(database, Principal(tenant, "bench"), model, queries)
    cases = [(name, None) for name in SIZES] + [("c100", filters) for filters in SHARES.values()]
    exact = {}
    for name, filters in cases:
        exact[name, str(filters)] = await bench.run(VectorSettings(exact_below=10**9), name, filters)

    async def compare(title: str, settings: VectorSettings) -> None:
        for name, filters in cases:
            found, ms, how = await bench.run(settings, name, filters)
            true, exact_ms, _ = exact[name, str(filters)]
            row = {
                "case": title, "collection": name, "filter": filters, "regime": how, "recall": round(recall(found, true), 4),
                "ms": round(ms, 2), "of_exact": round(ms / exact_ms, 3),
            }  # fmt: skip
            report["rows"].append(row)
            print(
                f"{title:9} {name:5} {next(iter(filters), '') if filters else '':4} {how:24} recall@10 {row['recall']:.4f}"
                f"  {ms:7.2f} ms  {row['of_exact']:.3f} of exact", flush=True
            )  # fmt: skip

    await compare("shared", VectorSettings())
    started = time.perf_counter()
    async with vector_ddl(dsn) as ddl:
        async with database.connection() as connection:
            plan = await vector_indexes.plan(connection, VectorSettings())
        for index in plan:
            await ddl.create(index)
            async with database.transaction(bench.principal) as connection:
                await vector_indexes.mark_building(connection, index)
                await vector_indexes.mark_built(connection, index)
    report["dedicated_build_s"] = round(time.perf_counter() - started, 1)
    await compare("dedicated", VectorSettings())
    await database.close()
    return report


def test_recall_and_time_per_regime(server: EmbeddedServer, psql: Any, template: str) -> None:
    psql(f"CREATE DATABASE bench_vectors TEMPLATE {template} STRATEGY file_copy")
    try:
        report = asyncio.run(measure(server.dsn("bench_vectors")))
    finally:
        psql("DROP DATABASE bench_vectors WITH (FORCE)")
    record("vectors", report)
    final = [row for row in report["rows"] if row["case"] == "dedicated"]
    assert all(row["recall"] >= 0.98 for row in final), final
    assert next(row for row in final if row["collection"] == "c100")["of_exact"] < 0.5
