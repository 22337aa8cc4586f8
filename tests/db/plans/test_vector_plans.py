"""Thousands of small collections and a large one with an index of its own: each regime touches what it should."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from pgvector import HalfVector
from pgvector.asyncpg import register_vector

from cairn.db.embedded import EmbeddedServer
from cairn.db.queries import load_queries
from cairn.db.vector_indexes import ensure_model, vector_ddl
from cairn.domain.job import PlannedIndex
from cairn.store.arrays import PackedIds
from tests.db.plans.filling import with_late_index
from tests.db.plans.test_hot_queries import indexes, plan, scans, touched

COLLECTIONS, EACH, LARGE = 7_000, 3, 6_000
VECTORS = load_queries("vectors")
QUERY = HalfVector([0.1, -0.2, 0.3, 0.1, -0.1, 0.2, 0.0, 0.1])
LARGE_ID = UUID(int=1)

FILL = f"""
SELECT rag.ensure_tenant('many');
SET session_replication_role = replica;
INSERT INTO rag.collections (tenant_id, id, name, lex_seed, chunk_count, model_id)
SELECT t.id, CASE n WHEN 0 THEN '{LARGE_ID}' ELSE md5('c' || n)::uuid END, 'c' || n, n,
  CASE n WHEN 0 THEN {LARGE} ELSE {EACH} END, 1
FROM rag.tenants t, generate_series(0, {COLLECTIONS}) n;
CREATE TEMP TABLE rows AS
SELECT c.tenant_id, c.id AS collection, md5(c.name || i)::uuid AS document, md5(c.name || i || 'k')::uuid AS chunk, i
FROM rag.collections c, generate_series(1, c.chunk_count) i;
INSERT INTO rag.documents (tenant_id, id, collection_id, external_id, title, version, status, content_hash, media_type,
  metadata, chunk_count)
SELECT tenant_id, document, collection, 'd' || i, 'd', 1, 'indexed', '', 'text/plain',
  jsonb_build_object('rare', i % 100 = 7), 1 FROM rows;
INSERT INTO rag.chunks (tenant_id, id, passage_id, document_id, collection_id, ordinal, char_start, char_end, headings,
  token_count, token_counter, content)
SELECT tenant_id, chunk, document, document, collection, 0, 0, 1, '{{}}', 1, 't', 'x' FROM rows;
INSERT INTO rag.embeddings
SELECT tenant_id, chunk, 1, document, collection, '',
  (SELECT array_agg(random() - .5) FROM generate_series(1, 8) WHERE i IS NOT NULL)::halfvec, document,
  collection = '{LARGE_ID}'
FROM rows;
"""


@pytest.fixture(scope="module")
def corpus(server: EmbeddedServer, psql: Any, template: str) -> Iterator[str]:
    psql(f"CREATE DATABASE many TEMPLATE {template} STRATEGY file_copy")
    dsn = server.dsn("many")
    asyncio.run(ensure_model(dsn, "tiny", 8))
    psql(with_late_index(FILL) + "ANALYZE;", database="many")
    tenant = int(psql("SELECT id FROM rag.tenants", database="many"))

    async def ignored(done: int, total: int, message: str) -> None:
        """What a build says of its progress."""

    async def build() -> None:
        async with vector_ddl(dsn) as ddl:
            index = PlannedIndex(tenant, LARGE_ID, 1, 8, LARGE, True, False)
            await ddl.create(index, ignored)
            await ddl.make_search(index.name)

    asyncio.run(build())
    yield dsn
    psql("DROP DATABASE many WITH (FORCE)")


@pytest.fixture
async def connection(corpus: str) -> AsyncIterator[Any]:
    """A transaction as cairn_app with the tenant set, as the pool gives it."""
    opened = await asyncpg.connect(corpus, server_settings={"hnsw.iterative_scan": "relaxed_order"})
    await register_vector(opened, schema="public")
    tenant = await opened.fetchval("SELECT id FROM rag.tenants")
    async with opened.transaction():
        await opened.execute("SET LOCAL ROLE cairn_app")
        await opened.execute("SELECT set_config('app.tenant', $1, true)", str(tenant))
        yield opened
    await opened.close()


async def tenant_of(connection: Any) -> int:
    return int(await connection.fetchval("SELECT current_setting('app.tenant')::bigint"))


@pytest.mark.siege
async def test_a_small_collection_among_thousands_reads_its_own_rows(connection: Any) -> None:
    """Flat in the number of collections: the rows touched are those of the one searched."""
    small = await connection.fetchval("SELECT id FROM rag.collections WHERE name = 'c3777'")
    sequential, before = await touched(connection, "embeddings")
    assert len(await connection.fetch(VECTORS["search_exact"].format(model=1), [small], QUERY, 50, None)) == EACH
    assert await touched(connection, "embeddings") == (sequential, before + EACH)


async def test_planning_is_flat_in_the_number_of_collections(connection: Any) -> None:
    """Indexes on the one table are what planning costs: theirs do not grow with the collections."""
    found = await connection.fetchval("SELECT count(*) FROM pg_index WHERE indrelid = 'rag.embeddings'::regclass")
    assert found == 5  # key, collection, reuse, the model's, the large collection's
    names = await connection.fetch("SELECT name FROM rag.collections ORDER BY name LIMIT 1")
    nodes = await plan(
        connection, load_queries("collections")["by_names"], await tenant_of(connection), [names[0]["name"]]
    )
    assert max(node["Actual Rows"] for node in nodes) <= 1
    assert not scans(nodes)


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
async def test_the_dedicated_statement_uses_its_index_in_any_plan(connection: Any, mode: str) -> None:
    """A generic plan can use a partial index because tenant, collection and model are literals."""
    await connection.execute(f"SET LOCAL plan_cache_mode = {mode}")
    await connection.fetch(VECTORS["configure"], 80, 60, 10_000, 20_000)
    tenant = await tenant_of(connection)
    statement = VECTORS["search_dedicated"].format(model=1, dimensions=8, tenant=tenant, collection=LARGE_ID, filter="")
    nodes = await plan(connection, statement, tenant, [LARGE_ID], QUERY, 50)
    name = PlannedIndex(tenant, LARGE_ID, 1, 8, 0, True, True).name
    assert name in indexes(nodes)
    assert not scans(nodes)
    assert max(node["Actual Rows"] for node in nodes) <= 50


@pytest.mark.parametrize("regime", ["dedicated", "shared"])
async def test_what_an_index_finds_is_sorted(connection: Any, regime: str) -> None:
    """An index compares rounded unit vectors, so it yields nearly in order; an incremental sort would believe its order."""
    await connection.fetch(VECTORS["configure"], 200, 200, 10_000, 20_000)
    tenant, chance = await tenant_of(connection), random.Random(5)
    statement = VECTORS[f"search_{regime}"].format(model=1, dimensions=8, tenant=tenant, collection=LARGE_ID, filter="")
    searched = "id = $1" if regime == "dedicated" else "id <> $1"
    rows = await connection.fetch(f"SELECT id FROM rag.collections WHERE {searched}", LARGE_ID)
    collections = [row["id"] for row in rows]
    for _ in range(20):
        query = HalfVector([chance.uniform(-1, 1) for _ in range(8)])
        scores = [row["score"] for row in await connection.fetch(statement, tenant, collections, query, 200)]
        assert scores == sorted(scores, reverse=True)
    nodes = await plan(connection, statement, tenant, collections, QUERY, 200)
    assert any(name.startswith("embeddings_hnsw_") for name in indexes(nodes))
    assert "Incremental Sort" not in {node["Node Type"] for node in nodes}


async def test_a_rare_filter_reads_the_vectors_of_its_documents_only(connection: Any) -> None:
    sequential, before = await touched(connection, "embeddings")
    rows = await connection.fetch(VECTORS["search_exact"].format(model=1), [LARGE_ID], QUERY, 50, '{"rare": true}')
    assert len(rows) == 50
    assert await touched(connection, "embeddings") == (sequential, before + LARGE / 100)


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("regime", ["dedicated", "shared"])
async def test_a_common_filter_is_asked_for_what_the_index_yields_only(connection: Any, regime: str, mode: str) -> None:
    """It matches 99 % of the documents: none is read but those of the rows that the index yields."""
    await connection.execute(f"SET LOCAL plan_cache_mode = {mode}")
    await connection.fetch(VECTORS["configure"], 80, 60, 10_000, 20_000)
    tenant = await tenant_of(connection)
    statement = VECTORS[f"search_{regime}"].format(
        model=1, dimensions=8, tenant=tenant, collection=LARGE_ID, filter=VECTORS["filter"]
    )
    nodes = await plan(connection, statement, tenant, [LARGE_ID], QUERY, 50, '{"rare": false}')
    assert any(name.startswith("embeddings_hnsw_") for name in indexes(nodes))
    assert not scans(nodes)
    # one of them is the filter; the others are of row security, which asks nothing where nothing is restricted
    asked = [node for node in nodes if node.get("Relation Name") == "documents"]
    assert {node["Index Name"] for node in asked} == {"documents_pkey"}
    assert sum(node["Actual Loops"] > 0 for node in asked) <= 1
    if regime == "dedicated":  # the shared index yields other collections' rows too, which are dropped first
        assert sum(node["Actual Loops"] for node in asked) <= 100
    assert max(node["Actual Rows"] for node in nodes) <= 50


async def test_chunks_under_a_filter_are_counted_as_far_as_needed(connection: Any) -> None:
    """A filter that leaves more than the exact scan takes is not counted to the end; one that leaves less is exact."""
    counted = VECTORS["visible"]
    [row] = await connection.fetch(counted, [LARGE_ID], '{"rare": true}', 500)
    assert row["chunks"] == LARGE / 100
    before = await touched(connection, "documents")
    [row] = await connection.fetch(counted, [LARGE_ID], '{"rare": false}', 500)
    sequential, fetched = await touched(connection, "documents")
    assert row["chunks"] == 501
    assert sequential == 0
    assert fetched - before[1] <= 2 * 501
    small = await connection.fetchval("SELECT id FROM rag.collections WHERE name = 'c3777'")
    [row] = await connection.fetch(counted, [small], '{"rare": false}', 500)
    assert row["chunks"] == EACH
    assert (await touched(connection, "documents"))[1] - fetched <= 2 * EACH, (
        "others' documents match too, and are not read"
    )


async def test_planning_of_the_indexes_looks_at_large_collections(connection: Any) -> None:
    rows = await connection.fetch(load_queries("vector_indexes")["plan"], 5000, 200)
    assert [(row["collection_id"], row["wanted"], row["ready"]) for row in rows] == [(LARGE_ID, True, False)]


async def test_a_search_at_once_uses_the_index_of_the_collection(connection: Any) -> None:
    """Its dedicated index where that is ready, the rows of one of the small ones else."""
    tenant = await tenant_of(connection)
    await connection.execute(
        "INSERT INTO rag.vector_indexes (tenant_id, collection_id, model_id, name, state, exclusive) "
        "VALUES ($1, $2, 1, $3, 'ready', true)",
        tenant, LARGE_ID, PlannedIndex(tenant, LARGE_ID, 1, 8, 0, True, True).name,
    )  # fmt: skip
    asked = (1, QUERY, 100, False, 3000, 100, 20000, None, 50, 600, 20000, 1.0, None, 10, "")
    search = load_queries("search")["collection"]
    row, *_ = await connection.fetch(search, tenant, "c0", *asked)
    found = len(PackedIds(row["vector_passages"]))
    assert (row["regime"], row["chunks_found"], found) == ("dedicated", 100, 100)
    for _ in range(8):
        row, *_ = await connection.fetch(search, tenant, "c3777", *asked)
        assert (row["regime"], row["chunks_found"]) == ("exact", EACH)
    touched = await connection.fetchrow(
        "SELECT seq_scan, idx_tup_fetch FROM pg_stat_xact_user_tables WHERE schemaname = 'rag' AND relname = 'embeddings'"
    )
    assert touched["seq_scan"] == 0
    assert touched["idx_tup_fetch"] < LARGE / 4


async def test_the_plans_of_a_search_are_kept(connection: Any) -> None:
    """Left to itself PostgreSQL plans parts of the statement again each time."""
    config = await connection.fetchval("SELECT proconfig FROM pg_proc WHERE oid = 'rag.search_collection'::regproc")
    assert "plan_cache_mode=force_generic_plan" in config
