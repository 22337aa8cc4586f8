"""The owner is no superuser: a plain role with CREATEROLE, or one for which an administrator prepared everything."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cairn.db.backup import dump
from cairn.db.embedded import EmbeddedServer, ensure_running
from cairn.db.migrate import migrate
from cairn.db.pool import Database
from cairn.db.restore import restore
from cairn.db.tenant_delete import delete_tenant
from cairn.db.tenant_export import export_tenant
from cairn.db.tenant_import import import_tenant
from cairn.domain.principal import Principal
from cairn.errors import MigrationError
from cairn.settings import VectorSettings
from tests.conftest import temporary_home
from tests.migration_support import Release


@pytest.fixture
def bare_server(make_home: Callable[[], Path]) -> Iterator[EmbeddedServer]:
    """A cluster without the roles of Cairn."""
    with ensure_running(make_home(), durable=False) as running:
        yield running


@pytest.fixture(scope="module")
def owned() -> Iterator[EmbeddedServer]:
    """A cluster whose database `owner` belongs to a role of that name, which has made the roles of Cairn."""
    with temporary_home() as home, ensure_running(home, durable=False) as running:
        asyncio.run(migrate(asyncio.run(database_of(running, "owner", "CREATEROLE"))))
        yield running


async def run(dsn: str, *statements: str) -> list[Any]:
    connection = await asyncpg.connect(dsn)
    try:
        for statement in statements[:-1]:
            await connection.execute(statement)
        return [tuple(row) for row in await connection.fetch(statements[-1])]
    finally:
        await connection.close()


async def database_of(server: EmbeddedServer, owner: str, attributes: str) -> str:
    """DSN of `owner` for a new database of their own, in which an administrator has enabled pgvector."""
    admin = server.dsn("postgres")
    await run(admin, f"CREATE ROLE {owner} LOGIN NOSUPERUSER {attributes}", f"CREATE DATABASE {owner} OWNER {owner}")
    with pytest.raises(MigrationError, match=r"this role may not enable it.* CREATE EXTENSION vector SCHEMA public;"):
        await migrate(server.dsn(owner, owner))
    await run(server.dsn(owner), "CREATE EXTENSION vector SCHEMA public")
    return server.dsn(owner, owner)


async def serve_with(dsn: str) -> None:
    """Serving needs the role cairn_app and finds only its tenant."""
    database = await Database.open(dsn, max_size=1)
    try:
        async with database.connection() as connection:
            assert await connection.fetchval("SELECT current_user") == "cairn_app"
            tenant = await connection.fetchval("SELECT rag.ensure_tenant('one')")
        async with database.transaction(Principal(tenant, "one")) as connection:
            assert await connection.fetch("SELECT name FROM rag.tenants") == [("one",)]
    finally:
        await database.close()


@pytest.mark.siege
async def test_createrole_is_enough_and_others_get_told(bare_server: EmbeddedServer) -> None:
    """First a role that makes the roles of Cairn, then one that finds them and may not use them."""
    first = await database_of(bare_server, "first", "CREATEROLE")
    assert (await migrate(first)).action == "migrated"
    await serve_with(first)

    second = await database_of(bare_server, "second", "CREATEROLE")
    with pytest.raises(MigrationError, match=r"second may not prepare the roles .* database second: (.*;)$") as caught:
        await migrate(second)
    statements = re.search(r"database second: (.*)$", caught.value.detail)
    assert statements
    assert "CREATE ROLE" not in statements[1]
    await run(bare_server.dsn("second"), *filter(None, statements[1].split(";")), "SELECT")
    assert (await migrate(second)).action == "migrated"
    await serve_with(second)


@pytest.mark.siege
async def test_without_createrole_the_message_is_all_an_administrator_needs(bare_server: EmbeddedServer) -> None:
    plain = await database_of(bare_server, "plain", "NOCREATEROLE")
    with pytest.raises(MigrationError) as caught:
        await migrate(plain)
    statements = caught.value.detail.partition("in database plain: ")[2]
    assert statements.count("CREATE ROLE") == 4
    await run(bare_server.dsn("plain"), *filter(None, statements.split(";")), "SELECT")
    assert (await migrate(plain)).action == "migrated"
    await serve_with(plain)


@pytest.mark.siege
async def test_the_tutorial_on_an_own_postgresql(bare_server: EmbeddedServer) -> None:
    """Its statements: the administrator's, a first start, a login that serves and one that reads.

    As they stand there, but for the name `cairn`, which is that of the embedded server's own superuser.
    """
    page = (Path(__file__).parents[2] / "docs" / "tutorials" / "own-postgresql.md").read_text(encoding="utf-8")
    prepare, server, analyst = [
        re.sub(r"\bcairn\b", "own", re.sub(r" *--.*", "", block)).strip()
        for block in re.findall(r"^```sql\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    ]
    outside, inside = prepare.split("\\c own\n")
    await run(bare_server.dsn("postgres"), *filter(None, outside.split(";\n")), "SELECT")
    await run(bare_server.dsn("own"), inside, "SELECT")
    dsn = bare_server.dsn("own", "own")
    assert (await migrate(dsn)).action == "migrated"
    await run(dsn, "SELECT rag.ensure_tenant('default')", "SELECT")

    await run(bare_server.dsn("own"), server, analyst, "SELECT")

    await serve_with(bare_server.dsn("own", "cairn_server"))
    assert await run(bare_server.dsn("own", "alice"), "SELECT tenant FROM analyst.collections") == []
    for statement in re.findall(r'cairn sql "([^"]+)"', page):
        assert await run(bare_server.dsn("own", "alice"), statement) == []


@pytest.mark.siege
async def test_the_next_release_and_its_backfill(owned: EmbeddedServer, tmp_path: Path) -> None:
    """Under FORCE ROW LEVEL SECURITY: the owner's UPDATE reaches the rows of every tenant. In a second database of the owner."""
    await run(owned.dsn("postgres"), "CREATE DATABASE next OWNER owner", "SELECT")
    await run(owned.dsn("next"), "CREATE EXTENSION vector SCHEMA public", "SELECT")
    dsn = owned.dsn("next", "owner")
    await migrate(dsn)
    await run(
        dsn,
        "SELECT rag.ensure_tenant('a'), rag.ensure_tenant('b')",
        "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) SELECT id, gen_random_uuid(), 'c', 1"
        " FROM rag.tenants",
        "SELECT",
    )
    release = Release.copy(tmp_path / "release")
    release.add_revision(
        "t1",
        "ALTER TABLE rag.collections ADD COLUMN label text",
        "UPDATE rag.collections SET label = upper(name)",
        "CREATE TABLE rag.notes (tenant_id bigint NOT NULL, note text)",
    )
    release.add_sql("views/notes.sql", "CREATE OR REPLACE VIEW analyst.notes AS SELECT note FROM rag.notes")
    assert (await migrate(dsn, source=release.source)).action == "migrated"
    assert await run(dsn, "SELECT label FROM rag.collections") == [("C",), ("C",)]
    secured = "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE oid = 'rag.notes'::regclass"
    assert await run(dsn, secured) == [(True, True)]
    # and once more, with functions and views that belong to other roles by now
    release.add_sql("views/notes.sql", "CREATE OR REPLACE VIEW analyst.notes AS SELECT 1 AS n, note FROM rag.notes")
    for path in (release.folder / "sql" / "functions").glob("*.sql"):
        path.write_text(path.read_text(encoding="utf-8") + "-- changed\n", encoding="utf-8")
    assert (await migrate(dsn, source=release.source)).action == "migrated"


@pytest.mark.siege
async def test_an_owner_is_told_of_access_lists(owned: EmbeddedServer) -> None:
    """Who sees no row of the tables, for which row security is forced."""
    await run(owned.dsn("postgres"), "CREATE DATABASE lists OWNER owner TEMPLATE owner", "SELECT")
    await run(
        owned.dsn("lists"),
        "SELECT rag.ensure_tenant('a')",
        "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) SELECT id, gen_random_uuid(), 'c', 1 FROM rag.tenants",
        "INSERT INTO rag.access_rules SELECT tenant_id, id, 'hr/', '{group:hr}' FROM rag.collections",
        "SELECT",
    )
    with pytest.raises(MigrationError, match="have access lists"):
        await migrate(owned.dsn("lists", "owner"), distribute=True)


@pytest.mark.siege
async def test_an_owner_backs_up_and_restores(owned: EmbeddedServer, tmp_path: Path) -> None:
    """Into another database of theirs, and into one of somebody who must be told that the roles of Cairn are not theirs."""
    admin = owned.dsn("postgres")
    await run(admin, "CREATE DATABASE first OWNER owner TEMPLATE owner", "SELECT")
    first = owned.dsn("first", "owner")
    added = "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) SELECT id, gen_random_uuid(), 'c', 1 FROM rag.tenants"
    await run(first, "SELECT rag.ensure_tenant('one'), rag.ensure_tenant('two')", added, "SELECT")
    file = tmp_path / "first.dump"
    await dump(first, file)
    await run(admin, "CREATE DATABASE again OWNER owner", "SELECT")
    again = owned.dsn("again", "owner")
    await run(owned.dsn("again"), "CREATE EXTENSION vector SCHEMA public", "SELECT")
    assert (await restore(again, file)).left_out == ()
    named = "SELECT t.name, c.name FROM rag.collections AS c JOIN rag.tenants AS t ON t.id = c.tenant_id ORDER BY 1"
    assert await run(again, named) == [("one", "c"), ("two", "c")]
    right = "SELECT has_table_privilege('cairn_definer', 'rag.schema_objects', 'INSERT')"
    assert await run(again, right) == [(False,)]
    await serve_with(again)
    await run(admin, "CREATE ROLE second LOGIN CREATEROLE", "CREATE DATABASE second OWNER second", "SELECT")
    second = owned.dsn("second", "second")
    with pytest.raises(MigrationError, match=r"this role may not enable it"):
        await restore(second, file)
    await run(owned.dsn("second"), "CREATE EXTENSION vector SCHEMA public", "SELECT")
    with pytest.raises(MigrationError, match=r"second may not prepare the roles"):
        await restore(second, file)
    assert await run(second, "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('rag')") == [(0,)]


async def test_strangers_may_not_connect(owned: EmbeddedServer) -> None:
    """CONNECT and TEMPORARY are revoked from PUBLIC; analysts may connect and not write, not even temporary tables."""
    dsn = owned.dsn("owner", "owner")
    await run(owned.dsn("postgres"), "CREATE ROLE stranger LOGIN", "CREATE ROLE reader LOGIN", "SELECT")
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="CONNECT"):
        await run(owned.dsn("owner", "stranger"), "SELECT 1")
    await run(dsn, "SELECT rag.ensure_tenant('t')", "SELECT rag.grant_analyst('reader', 't')")
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="temporary"):
        await run(owned.dsn("owner", "reader"), "CREATE TEMP TABLE t (a int)", "SELECT")


async def test_analysts_are_watched_and_what_is_missing_is_told(owned: EmbeddedServer) -> None:
    """An owner who is no superuser is made a member of the logins that it made, and cannot take functions from everybody."""
    dsn = owned.dsn("owner", "owner")
    await run(dsn, "SELECT rag.ensure_tenant('t')", "CREATE ROLE mine LOGIN CONNECTION LIMIT 4", "SELECT")
    await run(owned.dsn("postgres"), "CREATE ROLE theirs LOGIN", "SELECT")
    warnings: dict[str, list[str]] = {}
    owner = await asyncpg.connect(dsn)
    try:
        for login in ("mine", "theirs"):
            warnings[login] = []
            owner.add_log_listener(lambda _, message, told=warnings[login]: told.append(str(message)))
            await owner.execute(f"SELECT rag.grant_analyst('{login}', 't')")
            owner._log_listeners.clear()
        assert ["may write large objects" in text for text in warnings["mine"]] == [True]
        watched, large, limit = warnings["theirs"]
        assert "GRANT pg_signal_backend, pg_read_all_stats TO owner;" in watched
        assert "ALTER ROLE theirs CONNECTION LIMIT 4;" in limit

        sleeping = [await asyncpg.connect(owned.dsn("owner", login)) for login in warnings]
        for session in sleeping:
            await session.execute("BEGIN; SELECT 1")
        await asyncio.sleep(1.2)
        assert tuple(await owner.fetchrow("SELECT * FROM rag.end_overdue_analysts(1, 1)")) == (1, 1)
        for statement in (watched, large):  # an administrator runs them
            await run(owned.dsn("owner"), statement.partition("run: ")[2].rstrip(";"), "SELECT")
        assert (await owner.fetchrow("SELECT * FROM rag.end_overdue_analysts(1, 1)"))["ended"] == 1
        assert await owner.fetch("SELECT * FROM rag.open_to_everybody()") == []
        for session in sleeping:
            session.terminate()
    finally:
        await owner.close()
        await run(owned.dsn("owner"), "REVOKE pg_signal_backend, pg_read_all_stats FROM owner", "SELECT")


@pytest.mark.siege
async def test_an_owner_without_rights_moves_tenants(owned: EmbeddedServer, tmp_path: Path) -> None:
    dsn = owned.dsn("owner", "owner")
    database = await Database.open(dsn, max_size=1)
    try:
        async with database.connection() as connection:
            tenants = [await connection.fetchval("SELECT rag.ensure_tenant($1)", name) for name in ("one", "two")]
        for tenant in tenants:
            async with database.transaction(Principal(tenant, "")) as connection:
                await connection.execute(
                    "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES ($1, gen_random_uuid(), 'notes', 1)",
                    tenant,
                )
                await connection.execute(
                    "INSERT INTO rag.api_keys (tenant_id, id, name, key_hash, shown, scopes, created_by) "
                    "VALUES ($1, gen_random_uuid(), 'key', sha256($2), 'x', '{read}', 'local')",
                    tenant, str(tenant).encode(),
                )  # fmt: skip
    finally:
        await database.close()
    told: list[str] = []
    file = tmp_path / "one.cairn"
    manifest = await export_tenant(dsn, "one", file, told.append)
    assert {table.name: table.rows for table in manifest.tables}["collections"] == 1
    assert "collections" in told
    _, left_out = await import_tenant(dsn, file, "copy", VectorSettings(), "vector_indexes", told.append)
    assert left_out == 1
    assert await delete_tenant(dsn, "one", "two", "vector_indexes", told.append)
    names = "SELECT t.name, count(c.id) FROM rag.tenants t JOIN rag.collections c ON c.tenant_id = t.id GROUP BY 1 ORDER BY 1"
    assert await run(dsn, names) == [("copy", 1), ("two", 1)]
