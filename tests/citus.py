"""A database of its own on a real Citus cluster: CAIRN_TEST_CITUS_URL names a superuser of the coordinator, who may connect to
every node as the coordinator knows it, and whose nodes trust each other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from cairn.db.migrate import migrate

URL: Final = os.environ.get("CAIRN_TEST_CITUS_URL")
"""Read when tests are collected: a test run forgets CAIRN_* of its surroundings."""
OWNER: Final = "cairn_citus_owner"
_MAKE_ROLE: Final = "DO $$ BEGIN IF to_regrole('{role}') IS NULL THEN CREATE ROLE {role} LOGIN; END IF; END $$"
_ROLES: Final = ("cairn_app", "cairn_definer", "cairn_views", "cairn_analyst")


@dataclass(frozen=True)
class Cluster:
    """`owner`: the URL of the database at the coordinator as its owner has it, who is no superuser. `workers`: the nodes with
    rows."""

    owner: str
    workers: tuple[tuple[str, int], ...]
    name: str

    async def at(self, node: tuple[str, int] | None = None, *, user: str | None = None) -> Any:
        """A connection to a node (None: the coordinator), as the superuser or as another role that may log in."""
        host = {} if node is None else {"host": node[0], "port": node[1]}
        return await asyncpg.connect(URL, database=self.name, **host, **({"user": user} if user else {}))

    async def tenants(self) -> list[tuple[int, str]]:
        """Ids and names."""
        admin = await self.at()
        rows = await admin.fetch("SELECT id, name FROM rag.tenants ORDER BY id")
        await admin.close()
        return [tuple(row) for row in rows]


async def _run(dsn: str | None, *statements: str, **place: Any) -> None:
    connection = await asyncpg.connect(dsn, **place)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


@asynccontextmanager
async def open_cluster(*, distributed: bool = True) -> AsyncIterator[Cluster]:
    """As docs/scale.md has an administrator prepare it."""
    admin = await asyncpg.connect(URL)
    nodes = [
        (row["nodename"], row["nodeport"])
        for row in await admin.fetch(
            "SELECT nodename, nodeport FROM pg_dist_node WHERE noderole = 'primary' ORDER BY groupid"
        )
    ]
    await admin.close()
    name = f"cairn_test_{os.getpid()}"
    for host, port in nodes:
        await _run(URL, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}", host=host, port=port)
        await _run(
            URL, "CREATE EXTENSION citus", "CREATE EXTENSION vector SCHEMA public", host=host, port=port, database=name
        )
    coordinator, *workers = nodes
    await _run(
        URL,
        f"SELECT citus_set_coordinator_host('{coordinator[0]}', {coordinator[1]})",
        *(f"SELECT citus_add_node('{host}', {port})" for host, port in workers),
        *(_MAKE_ROLE.format(role=role) for role in (*_ROLES, OWNER)),
        *(f"ALTER ROLE {role} LOGIN" for role in _ROLES),
        f"GRANT cairn_app, cairn_definer, cairn_views TO {OWNER}",
        f"ALTER DATABASE {name} OWNER TO {OWNER}",
        # the fewer the faster; two nodes have some of the tenants each
        f"ALTER DATABASE {name} SET citus.shard_count TO 4",
        f"ALTER DATABASE {name} SET jit TO off",
        database=name,
    )  # fmt: skip
    owner = f"postgresql://{OWNER}@{coordinator[0]}:{coordinator[1]}/{name}"
    try:
        await migrate(owner, distribute=distributed)
        yield Cluster(owner, tuple(workers), name)
    finally:
        for host, port in nodes:
            for _ in range(20):  # Citus' own processes leave it
                try:
                    await _run(URL, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", host=host, port=port)
                    break
                except asyncpg.ObjectInUseError:
                    await asyncio.sleep(0.5)
