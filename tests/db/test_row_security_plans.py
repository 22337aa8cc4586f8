"""Row security takes GIN from the planner; functions of cairn_definer get it back (docs/adr/0005)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

ROWS = 20_000
FILL = f"""
SET session_replication_role = replica;
INSERT INTO rag.documents (tenant_id, id, collection_id, external_id, title, version, status, content_hash, media_type,
                           metadata)
SELECT 1 + i % 2, md5(i::text)::uuid, md5('c')::uuid, i::text, '', 1, 'indexed', '', 'text/plain',
       jsonb_build_object('n', i) FROM generate_series(1, {ROWS}) AS i;
INSERT INTO rag.passages (tenant_id, id, document_id, collection_id, ordinal, char_start, char_end, headings,
                          token_count, content, search_terms, regconfig)
SELECT 1 + i % 2, md5(i::text)::uuid, md5(i::text)::uuid, md5('c')::uuid, 0, 0, 1, '{{}}', 1, 'word' || i, '', 'simple'
FROM generate_series(1, {ROWS}) AS i;
INSERT INTO rag.lexical_index (tenant_id, passage_id, document_id, collection_id, regconfig, length, average_length,
                               keys, weights)
SELECT 1 + i % 2, md5(i::text)::uuid, md5(i::text)::uuid, md5('c')::uuid, 'simple', 1, 1, ARRAY[i], '{{1:1}}/4'
FROM generate_series(1, {ROWS}) AS i;
ANALYZE rag.documents, rag.passages, rag.lexical_index;
CREATE FUNCTION rag.explain_as_definer(statement text) RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, rag, public, pg_temp AS 'BEGIN RETURN QUERY EXECUTE ''EXPLAIN '' || statement; END';
GRANT CREATE ON SCHEMA rag TO cairn_definer;
ALTER FUNCTION rag.explain_as_definer OWNER TO cairn_definer;
GRANT EXECUTE ON FUNCTION rag.explain_as_definer TO cairn_app;
"""
TENANT = "tenant_id = rag.current_tenant()"
QUERIES = {
    "&&": f"SELECT passage_id FROM rag.lexical_index WHERE {TENANT} AND keys && '{{77}}'",
    "@@": f"SELECT id FROM rag.passages WHERE {TENANT} AND search_vector @@ 'word77'::tsquery",
    "@>": f"""SELECT id FROM rag.documents WHERE {TENANT} AND metadata @> '{{"n": 77}}'""",
}


@pytest.fixture
async def app(database: str) -> AsyncIterator[Any]:
    admin = await asyncpg.connect(database)
    await admin.execute(FILL)
    await admin.close()
    connection = await asyncpg.connect(database, server_settings={"role": "cairn_app", "app.tenant": "2"})
    yield connection
    await connection.close()


async def test_only_definer_functions_get_gin(app: Any) -> None:
    """The constant policy of cairn_definer leaves no qual before which `&&`, `@@` and `@>` would have to wait."""
    for operator, statement in QUERIES.items():
        as_definer = "\n".join(row[0] for row in await app.fetch("SELECT rag.explain_as_definer($1)", statement))
        as_app = "\n".join(row[0] for row in await app.fetch("EXPLAIN " + statement))
        assert any(f" {operator} " in condition for condition in re.findall("Index Cond: .*", as_definer)), as_definer
        assert not any(f" {operator} " in condition for condition in re.findall("Index Cond: .*", as_app)), as_app
        assert len(await app.fetch(statement)) == 1, "tenant 2 has the row of 77"
