"""The graph is read by key, from indexes alone where it is walked, and a walk touches no more rows than its caps allow."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from app.db.embedded import EmbeddedServer
from app.db.queries import load_queries
from app.domain.graph_walk import WalkLimits
from app.resources import resource_path
from app.store import graph
from tests.benchmarks.graph_data import load_graph
from tests.db.plans.test_hot_queries import indexes, plan, scans

ENTITIES, RELATIONS = 5_000, 25_000
HUB = "md5('e0')::uuid"


@pytest.fixture(scope="module")
def big_graph(server: EmbeddedServer, psql: Any, template: str) -> Iterator[tuple[str, int, UUID]]:
    """DSN, tenant and collection of a graph with a hub."""
    psql(f"CREATE DATABASE graph_plans TEMPLATE {template} STRATEGY file_copy")
    dsn = server.dsn("graph_plans")
    yield (dsn, *asyncio.run(load_graph(dsn, ENTITIES, RELATIONS)))
    psql("DROP DATABASE graph_plans WITH (FORCE)")


@pytest.fixture
async def connection(big_graph: tuple[str, int, UUID]) -> AsyncIterator[Any]:
    """A transaction as cairn_app with the tenant set, as the pool gives it."""
    dsn, tenant, _ = big_graph
    opened = await asyncpg.connect(dsn)
    async with opened.transaction():
        await opened.execute("SET LOCAL ROLE cairn_app")
        await opened.execute("SELECT set_config('app.tenant', $1, true)", str(tenant))
        yield opened
    await opened.close()


async def touched(connection: Any, table: str) -> tuple[int, int]:
    """(sequential scans, index entries and rows read) of this transaction."""
    row = await connection.fetchrow(
        "SELECT seq_scan, pg_stat_get_xact_tuples_fetched(relid) + "
        "(SELECT coalesce(sum(pg_stat_get_xact_tuples_returned(indexrelid)), 0) FROM pg_index WHERE indrelid = relid) "
        "AS read FROM pg_stat_xact_user_tables WHERE schemaname = 'rag' AND relname = $1", table,
    )  # fmt: skip
    return row["seq_scan"], int(row["read"])


def walk_statement(tenant: int, collection: UUID, hops: int) -> str:
    """The statement inside rag.graph_walk, with values for its variables."""
    text = (resource_path("sql") / "functions" / "graph_walk.sql").read_text()
    statement = re.search(r"-- walk\n(.*?);\n  -- end of walk", text, re.DOTALL)
    assert statement
    values = {
        "seeds": f"ARRAY[{HUB}]", "seed_weights": "ARRAY[1::float8]", "origins": f"ARRAY[{HUB}]", "depth": hops,
        "per_node_cap": 30, "beam": 100, "row_budget": 20_000, "deadline": "'infinity'::timestamptz", "top": 50,
    }  # fmt: skip
    found = re.sub(rf"\b({'|'.join(values)})\b", lambda name: str(values[name.group()]), statement.group(1))
    found = found.replace("= tenant ", f"= {tenant}::bigint ").replace("= collection ", f"= '{collection}'::uuid ")
    return re.sub(r"\b(FROM|JOIN) (entities|adjacency|evidence)\b", r"\1 rag.\2", found)


async def test_walk_reads_the_covering_index_alone(connection: Any, big_graph: tuple[str, int, UUID]) -> None:
    """Row security leaves equality and order on the index open, so the walk needs no definer's rights."""
    nodes = await plan(connection, walk_statement(*big_graph[1:], 3))
    assert {"adjacency_node_idx", "evidence_relation_idx", "entities_pkey"} <= indexes(nodes)
    assert not scans(nodes) & {"adjacency", "evidence", "entities", "relations"}
    walked = [node for node in nodes if node.get("Index Name") == "adjacency_node_idx"]
    assert {node["Node Type"] for node in walked} == {"Index Only Scan"}
    assert sum(node["Heap Fetches"] for node in walked) == 0
    assert all(node["Actual Rows"] <= 31 for node in walked), "a hub is read up to the cap, per node"


@pytest.mark.parametrize(("hops", "most"), [(1, 30), (2, 30 + 30 * 30), (3, 30 + 30 * 30 + 100 * 30)])
async def test_rows_that_a_walk_touches_are_bounded(
    connection: Any, big_graph: tuple[str, int, UUID], hops: int, most: int
) -> None:
    hub = await connection.fetchval(f"SELECT {HUB}")
    degree = await connection.fetchval(f"SELECT count(*) FROM rag.adjacency WHERE node_id = {HUB}")
    before = await touched(connection, "adjacency")
    rows = await graph.walk(connection, big_graph[2], {hub: 1.0}, WalkLimits(hops=hops))
    after = await touched(connection, "adjacency")
    assert degree > 500, "or it is no hub"
    assert 30 <= len({row.entity_id for row in rows}) <= 60
    assert after[0] == before[0]
    # one more than the cap may be looked at in each node
    assert 30 <= after[1] - before[1] <= most * 1.1 + 5


async def test_a_row_budget_bounds_what_is_read(connection: Any, big_graph: tuple[str, int, UUID]) -> None:
    hub = await connection.fetchval(f"SELECT {HUB}")
    rows = await graph.walk(connection, big_graph[2], {hub: 1.0}, WalkLimits(hops=3, row_budget=300))
    assert all(row.truncated for row in rows)
    assert 30 <= (await touched(connection, "adjacency"))[1] <= 300 * 1.5


async def test_names_are_looked_up_by_key(connection: Any, big_graph: tuple[str, int, UUID]) -> None:
    """Equality and order of text are open under row security; a word in every name is read up to the bound."""
    tenant, collection = big_graph[1:]
    forms, words = ["entity 7", "entity 4000", "nobody"], ["entity", "7", "nobody"]
    nodes = await plan(connection, load_queries("graph")["link"], tenant, collection, forms, words, 200)
    assert {"entity_aliases_form_idx", "entity_words_pkey", "entities_pkey"} <= indexes(nodes)
    assert not scans(nodes) & {"entity_aliases", "entity_words", "entities"}
    assert max(node["Actual Rows"] for node in nodes) <= 3 * 200 + 10


async def test_prefixes_are_a_range_of_an_index(connection: Any, big_graph: tuple[str, int, UUID]) -> None:
    tenant, collection = big_graph[1:]
    arguments = (tenant, collection, "entity 12", "entity 12" + graph.LAST_CODE_POINT, 10)
    nodes = await plan(connection, load_queries("graph")["suggest"], *arguments)
    assert {"entity_aliases_form_idx", "entity_words_pkey"} <= indexes(nodes)
    assert not scans(nodes) & {"entity_aliases", "entity_words", "entities"}
    assert max(node["Actual Rows"] for node in nodes) <= 1_010
