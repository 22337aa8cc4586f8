"""psql as an analyst: a login that reads schema `analyst` of one tenant and nothing else.

On the embedded server the login is made here; on a server of one's own an administrator makes it, because it needs a password.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import asyncpg

from cairn.db.migrate import migrate
from cairn.db.programs import find_program, without_password
from cairn.db.queries import load_queries
from cairn.errors import DatabaseUnavailableError, NotFoundError, reason_of

SEARCH_PATH: Final = "-c search_path=analyst,public"
"""So that views need no schema before their names."""

CONNECTIONS: Final = 10
"""At once of the login of a tenant: the server has them for everybody."""


async def ensure_analyst_login(owner_dsn: str, tenant: str) -> str:
    """Name of the login that may read the tenant, made if it is new; of an embedded server, which it brings up to date.

    Raises NotFoundError for a tenant that has nothing yet, DatabaseUnavailableError, MigrationError.
    """
    await migrate(owner_dsn)
    statements = load_queries("roles")
    try:
        connection = await asyncpg.connect(owner_dsn, timeout=15)
        try:
            tenant_id = await connection.fetchval(statements["tenant_id"], tenant)
            if tenant_id is None:
                raise NotFoundError(
                    f"tenant {tenant} has nothing yet: begin with cairn ingest PATH, or name another in CAIRN_TENANT"
                )
            login = f"cairn_reads_{tenant_id}"
            async with connection.transaction():
                if not await connection.fetchval(statements["role_exists"], login):
                    await connection.execute(f"CREATE ROLE {login} LOGIN CONNECTION LIMIT {CONNECTIONS}")
                await connection.execute(statements["grant_analyst"], login, tenant)
            return login
        finally:
            await connection.close(timeout=5)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailableError(f"cannot prepare a login for analysts: {reason_of(error)}") from error


def run_psql(dsn: str, *, statement: str | None = None, csv: bool = False, binaries: Path | None = None) -> int:
    """Open psql and return its exit code when it ends. `statement`: run it and print the result, as CSV if asked for. The
    password of the URL goes by the environment, where the list of processes does not show it. Raises ProgramMissingError."""
    shown, password = without_password(dsn)
    command = [find_program("psql", binaries), f"--dbname={shown}", "--set=ON_ERROR_STOP=1"]
    if statement is not None:
        command += ["--no-psqlrc", f"--command={statement}", *(["--csv"] if csv else ["--pset=pager=off"])]
    given = os.environ.get("PGOPTIONS", "")
    environment = {**os.environ, "PGOPTIONS": f"{SEARCH_PATH} {given}".strip(), "PGAPPNAME": "cairn sql"}
    environment |= {"PGPASSWORD": password} if password else {}
    with _leaving_interrupts_to_psql():
        return subprocess.run(command, env=environment, check=False).returncode


@contextlib.contextmanager
def _leaving_interrupts_to_psql() -> Iterator[None]:
    """Ctrl-C ends a statement there, and not this process with the server that it holds."""
    before = signal.signal(signal.SIGINT, lambda *_: None)  # a function, unlike SIG_IGN, is not inherited
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
