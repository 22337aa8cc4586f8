"""Each hot query uses the index it was written for, and touches few rows: EXPLAIN on 16,000 passages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from hashlib import md5
from itertools import product
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from pgvector import HalfVector
from pgvector.asyncpg import register_vector

from cairn.db.embedded import EmbeddedServer
from cairn.db.queries import load_queries
from cairn.db.vector_indexes import ensure_model
from cairn.store.arrays import PackedIds
from tests.db.plans.filling import with_late_index

PASSAGES, SMALL, WORDS = 16_000, 500, 24

FILL = f"""
SELECT setseed(0.25);
SELECT rag.ensure_tenant('plans');
INSERT INTO rag.collections (tenant_id, id, name, lex_seed, chunk_count)
SELECT t.id, md5('c' || n)::uuid, 'c' || n, n * 1000, 0 FROM rag.tenants t, generate_series(1, 2) n;
INSERT INTO rag.documents (tenant_id, id, collection_id, external_id, title, version, status, content_hash, media_type,
  metadata, chunk_count)
SELECT t.id, md5('d' || i)::uuid, md5('c' || CASE WHEN i <= {SMALL} THEN 2 ELSE 1 END)::uuid, 'd' || i, 'd', 1,
  'indexed', '', 'text/plain', jsonb_build_object('year', 1900 + i % 100, 'rare', i % 1000 = 7), 1
FROM rag.tenants t, generate_series(1, {PASSAGES}) i;
INSERT INTO rag.passages (tenant_id, id, document_id, collection_id, ordinal, char_start, char_end, headings,
  token_count, content, search_terms, regconfig)
SELECT d.tenant_id, md5(d.external_id || 'p')::uuid, d.id, d.collection_id, 0, 0, 100, '{{}}', 20,
  (SELECT string_agg('w' || floor(exp(random() * 9))::int, ' ') FROM generate_series(1, {WORDS}) WHERE d.id IS NOT NULL),
  '', 'english'
FROM rag.documents d;
INSERT INTO rag.lexical_stats SELECT tenant_id, collection_id, 'english', count(*), count(*) * {WORDS}, {WORDS}
FROM rag.passages GROUP BY 1, 2;
CREATE TEMP TABLE posting AS SELECT p.tenant_id, p.id, p.document_id, p.collection_id, x.*
FROM rag.passages p JOIN rag.collections c ON c.id = p.collection_id,
  LATERAL rag.lexical_posting(p.search_vector, 'english', c.lex_seed, {WORDS}) x;
INSERT INTO rag.lexical_index SELECT tenant_id, id, document_id, collection_id, 'english', length, {WORDS}, keys, weights
FROM posting;
INSERT INTO rag.lexical_terms SELECT tenant_id, collection_id, u.key, count(*), max(u.w)
FROM posting, unnest(keys, key_weights) u(key, w) GROUP BY 1, 2, 3;
INSERT INTO rag.chunks (tenant_id, id, passage_id, document_id, collection_id, ordinal, char_start, char_end, headings,
  token_count, token_counter, content)
SELECT tenant_id, md5(id || 'k')::uuid, id, document_id, collection_id, 0, 0, 100, '{{}}', 20, 't', content
FROM rag.passages;
INSERT INTO rag.embeddings
SELECT k.tenant_id, k.id, m.id, k.document_id, k.collection_id, sha256(k.id::text::bytea),
  (SELECT array_agg(random() - .5) FROM generate_series(1, 8) WHERE k.id IS NOT NULL)::halfvec, k.passage_id
FROM rag.chunks k, rag.embedding_models m;
INSERT INTO rag.embedded_ahead (tenant_id, document_id, model_id, content_hash, embedding)
SELECT e.tenant_id, e.document_id, e.model_id, decode(md5(e.chunk_id::text), 'hex'), e.embedding
FROM rag.embeddings e LIMIT 5000;
INSERT INTO rag.jobs (tenant_id, id, kind, status, dedupe_key)
SELECT t.id, md5('j' || i)::uuid, 'sync_source', 'succeeded', nullif('key' || i % 500, 'key0')
FROM rag.tenants t, generate_series(1, 20000) i;
UPDATE rag.collections c SET chunk_count = (SELECT count(*) FROM rag.chunks k WHERE k.collection_id = c.id);
"""


WITHOUT_AUTOVACUUM = """
DO $$ DECLARE item regclass; BEGIN
  FOR item IN SELECT oid FROM pg_class WHERE relnamespace = 'rag'::regnamespace AND relkind = 'r' LOOP
    EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', item);
  END LOOP;
END $$;
"""


@pytest.fixture(scope="module")
def filled(server: EmbeddedServer, psql: Any, template: str) -> Iterator[str]:
    """Name of a database with thousands of passages of one chunk, in a large and a small collection, of which PostgreSQL has no
    statistics; to be cloned."""
    psql(f"CREATE DATABASE filled_plans TEMPLATE {template} STRATEGY file_copy")
    asyncio.run(ensure_model(server.dsn("filled_plans"), "tiny", 8))
    psql(WITHOUT_AUTOVACUUM + with_late_index(FILL), database="filled_plans")
    yield "filled_plans"
    psql("DROP DATABASE filled_plans WITH (FORCE)")


@pytest.fixture(scope="module")
def fresh_corpus(server: EmbeddedServer, psql: Any, filled: str) -> Iterator[str]:
    """DSN of a database of its own with that data."""
    yield from _clone(server, psql, filled, "fresh_plans", "")


@pytest.fixture(scope="module")
def corpus(server: EmbeddedServer, psql: Any, filled: str) -> Iterator[str]:
    """The same, analysed."""
    yield from _clone(server, psql, filled, "plans", "ANALYZE")


def _clone(server: EmbeddedServer, psql: Any, filled: str, name: str, last: str) -> Iterator[str]:
    psql(f"CREATE DATABASE {name} TEMPLATE {filled} STRATEGY file_copy")
    psql(last, database=name)
    yield server.dsn(name)
    psql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def connection(corpus: str) -> AsyncIterator[Any]:
    """A transaction as cairn_app with the tenant set, as the pool gives it."""
    async with _opened(corpus) as opened:
        yield opened


@pytest.fixture(params=["fresh_corpus", "corpus"], ids=["never analysed", "analysed"])
def either_dsn(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.fixture
async def either(either_dsn: str) -> AsyncIterator[Any]:
    """The same, with statistics and without."""
    async with _opened(either_dsn) as opened:
        yield opened


@pytest.fixture
async def undone(either: Any) -> AsyncIterator[Any]:
    """The same, of which nothing stays that the test writes; by who reads everything."""
    changes = either.transaction()
    await changes.start()
    await either.execute("SELECT set_config('app.principals', '*', true)")
    yield either
    await changes.rollback()


@asynccontextmanager
async def _opened(dsn: str) -> AsyncIterator[Any]:
    opened = await asyncpg.connect(dsn, server_settings={"hnsw.iterative_scan": "relaxed_order"})
    await register_vector(opened, schema="public")
    tenant = await opened.fetchval("SELECT id FROM rag.tenants WHERE name = 'plans'")
    async with opened.transaction():
        await opened.execute("SET LOCAL ROLE cairn_app")
        await opened.execute("SELECT set_config('app.tenant', $1, true)", str(tenant))
        opened_tenant[0] = tenant
        yield opened
    await opened.close()


opened_tenant = [0]


def tenant() -> int:
    return opened_tenant[0]


async def collection(connection: Any, name: str) -> UUID:
    return await connection.fetchval("SELECT id FROM rag.collections WHERE name = $1", name)


async def plan(connection: Any, statement: str, *arguments: Any) -> list[dict[str, Any]]:
    """All nodes of the executed plan."""
    text = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", *arguments)
    nodes: list[dict[str, Any]] = []

    def walk(node: dict[str, Any]) -> None:
        nodes.append(node)
        for child in node.get("Plans", []):
            walk(child)

    walk(json.loads(text)[0]["Plan"])
    return nodes


def indexes(nodes: list[dict[str, Any]]) -> set[str]:
    return {node["Index Name"] for node in nodes if "Index Name" in node}


def scans(nodes: list[dict[str, Any]]) -> set[str]:
    """Tables that are read from end to end."""
    return {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}


async def touched(connection: Any, table: str) -> tuple[int, int]:
    """(sequential scans, rows fetched through indexes) of this transaction."""
    row = await connection.fetchrow(
        "SELECT seq_scan, coalesce(idx_tup_fetch, 0) AS rows FROM pg_stat_xact_user_tables "
        "WHERE schemaname = 'rag' AND relname = $1", table
    )  # fmt: skip
    return row["seq_scan"], row["rows"]


VECTORS = load_queries("vectors")
QUERY = HalfVector([0.1, -0.2, 0.3, 0.1, -0.1, 0.2, 0.0, 0.1])


async def test_lexical_search_reads_candidates_through_gin(either: Any) -> None:
    """Row security would forbid GIN here; the definer function's constant-true policy allows it (facts)."""
    found = await collection(either, "c1")
    sql = load_queries("lexical")["search"]
    rows = await either.fetch(sql, [found], "w7000 w5000 w300 w2", 10, 2000, 20000, None, None)
    assert len(rows) == 10
    sequential, fetched = await touched(either, "lexical_index")
    assert sequential == 0
    assert 0 < fetched < PASSAGES / 4


async def test_lexical_search_of_a_small_collection_reads_only_its_rows(either: Any) -> None:
    """Keys are seeded by the collection, so postings of the large one are not even looked at."""
    found = await collection(either, "c2")
    rows = await either.fetch(load_queries("lexical")["search"], [found], "w1 w2 w3", 10, 2000, 20000, None, None)
    assert len(rows) == 10
    sequential, fetched = await touched(either, "lexical_index")
    assert sequential == 0
    assert fetched <= 2 * SMALL + 200


async def test_exact_vector_search_reads_one_collection(either: Any) -> None:
    statement, found = VECTORS["search_exact"].format(model=1), await collection(either, "c2")
    sequential, before = await touched(either, "embeddings")
    assert len(await either.fetch(statement, [found], QUERY, 10, None)) == 10
    assert await touched(either, "embeddings") == (sequential, before + SMALL)


async def test_vector_search_of_a_large_collection_uses_hnsw(connection: Any) -> None:
    await connection.execute(VECTORS["configure"], 80, 60, 10_000, 20_000)
    statement = VECTORS["search_shared"].format(model=1, dimensions=8, filter="")
    nodes = await plan(connection, statement, tenant(), [await collection(connection, "c1")], QUERY, 50)
    assert "embeddings_hnsw_1" in indexes(nodes)
    assert not scans(nodes) & {"embeddings", "chunks"}


async def test_effective_hnsw_settings_are_those_asked_for(connection: Any) -> None:
    """A wrong value only warns and falls back (facts), so the effective one is asserted."""
    await connection.execute(VECTORS["configure"], 123, 60, 50_000, 4567)
    await connection.fetch("SELECT '[1]'::vector")
    values = await connection.fetchrow(
        "SELECT current_setting('hnsw.ef_search') AS ef, current_setting('hnsw.max_scan_tuples') AS tuples, "
        "current_setting('hnsw.iterative_scan') AS scan"
    )
    assert tuple(values) == ("123", "4567", "relaxed_order")


async def test_filters_use_the_metadata_index(connection: Any) -> None:
    found = await collection(connection, "c1")
    rows = await connection.fetch(
        "SELECT * FROM rag.filter_documents($1::uuid[], $2::jsonb)", [found], '{"rare": true}'
    )
    assert len(rows) == len(range(SMALL // 1000 * 1000 + 1007, PASSAGES + 1, 1000))
    sequential, fetched = await touched(connection, "documents")
    assert sequential == 0
    assert fetched <= 100


async def test_results_are_fetched_by_primary_key(either: Any) -> None:
    ids = [r["id"] for r in await either.fetch("SELECT id FROM rag.passages LIMIT 10")]
    nodes = await plan(either, load_queries("passages")["fetch"], tenant(), ids, [None] * 10)
    assert {"passages_pkey", "documents_pkey"} <= indexes(nodes)
    assert not scans(nodes) & {"passages", "documents", "chunks"}


async def search_at_once(connection: Any, name: str, text: str, *, exact_below: int) -> list[Any]:
    arguments = [
        tenant(), name, 1, QUERY, 100, False, exact_below, 100, 20000, text, 50, 600, 20000, 0.7, None, 10, "",
    ]  # fmt: skip
    rows: list[Any] = await connection.fetch(load_queries("search")["collection"], *arguments)
    return rows


async def test_a_search_at_once_reads_candidates_only(either: Any) -> None:
    """HNSW, GIN and keys, on tables that were never analysed too."""
    times = 12
    for _ in range(times):
        rows = await search_at_once(either, "c1", "w7000 w5000 w300 w2", exact_below=3000)
        assert rows[0]["regime"] == "shared"
        assert len(PackedIds(rows[0]["vector_passages"])) == 100
        assert len(PackedIds(rows[0]["lexical_passages"])) == 50
        assert len(rows) == 10
        assert [row["vector_passages"] is None for row in rows] == [False] + 9 * [True]
    most = {
        "embeddings": 2000, "chunks": 10, "lexical_index": PASSAGES // 4, "lexical_terms": 4,
        "passages": 10, "documents": 10,
    }  # fmt: skip
    for table, rows_read in most.items():
        sequential, fetched = await touched(either, table)
        assert (table, sequential) == (table, 0)
        assert fetched <= times * rows_read, table


async def test_a_search_at_once_of_a_small_collection_reads_its_rows(either: Any) -> None:
    for _ in range(8):
        rows = await search_at_once(either, "c2", "w1 w2 w3", exact_below=3000)
        assert rows[0]["regime"] == "exact"
        assert len(rows) == 10
    for table in ("embeddings", "chunks", "lexical_index", "passages", "documents"):
        sequential, fetched = await touched(either, table)
        assert (table, sequential) == (table, 0)
        assert fetched <= 8 * 2 * SMALL + 200


RESTRICT = """
UPDATE rag.documents d SET passage_count = 1, access = array_remove(ARRAY[
  'group:all', CASE WHEN n % 2 = 0 THEN 'group:half' END, CASE WHEN n % 10 = 0 THEN 'group:tenth' END,
  CASE WHEN n % 100 = 0 THEN 'group:hundredth' END, CASE WHEN n = 1000 THEN 'group:one' ELSE 'group:others' END], NULL)
FROM (SELECT id, substr(external_id, 2)::integer AS n FROM rag.documents) AS n WHERE n.id = d.id
"""
READERS = {"half": 2, "tenth": 10, "hundredth": 100}
"""Groups that may read the documents whose number this divides."""


def may_read(group: str) -> set[UUID]:
    """Of the documents of c1."""
    return {named(number) for number in range(SMALL + 1, PASSAGES + 1) if is_readable(group, number)}


def is_readable(group: str, number: int) -> bool:
    if group in ("one", "others"):
        return (number == 1000) == (group == "one")
    every = {"all": 1, "nobody": PASSAGES + 1, **READERS}[group]
    return number % every == 0


def named(number: int) -> UUID:
    """The document of that number."""
    return UUID(md5(f"d{number}".encode()).hexdigest())


async def set_counts(connection: Any) -> None:
    await connection.execute("UPDATE rag.collections SET passage_count = chunk_count")


async def search_as(connection: Any, principals: str, name: str = "c1", scan: bool = False, cap: int = 1000) -> Any:
    """The first row, with lists of documents and chunks that are not cut off."""
    rows = await connection.fetch(
        "SELECT * FROM rag.search_collection($1, $2, 1::smallint, $3, 100, $4, 3000, 100, 20000, 'w7000 w5000 w300 w2', $5,"
        " 600, $6, .7, NULL, 10, $7)",
        tenant(), name, QUERY, scan, 50 if cap else PASSAGES, cap or PASSAGES, principals,
    )  # fmt: skip
    return rows[0]


async def test_a_search_reads_what_the_caller_may_read(undone: Any) -> None:
    """Few documents through their index, many through HNSW and GIN with the others dropped; where all lists name the caller, no
    document is looked at."""
    await undone.execute(RESTRICT)
    await set_counts(undone)
    operator = await search_as(undone, "*", cap=0)
    everything = list(zip(operator["lexical_passages"], operator["lexical_documents"], strict=True))
    assert len(everything) > 1000
    for group in ("all", "others", "half", "tenth", "hundredth", "one", "nobody"):
        may, readers = may_read(group), f"{{person:ada,group:{group}}}"
        exact = await search_as(undone, readers, scan=True)
        before = {table: await touched(undone, table) for table in ("embeddings", "documents", "lexical_index")}
        found = await search_as(undone, readers)
        read = {table: (await touched(undone, table))[1] - count for table, (_, count) in before.items()}
        assert (await touched(undone, "embeddings"))[0] == (await touched(undone, "lexical_index"))[0] == 0
        counted = len(may)
        assert found["passage_count"] == found["chunk_count"] == exact["chunk_count"] == counted, group
        documents = set(found["vector_documents"] or ()) | set(found["lexical_documents"] or ())
        assert documents <= may
        assert found["document_id"] in may | {None}
        best = [one for one, document in everything if document in may][:50]
        if found["lexical_exact"]:
            assert (found["lexical_passages"] or []) == best, group
        assert found["chunks_found"] == exact["chunks_found"] == min(100, counted)
        few = counted <= 4822  # rag.most_compared(15500, 100)
        told = "shared" if group == "all" else "readable" if counted > 3000 else "exact" if counted else None
        assert found["regime"] == told, group
        if few:
            assert found["vector_chunks"] == exact["vector_chunks"]
            assert read["embeddings"] <= counted + 5
            assert read["documents"] <= counted + 50
            assert found["lexical_exact"] is not False or counted > 1000
        else:
            near = set(exact["vector_chunks"])
            assert len(near & set(found["vector_chunks"])) >= 50  # by a graph that is a narrow one
            assert read["embeddings"] <= 4000
            # those that it may read up to the line, then each of the others once
            assert read["documents"] <= (50 if group == "all" else 4822 + PASSAGES - SMALL - counted + 60)
        if counted <= 1000:
            assert read["lexical_index"] <= counted + 5 + 50  # and what words the best have


async def test_words_are_looked_for_in_readable_passages_that_hold_one(undone: Any) -> None:
    """By the index of words and that of documents at once, where the words stand in few passages; common ones are compared."""
    await undone.execute(RESTRICT)
    await set_counts(undone)
    await undone.execute("SELECT set_config('app.principals', '{group:tenth}', true)")
    may, found = may_read("tenth"), await collection(undone, "c1")
    for words, most in (("w7000 w5000 w300 w60", len(may) / 4), ("w7000 w1 w2 w3", len(may) + 55)):
        before = await touched(undone, "lexical_index")
        rows = await undone.fetch(load_queries("lexical")["search"], [found], words, 50, 600, 5000, None, None)
        sequential, read = await touched(undone, "lexical_index")
        assert (len(rows), sequential) == (50, 0), words
        assert {row["document_id"] for row in rows} <= may
        assert 0 < read - before[1] <= most, words
        exact = await undone.fetch(
            "SELECT l.passage_id, -(l.weights <#> q.question) AS score FROM rag.lexical_index l,"
            " rag.lexical_question($1, $2, $3) AS q WHERE l.document_id = ANY ($4) ORDER BY 2 DESC, 1 LIMIT 50",
            tenant(), found, words, list(may),
        )  # fmt: skip
        assert [row["passage_id"] for row in rows] == [row["passage_id"] for row in exact], words


async def test_what_is_compared_is_what_may_be_read_and_a_filter_leaves(undone: Any) -> None:
    """One row of a vector for each, of one collection and of two, and some of documents for each that may be read."""
    await undone.execute(RESTRICT)
    statement = VECTORS["search_exact"].format(model=1)
    both = [await collection(undone, name) for name in ("c1", "c2")]
    for group, filters in product(("tenth", "hundredth", "one", "nobody"), (None, {"rare": True}, {"year": 1950})):
        await undone.execute("SELECT set_config('app.principals', $1, true)", f"{{person:ada,group:{group}}}")
        for searched, first in ((both[:1], SMALL + 1), (both, 1)):
            numbers = [n for n in range(first, PASSAGES + 1) if is_readable(group, n)]
            kept = [n for n in numbers if not filters or (n % 1000 == 7 if "rare" in filters else n % 100 == 50)]
            before = {table: await touched(undone, table) for table in ("embeddings", "documents", "chunks")}
            rows = await undone.fetch(statement, searched, QUERY, 40, filters and json.dumps(filters))
            read = {}
            for table, (sequential, fetched) in before.items():
                now = await touched(undone, table)
                assert now[0] == sequential, table
                read[table] = now[1] - fetched
            assert len(rows) == min(40, len(kept))
            assert {row["document_id"] for row in rows} <= {named(n) for n in kept}
            assert (read["embeddings"], read["chunks"]) == (len(kept), 0)
            if not filters:
                assert read["documents"] <= len(numbers) + 50


async def test_a_filter_that_most_of_others_match_reads_those_of_the_collection(undone: Any) -> None:
    """Of a small collection in a large table, whose documents all say the same: by the collection, by the tenth search too."""
    await undone.execute('UPDATE rag.documents SET metadata = metadata || \'{"lang": "en"}\'')
    statement, found = VECTORS["search_exact"].format(model=1), await collection(undone, "c2")
    for _ in range(10):
        sequential, before = await touched(undone, "documents")
        assert len(await undone.fetch(statement, [found], QUERY, 10, '{"lang": "en"}')) == 10
        now, read = await touched(undone, "documents")
        assert (now, read - before <= 3 * SMALL) == (sequential, True)


async def test_many_collections_cost_what_their_documents_do(undone: Any) -> None:
    """Each document is looked up in its own collection alone."""
    await undone.execute(RESTRICT)
    await undone.execute("SELECT set_config('app.principals', '{group:half}', true)")
    both = [await collection(undone, name) for name in ("c1", "c2")]
    before = await undone.fetchval(
        "SELECT idx_scan FROM pg_stat_xact_user_tables WHERE relid = 'rag.embeddings'::regclass"
    )
    await undone.fetch(VECTORS["search_exact"].format(model=1), both, QUERY, 10, None)
    now = await undone.fetchval(
        "SELECT idx_scan FROM pg_stat_xact_user_tables WHERE relid = 'rag.embeddings'::regclass"
    )
    assert now - before <= PASSAGES / 2 + 1


async def test_more_lists_than_are_told_apart_withhold_as_few_do(undone: Any) -> None:
    await undone.execute(
        "UPDATE rag.documents SET passage_count = 1, access = ARRAY['person:' || external_id] WHERE collection_id = $1"
        " AND external_id <> 'd1'",
        await collection(undone, "c2"),
    )
    await set_counts(undone)
    open_one, own = (UUID(md5(name.encode()).hexdigest()) for name in ("d1", "d7"))
    for principals, may in (("", {open_one}), ("{person:d7}", {open_one, own}), ("{person:d700}", {open_one})):
        for scan in (False, True):
            found = await search_as(undone, principals, "c2", scan)
            assert (set(found["vector_documents"] or ()), found["chunk_count"]) == (may, len(may)), (principals, scan)
            assert set(found["lexical_documents"]) <= may
    everybody = "{" + ",".join(f"person:d{n}" for n in range(1, SMALL + 1)) + "}"
    assert (await search_as(undone, everybody, "c2"))["chunk_count"] == SMALL
    but_one = everybody.replace("person:d7,", "")
    found = await search_as(undone, but_one, "c2", scan=True)
    assert found["chunk_count"] == SMALL - 1
    assert own not in found["vector_documents"]


async def test_listing_documents_reads_one_page(either: Any) -> None:
    found = await collection(either, "c1")
    queries = load_queries("documents")
    page = queries["wanted"] + queries["page"]
    for external_ids, most in ((None, 50), (["d77"], 1)):
        nodes = await plan(
            either, page, tenant(), found, None, external_ids, None, None, None, None, None, None, None, 50, "d5"
        )
        assert "documents_tenant_id_collection_id_external_id_key" in indexes(nodes)
        assert max(node["Actual Rows"] for node in nodes) <= most


async def test_the_last_jobs_of_a_key_are_read_by_it(undone: Any) -> None:
    """Of some thousand that have ended, and of which each caller sees those that they may."""
    for principals in ("*", "{group:reader}"):
        await undone.execute("SELECT set_config('app.principals', $1, true)", principals)
        nodes = await plan(undone, load_queries("jobs")["of_key"].rstrip("; \n"), tenant(), "key7", 20)
        assert indexes(nodes) == {"jobs_key_idx"}, nodes
        assert (nodes[0]["Actual Rows"], scans(nodes)) == (20, set())


async def test_documents_that_mention_a_word_are_found_by_the_index_of_words(connection: Any) -> None:
    found = await collection(connection, "c1")
    queries = load_queries("documents")
    page = queries["wanted"] + queries["page"]
    sequential, rows = await touched(connection, "passages")
    nodes = await plan(
        connection, page, tenant(), found, None, None, None, None, None, None, None, "w7000", None, 50, ""
    )
    assert (mentioning := nodes[0]["Actual Rows"]) > 0
    now, read = await touched(connection, "passages")
    assert (now - sequential, read - rows) <= (0, 4 * mentioning), "what does not mention it is not read"
    nodes = await plan(
        connection, page, tenant(), found, None, None, None, None, None, None, None, "w7000 w7000 w200", None, 50, ""
    )
    assert nodes[0]["Actual Rows"] == 0


async def test_reuse_of_vectors_looks_up_hashes(either: Any) -> None:
    nodes = await plan(either, VECTORS["reuse"], tenant(), 1, [b"a" * 32, b"b" * 32], ["group:hr"])
    assert {"embeddings_reuse_idx", "embedded_ahead_reuse_idx"} <= indexes(nodes)
    assert not scans(nodes)


RARE = {
    "must": [{"field": "text", "value": "w7000"}],
    "must_not": [{"field": "text", "value": "w200"}],
    "inclusive": True,
}
AVOIDED = {"must": [], "must_not": [{"field": "text", "value": "w7000"}], "inclusive": False}


@pytest.mark.parametrize("conditions", [RARE, AVOIDED], ids=["must", "must not"])
async def test_operators_read_passages_through_gin_on_the_generated_column(
    connection: Any, conditions: dict[str, Any]
) -> None:
    """The generated tsvector is indexed, and phrases and exclusions use that index in spite of row security."""
    found = await collection(connection, "c1")
    asked = json.dumps(conditions)
    rows = await connection.fetch("SELECT * FROM rag.scope_passages($1, $2::jsonb)", [found], asked)
    expected = await connection.fetchval(
        "SELECT count(*) FROM rag.passages WHERE collection_id = $1 AND search_vector @@ $2::text::tsquery",
        found, "w7000 & !w200" if conditions is RARE else "w7000",
    )  # fmt: skip
    assert len(rows) == expected > 0
    used = await connection.fetchval(
        "SELECT idx_scan FROM pg_stat_xact_user_tables WHERE schemaname = 'rag' AND relname = 'passages'"
    )
    assert used > 0


async def test_scope_statement_is_planned_with_the_gin_index(connection: Any) -> None:
    """The statement of rag.scope_passages, explained as its owner."""
    found = await collection(connection, "c1")
    await connection.execute("RESET ROLE")
    await connection.execute("SET LOCAL ROLE cairn_definer")
    statement = (
        "SELECT p.id FROM rag.passages p WHERE p.tenant_id = $1 AND p.collection_id = ANY ($2) "
        "AND p.regconfig = 'english' AND p.search_vector @@ 'w7000'::tsquery"
    )
    nodes = await plan(connection, statement, tenant(), [found])
    assert any("search_vector" in name for name in indexes(nodes)), indexes(nodes)
    assert not scans(nodes) & {"passages"}


async def test_vector_search_without_some_passages_is_exact(either: Any) -> None:
    """An index knows no conditions: all vectors of the collection are compared, and the excluded looked up as one set."""
    statement = VECTORS["search_exact_scoped"].format(model=1, dimensions=8)
    found = await collection(either, "c1")
    nodes = await plan(either, statement, tenant(), [found], QUERY, 50, json.dumps(AVOIDED), None)
    assert "embeddings_hnsw_1" not in indexes(nodes)
    assert not scans(nodes) & {"chunks"}


async def test_vector_search_of_some_passages_reads_their_vectors_only(connection: Any) -> None:
    statement = VECTORS["search_exact_chosen"].format(model=1, dimensions=8)
    found = await collection(connection, "c1")
    nodes = await plan(connection, statement, tenant(), [found], QUERY, 50, json.dumps(RARE), None)
    assert not scans(nodes) & {"embeddings", "chunks"}
    assert max(node["Actual Rows"] for node in nodes) < PASSAGES / 4


MESSAGE = ["w1", "w2", "w300", "w7000", "the", "what", "nowhere", "pg_stat_io"]


async def test_vocabulary_reads_terms_by_key(connection: Any) -> None:
    """The words of a message: a few rows per word and language, however large the collection."""
    statement = load_queries("holdings")["frequencies"]
    nodes = await plan(connection, statement, tenant(), "c1", MESSAGE)
    assert "lexical_terms_pkey" in indexes(nodes)
    assert not scans(nodes) & {"lexical_terms", "passages", "lexical_index"}
    assert max(node["Actual Rows"] for node in nodes) <= 4 * len(MESSAGE)


async def test_vocabulary_equals_the_passages_that_hold_the_word(connection: Any) -> None:
    row = await connection.fetchrow(load_queries("holdings")["frequencies"], tenant(), "c1", ["w300", "the", "nowhere"])
    expected = await connection.fetchval(
        "SELECT count(*) FROM rag.passages p JOIN rag.collections c ON c.id = p.collection_id "
        "WHERE c.name = 'c1' AND p.search_vector @@ 'w300'::tsquery"
    )
    assert list(row["frequencies"]) == [expected, row["passages"], 0]
    assert row["language"] == "english"
