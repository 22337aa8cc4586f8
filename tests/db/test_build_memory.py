"""The build of an HNSW index gets the memory that its graph takes, where the server is the embedded one."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from cairn.db.build_memory import grant_memory, graph_bytes
from cairn.db.machine import GB, MB, usable_memory
from cairn.db.vector_indexes import vector_ddl
from cairn.domain.job import PlannedIndex


async def memory_of(connection: Any) -> int:
    return int(await connection.fetchval("SELECT pg_size_bytes(current_setting('maintenance_work_mem'))"))


@pytest.mark.parametrize(("dimensions", "m"), [(64, 8), (384, 16)])
async def test_a_graph_takes_what_is_reckoned(owner: Any, dimensions: int, m: int) -> None:
    """By what pgvector says when it runs out: after so many vectors."""
    said: list[str] = []
    owner.add_log_listener(lambda _, message: said.append(message.message))
    await owner.execute(f"""
        CREATE TEMP TABLE graphs AS
        SELECT ARRAY(SELECT random() + 0 * one FROM generate_series(1, {dimensions}))::halfvec({dimensions}) AS v
        FROM generate_series(1, {2 * MB // (2 * dimensions + 32 * m)}) AS one;
        SET maintenance_work_mem = '2MB';
        CREATE INDEX ON graphs USING hnsw (v halfvec_cosine_ops) WITH (m = {m}, ef_construction = {2 * m})""")
    (fitting,) = [int(found[1]) for one in said if (found := re.search(r"no longer fits .* after (\d+) tuples", one))]
    assert graph_bytes(fitting, dimensions, m) - 8 * MB == pytest.approx(2 * MB, rel=0.05)


async def test_a_build_gets_what_it_needs_and_the_next_one_what_everybody_has(owner: Any) -> None:
    everybody = await memory_of(owner)
    await owner.execute("SET cairn.build_memory = '1GB'")
    await grant_memory(owner, "large", everybody + 20 * MB)
    assert await memory_of(owner) == everybody + 20 * MB
    await grant_memory(owner, "small", MB)
    assert await memory_of(owner) == everybody


async def test_a_build_gets_no_more_than_it_may_and_says_so(owner: Any) -> None:
    everybody = await memory_of(owner)
    await owner.execute(f"SET cairn.build_memory = '{everybody // MB + 8}MB'")
    with capture_logs() as logs:
        await grant_memory(owner, "large", 900 * GB)
    assert await memory_of(owner) == everybody + 8 * MB
    assert logs[-1]["event"] == "vector.build_outgrows_memory"
    assert logs[-1]["needed_mb"] == 900 * 1024


async def test_no_build_takes_more_than_half_of_what_nobody_uses(owner: Any) -> None:
    """However much the server would allow."""
    everybody = await memory_of(owner)
    await owner.execute("SET cairn.build_memory = '9000GB'")
    await grant_memory(owner, "large", 9000 * GB)
    assert await memory_of(owner) <= max(everybody, usable_memory() // 2)


async def test_on_a_server_of_ones_own_what_is_set_stays(owner: Any) -> None:
    everybody = await memory_of(owner)
    await owner.execute("SET cairn.build_memory = ''")
    with capture_logs() as logs:
        await grant_memory(owner, "large", everybody + 20 * MB)
    assert await memory_of(owner) == everybody
    assert [one["event"] for one in logs] == ["vector.build_outgrows_memory"]


async def test_builds_of_collections_ask_for_it(owner: Any, database: str) -> None:
    """The embedded server says what a build may take; the number of chunks is what counts."""
    model = await owner.fetchval("INSERT INTO rag.embedding_models (name, dimensions) VALUES ('wide', 64) RETURNING id")
    index = PlannedIndex(1, UUID(int=7), model, 64, 300_000, wanted=True, ready=False)
    with capture_logs() as logs:
        async with vector_ddl(database) as ddl:
            await ddl.create(index, ignored)
    told = [one for one in logs if one["event"] == "vector.build_memory"]
    assert [(one["index"], one["needed_mb"]) for one in told] == [(index.name, graph_bytes(300_000, 64, 16) // MB)]
    assert told[0]["maintenance_work_mem_mb"] == told[0]["needed_mb"]


async def ignored(done: int, total: int, message: str) -> None:
    """What a build says of its progress."""
