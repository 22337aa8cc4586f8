"""How much memory the build of an HNSW index gets: as much as its graph takes, where the server is the embedded one.

A graph that outgrows `maintenance_work_mem` is finished on the disk, several times slower (docs/adr/0150). That setting is for
all who build, so the embedded server has little of it and says in `cairn.build_memory` what a single build may take. A server
without that is somebody's own: what is set there stays, and a warning tells what the build would need.
"""

from __future__ import annotations

from typing import Any

import structlog

from cairn.db.machine import MB, unused_memory

log = structlog.get_logger(__name__)

_SET = """
SELECT pg_size_bytes(current_setting('maintenance_work_mem')) AS given,
  pg_size_bytes(nullif(current_setting('cairn.build_memory', true), '')) AS most
"""


def graph_bytes(chunks: int, dimensions: int, m: int) -> int:
    """Memory of an HNSW graph of halves in pgvector 0.8 while it is built: each vector, 2m neighbours of 16 bytes, what leads to
    them and upper layers. measured: within 1 % for 64 to 1,024 dimensions and m of 8 to 48 (docs/adr/0150), here with 2 % and
    8 MB on top."""
    return chunks * (2 * dimensions + 32 * m + 210) * 102 // 100 + 8 * MB


async def grant_memory(connection: Any, name: str, needed: int) -> None:
    """Room for `needed` bytes in this session from now on, at most half of what nobody uses; no less than the server gives
    anybody."""
    await connection.execute("RESET maintenance_work_mem")  # what an earlier build had
    row = await connection.fetchrow(_SET)
    given = row["given"]
    if needed > given and row["most"] is not None:
        given = max(given, min(needed, row["most"], unused_memory() // 2))
        await connection.execute(f"SET maintenance_work_mem = '{given // 1024}kB'")
        log.info("vector.build_memory", index=name, needed_mb=needed // MB, maintenance_work_mem_mb=given // MB)
    if needed > given:
        log.warning(
            "vector.build_outgrows_memory",
            index=name, needed_mb=needed // MB, maintenance_work_mem_mb=given // MB,
            hint="the rest is built on the disk, several times slower: give the owner of the database more maintenance_work_mem",
        )  # fmt: skip
