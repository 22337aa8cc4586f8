"""The graph is read by key, from indexes alone where it is walked, and a walk touches no more rows than its caps allow."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from pgvector import HalfVector

from cairn.db.embedded import EmbeddedServer
from cairn.db.queries import load_queries
from cairn.distribution.resources import resource_path
from cairn.domain.graph import WalkLimits
from cairn.domain.principal import Principal
from cairn.service.documents import get_collection
from cairn.store import communities, documents, graph
from cairn.store.graph import LAST_CODE_POINT
from cairn.wiring import Services
from tests.benchmarks.graph_data import VACUUM, load_graph
from tests.db.graphs import publish, random_document
from tests.db.plans.test_hot_queries import WITHOUT_AUTOVACUUM, indexes, plan, scans

ENTITIES, RELATIONS = 5_000, 25_000
HUB = "md5('e0')::uuid"


@pytest.fixture(scope="module")
def never_analyzed(server: EmbeddedServer, psql: Any, template: str) -> Iterator[tuple[str, int, UUID]]:
    """Name of the database, tenant and collection of a graph with a hub, of which the planner knows nothing."""
    psql(f"CREATE DATABASE graph_unanalyzed TEMPLATE {template} STRATEGY file_copy")
    psql(WITHOUT_AUTOVACUUM, "graph_unanalyzed")
    dsn = server.dsn("graph_unanalyzed")
    yield ("graph_unanalyzed", *asyncio.run(load_graph(dsn, ENTITIES, RELATIONS, analyzed=False)))
    psql("DROP DATABASE graph_unanalyzed WITH (FORCE)")


@pytest.fixture(scope="module")
def big_graph(
    server: EmbeddedServer, psql: Any, never_analyzed: tuple[str, int, UUID]
) -> Iterator[tuple[str, int, UUID]]:
    """DSN, tenant and collection of a copy that it knows."""
    name, *place = never_analyzed
    psql(f"CREATE DATABASE graph_plans TEMPLATE {name} STRATEGY file_copy")
    psql(f"VACUUM ANALYZE {VACUUM}", "graph_plans")
    yield (server.dsn("graph_plans"), *place)
    psql("DROP DATABASE graph_plans WITH (FORCE)")


@pytest.fixture
async def connection(big_graph: tuple[str, int, UUID]) -> AsyncIterator[Any]:
    async with _opened(*big_graph[:2]) as opened:
        yield opened


@asynccontextmanager
async def _opened(dsn: str, tenant: int) -> AsyncIterator[Any]:
    """A transaction as cairn_app with the tenant set, as the pool gives it."""
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
    found = re.sub(r"= tenant\b", f"= {tenant}::bigint", found)
    found = re.sub(r"= collection\b", f"= '{collection}'::uuid", found)
    return re.sub(r"\b(FROM|JOIN) (entities|adjacency|evidence)\b", r"\1 rag.\2", found)


@pytest.mark.siege
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
    rows = await graph.walk(connection, big_graph[2], {hub: 1.0}, WalkLimits(hops=hops, time_budget_ms=60_000))
    after = await touched(connection, "adjacency")
    assert degree > 500, "or it is no hub"
    assert 30 <= len({row.entity_id for row in rows}) <= 60
    assert after[0] == before[0]
    # one more than the cap may be looked at in each node
    assert 30 <= after[1] - before[1] <= most * 1.1 + 5


async def test_a_row_budget_bounds_what_is_read(connection: Any, big_graph: tuple[str, int, UUID]) -> None:
    hub = await connection.fetchval(f"SELECT {HUB}")
    rows = await graph.walk(
        connection, big_graph[2], {hub: 1.0}, WalkLimits(hops=3, row_budget=300, time_budget_ms=60_000)
    )
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
    arguments = (tenant, collection, None, 0, "", None, 10, "entity 12", "entity 12" + graph.LAST_CODE_POINT)
    nodes = await plan(connection, load_queries("graph_view")["beginning"], *arguments)
    assert {"entity_aliases_form_idx", "entity_words_pkey"} <= indexes(nodes)
    assert not scans(nodes) & {"entity_aliases", "entity_words", "entities"}
    assert max(node["Actual Rows"] for node in nodes) <= 2 * 2_000


async def test_a_list_reads_the_mentions_of_the_most_spoken_of_by_key(
    connection: Any, big_graph: tuple[str, int, UUID]
) -> None:
    """Of each so many, however often it is named: the collection is read once for a first page, its mentions never."""
    tenant, collection = big_graph[1:]
    arguments = (tenant, collection, None, 0, "", None, 50, True, 0, 200)
    nodes = await plan(connection, load_queries("graph_view")["surest"], *arguments)
    assert {"mentions_entity_idx", "passages_pkey"} <= indexes(nodes)
    assert not scans(nodes) & {"mentions", "passages"}
    of_mentions = [node for node in nodes if node.get("Index Name") == "mentions_entity_idx"]
    assert [node["Actual Loops"] for node in of_mentions] == [200]
    assert max(node["Actual Rows"] for node in of_mentions) <= 60
    read = [node for node in nodes if node.get("Relation Name") == "entities" and node["Actual Loops"] > 0]
    assert len(read) == 1


OTHERS = """
SET session_replication_role = replica;
INSERT INTO rag.entities (tenant_id, collection_id, id, family, normal, kind, name, passage_count, canonical_id)
SELECT c.tenant_id, c.id, md5('o' || n)::uuid, 'text', 'other ' || n, 'name', 'Other', 1, md5('o' || n)::uuid
FROM rag.collections c, generate_series(1, 20000) n;
INSERT INTO rag.entity_aliases SELECT tenant_id, collection_id, id, name, kind, normal, 1 FROM rag.entities WHERE name = 'Other';
INSERT INTO rag.relations SELECT tenant_id, collection_id, md5('r' || id)::uuid, id, 'is', id, 1, 1000
FROM rag.entities WHERE name = 'Other';
INSERT INTO rag.adjacency SELECT tenant_id, collection_id, md5('r' || id)::uuid, o, id, id, 0.5
FROM rag.entities, (VALUES (true), (false)) d (o) WHERE name = 'Other';
"""


async def test_a_session_that_began_with_empty_tables_writes_by_key_all_the_same(services: Services) -> None:
    """Plans are kept for the session, and there are no statistics at first: with keys that began with the collection each
    staged row was looked for in all of it."""
    for number in range(8):
        await publish(services, "c", random_document(f"d{number}", random.Random(number)))
    owner = await asyncpg.connect(services.owner_dsn)
    await owner.execute(OTHERS)
    await owner.close()
    document = next(
        d for d in (random_document("d1", random.Random(n)) for n in range(20, 90)) if len(d.graph.evidence) > 8
    )
    found = await get_collection(services, "c")
    vectors = [HalfVector([1.0] + [0.0] * (services.search_deps.model.dimensions - 1))] * len(document.chunks)
    async with services.database.transaction(services.principal) as connection:
        known = await documents.register(
            connection, services.principal, found.id, document.source, document.content_hash
        )
        model = services.search_deps.model.id
        version = documents.NewVersion(known.id, document, {model: vectors})
        await documents.publish(connection, found.id, model, [version], keep_original=False)
        for table in ("entities", "entity_aliases", "relations", "adjacency"):
            sequential, read = await touched(connection, table)
            assert sequential == 0, table
            assert read < 2_000, table


async def test_the_deletion_of_a_collection_reads_no_graph_of_another(
    connection: Any, big_graph: tuple[str, int, UUID]
) -> None:
    """Its rows go by foreign keys, which need indexes that begin with the collection."""
    await connection.execute(
        "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES ($1, gen_random_uuid(), 'other', 1)",
        big_graph[1],
    )
    before = {table: await touched(connection, table) for table in ("relations", "entities", "adjacency")}
    await connection.execute("DELETE FROM rag.collections WHERE name = 'other'")
    for table, counts in before.items():
        assert await touched(connection, table) == counts, table


def leg_statement(tenant: int, collection: UUID, seeds: Sequence[UUID], origins: Sequence[UUID]) -> str:
    """The statement inside rag.graph_leg, with values for its variables."""
    text = (resource_path("sql") / "functions" / "graph_leg.sql").read_text()
    statement = re.search(r"-- links\n(.*?);\n  -- end of links", text, re.DOTALL)
    assert statement
    found = statement.group(1)
    words = "ARRAY['simple'], ARRAY{}, ARRAY[1]"
    for variables, values in (
        ("(configs, codes, places)", f"({words.format('[7]')})"),
        ("(configs, lexemes, places)", f"({words.format(chr(91) + repr('x') + chr(93))})"),
        ("(seeds)", f"('{{{','.join(map(str, seeds))}}}'::uuid[])"),
        ("(origins)", f"('{{{','.join(map(str, origins))}}}'::uuid[])"),
        ("(scope IS NULL OR (h.passage_id IN (SELECT unnest(scope))) = inclusive)", "true"),
        ("(filter IS NULL OR EXISTS (", "(EXISTS ("), ("@> filter", """@> '{}'::jsonb"""),
        ("LIMIT links", "LIMIT 2000"), ("<= links", "<= 2000"), ("AND most", "AND 50"),
    ):  # fmt: skip
        assert variables in found
        found = found.replace(variables, values)
    found = re.sub(r"= tenant\b", f"= {tenant}::bigint", found)
    found = re.sub(r"= collection\b", f"= '{collection}'::uuid", found)
    found = re.sub(r"\b(FROM|JOIN) (entities|mentions|lexical_index|documents)\b", r"\1 rag.\2", found)
    return re.sub(r"\b(marked_sentences|config_named)\(", r"rag.\1(", found)


async def test_the_graph_leg_goes_by_key(connection: Any, big_graph: tuple[str, int, UUID]) -> None:
    tenant, collection = big_graph[1:]
    seeds = [row[0] for row in await connection.fetch("SELECT id FROM rag.passages ORDER BY id LIMIT 5")]
    origins = [await connection.fetchval(f"SELECT {HUB}")]
    await connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL jit = off")  # as the function does
    nodes = await plan(connection, leg_statement(tenant, collection, seeds, origins))
    by_key = {"mentions_pkey", "mentions_entity_idx", "entities_pkey", "entities_merged_idx", "lexical_index_pkey"}
    assert by_key <= indexes(nodes)
    assert not scans(nodes) & {"mentions", "entities", "lexical_index", "passages", "documents"}


async def test_rows_that_the_graph_leg_touches_are_bounded(connection: Any, big_graph: tuple[str, int, UUID]) -> None:
    """A hub that the question names is read up to the bound, one of the seeds not at all."""
    collection = big_graph[2]
    hub = await connection.fetchval(f"SELECT {HUB}")
    degree = await connection.fetchval("SELECT count(*) FROM rag.mentions WHERE entity_id = $1", hub)
    seeds = [
        row[0] for row in await connection.fetch(
            "SELECT passage_id FROM rag.mentions WHERE entity_id = $1 GROUP BY 1 ORDER BY 1 LIMIT 5", hub)
    ]  # fmt: skip
    spoken = await connection.fetchval("SELECT count(*) FROM rag.mentions WHERE passage_id = ANY ($1)", seeds)
    tables, most, links = ("mentions", "entities", "lexical_index", "passages"), 10, 100
    before = {table: await touched(connection, table) for table in tables}
    [found] = await graph.find_linked(
        connection, [collection], "x", seeds, ["entity 0"], [], most, links, None, None, (0.9, 10)
    )
    after = {table: await touched(connection, table) for table in tables}
    read = {table: after[table][1] - before[table][1] for table in tables}
    assert degree > 500, "or it is no hub"
    assert all(after[table][0] == before[table][0] for table in tables), "nothing is scanned"
    assert 0 < len([row for row in found.rows if row.seed_id not in (None, row.passage_id)]) <= links
    assert len([row for row in found.rows if row.seed_id is None]) == links
    # an index entry and a row of each
    assert read["mentions"] <= 2 * (spoken + spoken * most + 2 * links) + 50
    assert read["entities"] <= 2 * 4 * spoken + 50
    assert read["lexical_index"] <= 2 * (3 * links + len(seeds)) + 50
    assert read["passages"] <= 2 * len(seeds) + 10


async def test_relations_of_a_graph_without_statistics_are_read_in_one_pass(
    server: EmbeddedServer, never_analyzed: tuple[str, int, UUID]
) -> None:
    """As after the first documents of a new database: comparing each entity with each would take minutes."""
    name, tenant, collection = never_analyzed
    opened = await asyncpg.connect(server.dsn(name))
    async with opened.transaction():
        await opened.execute("SET LOCAL ROLE cairn_app; SET LOCAL statement_timeout = '10s'")
        await opened.execute("SELECT set_config('app.tenant', $1, true)", str(tenant))
        statistics = "SELECT reltuples FROM pg_class WHERE oid = 'rag.adjacency'::regclass"
        assert await opened.fetchval(statistics) == -1, "analyzed meanwhile: this proves nothing"
        read = await communities.relations(opened, Principal(tenant, "graph"), collection, 30)
        assert await opened.fetchval("SHOW enable_nestloop") == "on"
    await opened.close()
    assert len(read.entities) == ENTITIES
    assert len(read.edges) > RELATIONS // 2


# --- symbols of code, whatever else a collection holds --------------------------------------------------------------------------

CODE_SQL = load_queries("graph_code")
AS_CODE = """
UPDATE rag.entities SET family = 'code', kind = 'function' WHERE right(normal, 1) IN ('1', '2', '3');
UPDATE rag.entity_aliases SET kind = 'function' WHERE right(form, 1) IN ('1', '2', '3');
UPDATE rag.relations SET kind = 'calls';
"""
CODE_TABLES = {
    "entities", "entity_aliases", "mentions", "adjacency", "relations", "evidence", "passages", "documents",
}  # fmt: skip


@pytest.fixture(scope="module")
def code(server: EmbeddedServer, psql: Any, never_analyzed: tuple[str, int, UUID]) -> Iterator[tuple[str, int, UUID]]:
    """DSN, tenant and collection of a copy whose entities are functions that call each other."""
    name, *place = never_analyzed
    psql(f"CREATE DATABASE code_plans TEMPLATE {name} STRATEGY file_copy")
    psql(AS_CODE, "code_plans")
    psql(f"VACUUM ANALYZE {VACUUM}", "code_plans")
    yield (server.dsn("code_plans"), *place)
    psql("DROP DATABASE code_plans WITH (FORCE)")


@pytest.fixture
async def coding(code: tuple[str, int, UUID]) -> AsyncIterator[Any]:
    async with _opened(*code[:2]) as opened:
        yield opened


@pytest.mark.siege
async def test_symbols_are_found_by_key(coding: Any, code: tuple[str, int, UUID]) -> None:
    _, tenant, collection = code
    nodes = await plan(coding, CODE_SQL["called"], tenant, [collection], ["entity 11", "entity 4002"], "", 500)
    assert {"entity_aliases_form_idx", "entities_pkey"} <= indexes(nodes)
    assert not scans(nodes) & CODE_TABLES
    nodes = await plan(coding, CODE_SQL["begin"], tenant, [collection], "entity 12", "entity 12" + LAST_CODE_POINT, 50)
    assert {"entity_aliases_form_idx", "entities_pkey"} <= indexes(nodes)
    assert not scans(nodes) & CODE_TABLES
    assert max(node["Actual Rows"] for node in nodes) <= 60


async def test_callers_are_read_from_the_adjacency_up_to_the_cap(coding: Any, code: tuple[str, int, UUID]) -> None:
    tenant = code[1]
    hub = await coding.fetchval("SELECT md5('e0')::uuid")
    nodes = await plan(coding, CODE_SQL["neighbours"], tenant, [hub], 40)
    assert {"adjacency_node_idx", "relations_pkey", "evidence_relation_idx"} <= indexes(nodes)
    assert not scans(nodes) & CODE_TABLES
    walked = [node for node in nodes if node.get("Index Name") == "adjacency_node_idx"]
    assert all(node["Actual Rows"] <= 41 for node in walked)


async def test_definitions_are_read_by_entity(coding: Any, code: tuple[str, int, UUID]) -> None:
    ids = [row[0] for row in await coding.fetch("SELECT id FROM rag.entities ORDER BY id LIMIT 5")]
    nodes = await plan(coding, CODE_SQL["definitions"], code[1], ids, 5)
    assert {"mentions_entity_idx", "entities_pkey"} <= indexes(nodes)
    assert not scans(nodes) & {"mentions", "entities", "evidence"}
