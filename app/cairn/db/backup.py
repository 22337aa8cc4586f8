"""The whole database into one file, and back into an empty one: PostgreSQL's own pg_dump and pg_restore.

A dump has the schemas `rag` and `analyst`, of all tenants. It has no roles, owners and grants: what is restored gets those of
this release, like a database that was just migrated. So it can move to another cluster, another owner and a newer release.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import asyncpg

from cairn.db.migrate import migrate
from cairn.db.nodes import refuse_distributed
from cairn.db.programs import find_program, without_password
from cairn.db.schema import LAST_COMMIT_WITH_OLDER, SchemaSource, apply_roles, bootstrap, check_server
from cairn.distribution import NAME
from cairn.errors import BackupError, DatabaseAheadError, DatabaseUnavailableError, reason_of

_SCHEMAS: Final = ("--schema=rag", "--schema=analyst")
_HOLDS_TABLES: Final = """
SELECT EXISTS (SELECT FROM pg_class WHERE relnamespace IN (to_regnamespace('rag'), to_regnamespace('analyst')))
"""
_RECORDS_DEEDS: Final = "SELECT to_regprocedure('rag.record_deed(bigint, text, text, jsonb)') IS NOT NULL"
_RECORD: Final = "SELECT rag.record_deed(id, $1, $2, '{}') FROM rag.tenants"
_REVISIONS: Final = re.compile(r"^COPY rag\.alembic_version .*?;\n(.*?)^\\\.", re.MULTILINE | re.DOTALL)


async def dump(owner_dsn: str, file: Path, *, binaries: Path | None = None) -> int:
    """Write all tenants' data of one moment to a file that only its owner can read; its bytes. Nothing is stopped for it, and
    the file takes its name when it is complete. `binaries`: a place of PostgreSQL's programs (cairn/db/runtime.py).

    Raises BackupError, DatabaseUnavailableError.
    """
    file = _new_file(file)
    program = find_program("pg_dump", binaries)
    connection = await _connect(owner_dsn)
    try:
        if not await connection.fetchval(_HOLDS_TABLES):
            raise BackupError("there is nothing to back up: the database has no tables of Cairn")
        await refuse_distributed(connection, "cairn backup")
        await _record(connection, "database.backup", file.name)
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


async def restore(owner_dsn: str, file: Path, *, binaries: Path | None = None) -> str:
    """Fill an empty database from a dump, and bring it to the schema of this code; its revision. All or nothing: a dump that
    cannot be read leaves no table behind.

    Raises BackupError for a database that is not empty and a dump that cannot be restored, DatabaseAheadError for a dump that
    newer code made, DatabaseUnavailableError, MigrationError.
    """
    file, source = _known_file(file), SchemaSource.installed()
    program = find_program("pg_restore", binaries)
    await _check_dump(program, file, source)
    connection = await _connect(owner_dsn)
    try:
        if await connection.fetchval(_HOLDS_TABLES):
            raise BackupError(
                "the database is not empty: restore into a new CAIRN_HOME, or into a new database of a server of your own"
            )
        await bootstrap(connection)
        async with connection.transaction():
            await apply_roles(connection, source)
        options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", *_SCHEMAS]
        await _run([program, *options, str(file)], owner_dsn)
        # as if of another release: owners, grants and policies are made as this code wants them
        await connection.execute("DELETE FROM rag.schema_objects")
        result = await migrate(owner_dsn)
        await connection.execute("ANALYZE")
        await _record(connection, "database.restore", file.name)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise BackupError(f"the dump could not be restored: {reason_of(error)}") from error
    finally:
        await connection.close(timeout=5)
    return result.revision


def _new_file(file: Path) -> Path:
    if file.exists():
        raise BackupError(f"{file} exists already; choose another name")
    return file.absolute()


def _known_file(file: Path) -> Path:
    if not file.is_file():
        raise BackupError(f"there is no file {file}")
    return file.absolute()


async def _check_dump(program: str, file: Path, source: SchemaSource) -> None:
    """Raises BackupError for what is no dump of Cairn, DatabaseAheadError for one of newer code. Reads little of the file."""
    table = ["--data-only", "--schema=rag", "--table=alembic_version", "--file=-", str(file)]
    try:
        found = _REVISIONS.search(await _run([program, *table], None))
    except BackupError as error:
        raise BackupError(f"{file} cannot be read as a dump of PostgreSQL: {error.detail}") from None
    if found is None:
        raise BackupError(f"{file} is a dump, but not one of Cairn")
    revisions = set(found[1].split())
    if old := [revision for revision in revisions if source.is_too_old(revision)]:
        raise BackupError(
            f"the dump is of revision {old[0]}, and this release reads those from {source.baseline} on: restore it with commit "
            f"{LAST_COMMIT_WITH_OLDER}, which also brings it to {source.baseline}, and back it up again"
        )
    if unknown := revisions - source.revisions:
        raise DatabaseAheadError(
            f"the dump is of revision {', '.join(sorted(unknown))}, and this code knows none after {source.head}; install "
            f"the {NAME} that made it, or a newer one"
        )


async def _record(connection: Any, action: str, target: str) -> None:
    """In the audit log of every tenant; nothing in a database that is older than the log."""
    if await connection.fetchval(_RECORDS_DEEDS):
        await connection.execute(_RECORD, action, target)


async def _connect(dsn: str) -> Any:
    try:
        connection = await asyncpg.connect(dsn, server_settings={"application_name": "cairn-backup"}, timeout=15)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailableError(f"cannot connect to PostgreSQL: {reason_of(error)}") from error
    check_server(connection)
    return connection


# --- PostgreSQL's programs ----------------------------------------------------------------------------------------------


async def _run(command: Sequence[str], dsn: str | None) -> str:
    """What the program prints; ended when this is cancelled. Raises BackupError with its own words."""
    environment = {**os.environ, "LC_ALL": "C"}
    if dsn is not None:
        shown, password = without_password(dsn)
        command = [*command, f"--dbname={shown}"]
        environment |= {"PGPASSWORD": password} if password else {}
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        printed, problems = await process.communicate()
    except BaseException:
        if process.returncode is None:
            process.terminate()
            await process.wait()
        raise
    if process.returncode:
        words = " ".join(problems.decode(errors="replace").split())
        raise BackupError(words[:500] or f"{Path(command[0]).name} ended with {process.returncode}")
    return printed.decode(errors="replace")
