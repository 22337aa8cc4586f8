"""`cairn sql`: psql as an analyst of the tenant."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from cairn.db import psql, runtime
from cairn.db.embedded import ensure_running
from cairn.errors import SettingsError
from cairn.interfaces.cli.terminal import quiet_logs, say
from cairn.settings import Environment, read_environment


def sql(statement: str | None, csv: bool, url: bool) -> int:
    """Open psql, run a statement, or print the address; psql's exit code. Raises CairnError where none of it can be done."""
    environment = read_environment()
    quiet_logs()
    with contextlib.ExitStack() as stack:
        dsn, binaries = _own_server(environment) if environment.database_url else _embedded(environment, stack)
        if url:
            say(dsn)
            return 0
        return psql.run_psql(dsn, statement=statement, csv=csv, binaries=binaries)


def _own_server(environment: Environment) -> tuple[str, None]:
    if environment.analyst_database_url is None:
        raise SettingsError(
            "CAIRN_DATABASE_URL is a server of your own, and no login for analysts is named. Let its owner run "
            "CREATE ROLE alice LOGIN PASSWORD '...'; "
            f"SELECT rag.grant_analyst('alice', '{environment.tenant}'); "
            "and set CAIRN_ANALYST_DATABASE_URL=postgresql://alice:...@host/database"
        )
    return environment.analyst_database_url, None


def _embedded(environment: Environment, stack: contextlib.ExitStack) -> tuple[str, Path]:
    server = stack.enter_context(ensure_running(environment.home))
    login = asyncio.run(psql.ensure_analyst_login(server.dsn(), environment.tenant))
    return server.dsn(user=login), server.home / "postgres" / runtime.VERSION
