"""No connection serves that stands above row security, whatever lies between us and the database."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cairn.db import runtime
from cairn.db.embedded import EmbeddedServer, ensure_running
from cairn.db.pool import Database
from cairn.db.roles import SERVER_LOGIN, ensure_server_login
from cairn.domain.principal import Principal
from cairn.errors import DatabaseUnavailableError, UnsafeRoleError
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import open_services
from tests.db.pooler import pooler

ROLE = frozenset({"role"})


async def with_login(owner: Any, *statements: str) -> None:
    """A login `server_x`, made by the statements; dropped with the database's other roles by `drop_login`."""
    await owner.execute("CREATE ROLE server_x LOGIN")
    for statement in statements:
        await owner.execute(statement)


@pytest.fixture
async def login(owner: Any) -> AsyncIterator[Callable[..., Any]]:
    yield lambda *statements: with_login(owner, *statements)
    await owner.execute("DROP OWNED BY server_x; DROP ROLE server_x")


def as_user(dsn: str, user: str) -> str:
    return dsn.replace("//cairn@", f"//{user}@")


async def opens(dsn: str) -> str:
    """The role that serves."""
    database = await Database.open(dsn, max_size=1)
    try:
        async with database.transaction(Principal(1, "one")) as connection:
            assert await connection.fetch("SELECT name FROM rag.tenants WHERE id <> 1") == []
            return str(await connection.fetchval("SELECT current_user"))
    finally:
        await database.close()


async def test_a_pooler_that_drops_the_role_is_refused_at_open_with_the_cure(
    database: str, tmp_path: Path, owner: Any
) -> None:
    async with pooler(database, tmp_path) as between:
        assert await opens(between.dsn) == "cairn_app"
        between.ignored = ROLE
        with pytest.raises(
            UnsafeRoleError, match=r"role cairn, which is a superuser.*CAIRN_APP_DATABASE_URL"
        ) as caught:
            await opens(between.dsn)
    assert caught.value.exit_code == 1
    left = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'cairn'"
    assert await owner.fetchval(left) == 0, "a refused connection is closed"


async def test_a_pooler_that_begins_to_drop_the_role_while_we_serve(database: str, tmp_path: Path) -> None:
    """Connections that are made later are asked as well, and what is told to callers names no role."""
    async with pooler(database, tmp_path) as between:
        serving = await Database.open(between.dsn, max_size=2)
        try:
            between.ignored = ROLE
            async with serving.connection():  # the first connection is taken, so that a second one is made
                with pytest.raises(DatabaseUnavailableError, match="see the log") as caught:
                    async with serving.transaction(Principal(1, "one")):
                        pytest.fail("served by a connection that sees everything")
                assert "cairn" not in caught.value.detail
            between.ignored = frozenset()
            async with serving.connection(), serving.transaction(Principal(1, "one")) as second:
                assert await second.fetchval("SELECT current_user") == "cairn_app"
        finally:
            await serving.close()


async def test_transactions_serve_as_cairn_app_whatever_the_session_became(database: str) -> None:
    """A pooler that shares sessions may hand over one in which somebody else set another role."""
    serving = await Database.open(database, max_size=1)
    try:
        async with serving.connection() as connection:
            await connection.execute("SET ROLE NONE")
        async with serving.transaction(Principal(1, "one")) as connection:
            assert await connection.fetchval("SELECT current_user") == "cairn_app"
    finally:
        await serving.close()


async def test_a_login_for_serving_needs_no_start_up_parameter(
    database: str, tmp_path: Path, login: Callable[..., Any]
) -> None:
    """The cure that the message names."""
    await login("GRANT cairn_app TO server_x")
    async with pooler(as_user(database, "server_x"), tmp_path) as between:
        between.ignored = ROLE
        assert await opens(between.dsn) == "cairn_app"


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        (["GRANT cairn_app TO server_x", "ALTER ROLE server_x BYPASSRLS"], "has BYPASSRLS"),
        (["GRANT cairn_app, cairn_definer TO server_x"], "is a member of cairn_definer"),
        (["GRANT cairn_app TO server_x", "GRANT cairn_views TO server_x"], "is a member of cairn_views"),
        (["GRANT cairn_analyst TO server_x"], "is no member of cairn_app"),
        (["GRANT cairn_app TO server_x", "GRANT cairn TO server_x"], "may become the owner of the tables"),
        (["ALTER ROLE server_x SUPERUSER"], "is a superuser"),
    ],
)
async def test_a_login_that_stands_above_row_security_is_refused(
    statements: list[str], reason: str, database: str, tmp_path: Path, login: Callable[..., Any]
) -> None:
    await login(*statements)
    async with pooler(as_user(database, "server_x"), tmp_path) as between:
        between.ignored = ROLE
        with pytest.raises(UnsafeRoleError, match=reason):
            await opens(between.dsn)


# --- the embedded server ----------------------------------------------------------------------------------------------


async def test_the_embedded_server_is_served_by_a_login_that_is_no_superuser(make_home: Callable[[], Path]) -> None:
    """Also in a home of an earlier release, which has no such login, and its transactions cannot become more."""
    home = make_home()
    environment = read_environment({"CAIRN_HOME": str(home)})
    for earlier in (True, False):
        async with open_services(environment, SettingsStore(None)) as services:
            async with services.database.connection() as connection:
                assert await connection.fetchval("SELECT session_user") == SERVER_LOGIN
                for way in ("SET ROLE cairn", "SET ROLE cairn_definer", "SET SESSION AUTHORIZATION cairn"):
                    with pytest.raises(asyncpg.InsufficientPrivilegeError):
                        await connection.execute(way)
                await connection.execute("SET ROLE NONE")
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute("COPY (SELECT 1) TO PROGRAM 'true'")
                assert await connection.fetch("SELECT * FROM rag.documents") == []
            owner = await asyncpg.connect(services.owner_dsn)
            granted = "SELECT count(*) FROM rag.analyst_grant WHERE role_name = 'cairn'"
            assert await owner.fetchval(granted) == 1, "psql as the owner reads what is served"
            if earlier:
                await services.database.close()
                await owner.execute(f"DROP OWNED BY {SERVER_LOGIN}; DROP ROLE {SERVER_LOGIN}")
            await owner.close()


async def test_the_login_is_made_once_and_put_right(database: str, owner: Any) -> None:
    await asyncio.gather(*(ensure_server_login(database) for _ in range(8)))
    await owner.execute(f"ALTER ROLE {SERVER_LOGIN} SUPERUSER; GRANT cairn_definer TO {SERVER_LOGIN}")
    await ensure_server_login(database)
    assert await opens(as_user(database, SERVER_LOGIN)) == "cairn_app"
    rights = "SELECT rolsuper OR pg_has_role(oid, 'cairn_definer', 'MEMBER') FROM pg_roles WHERE rolname = $1"
    assert await owner.fetchval(rights, SERVER_LOGIN) is False


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user_who_gets_at_the_socket_is_nobody(server: EmbeddedServer) -> None:
    """Its folder keeps others out already; should it be opened one day, PostgreSQL asks the kernel who they are."""
    folder = Path(server.socket_folder)
    folder.chmod(0o711)
    socket = folder / ".s.PGSQL.5432"
    socket.chmod(0o777)
    try:
        psql = runtime.program(server.home / "postgres" / runtime.VERSION, "psql")
        done = subprocess.run(
            [psql, "-XqAt", "-d", server.dsn("postgres"), "-c", "SELECT 1"], capture_output=True, text=True, check=False,
            user=65534, group=65534, extra_groups=[], cwd="/",
        )  # fmt: skip
        assert "Peer authentication failed" in done.stderr
    finally:
        folder.chmod(0o700)
        socket.chmod(0o700)


def test_a_home_of_an_earlier_release_gets_the_rules(used_home: Path) -> None:
    """Its data folder lets everybody in who reaches the socket; the server reads our file instead."""
    assert "trust" in (used_home / "postgres" / "data" / "pg_hba.conf").read_text()
    with ensure_running(used_home, durable=False):
        assert "peer" in (used_home / "postgres" / "pg_hba.conf").read_text()


async def test_a_database_of_an_older_schema_is_said_to_be_one(database: str, owner: Any) -> None:
    """As a standby is for a moment while its primary is migrated: no connection to it serves, and later ones do."""
    await owner.execute("ALTER DOMAIN rag.uuid_list RENAME TO gone")
    with pytest.raises(DatabaseUnavailableError, match="cairn migrate"):
        await Database.open(database)
    await owner.execute("ALTER DOMAIN rag.gone RENAME TO uuid_list")
    await (await Database.open(database)).close()
