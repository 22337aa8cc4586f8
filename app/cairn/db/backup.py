"""The whole database into one file, by PostgreSQL's own pg_dump; restore.py is the way back.

A dump has the schemas `rag` and `analyst`, of all tenants. It has no roles, owners and grants: what is restored gets those of
the release that restores it. So it can move to another cluster, another owner and a newer release.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import asyncpg

from cairn.db.nodes import refuse_distributed
from cairn.db.programs import find_program, first_words, running, without_password
from cairn.db.queries import load_queries
from cairn.db.schema import check_server
from cairn.errors import BackupError, DatabaseUnavailableError, reason_of

_SCHEMAS: Final = ("--schema=rag", "--schema=analyst")
SQL: Final = load_queries("backup")


async def dump(owner_dsn: str, file: Path, *, binaries: Path | None = None) -> int:
    """Write all tenants' data of one moment to a file that only its owner can read; its bytes. Nothing is stopped for it, and
    the file takes its name when it is complete. `binaries`: a place of PostgreSQL's programs (cairn/db/runtime.py).

    Raises BackupError, DatabaseUnavailableError.
    """
    file = _new_file(file)
    program = find_program("pg_dump", binaries)
    connection = await _connect(owner_dsn)
    try:
        if not await connection.fetchval(SQL["holds_tables"]):
            raise BackupError("there is nothing to back up: the database has no tables of Cairn")
        await refuse_distributed(connection, "cairn backup")
        if await connection.fetchval(SQL["records_deeds"]):  # a database may be older than the log
            await connection.execute(SQL["record"], "database.backup", file.name)
    finally:
        await connection.close(timeout=5)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        # made first: what pg_dump makes by itself, others may be able to read
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        # row security is forced on the owner too, who sees every row by the roles that it inherits (docs/adr/0005)
        options = ["--format=custom", "--enable-row-security", "--no-owner", "--no-privileges", *_SCHEMAS]
        await _run([program, *options, f"--file={unfinished}"], owner_dsn)
        os.link(unfinished, file)  # unlike a rename it takes nobody else's place
        return file.stat().st_size
    except FileExistsError:
        raise BackupError(f"{file} exists already; choose another name") from None
    except OSError as error:
        raise BackupError(f"cannot write {file}: {error.strerror or error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _new_file(file: Path) -> Path:
    if file.exists():
        raise BackupError(f"{file} exists already; choose another name")
    return file.absolute()


async def _connect(dsn: str) -> Any:
    try:
        connection = await asyncpg.connect(dsn, server_settings={"application_name": "cairn-backup"}, timeout=15)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailableError(f"cannot connect to PostgreSQL: {reason_of(error)}") from error
    check_server(connection)
    return connection


async def _run(command: Sequence[str], dsn: str) -> None:
    """A program at this database. Raises BackupError with its own words."""
    shown, password = without_password(dsn)
    told = {"PGPASSWORD": password} if password else {}
    async with running([*command, f"--dbname={shown}"], **told) as process:
        words, _ = await asyncio.gather(first_words(process.stderr), first_words(process.stdout))
        if await process.wait():
            raise BackupError(words or f"{Path(command[0]).name} ended with {process.returncode}")
