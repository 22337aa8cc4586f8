"""What must stand before the first table: a recent server, the schemas, pgvector in schema public."""

from __future__ import annotations

from typing import Any

import asyncpg

from app.errors import MigrationError

OLDEST_POSTGRES = 15
OLDEST_PGVECTOR = (0, 8)  # halfvec, sparsevec and iterative scans

_VECTOR = "SELECT extversion, extnamespace::regnamespace::text AS place FROM pg_extension WHERE extname = 'vector'"


def one_line(error: BaseException) -> str:
    """A database error as one line, with the server's detail and hint."""
    return " ".join(str(error).split()) or type(error).__name__


def check_server(connection: Any) -> None:
    """Raises MigrationError for a server that is too old."""
    version = connection.get_server_version()
    if version.major < OLDEST_POSTGRES:
        raise MigrationError(f"PostgreSQL {version.major} is too old; Cairn needs {OLDEST_POSTGRES} or newer")


async def bootstrap(connection: Any) -> None:
    """Make schemas and extension where missing. Raises MigrationError that says what an administrator must run."""
    for schema in ("rag", "analyst"):
        # looked for first: IF NOT EXISTS wants the right to create even where there is nothing to create
        if not await connection.fetchval("SELECT to_regnamespace($1) IS NOT NULL", schema):
            await connection.execute(f"CREATE SCHEMA {schema}")
    if (found := await connection.fetchrow(_VECTOR)) is None:
        await _create_vector(connection)
        found = await connection.fetchrow(_VECTOR)
    if found["place"] != "public":
        raise MigrationError(
            f"pgvector is in schema {found['place']}; let its owner run: ALTER EXTENSION vector SET SCHEMA public;"
        )
    if tuple(int(part) for part in found["extversion"].split(".")[:2]) < OLDEST_PGVECTOR:
        raise MigrationError(
            f"pgvector {found['extversion']} is too old; install 0.8 or newer and run: ALTER EXTENSION vector UPDATE;"
        )


async def _create_vector(connection: Any) -> None:
    try:
        await connection.execute("CREATE EXTENSION vector SCHEMA public")
    except asyncpg.InsufficientPrivilegeError:
        raise MigrationError(
            "pgvector is not enabled and this role may not enable it; let a database administrator run, in this "
            "database: CREATE EXTENSION vector SCHEMA public;"
        ) from None
    except (asyncpg.UndefinedFileError, asyncpg.FeatureNotSupportedError) as error:
        raise MigrationError(f"pgvector is not installed on the database server: {one_line(error)}") from error
