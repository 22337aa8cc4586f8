"""Restored is all that was backed up: each row of each table, indexes that find, numbers that go on; or nothing."""

from __future__ import annotations

import asyncio
import subprocess
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from cairn.db.backup import dump
from cairn.db.embedded import EmbeddedServer
from cairn.db.programs import find_program
from cairn.db.restore import Restored, restore
from cairn.db.schema import SchemaSource
from cairn.domain.ids import new_id
from cairn.domain.passage import SearchRequest
from cairn.errors import BackupError
from cairn.service.jobs import PLAN_INDEXES
from cairn.service.keys import create_key
from cairn.service.search import run_search
from cairn.settings import Environment, SettingsStore, VectorSettings
from cairn.wiring import Services, open_services
from tests.catalog import differences, read_catalog
from tests.conftest import Clones
from tests.db.runs import HANDBOOK, answered, fill
from tests.db.secured import COLUMNS, VALUES, insert
from tests.db.test_tenant_files import FEES, FILMS
from tests.faults.recounts import RECOUNTS

TABLES = """
SELECT c.oid::regclass::text FROM pg_class AS c WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p')
AND NOT c.relispartition AND c.relname NOT IN ('alembic_version', 'schema_revisions', 'schema_objects') ORDER BY 1
"""
RUN = "id, kind, collections, question, legs_used, degraded, settings_revision, outcome, document_ids"
DIGEST = """
SELECT count(*), md5(coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '')) FROM {table} AS t
WHERE to_jsonb(t) ->> 'action' IS DISTINCT FROM 'database.restore'
"""
VALID = {
    ("audit_events", "action"): "'a.b'",
    ("collection_models", "state"): "'serving'",
    ("document_changes", "kind"): "'added'",
    ("documents", "status"): "'indexed'",
    ("feedback", "rating"): "1",
    ("jobs", "status"): "'queued'",
    ("messages", "role"): "'user'",
    ("resumable_runs", "status"): "'ok'",
    ("vector_indexes", "state"): "'building'",
}
"""Where any value of the type will not do."""


async def fetch(dsn: str, statement: str, *arguments: Any) -> list[Any]:
    connection = await asyncpg.connect(dsn)
    try:
        return list(await connection.fetch(statement, *arguments))
    finally:
        await connection.close()


async def digests(dsn: str) -> dict[str, tuple[int, str]]:
    """Of each table: how many rows, and a digest of all that is in them."""
    connection = await asyncpg.connect(dsn)
    try:
        return {
            table: tuple(await connection.fetchrow(DIGEST.format(table=table)))
            for (table,) in await connection.fetch(TABLES)
        }
    finally:
        await connection.close()


async def move(database: str, empty: str, folder: Path, settings: VectorSettings = VectorSettings()) -> Restored:
    file = folder / "whole.dump"
    file.unlink(missing_ok=True)
    await dump(database, file)
    return await restore(empty, file, settings)


SMALL = VectorSettings(bulk_above=1, dedicated_above=1, exact_below=1)
"""Of a database whose collections are large enough for indexes of their own."""


@asynccontextmanager
async def opened(environment: Environment, **more: str) -> AsyncIterator[Services]:
    async with open_services(replace(environment, **more), SettingsStore()) as services:
        services.settings.current = services.settings.current.model_copy(update={"vector": SMALL})
        yield services


async def searched(services: Services) -> list[Any]:
    """Passages and scores of several searches, each of which finds some."""
    found = []
    for query, collection in (("days of leave", "handbook"), ("who is Tim Burton", "films"), ("Urlaub", "films")):
        for legs in (("vector",), ("lexical",), ("vector", "lexical", "graph")):
            request = SearchRequest(query, (collection,), legs=legs, explicit=True)
            found.append([(hit.passage_id, hit.score) for hit in (await run_search(services, request)).passages])
    assert all(found)
    return found


@pytest.mark.siege
async def test_all_of_a_database_comes_back(
    environment: Environment, database: str, empty_database: str, tmp_path: Path
) -> None:
    async with opened(environment) as services, opened(environment, tenant="two") as other:
        await fill(services)
        await services.worker(kinds={PLAN_INDEXES}).run_until_idle()
        await fill(services, {**FILMS, "fees.md": FEES}, "films")
        await fill(other, HANDBOOK, "theirs")
        await answered(services, "How many days of leave do employees have?", session_id="talk")
        await create_key(services, "reader", {"read"})
        found = await searched(services)
    # traces of before, each in the partition of its day; the last tenant, and its number, are gone
    for days in (1, 40, 700):
        day = datetime.now(UTC) - timedelta(days=days)
        if days < 700:
            await fetch(
                database, "SELECT rag.add_partition(t, $1) FROM unnest('{rag.runs,rag.run_legs}'::regclass[]) t", day
            )
        added = f"INSERT INTO rag.runs (tenant_id, started_at, {RUN}) SELECT tenant_id, $1, {RUN} FROM rag.runs LIMIT 1"
        await fetch(database, added, day)
    gone = (await fetch(database, "SELECT rag.ensure_tenant('gone') AS id"))[0]["id"]
    await fetch(database, "DELETE FROM rag.analyst_grant WHERE tenant_id = $1", gone)
    await fetch(database, "DELETE FROM rag.audit_events WHERE tenant_id = $1", gone)
    await fetch(database, "DELETE FROM rag.tenants WHERE id = $1", gone)
    await fetch(database, "SELECT setval('rag.embedding_models_id_seq', 5)")
    states = {tuple(row) for row in await fetch(database, "SELECT state, exclusive FROM rag.vector_indexes")}
    assert states == {("ready", True), ("building", True)}

    done = await move(database, empty_database, tmp_path, SMALL)

    assert done == Restored(SchemaSource.installed().head, ())
    before = await digests(database)
    assert await digests(empty_database) == before
    filled = (
        "embeddings mentions messages runs run_legs api_keys code_calls vector_indexes document_tables table_columns"
    )
    for table in filled.split():
        assert before[f"rag.{table}"][0], table
    there, here = await asyncio.gather(*(asyncio.to_thread(read_catalog, dsn) for dsn in (database, empty_database)))
    assert differences(here, there) == []
    by_day = "SELECT tableoid::regclass::text, count(*) FROM rag.runs GROUP BY 1 ORDER BY 1"
    assert await fetch(empty_database, by_day) == await fetch(database, by_day)
    for name, statement in RECOUNTS.items():
        assert not await fetch(empty_database, statement), name
    async with opened(environment, database_url=empty_database) as moved:
        assert await searched(moved) == found
        await fill(moved, {"new.md": "# Cairns\n\nA cairn is a pile of stones that marks a path."})
        new = await run_search(moved, SearchRequest("pile of stones", ("handbook",), explicit=True))
        assert "pile of stones" in new.passages[0].content
    assert (await fetch(empty_database, "SELECT rag.ensure_tenant('next')"))[0][0] == gone + 1
    added = "INSERT INTO rag.embedding_models (name, dimensions) VALUES ('next', 2) RETURNING id"
    assert (await fetch(empty_database, added))[0][0] == 6


TEXTS = ["\\.", "\\N", "a\nb\\.\n\\.\n", "\t\r\n\x01\\", "COPY rag.jobs (id) FROM stdin;\n", "🗿" * 30]
"""Names of tenants."""
COLLECTION = UUID("00000000-0000-7000-8000-00000000000a")


@pytest.fixture(scope="module")
def moved(
    server: EmbeddedServer, clones: Clones, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str, Restored]]:
    """A database of rows as strange as they may be, of an older revision; another into which its dump was restored; and what was
    said of that."""
    for name, of in (("strange", template), ("strange_restored", "template1")):
        clones.make(name, of)
    database, empty = server.dsn("strange"), server.dsn("strange_restored")

    async def make() -> Restored:
        await fill_every_table(database)
        await fetch(database, "UPDATE rag.alembic_version SET version_num = '0026'")
        return await move(database, empty, tmp_path_factory.mktemp("moved"))

    yield database, empty, asyncio.run(make())
    for name in ("strange", "strange_restored"):
        clones.drop(name)


async def fill_every_table(database: str) -> None:
    """Who adds a table whose rows want values of their own finds here what to say of them."""
    connection = await asyncpg.connect(database)
    for tenant in (1, 2):
        await connection.execute("SELECT rag.ensure_tenant($1)", f"tenant {tenant}")
    for text in TEXTS:
        await connection.execute("INSERT INTO rag.tenants (name) VALUES ($1)", text)
    await connection.execute("DELETE FROM rag.audit_events")
    await connection.execute("DELETE FROM rag.analyst_grant")
    await connection.execute(
        "INSERT INTO rag.embedding_models (id, name, dimensions) VALUES (1, 'z', 2), (2, 'b', 2), (7, 'a', 2), (8, 'long', 9000)"
    )
    await connection.execute("SET session_replication_role = replica")  # those that others refer to may come later
    for (table,) in await connection.fetch(TABLES):
        name = table.removeprefix("rag.")
        columns = [tuple(row) for row in await connection.fetch(COLUMNS, table)]
        if "tenant_id" not in dict(columns):
            continue
        for tenant in (1, 2):
            row = [(column, kind) for column, kind in columns if (name, column) not in VALID]
            given = [(column, VALID[name, column]) for column, _ in columns if (name, column) in VALID]
            statement = insert(table, row, tenant)
            for column, value in given:
                statement = statement.replace(f"{table} (", f"{table} ({column}, ").replace(
                    "VALUES (", f"VALUES ({value}, "
                )
            await connection.execute(statement)
    await connection.execute("SET session_replication_role = origin")
    await connection.execute(
        "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES (1, $1, 'of an index', 1)", COLLECTION
    )
    ready = "INSERT INTO rag.vector_indexes (tenant_id, collection_id, model_id, name, state, exclusive) "
    for model, name in ((7, "embeddings_hnsw_7; DROP TABLE rag.jobs"), (8, "jobs"), (9, "of no model")):
        await connection.execute(ready + "VALUES (1, $1, $2, $3, 'ready', true)", COLLECTION, model, name)
    await connection.close()


async def test_a_row_of_every_table_comes_back(moved: tuple[str, str, Restored]) -> None:
    database, empty, _ = moved
    before, after = await digests(database), await digests(empty)
    made_anew = {"rag.vector_indexes", "rag.lexical_index", "rag.lexical_terms"}  # keys are those of this release
    assert {name for name in before if before[name] != after[name]} == made_anew
    others = "SELECT * FROM rag.vector_indexes WHERE collection_id <> $1 ORDER BY tenant_id"
    assert await fetch(empty, others, COLLECTION) == await fetch(database, others, COLLECTION) != []
    assert not [table for table, (rows, _) in before.items() if rows < 2]
    assert set(VALUES) >= {"halfvec", "sparsevec"}, "types that need an extension"


async def test_rows_name_no_index_and_no_function(moved: tuple[str, str, Restored]) -> None:
    """Which index a collection has is a row; what it is called, and which function searches by it, is not for a row to say."""
    _, empty, _ = moved
    made = "SELECT relname FROM pg_class WHERE relnamespace = 'rag'::regnamespace AND relname ~ 'hnsw' ORDER BY 1"
    assert [row[0] for row in await fetch(empty, made) if row[0].startswith("embeddings_hnsw_7")] == [
        "embeddings_hnsw_7",
        "embeddings_hnsw_7_c00000000000b",
    ]
    named = await fetch(
        empty, "SELECT name FROM rag.vector_indexes WHERE collection_id = $1 ORDER BY model_id", COLLECTION
    )
    assert [row[0] for row in named] == ["embeddings_hnsw_7_c00000000000b", "jobs", "of no model"]
    searched = "SELECT * FROM rag.search_7_c00000000000b(1, $1, 7::smallint, '[1,0]', 3)"
    assert (await fetch(empty, searched, COLLECTION))[0]["chunks_found"] == 0


async def test_text_is_text(moved: tuple[str, str, Restored]) -> None:
    """Whatever it looks like to COPY, psql or a terminal."""
    _, empty, _ = moved
    assert [row[0] for row in await fetch(empty, "SELECT name FROM rag.tenants WHERE id > 2 ORDER BY id")] == TEXTS


async def test_an_older_revision_whose_rows_fit(
    moved: tuple[str, str, Restored], database: str, empty_database: str, tmp_path: Path
) -> None:
    _, empty, done = moved
    assert await fetch(empty, "SELECT version_num FROM rag.alembic_version") == [(done.revision,)]
    assert done.revision != "0026"
    await fetch(database, "UPDATE rag.alembic_version SET version_num = '0025'")
    with pytest.raises(BackupError, match=r"the dump is of revision 0025, .* restore it with commit"):
        await move(database, empty_database, tmp_path)


@pytest.mark.siege
async def test_other_ways_to_dump(database: str, empty_database: str, tmp_path: Path) -> None:
    """Rows alone, through the partitioned table, as an archive of tar, and in another encoding."""
    await fetch(database, "INSERT INTO rag.tenants (name) VALUES ('Straße')")
    await fetch(
        database,
        f"INSERT INTO rag.runs (tenant_id, started_at, {RUN}) "
        "VALUES (1, now(), gen_random_uuid(), 'search', '{}', 'x', '{}', '{}', 'x', 'ok', '{}')",
    )
    file = tmp_path / "other.dump"
    options = ["--format=tar", "--data-only", "--load-via-partition-root", "--encoding=LATIN1", "--enable-row-security"]
    command = [find_program("pg_dump", None), *options, f"--file={file}", f"--dbname={database}"]
    await asyncio.to_thread(subprocess.run, command, check=True)
    await restore(empty_database, file)
    assert await digests(empty_database) == await digests(database)


async def test_statements_instead_of_rows_are_refused(database: str, empty_database: str, tmp_path: Path) -> None:
    await fetch(database, "SELECT rag.ensure_tenant('one')")
    file = tmp_path / "inserts.dump"
    command = [find_program("pg_dump", None), "--format=custom", "--inserts", f"--file={file}", f"--dbname={database}"]
    await asyncio.to_thread(subprocess.run, command, check=True)
    with pytest.raises(BackupError, match=r"it has a statement where rows should be: .INSERT INTO "):
        await restore(empty_database, file)


@pytest.mark.siege
async def test_memory_does_not_grow_with_the_dump(database: str, empty_database: str, tmp_path: Path) -> None:
    """24 MB of files in rows of 4 MB, which are 48 MB of dump."""
    await fetch(database, "SELECT rag.ensure_tenant('one')")
    collection, job = new_id(), new_id()
    await fetch(
        database, "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES (1, $1, 'c', 1)", collection
    )
    await fetch(database, "INSERT INTO rag.jobs (tenant_id, id, kind) VALUES (1, $1, 'index')", job)
    await fetch(
        database,
        "INSERT INTO rag.uploads (tenant_id, id, collection_id, job_id, external_id, name, content) "
        "SELECT 1, gen_random_uuid(), $1, $2, n::text, n::text, convert_to(repeat(md5(n::text), 131072), 'UTF8') "
        "FROM generate_series(1, 6) AS n",
        collection, job,
    )  # fmt: skip
    file = tmp_path / "large.dump"
    await dump(database, file)
    tracemalloc.start()
    try:
        await restore(empty_database, file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert await fetch(empty_database, "SELECT sum(length(content)) FROM rag.uploads") == [(6 * 2**22,)]
    assert peak < 20_000_000, peak
