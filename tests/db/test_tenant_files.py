"""A tenant in a file: all of it comes back, under other numbers; a wrong file changes nothing; what is deleted is gone."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import resource
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cairn.db.embedded import EmbeddedServer
from cairn.db.tenant_delete import delete_tenant
from cairn.db.tenant_export import export_tenant
from cairn.db.tenant_file import MANIFEST, Manifest
from cairn.db.tenant_import import import_tenant
from cairn.db.tenant_tables import ADAPTED, KEPT, LEFT_OUT, MODEL, list_tables, owner_connection
from cairn.domain.connected_source import IMPORTED, SourceWish
from cairn.domain.ids import new_id
from cairn.domain.passage import SearchRequest
from cairn.errors import ConflictError, NotFoundError, TenantFileError
from cairn.jobs.sources import SYNC_SOURCE
from cairn.service.keys import create_key
from cairn.service.search import run_search
from cairn.service.sources import (
    SourceChange,
    add_source,
    change_source,
    get_source,
    list_runs,
    list_sources,
    start_due,
    sync,
)
from cairn.settings import Environment, SettingsStore, VectorSettings, read_environment
from cairn.wiring import Services, open_services
from tests.conftest import Clones
from tests.db.runs import HANDBOOK, answered, fill
from tests.db.secured import CHECKS, COLUMNS, TENANT_TABLES, VALUES, insert
from tests.faults.recounts import RECOUNTS
from tests.thinning import SWEPT

PLAN = "vector_indexes"
FEES = "# Fees\n\n| Berth | Fee (EUR) |\n| --- | --- |\n| East | 120.50 |\n| West | 98 |\n"
FILMS = {
    "film.md": "# Big Eyes\n\nBig Eyes is a film of 2014 directed by Tim Burton. It tells of the painter Margaret Keane.",
    "director.md": "# Tim Burton\n\nTim Burton was born in Burbank. Tim Burton likes drawing.",
    "code.py": "def pile(stones):\n    return sorted(stones)\n\n\ndef build():\n    return pile([3, 1])\n",
    "deutsch.md": "# Urlaub\n\nDie Mitarbeiter haben dreißig Tage Urlaub im Jahr. Er wird vorher beantragt.",
}


def quiet(_: str) -> None:
    pass


@pytest.fixture
def second(server: EmbeddedServer, clones: Clones, psql: Callable[..., str], template: str) -> Iterator[str]:
    """DSN of another database, which has had tenants before."""
    name = f"second_{new_id().hex}"
    clones.make(name, template)
    psql("SELECT rag.ensure_tenant('first'), rag.ensure_tenant('next')", name)
    psql("INSERT INTO rag.embedding_models (name, dimensions) VALUES ('of others', 3)", name)
    yield server.dsn(name)
    clones.drop(name)


async def fetch(dsn: str, statement: str, *arguments: Any) -> list[Any]:
    connection = await asyncpg.connect(dsn)
    try:
        return list(await connection.fetch(statement, *arguments))
    finally:
        await connection.close()


async def tables_of(dsn: str) -> dict[str, Any]:
    async with owner_connection(dsn) as connection:
        return {table.name: table for table in await list_tables(connection)}


async def digests(dsn: str, tenant: str) -> dict[str, tuple[int, str]]:
    """Of each table that travels: rows and a digest of them, without tenant and with models by name."""
    found = {}
    async with owner_connection(dsn) as connection:
        for table in (table for table in await list_tables(connection) if table.travels):
            changed = [column for name, column in ADAPTED if name == table.name]
            statement = f"""
                SELECT count(*), md5(coalesce(string_agg(t, E'\\n' ORDER BY t), '')) FROM (
                  SELECT (to_jsonb(x) - 'tenant_id' - 'model_id' - $2::text[])::text ||
                    coalesce((SELECT name FROM rag.embedding_models WHERE id = (to_jsonb(x) ->> 'model_id')::smallint), '') AS t
                  FROM {table.quoted} AS x WHERE tenant_id = (SELECT id FROM rag.tenants WHERE name = $1)
                    AND to_jsonb(x) ->> 'kind' IS DISTINCT FROM '{PLAN}'
                    AND to_jsonb(x) ->> 'action' IS DISTINCT FROM 'tenant.import'
                ) AS y"""
            found[table.name] = tuple(await connection.fetchrow(statement, tenant, changed))
    return found


async def counts(dsn: str) -> dict[tuple[str, int], int]:
    """Rows of every table and tenant."""
    found = {}
    async with owner_connection(dsn) as connection:
        for (table,) in await connection.fetch(TENANT_TABLES):
            for row in await connection.fetch(f"SELECT tenant_id, count(*) AS n FROM {table} GROUP BY 1"):
                found[table, row["tenant_id"]] = row["n"]
    return found


async def bring(dsn: str, file: Path, name: str | None = None, **settings: Any) -> tuple[Manifest, int]:
    return await import_tenant(dsn, file, name, VectorSettings(**settings), PLAN, quiet)


async def live(environment: Environment) -> None:
    """A tenant with documents, a graph, conversations, runs and a key, beside another one."""
    async with open_services(environment, SettingsStore()) as one:
        await fill(one)
        await fill(one, {**FILMS, "fees.md": FEES}, "films")
        await answered(one, "How many days of leave do employees have?", session_id="talk")
        await answered(one, "How are Tim Burton and Big Eyes related?", collection="films")
        await create_key(one, "reader", {"read"})
        await one.traces.flush()
    async with open_services(replace(environment, tenant="two"), SettingsStore()) as two:
        await fill(two, HANDBOOK, "theirs")


@pytest.fixture(scope="module")
def lived_in(
    server: EmbeddedServer, clones: Clones, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Name of a database that is lived in once, and copied for each test."""
    name, home = f"lived_in_{new_id().hex}", str(tmp_path_factory.mktemp("home"))
    clones.make(name, template)
    asyncio.run(
        live(read_environment({"CAIRN_DATABASE_URL": server.dsn(name), "CAIRN_HOME": home, "CAIRN_TENANT": "one"}))
    )
    yield name
    clones.drop(name)


@pytest.fixture
def database(server: EmbeddedServer, clones: Clones, lived_in: str) -> Iterator[str]:
    name = f"lived_{new_id().hex}"
    clones.make(name, lived_in)
    yield server.dsn(name)
    clones.drop(name)


@pytest.fixture
def lived(services: Services) -> Services:
    return services


@pytest.fixture
def blank(server: EmbeddedServer, clones: Clones, template: str) -> Iterator[str]:
    name = f"blank_{new_id().hex}"
    clones.make(name, template)
    yield server.dsn(name)
    clones.drop(name)


# --- there and back -------------------------------------------------------------------------------------------------------


async def test_a_tenant_comes_back_with_everything(
    lived: Services, environment: Environment, database: str, second: str, tmp_path: Path
) -> None:
    file = tmp_path / "one.cairn"
    manifest = await export_tenant(database, "one", file, quiet)
    assert file.stat().st_mode & 0o777 == 0o600
    assert {table.name for table in manifest.tables} == set(await tables_of(database)) - set(LEFT_OUT)
    before = await digests(database, "one")
    for table in (
        "documents",
        "originals",
        "entities",
        "relations",
        "mentions",
        "messages",
        "runs",
        "api_keys",
        "code_calls",
        "document_tables",
        "table_columns",
    ):
        assert before[table][0], table

    await bring(second, file)

    assert await digests(second, "one") == before
    for name, statement in RECOUNTS.items():
        assert not await fetch(second, statement), name
    async with open_services(replace(environment, database_url=second), SettingsStore()) as moved:
        for query, collection in (("days of leave", "handbook"), ("who is Tim Burton", "films"), ("Urlaub", "films")):
            for legs in (("vector", "lexical"), ("vector",), ("lexical",), ("graph",), ("vector", "lexical", "graph")):
                request = SearchRequest(query, (collection,), legs=legs, explicit=True)
                there, here = await run_search(lived, request), await run_search(moved, request)
                assert [(hit.passage_id, hit.score) for hit in here.passages] == [
                    (hit.passage_id, hit.score) for hit in there.passages
                ]
                assert here.passages or legs == ("graph",)
        again = await answered(moved, "How many days of leave do employees have?", session_id="talk")
        assert "30 days" in again.answer


@pytest.mark.siege
async def test_words_of_an_older_file_are_hashed_anew(
    environment: Environment, database: str, second: str, tmp_path: Path
) -> None:
    """Before revision 0032 keys were those of another function, and configurations of one's own had no schema."""
    for dsn in (database, second):
        await fetch(dsn, "CREATE TEXT SEARCH CONFIGURATION public.house (COPY = pg_catalog.english)")
    for statement in (
        "UPDATE rag.passages SET regconfig = 'public.house' WHERE regconfig = 'english'",
        "UPDATE rag.lexical_index SET regconfig = 'house' WHERE regconfig = 'english'",
        "UPDATE rag.lexical_stats SET regconfig = 'house' WHERE regconfig = 'english'",
        "UPDATE rag.lexical_index SET keys = ARRAY[1], weights = '{1:1}/1000000000'",
        "UPDATE rag.lexical_terms SET key = -key",
    ):
        await fetch(database, statement)
    assert await fetch(database, RECOUNTS["postings"])
    file = tmp_path / "one.cairn"
    await export_tenant(database, "one", file, quiet)
    await bring(second, rewrite(file, lambda manifest, _: manifest.update(revision="0031")))
    for name, statement in RECOUNTS.items():
        assert not await fetch(second, statement), name
    async with open_services(replace(environment, database_url=second), SettingsStore()) as moved:
        request = SearchRequest("days of leave", ("handbook",), legs=("lexical",), explicit=True)
        assert (await run_search(moved, request)).passages


async def test_a_row_of_every_table_travels(blank: str, second: str, tmp_path: Path) -> None:
    for dsn in (blank, second):
        connection = await asyncpg.connect(dsn)
        for statement in await connection.fetch(CHECKS):
            await connection.execute(statement[0])
        await connection.close()
    connection = await asyncpg.connect(blank)
    for name in ("one", "two"):
        await connection.execute("SELECT rag.ensure_tenant($1)", name)
    await connection.execute("DELETE FROM rag.audit_events")
    await connection.execute("DELETE FROM rag.analyst_grant")
    await connection.execute(
        "INSERT INTO rag.embedding_models (id, name, dimensions) VALUES (1, 'small', 2), (2, 'more', 2)"
    )
    await connection.execute("SET session_replication_role = replica")
    for (table,) in await connection.fetch(TENANT_TABLES):
        columns = [tuple(row) for row in await connection.fetch(COLUMNS, table)]
        for tenant in (1, 2):
            await connection.execute(insert(table, columns, tenant))
    # what is compared when it arrives
    await connection.execute(
        "UPDATE rag.collections SET document_count = 0, passage_count = 1, chunk_count = 1, byte_count = 0"
    )
    await connection.close()

    file = tmp_path / "one.cairn"
    await export_tenant(blank, "one", file, quiet)
    await fetch(blank, "DELETE FROM rag.audit_events WHERE action = 'tenant.export'")
    theirs = {key: n for key, n in (await counts(blank)).items() if key[1] == 2}
    before = await digests(blank, "one")
    await bring(second, file)
    after = await digests(second, "one")
    assert {name for name, (n, _) in after.items() if n != 1} <= {"audit_events"}
    assert {name: d for name, d in after.items() if name != "audit_events"} == {
        name: d for name, d in before.items() if name != "audit_events"
    }
    assert await fetch(second, "SELECT m.name FROM rag.embeddings JOIN rag.embedding_models m ON m.id = model_id") == [
        ("small",)
    ]

    await delete_tenant(blank, "one", "operator", PLAN, quiet)
    left = await counts(blank)
    assert not [key for key in left if key[1] == 1]
    assert {key: n for key, n in left.items() if key[1] == 2} == theirs


@pytest.mark.siege
async def test_another_name_in_the_same_database(lived: Services, database: str, tmp_path: Path) -> None:
    file = tmp_path / "one.cairn"
    await export_tenant(database, "one", file, quiet)
    before, theirs = await digests(database, "one"), await digests(database, "two")
    _, left_out = await bring(database, file, "copy")
    assert left_out == 1, "a key is that of one tenant"
    copied = await digests(database, "copy")
    assert {name: d for name, d in copied.items() if name != "api_keys"} == {
        name: d for name, d in before.items() if name != "api_keys"
    }
    assert await digests(database, "one") == before
    await delete_tenant(database, "one", "two", PLAN, quiet)
    assert await digests(database, "copy") == copied
    changed = {"audit_events"}  # which says that one was deleted
    after = await digests(database, "two")
    assert {name: d for name, d in after.items() if name not in changed} == {
        name: d for name, d in theirs.items() if name not in changed
    }
    assert await fetch(database, "SELECT target FROM rag.audit_events WHERE action = 'tenant.delete'") == [("one",)]


@pytest.mark.siege
async def test_two_copies_have_indexes_of_their_own(lived: Services, database: str, tmp_path: Path) -> None:
    file = tmp_path / "one.cairn"
    await export_tenant(database, "one", file, quiet)
    small = VectorSettings(bulk_above=1, dedicated_above=1, exact_below=1)
    lived.settings.current = lived.settings.current.model_copy(update={"vector": small})
    for name in ("copy", "other copy"):
        await import_tenant(database, file, name, small, PLAN, quiet)
    states = await fetch(database, "SELECT DISTINCT state FROM rag.vector_indexes WHERE name IS NOT NULL")
    assert states == [("building",)]
    assert await fetch(database, "SELECT DISTINCT own FROM rag.embeddings WHERE tenant_id IN (SELECT id FROM rag.tenants "
                                 "WHERE name LIKE '%copy')") == [(True,)]  # fmt: skip
    await lived.worker(kinds={PLAN}).run_until_idle()
    found = await fetch(database, "SELECT name, state FROM rag.vector_indexes")
    assert {row["state"] for row in found} == {"ready"}
    assert len({row["name"] for row in found}) == len(found)
    for name in ("copy", "other copy"):
        async with open_services(replace(lived.environment, tenant=name), SettingsStore()) as moved:
            request = SearchRequest("days of leave", ("handbook",), legs=("vector",), explicit=True)
            ids = [hit.passage_id for hit in (await run_search(moved, request)).passages]
            assert ids == [hit.passage_id for hit in (await run_search(lived, request)).passages]
    await delete_tenant(database, "copy", "two", PLAN, quiet)
    await lived.worker(kinds={PLAN}).run_until_idle()
    left = await fetch(database, "SELECT relname FROM pg_class WHERE relkind = 'i' AND relname ~ '_c[0-9a-f]{12}$'")
    assert {row["relname"] for row in left} == {
        row["name"] for row in await fetch(database, "SELECT name FROM rag.vector_indexes")
    }


@pytest.mark.siege
async def test_work_under_way_waits_again(lived: Services, database: str, second: str, tmp_path: Path) -> None:
    tenant = lived.principal.tenant_id
    await fetch(
        database,
        "INSERT INTO rag.jobs (tenant_id, id, kind, status, attempts, worker, lease_until) VALUES "
        "($1, $2, 'reindex', 'running', 3, 'somebody', now() + interval '1 minute')",
        tenant, new_id(),
    )  # fmt: skip
    await fetch(
        database,
        "INSERT INTO rag.resumable_runs (tenant_id, id, surface, owner, lease_until) VALUES ($1, $2, 'query', $2, now() + "
        "interval '1 minute')",
        tenant, new_id(),
    )  # fmt: skip
    with pytest.raises(ConflictError, match=r"1 jobs, 1 runs"):
        await delete_tenant(database, "one", "two", PLAN, quiet)
    file = tmp_path / "one.cairn"
    await export_tenant(database, "one", file, quiet)
    await bring(second, file)
    waiting = "SELECT status, attempts, worker, lease_until FROM rag.jobs WHERE kind = 'reindex'"
    assert await fetch(second, waiting) == [("queued", 2, None, None)]
    assert await fetch(second, "SELECT rag.is_past(lease_until) FROM rag.resumable_runs") == [(True,)]


async def test_its_sources_wait_for_somebody_of_the_new_server(
    lived: Services, database: str, second: str, tmp_path: Path
) -> None:
    folder, file = tmp_path / "papers", tmp_path / "one.cairn"
    folder.mkdir()
    (folder / "one.md").write_text("A paper about harbours.")
    source, _ = await add_source(lived, "papers", SourceWish(str(folder), "papers"), local=True)
    await lived.worker(kinds={SYNC_SOURCE}).run_until_idle()
    await sync(lived, source.id)  # and one that waits
    async with lived.database.transaction(lived.principal) as connection:
        await connection.execute("UPDATE rag.sources SET due_at = now()")
    await export_tenant(database, "one", file, quiet)
    await bring(second, file)
    (folder / "two.md").write_text("A paper about lighthouses.")
    async with open_services(replace(lived.environment, database_url=second), SettingsStore()) as there:
        assert await start_due(there) == 0
        await there.worker(kinds={SYNC_SOURCE}).run_until_idle()
        [came] = await list_sources(there)
        assert (came.id, came.paused, came.note, came.files) == (source.id, True, IMPORTED, 1)
        assert [run.state for run in await list_runs(there, came.id)] == ["paused", "succeeded"]
        await change_source(there, came.id, SourceChange(paused=False), local=True)
        await sync(there, came.id)
        await there.worker(kinds={SYNC_SOURCE}).run_until_idle()
        counts = (await get_source(there, came.id)).counts or {}
        assert (counts["new"], counts["unchanged"]) == (1, 1)


@pytest.mark.siege
async def test_models_are_known_by_their_names(lived: Services, database: str, second: str, tmp_path: Path) -> None:
    """Two models, whose numbers are others there."""
    tenant = lived.principal.tenant_id
    await fetch(
        database,
        "INSERT INTO rag.embedding_models (id, name, dimensions) VALUES (77, 'of others', 3), (78, 'second', 2)",
    )
    await fetch(
        database,
        "INSERT INTO rag.embeddings (tenant_id, chunk_id, model_id, document_id, collection_id, content_hash, embedding) "
        "SELECT tenant_id, chunk_id, 78, document_id, collection_id, content_hash, '[0.6,0.8]' FROM rag.embeddings "
        "WHERE tenant_id = $1",
        tenant,
    )
    file = tmp_path / "one.cairn"
    manifest = await export_tenant(database, "one", file, quiet)
    assert "of others" not in {model.name for model in manifest.models}, "it has no vector of this tenant"
    assert len(manifest.models) == 2
    await bring(second, file)
    assert await digests(second, "one") == await digests(database, "one")
    await fetch(second, "UPDATE rag.embedding_models SET dimensions = 5 WHERE name = 'second'")
    before = await counts(second)
    with pytest.raises(TenantFileError, match=r"vectors of 2 dimensions by model second, which has 5"):
        await bring(second, file, "again")
    assert await counts(second) == before


# --- files that are not right ---------------------------------------------------------------------------------------------


def rewrite(file: Path, change: Callable[[dict[str, Any], dict[str, bytes]], None], **how: Any) -> Path:
    """A copy with another manifest or other members."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop(MANIFEST))
    change(manifest, members)
    changed = file.with_name(f"changed-{new_id().hex}.cairn")
    with zipfile.ZipFile(changed, "w", **how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(MANIFEST, json.dumps(manifest))
    return changed


def part(manifest: dict[str, Any], table: str) -> dict[str, Any]:
    return next(one for one in manifest["tables"] if one["name"] == table)


def replaced(manifest: dict[str, Any], members: dict[str, bytes], table: str, content: bytes) -> None:
    """A member with a digest and a length that are right."""
    members[f"tables/{table}.copy"] = content
    part(manifest, table).update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def _no_columns(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
    del part(manifest, "documents")["columns"]["title"]


def _statement(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
    part(manifest, "documents")["columns"]['title"); DROP TABLE rag.jobs; --'] = "text"


def _other_table(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    members["tables/schema_objects.copy"] = members.pop("tables/feedback.copy")
    part(manifest, "feedback")["name"] = "schema_objects"


def _grants(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    members["tables/analyst_grant.copy"] = members.pop("tables/feedback.copy")
    part(manifest, "feedback")["name"] = "analyst_grant"


def _tenant_column(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
    part(manifest, "documents")["columns"]["tenant_id"] = "bigint"


def _way_out(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    members["../../etc/passwd"] = b"x"


def _less(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    del members["tables/documents.copy"]


def _swapped(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    content = bytearray(members["tables/passages.copy"])
    content[len(content) // 2] ^= 1
    members["tables/passages.copy"] = bytes(content)


def _cut_rows(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    replaced(manifest, members, "passages", members["tables/passages.copy"][:-20])


def _no_rows(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    replaced(manifest, members, "messages", members["tables/messages.copy"][:19] + b"\xff\xff")


def _counted(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    content = members["tables/chunks.copy"]
    replaced(manifest, members, "embeddings", content[:19] + b"\xff\xff")
    replaced(manifest, members, "chunks", content[:19] + b"\xff\xff")
    for table in ("chunks", "embeddings"):
        part(manifest, table)["rows"] = 0


def _huge_field(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    content = members["tables/messages.copy"]
    replaced(manifest, members, "messages", content[:21] + b"\x7f\xff\xff\xff" + content[25:])


def _dimensions(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
    manifest["models"][0].update(name="unknown here", dimensions=2)


def _future(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
    manifest["revision"] = "9999"


def _past(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
    manifest["revision"] = "0005"


def _version(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
    manifest["version"] = 2


def _size(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
    part(manifest, "documents")["bytes"] = 2**59


WRONG = {
    "column missing": (_no_columns, r"documents.title is missing"),
    "column that is a statement": (_statement, r"in this database there is none"),
    "tenant ids": (_tenant_column, r"documents.tenant_id is bigint, and in this database there is none"),
    "table of the system": (_other_table, r"'schema_objects' that cannot be imported"),
    "grants": (_grants, r"'analyst_grant' that cannot be imported"),
    "path": (_way_out, r"its members are not those"),
    "member missing": (_less, r"its members are not those"),
    "byte changed": (_swapped, r"table passages is damaged"),
    "rows cut off": (_cut_rows, r"cannot be imported"),
    "rows gone": (_no_rows, r"messages has 0 rows, and its manifest says"),
    "counts": (_counted, r"counts of collection '(films|handbook)' are not those"),
    "huge field": (_huge_field, r"cannot be imported"),
    "dimensions": (_dimensions, r"vectors of a model, or dimensions, that its manifest lacks"),
    "future": (_future, r"revision 9999, and this code knows none after"),
    "past": (_past, r"revision 0005, and this code reads files from"),
    "format": (_version, r"has version 2 of the format"),
    "size": (_size, r"its members are not those"),
}


@SWEPT
async def test_a_file_that_is_not_right_changes_nothing(
    lived: Services, database: str, second: str, tmp_path: Path, step: int
) -> None:
    file = tmp_path / "one.cairn"
    await export_tenant(database, "one", file, quiet)
    before = await counts(second)
    for name, (change, reason) in list(WRONG.items())[::step]:
        with pytest.raises(TenantFileError, match=reason):
            await bring(second, rewrite(file, change))
        assert await counts(second) == before, name
        assert await fetch(second, "SELECT name FROM rag.tenants ORDER BY id") == [("first",), ("next",)], name
    with pytest.raises(TenantFileError, match=r"is compressed or encrypted"):
        await bring(second, rewrite(file, lambda *_: None, compression=zipfile.ZIP_DEFLATED))
    whole = file.read_bytes()
    for length in (0, 10, len(whole) // 3, len(whole) - 30, len(whole) - 1):
        cut = tmp_path / "cut.cairn"
        cut.write_bytes(whole[:length])
        with pytest.raises(TenantFileError, match=r"is no file of cairn tenant export, or was cut off"):
            await bring(second, cut)
    with pytest.raises(TenantFileError, match=r"No such file"):
        await bring(second, tmp_path / "none.cairn")
    for name in ("", " a", "a\nb", "a\u200bb", "x" * 300):
        with pytest.raises(TenantFileError, match=r"is no name for a tenant"):
            await bring(second, file, name or " ")
    with pytest.raises(ConflictError, match=r"there is a tenant 'next' already"):
        await bring(second, file, "next")
    assert await counts(second) == before


async def test_a_list_of_members_of_any_length_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "long.cairn"
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(1000):
            archive.writestr(zipfile.ZipInfo(f"tables/{number:09000}.copy"), b"")
    with pytest.raises(TenantFileError, match=r"it states lengths that none has"):
        await bring("postgresql:///nowhere", file)


@pytest.mark.siege
async def test_two_imports_of_one_name(lived: Services, database: str, second: str, tmp_path: Path) -> None:
    file = tmp_path / "one.cairn"
    await export_tenant(database, "one", file, quiet)
    done = await asyncio.gather(*(bring(second, file) for _ in range(2)), return_exceptions=True)
    assert [type(one) for one in done if isinstance(one, BaseException)] == [ConflictError]
    assert await digests(second, "one") == await digests(database, "one")


# --- writing and deleting -------------------------------------------------------------------------------------------------


async def test_a_failed_export_leaves_no_file(lived: Services, database: str, tmp_path: Path) -> None:
    file = tmp_path / "one.cairn"
    with pytest.raises(NotFoundError, match=r"there is no tenant 'nobody'"):
        await export_tenant(database, "nobody", file, quiet)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(TenantFileError, match=rf"cannot write {file}: File too large"):
            await export_tenant(database, "one", file, quiet)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not os.listdir(tmp_path)
    file.write_text("somebody's")
    with pytest.raises(TenantFileError, match=r"exists already"):
        await export_tenant(database, "one", file, quiet)
    assert file.read_text() == "somebody's"


@pytest.mark.siege
async def test_memory_does_not_grow_with_the_tenant(
    lived: Services, database: str, second: str, tmp_path: Path
) -> None:
    """31 MB of files in rows of 2 MB; the largest row is what there is at once."""
    tenant = lived.principal.tenant_id
    collection, job = (
        (await fetch(database, "SELECT id FROM rag.collections WHERE tenant_id = $1", tenant))[0]["id"],
        new_id(),
    )
    await fetch(database, "INSERT INTO rag.jobs (tenant_id, id, kind) VALUES ($1, $2, 'index')", tenant, job)
    await fetch(
        database,
        "INSERT INTO rag.uploads (tenant_id, id, collection_id, job_id, external_id, name, content) "
        "SELECT $1, gen_random_uuid(), $2, $3, n::text, n::text, convert_to(repeat(md5(n::text), 65536), 'UTF8') "
        "FROM generate_series(1, 15) AS n",
        tenant, collection, job,
    )  # fmt: skip
    file = tmp_path / "one.cairn"
    tracemalloc.start()
    try:
        await export_tenant(database, "one", file, quiet)
        await bring(second, file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert file.stat().st_size > 30_000_000
    assert peak < 20_000_000, peak


async def test_who_keeps_the_log_is_not_deleted(lived: Services, database: str) -> None:
    with pytest.raises(ConflictError, match=r"name another in CAIRN_TENANT"):
        await delete_tenant(database, "one", "one", PLAN, quiet)
    with pytest.raises(NotFoundError):
        await delete_tenant(database, "nobody", "one", PLAN, quiet)


# --- what a new table must keep to ----------------------------------------------------------------------------------------


async def test_numbers_of_one_server_are_mapped(database: str) -> None:
    """Who adds a table or column finds here what a file cannot carry: say in app/cairn/db/tenant_tables.py what becomes of it."""
    made_here = await fetch(
        database,
        "SELECT c.relname || '.' || a.attname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
        "WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition "
        "AND a.attname <> 'tenant_id' "
        "AND (a.attidentity <> '' "
        "OR pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval%') ORDER BY 1",
    )
    assert [row["name"] for row in made_here] == ["embedding_models.id", "tenants.id"]
    outward = await fetch(
        database,
        "SELECT DISTINCT s.relname AS source, t.relname AS target, a.attname AS column FROM pg_constraint k "
        "JOIN pg_class s ON s.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid "
        "JOIN pg_attribute a ON a.attrelid = s.oid AND a.attnum = ANY (k.conkey) "
        "WHERE k.contype = 'f' AND k.connamespace = 'rag'::regnamespace AND NOT EXISTS "
        "(SELECT FROM pg_attribute x WHERE x.attrelid = t.oid AND x.attname = 'tenant_id')",
    )
    assert {(row["target"], row["column"]) for row in outward} == {("embedding_models", MODEL)}
    shared = await fetch(
        database,
        "SELECT i.indexrelid::regclass::text AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] WHERE c.relnamespace = 'rag'::regnamespace "
        "AND i.indisunique AND a.attname <> 'tenant_id' AND EXISTS "
        "(SELECT FROM pg_attribute x WHERE x.attrelid = c.oid AND x.attname = 'tenant_id')",
    )
    assert not shared, "two tenants may have the same rows"
    tables = await tables_of(database)
    assert set(LEFT_OUT) | set(KEPT) | {name for name, _ in ADAPTED} <= set(tables)
    assert not [key for key in ADAPTED if key[1] not in tables[key[0]].by_name]
    kinds = {column.type for table in tables.values() if table.travels for column in table.columns}
    assert kinds <= set(VALUES), "is it the same on every server?"
    assert not [kind for kind in kinds if kind.startswith(("reg", "oid", "xid"))]
    small = {
        (table.name, column.name) for table in tables.values() for column in table.columns if column.type == "smallint"
    }
    assert {key for key in small if key[1] != MODEL} == {("feedback", "rating"), ("idempotency_keys", "status")}
    assert all(table.served for table in tables.values() if table.name not in ("analyst_grant", "audit_events"))
