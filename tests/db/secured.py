"""A migrated database one release ahead, with a row of two tenants in every table; made from the catalog."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cairn.db.embedded import EmbeddedServer
from cairn.db.migrate import migrate
from tests.migration_support import Release

FUTURE_TABLE = """
CREATE TABLE rag.future (tenant_id bigint NOT NULL, id uuid NOT NULL, note text NOT NULL, PRIMARY KEY (tenant_id, id))
"""
FUTURE = """
CREATE OR REPLACE FUNCTION rag.future_notes() RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, rag, pg_temp AS 'SELECT note FROM rag.future WHERE tenant_id = rag.current_tenant()';
CREATE OR REPLACE FUNCTION analyst.future_count() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, rag, pg_temp AS 'SELECT count(*) FROM rag.future';
"""
FUTURE_VIEW = "CREATE OR REPLACE VIEW analyst.future AS SELECT note, id FROM rag.future"

# A value for every type that a column has; a new type is to be added here.
VALUES = {
    "bigint": "{n}",
    "integer": "{n}",
    "smallint": "{n}",
    "real": "1",
    "double precision": "1",
    "boolean": "false",
    "text": "'tenant {n}'",
    "bytea": "'\\x00'",
    "jsonb": "'{{}}'",
    "uuid": "'00000000-0000-7000-8000-00000000000{n}'",
    "timestamp with time zone": "now()",
    "date": "current_date",
    "halfvec": "'[1,0]'",
    "sparsevec": "'{{1:1}}/4'",
    "text[]": "'{{tenant {n}}}'",
    "uuid[]": "'{{00000000-0000-7000-8000-00000000000{n}}}'",
    "integer[]": "'{{1}}'",
    "bigint[]": "'{{1}}'",
    "real[]": "'{{1}}'",
    "double precision[]": "'{{1}}'",
    "boolean[]": "'{{false}}'",
    "numeric[]": "'{{1}}'",
    "date[]": "'{{2026-01-01}}'",
}
OF_COLUMN = {"regconfig": "'simple'"}
"""Where not any value of the type will do."""

TENANT_TABLES = """
SELECT c.oid::regclass::text FROM pg_class AS c
WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id') ORDER BY 1
"""
COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
CHECKS = """
SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) FROM pg_constraint
WHERE contype = 'c' AND connamespace = 'rag'::regnamespace AND conparentid = 0 AND coninhcount = 0
"""


def insert(table: str, columns: list[tuple[str, str]], tenant: int) -> str:
    values = (OF_COLUMN.get(name, VALUES[kind]).format(n=tenant) for name, kind in columns)
    return f"INSERT INTO {table} ({', '.join(name for name, _ in columns)}) VALUES ({', '.join(values)})"


def next_release(release: Release) -> Release:
    """Adds a table, a view and functions without a word about rights."""
    release.add_revision("t1", FUTURE_TABLE)
    return release.add_sql("functions/zz.sql", FUTURE).add_sql("views/zz.sql", FUTURE_VIEW)


async def prepare(dsn: str, release: Release) -> None:
    """Migrate twice; tenants 1 and 2 get a row in every table; `reader_1` and `reader_3` are analysts of 1 and 3."""
    await migrate(dsn)
    await migrate(dsn, source=next_release(release).source)
    connection = await asyncpg.connect(dsn)
    try:
        for tenant in (1, 2, 3):
            assert await connection.fetchval("SELECT rag.ensure_tenant($1)", f"tenant {tenant}") == tenant
        for tenant in (1, 3):
            await connection.execute(f"SELECT rag.grant_analyst('reader_{tenant}', 'tenant {tenant}')")
        for left in ("audit_events", "forgotten_callers"):  # what these calls left
            await connection.execute(f"DELETE FROM rag.{left}")
        for statement in await connection.fetch(CHECKS):
            await connection.execute(statement[0])
        await connection.execute("SET session_replication_role = replica")  # no foreign keys
        for (table,) in await connection.fetch(TENANT_TABLES):
            columns = [tuple(row) for row in await connection.fetch(COLUMNS, table)]
            for tenant in (1, 2):
                await connection.execute(insert(table, columns, tenant))
    finally:
        await connection.close()


async def rows(connection: Any, query: str, *arguments: Any) -> list[str]:
    return [str(row[0]) for row in await connection.fetch(query, *arguments)]


@pytest.fixture(scope="module")
def secured(
    server: EmbeddedServer, psql: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., str]]:
    """DSN of a user: secured("reader_1")."""
    release = Release.copy(Path(tmp_path_factory.mktemp("release")) / "next")
    psql("CREATE DATABASE row_security")
    for tenant in (1, 3):
        psql(f"CREATE ROLE reader_{tenant} LOGIN")
    asyncio.run(prepare(server.dsn("row_security"), release))
    yield lambda user="cairn": server.dsn("row_security", user)
    psql("DROP DATABASE row_security WITH (FORCE)")
    psql("DROP ROLE reader_1, reader_3")
