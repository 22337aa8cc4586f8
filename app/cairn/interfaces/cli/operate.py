"""`cairn serve`, `worker`, `migrate`, `backup` and `restore`: what runs the service and keeps its database."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from cairn.errors import CairnError, InputError
from cairn.interfaces.cli.terminal import note, quiet_logs, say, services
from cairn.interfaces.guardian import GuardedProcess
from cairn.settings import Environment, SettingsStore, check_process, read_environment

_SAID = {
    "none": "is up to date",
    "migrated": "was migrated",
    "ahead": "was migrated by newer code, which this version can serve",
}


def serve(host: str | None, port: int | None, worker: bool) -> int:
    """Serve until SIGTERM or Ctrl-C. Options win over the environment. Raises CairnError when it cannot start."""
    if host is not None:
        os.environ["CAIRN_HOST"] = host
    if port is not None:
        os.environ["CAIRN_PORT"] = str(port)
    environment = read_environment()
    store = SettingsStore(environment.settings_path)
    _check_address(environment)
    from cairn.interfaces.server import serve as serve_http

    serve_http(environment, store, worker=worker)
    return 0


def _check_address(environment: Environment) -> None:
    """Raises CairnError where the address cannot be listened on, before anything slow begins."""
    from cairn.interfaces.http.authenticate import check_listen

    check_listen(environment)
    try:
        family, _, _, _, address = socket.getaddrinfo(
            environment.host, environment.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise CairnError(
            f"cannot listen on {environment.host} port {environment.port}: {error.strerror or error}; "
            "choose another with --port"
        ) from None


def work() -> int:
    """Run jobs until SIGTERM or Ctrl-C, then be gone within 10 s; a stop that was asked for is no failure. The current job
    gets time to end."""
    with GuardedProcess() as ending:
        return asyncio.run(_work(ending))


async def _work(ending: GuardedProcess) -> int:
    from cairn.interfaces.http import logs, otel
    from cairn.service.tenant_databases import run_workers

    check_process(read_environment(), serves=False)
    async with otel.traced(), services() as opened:
        logs.configure()
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        ending.obey(lambda: loop.call_soon_threadsafe(stop.set))
        await run_workers(opened, stop)
    return 0


async def backup(file: Path) -> int:
    """Write the whole database to a file. Raises BackupError, DatabaseUnavailableError, EmbeddedServerError."""
    from cairn.db.backup import dump

    quiet_logs()
    with contextlib.ExitStack() as stack:
        server = await asyncio.to_thread(owned_server, read_environment(), stack)
        size = await dump(server.dsn, file, binaries=server.binaries)
    say(
        f"{file} has all tenants' data ({size / 1e6:,.1f} MB); settings.json and keys in the environment are not in it."
    )
    return 0


async def restore(file: Path) -> int:
    """Fill an empty database from such a file. Raises the same, MigrationError, DatabaseAheadError and SettingsError."""
    from cairn.db.restore import restore as restore_database

    quiet_logs()
    environment = read_environment()
    vectors = SettingsStore(environment.settings_path).current.vector
    with contextlib.ExitStack() as stack:
        server = await asyncio.to_thread(owned_server, environment, stack)
        done = await restore_database(server.dsn, file, vectors, binaries=server.binaries)
    if done.left_out:
        shown = ", ".join(repr(name) for name in done.left_out[:5]) + (", ..." if len(done.left_out) > 5 else "")
        note(f"Left out, because it is nothing of Cairn: {shown}.")
    say(f"Restored (revision {done.revision}).")
    return 0


async def migrate(sql_only: bool, distribute: bool) -> int:
    """Bring the database up to date, and spread it over its cluster if asked to; or print the statements. Raises InputError,
    MigrationError, DatabaseAheadError."""
    from cairn.db.migrate import migrate as migrate_database
    from cairn.db.migrate import migration_sql

    quiet_logs()
    if sql_only and distribute:
        raise InputError(
            "--sql prints the statements for one server; --distribute needs the cluster itself: give one of them"
        )
    if sql_only:
        print(await migration_sql(), flush=True)
        return 0
    with contextlib.ExitStack() as stack:
        server = await asyncio.to_thread(owned_server, read_environment(), stack)
        result = await migrate_database(server.dsn, distribute=distribute)
    say(f"The database {_SAID[result.action]} (revision {result.revision}).")
    return 0


@dataclass(frozen=True, slots=True)
class OwnedServer:
    """A database as its owner gets at it. `binaries`: PostgreSQL's programs that belong to it; None: not an embedded one."""

    dsn: str
    binaries: Path | None


def owned_server(environment: Environment, stack: contextlib.ExitStack) -> OwnedServer:
    """That of CAIRN_DATABASE_URL, else the embedded one, which runs as long as `stack` is open. Raises EmbeddedServerError."""
    if environment.database_url:
        return OwnedServer(environment.database_url, None)
    from cairn.db import runtime
    from cairn.db.embedded import ensure_running

    server = stack.enter_context(ensure_running(environment.home))
    return OwnedServer(server.dsn(), server.home / "postgres" / runtime.VERSION)
