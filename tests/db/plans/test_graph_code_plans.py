"""Symbols are looked up by key, whatever else a collection holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from cairn.db.embedded import EmbeddedServer
from cairn.db.queries import load_queries
from cairn.store.graph import LAST_CODE_POINT
from tests.benchmarks.graph_data import load_graph
from tests.db.plans.test_hot_queries import indexes, plan, scans

SQL = load_queries("graph_code")
AS_CODE = """
UPDATE rag.entities SET family = 'code', kind = 'function' WHERE right(normal, 1) IN ('1', '2', '3');
UPDATE rag.entity_aliases SET kind = 'function' WHERE right(form, 1) IN ('1', '2', '3');
UPDATE rag.relations SET kind = 'calls';
ANALYZE rag.entities, rag.entity_aliases, rag.relations;
"""
TABLES = {"entities", "entity_aliases", "mentions", "adjacency", "relations", "evidence", "passages", "documents"}


@pytest.fixture(scope="module")
def code(server: EmbeddedServer, psql: Any, template: str) -> Iterator[tuple[str, int, UUID]]:
    """DSN, tenant and collection of a graph of functions that call each other."""
    psql(f"CREATE DATABASE code_plans TEMPLATE {template} STRATEGY file_copy")
    dsn = server.dsn("code_plans")
    tenant, collection = asyncio.run(load_graph(dsn, 5_000, 25_000))
    asyncio.run(_execute(dsn, AS_CODE))
    yield dsn, tenant, collection
    psql("DROP DATABASE code_plans WITH (FORCE)")


async def _execute(dsn: str, statements: str) -> None:
    owner = await asyncpg.connect(dsn)
    await owner.execute(statements)
    await owner.close()


@pytest.fixture
async def connection(code: tuple[str, int, UUID]) -> AsyncIterator[Any]:
    opened = await asyncpg.connect(code[0])
    async with opened.transaction():
        await opened.execute("SET LOCAL ROLE cairn_app")
        await opened.execute("SELECT set_config('app.tenant', $1, true)", str(code[1]))
        yield opened
    await opened.close()


@pytest.mark.siege
async def test_names_are_found_by_key(connection: Any, code: tuple[str, int, UUID]) -> None:
    _, tenant, collection = code
    nodes = await plan(connection, SQL["called"], tenant, [collection], ["entity 11", "entity 4002"], "", 500)
    assert {"entity_aliases_form_idx", "entities_pkey"} <= indexes(nodes)
    assert not scans(nodes) & TABLES
    nodes = await plan(connection, SQL["begin"], tenant, [collection], "entity 12", "entity 12" + LAST_CODE_POINT, 50)
    assert {"entity_aliases_form_idx", "entities_pkey"} <= indexes(nodes)
    assert not scans(nodes) & TABLES
    assert max(node["Actual Rows"] for node in nodes) <= 60


async def test_neighbours_are_read_from_the_adjacency_up_to_the_cap(
    connection: Any, code: tuple[str, int, UUID]
) -> None:
    tenant = code[1]
    hub = await connection.fetchval("SELECT md5('e0')::uuid")
    nodes = await plan(connection, SQL["neighbours"], tenant, [hub], 40)
    assert {"adjacency_node_idx", "relations_pkey", "evidence_relation_idx"} <= indexes(nodes)
    assert not scans(nodes) & TABLES
    walked = [node for node in nodes if node.get("Index Name") == "adjacency_node_idx"]
    assert all(node["Actual Rows"] <= 41 for node in walked)


async def test_definitions_are_read_by_entity(connection: Any, code: tuple[str, int, UUID]) -> None:
    ids = [row[0] for row in await connection.fetch("SELECT id FROM rag.entities ORDER BY id LIMIT 5")]
    nodes = await plan(connection, SQL["definitions"], code[1], ids, 5)
    assert {"mentions_entity_idx", "entities_pkey"} <= indexes(nodes)
    assert not scans(nodes) & {"mentions", "entities", "evidence"}
