"""Every row belongs to a tenant and nobody sees another's. Asked of the catalog, with no list by hand.

The database is one release ahead: it has a table, a view and functions that a later release might add, so that the same
questions hold for what does not exist yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import asyncpg
import pytest

from tests.db.secured import COLUMNS, TENANT_TABLES, insert, rows, secured

__all__ = ["secured"]  # a fixture

ROLES = ("cairn_app", "cairn_views", "cairn_analyst", "cairn_definer")


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


# --- what the catalog says ------------------------------------------------------------------------------------------


async def test_every_table_of_tenants_has_forced_row_security_and_its_policies(admin: Any) -> None:
    """Partitions included."""
    lacking = """
        SELECT c.oid::regclass FROM pg_class AS c
        WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p')
          AND (c.relname = 'tenants' OR EXISTS (
              SELECT FROM pg_attribute AS a
              WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped))
          AND NOT (c.relrowsecurity AND c.relforcerowsecurity AND (
              SELECT array_agg(format('%s %s', polname, polroles::regrole[]) ORDER BY polname)
              FROM pg_policy WHERE polrelid = c.oid
          ) = '{"app {cairn_app}","definer {cairn_definer}","views {cairn_views}"}')
    """
    assert await rows(admin, lacking) == []
    unfiltered = """
        SELECT polrelid::regclass || ' ' || polname FROM pg_policy WHERE NOT (
            polpermissive
            AND CASE polname
                WHEN 'app' THEN pg_get_expr(polqual, polrelid) ~ 'current_setting..app.tenant'
                                AND pg_get_expr(polwithcheck, polrelid) ~ 'current_setting..app.tenant'
                WHEN 'views' THEN pg_get_expr(polqual, polrelid) ~* 'role_name = session_user' AND polcmd = 'r'
                WHEN 'definer' THEN pg_get_expr(polqual, polrelid) = 'true'
                                    AND pg_get_expr(polwithcheck, polrelid) = 'true'
            END)
    """
    assert await rows(admin, unfiltered) == []
    assert len(await rows(admin, TENANT_TABLES)) > 10


async def test_roles_are_below_row_security_and_apart(admin: Any) -> None:
    """Neither superuser nor BYPASSRLS nor owner of a table, and none is a member of another."""
    strong = "SELECT rolname FROM pg_roles WHERE rolname = ANY ($1) AND (rolsuper OR rolbypassrls OR rolcanlogin)"
    assert await rows(admin, strong, ROLES) == []
    owners = (
        "SELECT DISTINCT relowner::regrole FROM pg_class WHERE relnamespace = 'rag'::regnamespace AND relkind <> 'i'"
    )
    assert not set(await rows(admin, owners)) & set(ROLES)
    for role in ROLES:
        others = f"SELECT rolname FROM pg_roles WHERE pg_has_role('{role}', oid, 'MEMBER') AND rolname <> '{role}'"
        assert await rows(admin, others) == []


async def test_only_the_right_roles_hold_rights(admin: Any) -> None:
    """Tables: app, definer and views' owner, never PUBLIC or analysts; private tables and partitions nobody."""
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
    schemas = """SELECT nspname FROM pg_namespace
        WHERE nspname IN ('rag', 'analyst', 'public') AND has_schema_privilege('{}', oid, '{}') ORDER BY 1"""
    for role in (*ROLES, "public"):
        assert await rows(admin, schemas.format(role, "CREATE")) == []
    assert await rows(admin, schemas.format("cairn_analyst", "USAGE")) == ["analyst", "public"]


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
    strangers = f"""SELECT p.oid::regprocedure FROM {functions} AND n.nspname = 'rag' AND p.prosecdef
        AND (has_function_privilege('cairn_views', p.oid, 'EXECUTE')
             OR has_function_privilege('cairn_analyst', p.oid, 'EXECUTE'))"""
    # what policies ask, with the rights of whoever reads a view: yes, no or a number, not to be named without USAGE on the schema
    asked = [
        "count_restricted(bigint,uuid)",
        "reads_collection(bigint,text,text[])",
        "reads_documents(bigint,uuid[],text[])",
        "reads_legs(bigint,timestamp with time zone,uuid,text[])",
        "reads_run(bigint,uuid,text[])",
        "reads_session(bigint,text,text[])",
        "restricts()",
        "restricts_questions()",
    ]
    assert sorted(await rows(admin, strangers)) == [f"rag.{name}" for name in asked]
    assert not await rows(admin, "SELECT 1 WHERE has_schema_privilege('cairn_analyst', 'rag', 'USAGE')")


async def test_functions_that_see_all_rows_name_the_tenant_or_return_no_content(admin: Any) -> None:
    """Design section 4: they read app.tenant; the queue's return ids and counts only."""
    talkative = """
        SELECT p.oid::regprocedure FROM pg_proc AS p
        WHERE p.proowner = 'cairn_definer'::regrole AND p.prosrc !~ 'current_tenant'
          AND pg_get_function_result(p.oid) ~ 'text|json|bytea|tsvector|vec|char|record|rag'
          AND p.proname <> 'count_restricted'  -- a record of four numbers
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
    """For every table that it may read."""
    tables = [name for name in await rows(admin, TENANT_TABLES) if name != "rag.analyst_grant"]
    await app.execute("SELECT set_config('app.principals', '*', false)")
    for tenant, expected in (("", 0), ("1", 1), ("2", 1), ("4", 0)):
        await app.execute("SELECT set_config('app.tenant', $1, false)", tenant)
        for table in (*tables, "rag.tenants"):
            assert await app.fetchval(f"SELECT count(*) FROM {table}") == expected, table
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await app.fetch("SELECT * FROM rag.analyst_grant")


@pytest.mark.parametrize("tenant", ["", "1"])
async def test_the_app_writes_no_row_of_another_tenant(admin: Any, app: Any, tenant: str) -> None:
    """42501, before any key is looked at."""
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
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match=r"app\.tenant is not set"):
        await app.fetch("SELECT rag.future_notes()")
    await app.execute("SET app.tenant = '2'")
    assert await rows(app, "SELECT rag.future_notes()") == ["tenant 2"]


async def test_analysts_see_their_tenants_only(admin: Any, secured: Callable[..., str]) -> None:
    """In every view; naming another tenant in app.tenant changes nothing."""
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


async def test_the_owner_of_the_database_is_an_analyst_of_its_tenants(admin: Any) -> None:
    assert sorted(await rows(admin, "SELECT note FROM analyst.future")) == ["tenant 1", "tenant 2"]


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
        "GRANT cairn_analyst TO pg_monitor",
    ],
)
async def test_analysts_can_do_nothing_else(secured: Callable[..., str], statement: str) -> None:
    """42501 for each."""
    connection = await analyst(secured, 3)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()
