"""Rules of the tables: ready to be distributed by tenant, explained, and the same in code and database."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest
from sqlalchemy import ForeignKeyConstraint, PrimaryKeyConstraint, Table, UniqueConstraint

from cairn.db.tables import metadata

TENANT_TABLES = [table for table in metadata.sorted_tables if "tenant_id" in table.columns]
KEYS = (PrimaryKeyConstraint, UniqueConstraint, ForeignKeyConstraint)


def _name(table: Table) -> str:
    return table.name


@pytest.mark.parametrize("table", TENANT_TABLES, ids=_name)
def test_tenant_comes_first_in_every_key(table: Table) -> None:
    """Design section 3: the database can later be distributed by tenant (Citus) without a rewrite."""
    assert next(iter(table.columns)).name == "tenant_id"
    assert not table.columns["tenant_id"].nullable
    for constraint in table.constraints:
        if isinstance(constraint, KEYS) and not _refers_to_reference_table(constraint):
            assert next(iter(constraint.columns)).name == "tenant_id", f"{table.name}: {constraint.name}"
    for index in table.indexes:
        if index.unique:
            assert next(iter(index.columns)).name == "tenant_id", f"{table.name}: {index.name}"


def _refers_to_reference_table(constraint: Any) -> bool:
    if not isinstance(constraint, ForeignKeyConstraint):
        return False
    if "tenant_id" in constraint.referred_table.columns:
        assert next(element.column.name for element in constraint.elements) == "tenant_id"
        return False
    return True


@pytest.mark.parametrize("table", TENANT_TABLES, ids=_name)
def test_ids_of_tenant_data_are_made_by_the_application(table: Table) -> None:
    assert not [column.name for column in table.columns if column.identity is not None]


def test_no_triggers(query: Any) -> None:
    """Nothing happens behind a statement's back; and distributed tables have none."""
    assert query("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal") == []


def test_everything_is_explained(query: Any) -> None:
    """Every table, column, view and function of both schemas has a comment."""
    missing = """
        SELECT format('%s.%s', c.oid::regclass, a.attname)
        FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
        WHERE c.relnamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND c.relkind IN ('r', 'p', 'v', 'm')
          AND c.relname <> 'alembic_version' AND NOT c.relispartition
          AND a.attnum >= 0 AND NOT a.attisdropped AND col_description(c.oid, a.attnum) IS NULL
        UNION ALL
        SELECT c.oid::regclass::text FROM pg_class AS c
        WHERE c.relnamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND c.relkind IN ('r', 'p', 'v', 'm')
          AND c.relname <> 'alembic_version' AND NOT c.relispartition AND obj_description(c.oid, 'pg_class') IS NULL
        UNION ALL
        SELECT p.oid::regprocedure::text FROM pg_proc AS p
        WHERE p.pronamespace IN ('rag'::regnamespace, 'analyst'::regnamespace)
          AND obj_description(p.oid, 'pg_proc') IS NULL
    """
    assert [row[0] for row in query(missing)] == []


def test_database_and_metadata_agree(database: str) -> None:
    """Alembic would find nothing to generate."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import create_async_engine

    def include(name: str | None, kind: str, _parents: Any) -> bool:
        made_at_run_time = kind == "table" and (name or "").startswith(("runs_", "run_legs_"))
        return name == "rag" if kind == "schema" else not made_at_run_time

    def compare(connection: Connection) -> Any:
        options = {
            "include_schemas": True,
            "include_name": include,
            "compare_type": True,
            "version_table_schema": "rag",
        }
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    async def run() -> Any:
        engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(database))
        async with engine.connect() as connection:
            difference = await connection.run_sync(compare)
        await engine.dispose()
        return difference

    assert asyncio.run(run()) == []


@pytest.fixture
def query(database: str) -> Any:
    """Runs one statement as superuser: rows as tuples."""

    async def run(statement: str) -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(database)
        try:
            return [tuple(row) for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    return lambda statement: asyncio.run(run(statement))
