"""Applies sql/ to the database: roles, functions, views and grants, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import asyncpg
import structlog

from app.db.bootstrap import one_line
from app.db.schema_source import SchemaSource, SqlFile
from app.errors import MigrationError

log = structlog.get_logger(__name__)

# Roles belong to the cluster: migrations of two of its databases at once may collide in the shared catalogs.
_COLLISIONS = (asyncpg.UniqueViolationError, asyncpg.DeadlockDetectedError, asyncpg.InternalServerError)
_ATTEMPTS = 5

# What CREATE OR REPLACE VIEW says when columns went, moved or changed their type.
_VIEW_CHANGED = (asyncpg.InvalidTableDefinitionError, asyncpg.DuplicateTableError, asyncpg.WrongObjectTypeError)

_DROP_VIEWS = """
SELECT format('DROP %s VIEW %s CASCADE', CASE relkind WHEN 'm' THEN 'MATERIALIZED' ELSE '' END, oid::regclass)
FROM pg_class WHERE relnamespace = 'analyst'::regnamespace AND relkind IN ('v', 'm') AND oid = $1
"""

# Functions with the search_path that they will run under.
_FUNCTIONS = """
SELECT p.oid, p.oid::regprocedure::text AS name,
       CASE l.lanname WHEN 'sql' THEN 'fmgr_sql_validator' ELSE 'plpgsql_validator' END AS validator,
       coalesce((SELECT substr(c, 13) FROM unnest(p.proconfig) AS c WHERE c LIKE 'search_path=%'), 'public') AS path
FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
WHERE p.pronamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND l.lanname IN ('sql', 'plpgsql')
"""


async def apply_objects(connection: Any, source: SchemaSource) -> None:
    """Apply every file and remember its hash; all or nothing. Raises MigrationError that names file and line."""
    for left in reversed(range(_ATTEMPTS)):
        try:
            async with connection.transaction():
                await _apply(connection, source)
            return
        except MigrationError as error:
            if not (left and isinstance(error.__cause__, _COLLISIONS)):
                raise


def objects_sql(source: SchemaSource) -> str:
    """What apply_objects runs, as a script for psql."""
    parts = [f"-- sql/{file.name}\n{file.text}\n{_store_hash(file)}" for file in source.files]
    return "\n".join(["BEGIN;", "SET LOCAL check_function_bodies = off;", *parts, "COMMIT;"])


async def _apply(connection: Any, source: SchemaSource) -> None:
    await connection.execute("SET LOCAL check_function_bodies = off")
    await _execute(connection, [source.roles])
    try:
        async with connection.transaction():
            await _execute(connection, source.objects)
    except MigrationError as error:
        if not isinstance(error.__cause__, _VIEW_CHANGED):
            raise
        # Only when it must be: grants and views that others have put on ours go with them.
        log.warning("migrate.views_dropped", reason=error.detail)
        await _drop_views(connection)
        await _execute(connection, source.objects)
    await _execute(connection, [source.grants])
    await _validate(connection)
    await connection.execute("DELETE FROM rag.schema_objects")
    for file in source.files:
        await connection.execute(_store_hash(file))


async def _execute(connection: Any, files: Iterable[SqlFile]) -> None:
    for file in files:
        try:
            await connection.execute(file.text)
        except asyncpg.PostgresError as error:
            raise MigrationError(f"sql/{file.name}{_place(file, error)}: {one_line(error)}") from error


async def _validate(connection: Any) -> None:
    """Check bodies now that everything exists, so that functions may name what a later file creates."""
    await connection.execute("SET LOCAL check_function_bodies = on")
    for function in await connection.fetch(_FUNCTIONS):
        await connection.execute("SELECT set_config('search_path', $1, true)", function["path"])
        try:
            await connection.execute(f"SELECT {function['validator']}($1)", function["oid"])
        except asyncpg.PostgresError as error:
            raise MigrationError(f"function {function['name']}: {one_line(error)}") from error
    await connection.execute("SET LOCAL search_path = public")


def _place(file: SqlFile, error: Any) -> str:
    position = getattr(error, "position", None)
    return f" line {file.text[: int(position)].count(chr(10)) + 1}" if position else ""


async def _drop_views(connection: Any) -> None:
    views = await connection.fetch(
        "SELECT oid FROM pg_class WHERE relnamespace = 'analyst'::regnamespace AND relkind IN ('v', 'm')"
    )
    for view in views:
        # asked again each time: CASCADE may have taken it already
        if statement := await connection.fetchval(_DROP_VIEWS, view["oid"]):
            await connection.execute(statement)


def _store_hash(file: SqlFile) -> str:
    return (
        f"INSERT INTO rag.schema_objects (name, hash) VALUES ('{file.name}', '{file.hash}') "
        "ON CONFLICT (name) DO UPDATE SET hash = excluded.hash, applied_at = now();"
    )
