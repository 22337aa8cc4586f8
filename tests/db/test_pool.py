"""Connections of the pool: what each of them asks the database before it does its work."""

from __future__ import annotations

from typing import Any

from cairn.wiring import Services


async def test_what_arrays_are_made_of_is_asked_once_in_a_process(services: Services) -> None:
    """asyncpg would ask on each connection, by a query that takes longer than a search."""
    asked: list[str] = []

    async def use(connection: Any) -> None:
        assert await connection.fetchval("SELECT $1::uuid[]", []) == []
        assert await connection.fetchval("SELECT $1::jsonb[]", [{"a": 1}]) == [{"a": 1}]
        assert await connection.fetchval("SELECT $1::int2[] || 5::int2", [1]) == [1, 5]
        assert await connection.fetchval("SELECT array_agg(i)::float8[] FROM generate_series(1, 2) AS i") == [1.0, 2.0]

    database, principal = services.database, services.principal
    async with database.transaction(principal) as first:
        await use(first)
        async with database.transaction(principal) as second:
            assert second.get_server_pid() != first.get_server_pid()
            second.add_query_logger(lambda done: asked.append(done.query))
            await use(second)
    assert asked
    assert not [query for query in asked if "typeinfo_tree" in query or "jit" in query]
