"""What Citus cannot plan stays out of the SQL, whether or not a cluster is at hand (docs/adr/0082-citus.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import asyncpg

from cairn.db.queries import load_queries
from cairn.db.schema import SchemaSource
from cairn.distribution.resources import resource_path

_FUNCTION = re.compile(r"CREATE OR REPLACE FUNCTION ([\w.]+)\(.*?\n(?:\$\$|\$body\$|RETURN [^\n]*);", re.DOTALL)
_COMMENT = re.compile(r"--[^\n]*")
_LOCK = re.compile(r"\bFOR (?:UPDATE|SHARE|NO KEY UPDATE|KEY SHARE)\b")
_CHANGES = re.compile(r"\b(?:UPDATE (?:rag\.)?[a-z]\w+ (?:AS )?(?:[a-z]\w* )?SET|DELETE FROM|DO UPDATE)\b")


def functions() -> Iterator[tuple[str, str]]:
    """Name and text without comments, of all under sql/functions."""
    for file in SchemaSource.installed().objects:
        for found in _FUNCTION.finditer(file.text):
            yield found[1], _COMMENT.sub("", found[0])


def statements() -> Iterator[tuple[str, str]]:
    """The same of all under sql/queries."""
    for path in sorted(Path(resource_path("sql"), "queries").glob("*.sql")):
        for name, text in load_queries(path.stem).items():
            yield f"{path.stem}.{name}", _COMMENT.sub("", text)


ALL = [*functions(), *statements()]


def test_the_functions_are_found() -> None:
    assert {"rag.claim_job", "rag.publish_documents", "rag.lexical_search", "rag.settle_graph"} <= {n for n, _ in ALL}


async def test_functions_in_plain_sql_read_no_table(database: str) -> None:
    """Their statements are planned for parameters, so for no tenant."""
    connection = await asyncpg.connect(database)
    tables = {row[0] for row in await connection.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = 'rag'::regnamespace AND relkind IN ('r', 'p')")}  # fmt: skip
    found = await connection.fetch(
        """SELECT p.oid::regprocedure::text AS name, pg_get_functiondef(p.oid) AS text
           FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
           WHERE p.pronamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND l.lanname = 'sql'"""
    )
    await connection.close()
    assert found
    read = re.compile(rf"\b(?:FROM|JOIN|INTO|UPDATE)\s+(?:rag\.)?({'|'.join(tables)})\b", re.IGNORECASE)
    assert {row["name"]: hit[1] for row in found if (hit := read.search(row["text"]))} == {}


async def test_no_policy_of_a_distributed_database_has_a_sub_select(database: str) -> None:
    connection = await asyncpg.connect(database)
    plain = "SELECT count(*) FROM pg_policy WHERE pg_get_expr(polqual, polrelid) LIKE '%SELECT%'"
    assert await connection.fetchval(plain)
    await connection.execute("CREATE OR REPLACE FUNCTION rag.is_distributed() RETURNS boolean LANGUAGE sql RETURN true")
    await connection.execute(SchemaSource.installed().row_security.text)
    assert await connection.fetchval(plain) == 0
    await connection.close()


def parts(text: str) -> list[str]:
    """The statements of a function or query."""
    return text.split(";")


def test_rows_are_locked_within_a_tenant() -> None:
    locked = [(name, part) for name, text in ALL for part in parts(text) if _LOCK.search(part)]
    assert len(locked) > 20
    assert [name for name, part in locked if "tenant_id = " not in part] == []


def test_a_query_selects_something() -> None:
    assert [name for name, text in ALL if re.search(r"\b(?:SELECT|PERFORM)\s+FROM\b", text)] == []


def test_the_tenant_is_asked_for_before_the_statement() -> None:
    """Citus finds the rows by a value, and by no function."""
    assert [name for name, text in functions() if re.search(r"tenant_id = (?:rag\.)?current_tenant\(\)", text)] == []


def test_what_is_changed_depends_on_no_volatile_clock() -> None:
    changing = [(name, part) for name, text in ALL for part in parts(text) if _CHANGES.search(part)]
    assert len(changing) > 50
    assert [name for name, part in changing if "clock_timestamp()" in part] == []


async def test_every_role_may_connect(database: str) -> None:
    """Nodes connect to each other as the owner of the function that runs."""
    connection = await asyncpg.connect(database)
    names = ["cairn_app", "cairn_definer", "cairn_views", "cairn_analyst"]
    shut = await connection.fetchval(
        "SELECT array_agg(r) FROM unnest($1::text[]) AS r WHERE NOT has_database_privilege(r, current_database(), 'CONNECT')",
        names,
    )
    await connection.close()
    assert shut is None
