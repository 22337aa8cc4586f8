"""Computing over a table reads that table alone, whatever the planner knows, and a sheet of 10,000 rows as a whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from cairn.db.queries import load_queries

TABLES, ROWS, COLUMNS = 2_000, 10_000, 10
FILL = f"""
ALTER TABLE rag.document_tables SET (autovacuum_enabled = off);
ALTER TABLE rag.table_columns SET (autovacuum_enabled = off);
SELECT rag.ensure_tenant('plans');
INSERT INTO rag.collections (tenant_id, id, name, lex_seed) SELECT id, md5('c')::uuid, 'c', 0 FROM rag.tenants;
INSERT INTO rag.documents (tenant_id, id, collection_id, external_id, title, version, status, content_hash, media_type, metadata)
SELECT t.id, md5('d' || i)::uuid, md5('c')::uuid, 'd' || i, 'd', 1, 'indexed', '', 'text/csv', '{{}}'
FROM rag.tenants t, generate_series(1, {TABLES}) i;
CREATE TEMP TABLE made AS SELECT d.*, CASE WHEN external_id = 'd1' THEN {ROWS} ELSE 3 END AS rows FROM rag.documents d;
INSERT INTO rag.document_tables (tenant_id, document_id, ordinal, version, char_start, char_end, title, headings, header, starts,
  ends, groups, totals, decimal_mark, complete)
SELECT tenant_id, id, 0, 1, 0, rows * 10, '', '{{}}', ARRAY(SELECT 'c' || p FROM generate_series(1, {COLUMNS}) p),
  ARRAY(SELECT n * 10 FROM generate_series(0, rows - 1) n), ARRAY(SELECT n * 10 + 9 FROM generate_series(0, rows - 1) n),
  array_fill(''::text, ARRAY[rows]), array_fill(false, ARRAY[rows]), '.', true
FROM made;
INSERT INTO rag.table_columns (tenant_id, document_id, ordinal, position, filled, numbered, dated, unit, texts, numbers, units,
  dates, keys)
SELECT tenant_id, id, 0, p, rows, CASE WHEN p > 1 THEN rows ELSE 0 END, 0, '',
  ARRAY(SELECT CASE WHEN p = 0 THEN 'row ' || n WHEN p = 1 THEN 'team ' || n % 7 ELSE n::text END
        FROM generate_series(1, rows) n),
  ARRAY(SELECT CASE WHEN p > 1 THEN n END::numeric FROM generate_series(1, rows) n), array_fill(''::text, ARRAY[rows]),
  array_fill(NULL::date, ARRAY[rows]),
  ARRAY(SELECT CASE WHEN p = 0 THEN 'row ' || n WHEN p = 1 THEN 'team ' || n % 7 ELSE '' END FROM generate_series(1, rows) n)
FROM made, generate_series(0, {COLUMNS - 1}) p;
"""
SQL = load_queries("tables")


@pytest.fixture(params=["", "ANALYZE"], ids=["never analysed", "analysed"])
async def connection(request: pytest.FixtureRequest, database: str) -> AsyncIterator[Any]:
    """A transaction as cairn_app with the tenant set, as the pool gives it, with its limit of time."""
    owner = await asyncpg.connect(database)
    await owner.execute(FILL + request.param)
    tenant = await owner.fetchval("SELECT id FROM rag.tenants WHERE name = 'plans'")
    await owner.close()
    opened = await asyncpg.connect(database, server_settings={"statement_timeout": "15000"})
    async with opened.transaction():
        await opened.execute("SET LOCAL ROLE cairn_app")
        await opened.execute("SELECT set_config('app.tenant', $1, true)", str(tenant))
        yield opened
    await opened.close()


async def touched(connection: Any, table: str) -> tuple[int, int]:
    """Sequential scans, and rows fetched through indexes, of this transaction."""
    row = await connection.fetchrow(
        "SELECT seq_scan, coalesce(idx_tup_fetch, 0) AS rows FROM pg_stat_xact_user_tables "
        "WHERE schemaname = 'rag' AND relname = $1",
        table,
    )
    return row["seq_scan"], row["rows"]


async def test_a_sheet_is_computed_over_by_its_index(connection: Any) -> None:
    tenant = await connection.fetchval("SELECT rag.current_tenant()")
    sheet: UUID = await connection.fetchval("SELECT md5('d1')::uuid")
    near = await connection.fetch(SQL["beside"], tenant, [sheet], [500], [900])
    assert [(row["ordinal"], row["rows"]) for row in near] == [(0, ROWS)]
    named = await connection.fetch(SQL["named"], tenant, sheet, 0, ["team 3", "c4", "nothing"], [], ["ltd"], [1])
    assert [(row["position"], row["cells"]) for row in named] == [(1, sum(n % 7 == 3 for n in range(1, ROWS + 1)))]
    beside = await connection.fetch(SQL["mentions"], tenant, sheet, 0, [1, 1], ["team", "team 3"])
    assert {row["key"] for row in beside} == {f"team {n}" for n in range(7)}, "and none of the name itself"
    found = await connection.fetchrow(
        SQL["of_rows"], tenant, sheet, 0, 4, [1], ["team 3"], [1], None, "more", Decimal(5000), None, 5, "highest", None, False,
        4, None, False, None, [4], [None], [Decimal(9000)], False, False,
    )  # fmt: skip
    kept = [n for n in range(1, ROWS + 1) if n % 7 == 3 and 5000 < n <= 9000]
    assert (found["kept"], found["sum"]) == (len(kept), sum(kept))
    for table, most in (("table_columns", 6 * COLUMNS), ("document_tables", 2 * COLUMNS)):
        sequential, fetched = await touched(connection, table)
        assert sequential == 0, table
        assert fetched <= most, table
