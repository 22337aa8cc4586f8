"""Nothing in a database of Cairn keeps `pg_upgrade` from it, or means something else in a new major version of PostgreSQL."""

from __future__ import annotations

import re
from hashlib import sha256

import asyncpg

# What pg_upgrade looks for before it begins: numbers of things in the catalog that it does not keep, and row types of the system.
# Not among them, because it keeps those numbers: regclass, regrole, regtype. A type made of one that is refused is refused.
REFUSED = """
WITH RECURSIVE refused AS (
  SELECT oid, typname::text AS why FROM pg_type
  WHERE typname = ANY ('{regcollation,regconfig,regdictionary,regnamespace,regoper,regoperator,regproc,regprocedure}')
    AND typnamespace = 'pg_catalog'::regnamespace OR typtype = 'c' AND typnamespace IN ('pg_catalog'::regnamespace,
      'information_schema'::regnamespace)
  UNION
  SELECT made.oid, refused.why FROM refused CROSS JOIN LATERAL (
    SELECT t.oid FROM pg_type AS t WHERE t.typbasetype = refused.oid OR t.typelem = refused.oid
    UNION ALL SELECT r.rngtypid FROM pg_range AS r WHERE r.rngsubtype = refused.oid
    UNION ALL SELECT c.reltype FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
    WHERE a.atttypid = refused.oid AND c.relkind = 'c' AND a.attnum > 0 AND NOT a.attisdropped) AS made
)
SELECT DISTINCT c.oid::regclass::text || '.' || a.attname AS column
FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN refused ON refused.oid = a.atttypid
WHERE c.relkind IN ('r', 'p', 'm', 'i') AND a.attnum > 0 AND NOT a.attisdropped
  AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)
ORDER BY 1
"""
BY_HASH = """
SELECT i.indexrelid::regclass::text AS name FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_am AS m ON m.oid = c.relam WHERE m.amname = 'hash' AND c.relnamespace = 'rag'::regnamespace
UNION ALL SELECT partrelid::regclass::text FROM pg_partitioned_table WHERE partstrat = 'h'
"""
FUNCTIONS = """
SELECT oid::regprocedure::text AS name, pg_get_functiondef(oid) AS text FROM pg_proc
WHERE pronamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND prokind = 'f'
"""
EXPRESSIONS = """
SELECT adrelid::regclass::text AS name, pg_get_expr(adbin, adrelid) AS text FROM pg_attrdef
UNION ALL SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'rag'::regnamespace
UNION ALL SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'rag'::regnamespace
"""
_HASHES = re.compile(r"\bhash(?:_?\w*extended|text\w*|_?\w+)\(")
"""Calls of the functions behind hash indexes, of which PostgreSQL does not promise that they stay as they are."""


async def refused(connection: asyncpg.Connection) -> list[str]:
    return [row["column"] for row in await connection.fetch(REFUSED)]


async def test_no_column_is_of_a_type_that_pg_upgrade_refuses(database: str) -> None:
    connection = await asyncpg.connect(database)
    assert await refused(connection) == []
    await connection.execute("CREATE DOMAIN rag.language AS regconfig")
    await connection.execute("CREATE TYPE rag.told AS (n integer, languages rag.language[])")
    await connection.execute("CREATE TABLE rag.more (ok regclass, plain regproc, inside rag.told)")
    assert await refused(connection) == ["rag.more.inside", "rag.more.plain"]
    await connection.close()


async def test_nothing_that_is_kept_depends_on_how_postgresql_hashes(database: str) -> None:
    connection = await asyncpg.connect(database)
    assert await connection.fetch(BY_HASH) == []
    for statement in (FUNCTIONS, EXPRESSIONS):
        found = await connection.fetch(statement)
        assert len(found) > 100
        assert [row["name"] for row in found if _HASHES.search(row["text"])] == []
    await connection.execute(
        "CREATE FUNCTION rag.more(word text) RETURNS integer LANGUAGE sql RETURN hashtext(lower(word))"
    )
    assert [row["name"] for row in await connection.fetch(FUNCTIONS) if _HASHES.search(row["text"])] == [
        "rag.more(text)"
    ]
    await connection.execute("CREATE INDEX more_idx ON rag.jobs USING hash (kind)")
    assert [row["name"] for row in await connection.fetch(BY_HASH)] == ["rag.more_idx"]
    await connection.close()


async def test_keys_of_lexemes_are_what_they_have_been(database: str) -> None:
    """The first 29 bits of SHA-256, which anybody can compute; another collection or language has others."""
    connection = await asyncpg.connect(database)
    for seed, config, lexeme in (
        (7, "english", "stone"),
        (8, "english", "stone"),
        (7, "french", "stone"),
        (-1, "a.b", "é\\"),
    ):
        key = await connection.fetchval("SELECT rag.lexeme_key($1, $2, $3)", seed, config, lexeme)
        assert key == 1 + (int.from_bytes(sha256(f"{seed}:{config}:{lexeme}".encode()).digest()[:4]) >> 3)
    await connection.close()


async def test_a_search_path_does_not_change_what_a_configuration_is(database: str) -> None:
    """Not even one with another `english` in front."""
    connection = await asyncpg.connect(database)
    await connection.execute("CREATE TEXT SEARCH CONFIGURATION public.english (COPY = simple)")
    await connection.execute('CREATE TEXT SEARCH CONFIGURATION public."My own" (COPY = german)')
    await connection.execute("SET search_path = public, pg_catalog")
    words = "SELECT to_tsvector(rag.config_named($1), 'the stones')::text"
    assert await connection.fetchval(words, "english") == "'stone':2"
    assert await connection.fetchval(words, "public.english") == "'stones':2 'the':1"
    for written, kept in (
        ("pg_catalog.english", "english"), ("english", "public.english"), ('"My own"', 'public."My own"')
    ):  # fmt: skip
        assert await connection.fetchval("SELECT rag.config_name($1::text::regconfig)", written) == kept
        assert await connection.fetchval("SELECT rag.config_name(rag.config_named($1))", kept) == kept
    await connection.close()
