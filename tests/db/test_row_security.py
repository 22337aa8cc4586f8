"""W6, C2, T1, T6: every row belongs to a tenant and nobody sees another's. Asked of the catalog, with no list by hand.

The database is one release ahead: it has a table, a view and functions that a later release might add, so that the same
questions hold for what does not exist yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate
from tests.migration_support import Release

ROLES = ("cairn_app", "cairn_views", "cairn_analyst", "cairn_definer")

FUTURE_TABLE = """CREATE TABLE rag.future (
    tenant_id bigint NOT NULL, id uuid NOT NULL, tags text[] NOT NULL, note text NOT NULL, PRIMARY KEY (tenant_id, id))"""
FUTURE = """
CREATE OR REPLACE FUNCTION rag.future_notes() RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, rag, pg_temp AS 'SELECT note FROM rag.future WHERE tenant_id = rag.current_tenant()';
CREATE OR REPLACE FUNCTION rag.explain_as_definer(statement text) RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, rag, public, pg_temp AS
'BEGIN PERFORM rag.current_tenant(); RETURN QUERY EXECUTE ''EXPLAIN '' || statement; END';
CREATE OR REPLACE FUNCTION analyst.future_count() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, rag, pg_temp AS 'SELECT count(*) FROM rag.future';
"""
FUTURE_VIEW = "CREATE OR REPLACE VIEW analyst.future AS SELECT note, id FROM rag.future"

# A value for every type that a column has; a new type is to be added here.
VALUES = {
    "bigint": "{n}",
    "integer": "{n}",
    "smallint": "{n}",
    "real": "1",
    "double precision": "1",
    "boolean": "false",
    "text": "'tenant {n}'",
    "bytea": "'\\x00'",
    "jsonb": "'{{}}'",
    "uuid": "'00000000-0000-7000-8000-00000000000{n}'",
    "timestamp with time zone": "now()",
    "regconfig": "'simple'",
    "halfvec": "'[1,0]'",
    "sparsevec": "'{{1:1}}/4'",
    "text[]": "'{{tenant {n}}}'",
    "uuid[]": "'{{00000000-0000-7000-8000-00000000000{n}}}'",
    "integer[]": "'{{1}}'",
    "real[]": "'{{1}}'",
    "double precision[]": "'{{1}}'",
}

TENANT_TABLES = """
SELECT c.oid::regclass::text FROM pg_class AS c
WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id') ORDER BY 1
"""
COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
CHECKS = """
SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) FROM pg_constraint
WHERE contype = 'c' AND connamespace = 'rag'::regnamespace AND conparentid = 0 AND coninhcount = 0
"""


def insert(table: str, columns: list[tuple[str, str]], tenant: int) -> str:
    values = (VALUES[kind].format(n=tenant) for _, kind in columns)
    return f"INSERT INTO {table} ({', '.join(name for name, _ in columns)}) VALUES ({', '.join(values)})"


async def prepare(dsn: str, release: Release) -> None:
    """Migrate, and give tenants 1 and 2 a row in every table; analysts `reader_1` and `reader_3` see tenants 1 and 3."""
    await migrate(dsn, source=release.source)
    connection = await asyncpg.connect(dsn)
    try:
        for tenant in (1, 2, 3):
            assert await connection.fetchval("SELECT rag.ensure_tenant($1)", f"tenant {tenant}") == tenant
        for statement in await connection.fetch(CHECKS):
            await connection.execute(statement[0])
        await connection.execute("SET session_replication_role = replica")  # no foreign keys
        for (table,) in await connection.fetch(TENANT_TABLES):
            columns = [tuple(row) for row in await connection.fetch(COLUMNS, table)]
            for tenant in (1, 2):
                await connection.execute(insert(table, columns, tenant))
        for tenant in (1, 3):
            await connection.execute(f"SELECT rag.grant_analyst('reader_{tenant}', 'tenant {tenant}')")
    finally:
        await connection.close()


@pytest.fixture(scope="module")
def secured(
    server: EmbeddedServer, psql: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., str]]:
    """DSN of a user: secured("reader_1")."""
    release = Release.copy(Path(tmp_path_factory.mktemp("release")) / "next")
    release.add_revision("t1", FUTURE_TABLE).add_sql("functions/zz.sql", FUTURE).add_sql("views/zz.sql", FUTURE_VIEW)
    psql("CREATE DATABASE row_security")
    for tenant in (1, 3):
        psql(f"CREATE ROLE reader_{tenant} LOGIN")
    asyncio.run(prepare(server.dsn("row_security"), release))
    yield lambda user="cairn": server.dsn("row_security", user)
    psql("DROP DATABASE row_security WITH (FORCE)")
    psql("DROP ROLE reader_1, reader_3")


@pytest.fixture
async def admin(secured: Callable[..., str]) -> Any:
    connection = await asyncpg.connect(secured())
    yield connection
    await connection.close()


@pytest.fixture
async def app(secured: Callable[..., str]) -> Any:
    """A connection as the pool makes them."""
    connection = await asyncpg.connect(secured(), server_settings={"role": "cairn_app"})
    yield connection
    await connection.close()


async def analyst(secured: Callable[..., str], tenant: int) -> Any:
    return await asyncpg.connect(secured(f"reader_{tenant}"))


async def rows(connection: Any, query: str) -> list[str]:
    return [str(row[0]) for row in await connection.fetch(query)]


# --- what the catalog says ------------------------------------------------------------------------------------------


async def test_every_table_of_tenants_has_forced_row_security_and_its_policies(admin: Any) -> None:
    """C2, W6: partitions included."""
    lacking = """
        SELECT c.oid::regclass FROM pg_class AS c
        WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p')
          AND (c.relname = 'tenants' OR EXISTS (
              SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped))
          AND NOT (c.relrowsecurity AND c.relforcerowsecurity AND (
              SELECT array_agg(format('%s %s', polname, polroles::regrole[]) ORDER BY polname) FROM pg_policy WHERE polrelid = c.oid
          ) = '{"app {cairn_app}","definer {cairn_definer}","views {cairn_views}"}')
    """
    assert await rows(admin, lacking) == []
    unfiltered = """
        SELECT polrelid::regclass || ' ' || polname FROM pg_policy WHERE NOT (
            polpermissive
            AND CASE polname
                WHEN 'app' THEN pg_get_expr(polqual, polrelid) ~ 'current_setting..app.tenant'
                                AND pg_get_expr(polqual, polrelid) = pg_get_expr(polwithcheck, polrelid)
                WHEN 'views' THEN pg_get_expr(polqual, polrelid) ~* 'role_name = session_user' AND polcmd = 'r'
                WHEN 'definer' THEN pg_get_expr(polqual, polrelid) = 'true' AND pg_get_expr(polwithcheck, polrelid) = 'true'
            END)
    """
    assert await rows(admin, unfiltered) == []
    assert len(await rows(admin, TENANT_TABLES)) > 10


async def test_roles_are_below_row_security_and_apart(admin: Any) -> None:
    """W6: neither superuser nor BYPASSRLS nor owner of a table, and none is a member of another."""
    strong = f"SELECT rolname FROM pg_roles WHERE rolname = ANY ('{{{','.join(ROLES)}}}') AND (rolsuper OR rolbypassrls OR rolcanlogin)"
    assert await rows(admin, strong) == []
    owners = "SELECT DISTINCT relowner::regrole FROM pg_class WHERE relnamespace = 'rag'::regnamespace AND relkind IN ('r', 'p')"
    assert not set(await rows(admin, owners)) & set(ROLES)
    for role in ROLES:
        others = f"SELECT rolname FROM pg_roles WHERE pg_has_role('{role}', oid, 'MEMBER') AND rolname <> '{role}'"
        assert await rows(admin, others) == []


async def test_only_the_right_roles_hold_rights(admin: Any) -> None:
    """Tables: the app, the definer and the views' owner, never PUBLIC or analysts; private tables and partitions nobody."""
    holders = """
        SELECT DISTINCT format('%s %s', c.relkind, acl.grantee::regrole) FROM pg_class AS c, aclexplode(c.relacl) AS acl
        WHERE c.relnamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND acl.grantee <> c.relowner ORDER BY 1
    """
    assert set(await rows(admin, holders)) <= {
        *(f"{kind} cairn_{role}" for kind in "rp" for role in ("app", "definer", "views")),
        "v cairn_analyst",
        "m cairn_analyst",
    }
    private = """
        SELECT c.oid::regclass FROM pg_class AS c, aclexplode(c.relacl) AS acl
        WHERE c.relnamespace = 'rag'::regnamespace AND acl.grantee <> c.relowner
          AND (c.relispartition OR c.relname = 'alembic_version' OR c.relname LIKE 'schema%')
    """
    assert await rows(admin, private) == []
    schemas = "SELECT nspname FROM pg_namespace WHERE has_schema_privilege('{}', oid, '{}') AND nspname IN ('rag', 'analyst', 'public')"
    for role in (*ROLES, "public"):
        assert await rows(admin, schemas.format(role, "CREATE")) == []
    assert await rows(admin, schemas.format("cairn_analyst", "USAGE") + " ORDER BY 1") == ["analyst", "public"]


async def test_functions_belong_to_the_right_role_and_nobody_else_calls_them(admin: Any) -> None:
    """No EXECUTE for PUBLIC; SECURITY DEFINER never without a search_path that ends in pg_temp."""
    functions = "pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE n.nspname IN ('rag', 'analyst')"
    public = f"SELECT p.oid::regprocedure FROM {functions} AND has_function_privilege('public', p.oid, 'EXECUTE')"
    assert await rows(admin, public) == []
    loose = f"""SELECT p.oid::regprocedure FROM {functions} AND p.prosecdef
        AND NOT EXISTS (SELECT FROM unnest(p.proconfig) AS c WHERE c ~ '^search_path=.*pg_temp$')"""
    assert await rows(admin, loose) == []
    owners = f"""SELECT DISTINCT format('%s %s %s', n.nspname, p.proowner::regrole, p.prosecdef) FROM {functions}
        AND coalesce(obj_description(p.oid, 'pg_proc'), '') NOT LIKE 'As the owner:%' ORDER BY 1"""
    assert set(await rows(admin, owners)) <= {
        "analyst cairn_views t",
        "analyst cairn_views f",
        "rag cairn_definer t",
        "rag cairn f",
    }
    definers = f"SELECT p.oid::regprocedure FROM {functions} AND p.prosecdef AND has_function_privilege('{{}}', p.oid, 'EXECUTE')"
    assert [name for name in await rows(admin, definers.format("cairn_views")) if not name.startswith("analyst.")] == []
    assert [
        name for name in await rows(admin, definers.format("cairn_analyst")) if not name.startswith("analyst.")
    ] == []


async def test_functions_that_see_all_rows_name_the_tenant_or_return_no_content(admin: Any) -> None:
    """Design section 4: they read app.tenant; the queue's return ids and counts only."""
    talkative = """
        SELECT p.oid::regprocedure FROM pg_proc AS p
        WHERE p.proowner = 'cairn_definer'::regrole AND p.prosrc !~ 'current_tenant'
          AND (pg_get_function_result(p.oid) ~ 'text|json|bytea|tsvector|vec|char|record' OR p.prorettype::regtype::text ~ '^rag')
    """
    assert await rows(admin, talkative) == []


async def test_views_belong_to_their_role(admin: Any) -> None:
    wrong = """
        SELECT oid::regclass FROM pg_class WHERE relnamespace = 'analyst'::regnamespace AND relkind NOT IN ('i', 'c')
          AND (relkind <> 'v' OR relowner <> 'cairn_views'::regrole OR reloptions::text ~ 'security_invoker')
    """
    assert await rows(admin, wrong) == []


# --- what happens ---------------------------------------------------------------------------------------------------


async def test_the_app_sees_nothing_without_a_tenant_and_its_own_with_one(admin: Any, app: Any) -> None:
    """T1: for every table that it may read."""
    tables = [name for name in await rows(admin, TENANT_TABLES) if name != "rag.analyst_grant"]
    for tenant, expected in (("", 0), ("1", 1), ("2", 1), ("4", 0)):
        await app.execute("SELECT set_config('app.tenant', $1, false)", tenant)
        for table in (*tables, "rag.tenants"):
            assert await app.fetchval(f"SELECT count(*) FROM {table}") == expected, table
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await app.fetch("SELECT * FROM rag.analyst_grant")


@pytest.mark.parametrize("tenant", ["", "1"])
async def test_the_app_writes_no_row_of_another_tenant(admin: Any, app: Any, tenant: str) -> None:
    """T1: 42501, before any key is looked at."""
    await app.execute("SELECT set_config('app.tenant', $1, false)", tenant)
    for table in await rows(admin, TENANT_TABLES):
        columns = [tuple(row) for row in await admin.fetch(COLUMNS, table)]
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await app.execute(insert(table, columns, 2))
    assert await app.execute("UPDATE rag.future SET note = 'x' WHERE tenant_id = 2") == "UPDATE 0"
    assert await app.execute("DELETE FROM rag.future WHERE tenant_id = 2") == "DELETE 0"
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await app.execute("INSERT INTO rag.tenants (name) VALUES ('mine')")


async def test_definer_functions_ask_for_the_tenant(app: Any) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="app.tenant is not set"):
        await app.fetch("SELECT rag.future_notes()")
    await app.execute("SET app.tenant = '2'")
    assert await rows(app, "SELECT rag.future_notes()") == ["tenant 2"]


async def test_analysts_see_their_tenants_only(admin: Any, secured: Callable[..., str]) -> None:
    """T6: in every view; naming another tenant in app.tenant changes nothing."""
    views = await rows(
        admin, "SELECT oid::regclass FROM pg_class WHERE relnamespace = 'analyst'::regnamespace AND relkind = 'v'"
    )
    one, three = await analyst(secured, 1), await analyst(secured, 3)
    try:
        for setting in ("1", "2", ""):
            await three.execute("SELECT set_config('app.tenant', $1, false)", setting)
            assert {view: await three.fetchval(f"SELECT count(*) FROM {view}") for view in views} == dict.fromkeys(
                views, 0
            )
            assert await three.fetchval("SELECT analyst.future_count()") == 0
        assert await rows(one, "SELECT note FROM analyst.future") == ["tenant 1"]
        assert await one.fetchval("SELECT analyst.future_count()") == 1
        for view in views:
            assert "tenant 2" not in str(await one.fetch(f"SELECT * FROM {view}")), view
    finally:
        await one.close()
        await three.close()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM rag.documents",
        "SELECT * FROM rag.analyst_grant",
        "SELECT * FROM pg_authid",
        "SELECT pg_read_file('postgresql.conf')",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SET ROLE cairn_app",
        "SET ROLE cairn_views",
        "SET ROLE cairn_definer",
        "SET SESSION AUTHORIZATION reader_1",
        "SELECT rag.ensure_tenant('mine')",
        "SELECT rag.grant_analyst('reader_3', 'tenant 1')",
        "SELECT rag.future_notes()",
        "INSERT INTO analyst.future (note) VALUES ('x')",
        "UPDATE analyst.future SET note = 'x'",
        "DELETE FROM analyst.future",
        "CREATE TABLE public.mine (a int)",
        "CREATE TABLE analyst.mine (a int)",
        "CREATE TEMP TABLE mine (a int)",
        "CREATE SCHEMA mine",
        "CREATE OR REPLACE VIEW analyst.future AS SELECT 'x' AS note",
        "ALTER VIEW analyst.future SET (security_invoker = true)",
        "SET row_security = off; SELECT * FROM analyst.future",
        "GRANT cairn_analyst TO PUBLIC",
    ],
)
async def test_analysts_can_do_nothing_else(secured: Callable[..., str], statement: str) -> None:
    """T6: 42501 for each."""
    connection = await analyst(secured, 3)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()
