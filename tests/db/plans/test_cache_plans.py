"""The statement behind every hit, and those beside it, read the rows of one tenant by key and nothing else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest
from pgvector import HalfVector
from pgvector.asyncpg import register_vector

from cairn.db.embedded import EmbeddedServer
from cairn.db.queries import load_queries

TENANTS, ENTRIES = 200, 50
SQL = load_queries("cache")

FILL = f"""
SELECT rag.ensure_tenant('t' || n) FROM generate_series(1, {TENANTS}) n;
INSERT INTO rag.collections (tenant_id, id, name, lex_seed, epoch)
SELECT t.id, md5(t.id || 'c' || n)::uuid, 'c' || n, n, 7 FROM rag.tenants t, generate_series(1, 20) n;
INSERT INTO rag.retrieval_cache (tenant_id, key, scope, query, guards, collection_ids, epochs, result)
SELECT t.id, md5(t.id || 'k' || n), 's', 'q' || n, '{{}}', ARRAY[md5(t.id || 'c1')::uuid], ARRAY[7],
  jsonb_build_object('text', repeat(md5(n::text), 500))
FROM rag.tenants t, generate_series(1, {ENTRIES}) n;
INSERT INTO rag.query_embeddings (tenant_id, model_id, query_hash, embedding)
SELECT t.id, 1, decode(md5(t.id || 'e' || n), 'hex'), '[1,0]' FROM rag.tenants t, generate_series(1, 50) n;
ANALYZE;
"""


@pytest.fixture(scope="module")
def crowd(server: EmbeddedServer, psql: Any, template: str) -> Iterator[str]:
    """DSN of a database with 200 tenants that have 50 entries each."""
    psql(f"CREATE DATABASE cache_plans TEMPLATE {template} STRATEGY file_copy")
    psql(FILL, database="cache_plans")
    yield server.dsn("cache_plans")
    psql("DROP DATABASE cache_plans WITH (FORCE)")


@pytest.fixture
async def connection(crowd: str) -> AsyncIterator[Any]:
    """A transaction as cairn_app, without a tenant yet."""
    opened = await asyncpg.connect(crowd)
    await register_vector(opened, schema="public")
    ids.update({row["name"]: row["id"] for row in await opened.fetch("SELECT name, id FROM rag.tenants")})
    async with opened.transaction():
        await opened.execute("SET LOCAL ROLE cairn_app")
        yield opened
    await opened.close()


ids: dict[str, int] = {}


async def touched(connection: Any, table: str) -> tuple[int, int]:
    """(sequential scans, rows fetched through indexes) of this transaction."""
    row = await connection.fetchrow(
        "SELECT seq_scan, coalesce(idx_tup_fetch, 0) AS rows FROM pg_stat_xact_user_tables "
        "WHERE schemaname = 'rag' AND relname = $1", table
    )  # fmt: skip
    return row["seq_scan"], row["rows"]


async def test_a_hit_reads_one_entry_and_the_named_collections(connection: Any) -> None:
    who = ids["t100"]
    key = await connection.fetchval("SELECT md5($1 || 'k7')", str(who))
    row = await connection.fetchrow(SQL["look_up"], who, key, ["c1"], 300.0, [])
    assert row["result"] is not None
    assert await touched(connection, "retrieval_cache") == (0, 1)
    sequential, fetched = await touched(connection, "collections")
    assert sequential == 0
    assert fetched <= 20


async def result_of(connection: Any, tenant: int, key: str, names: list[str]) -> Any:
    return (await connection.fetchrow(SQL["look_up"], tenant, key, names, 300.0, []))["result"]


async def test_a_miss_reads_no_entry(connection: Any) -> None:
    assert await result_of(connection, ids["t100"], "no such key", ["c1"]) is None
    assert await touched(connection, "retrieval_cache") == (0, 0)


async def test_another_epoch_or_tenant_is_no_hit(connection: Any) -> None:
    who, other = ids["t100"], ids["t101"]
    key = await connection.fetchval("SELECT md5($1 || 'k7')", str(who))
    assert await result_of(connection, other, key, ["c1"]) is None
    assert await result_of(connection, who, key, ["c2"]) is None
    assert await result_of(connection, who, key, ["c1", "c2"]) is None
    await connection.execute("UPDATE rag.collections SET epoch = 8 WHERE tenant_id = $1 AND name = 'c1'", who)
    assert await result_of(connection, who, key, ["c1"]) is None


async def test_forgetting_reads_the_entries_of_one_tenant(connection: Any) -> None:
    """It is part of every publication, so it must not grow with the number of tenants."""
    who = ids["t100"]
    await connection.execute("SELECT set_config('app.tenant', $1, true)", str(who))
    removed = await connection.fetchval("SELECT rag.forget_cached(md5($1 || 'c1')::uuid)", str(who))
    assert removed == ENTRIES
    sequential, fetched = await touched(connection, "retrieval_cache")
    assert sequential == 0
    assert fetched <= 3 * ENTRIES


@pytest.mark.parametrize("name", ["touch", "embedding", "look_up_similar", "size"])
async def test_no_statement_scans_all_tenants(connection: Any, name: str) -> None:
    who = ids["t100"]
    await connection.execute("SELECT set_config('app.tenant', $1, true)", str(who))
    arguments: dict[str, list[Any]] = {
        "touch": [["a", "b"], [1, 1], []],
        "embedding": [1, b"x"],
        "look_up_similar": ["s", ["c1"], 300.0, [], HalfVector([1, 0]), 0.9],
        "size": [300.0],
    }
    if name == "touch":
        now = await connection.fetchval("SELECT now()")
        arguments["touch"][2] = [now, now]
    plan = await connection.fetchval(f"EXPLAIN (FORMAT JSON) {SQL[name]}", who, *arguments[name])
    assert "retrieval_cache" in plan or "query_embeddings" in plan
    tables = [node["Relation Name"] for node in nodes(json.loads(plan)[0]["Plan"]) if node["Node Type"] == "Seq Scan"]
    assert tables == []


@pytest.mark.parametrize("capacity", [50, 3])
async def test_keeping_reads_the_rows_of_one_tenant(connection: Any, capacity: int) -> None:
    """In functions, whose plans EXPLAIN does not show; so what they read is counted."""
    who = ids["t100"]
    await connection.execute("SELECT set_config('app.tenant', $1, true)", str(who))
    home = await connection.fetchrow("SELECT id, epoch FROM rag.collections WHERE tenant_id = $1 AND name = 'c1'", who)
    result = ("new", "s", "q", None, [], [home["id"]], [home["epoch"]], "{}", capacity, 300.0, "local")
    assert await connection.fetchval(SQL["store"], who, *result)
    await connection.execute(SQL["keep_embedding"], who, 1, b"x", HalfVector([1, 0]), capacity)
    for table in ("retrieval_cache", "query_embeddings"):
        sequential, fetched = await touched(connection, table)
        assert sequential == 0, table
        assert fetched <= 4 * ENTRIES, table


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)
