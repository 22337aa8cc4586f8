"""Where the rows of a tenant lie when the database is distributed by Citus: on one of its worker nodes.

A transaction of a tenant is opened at the node that has the tenant's rows, and so runs there as on one server: in one session,
under row security, with the settings of the transaction, in one round trip a statement. Each transaction asks first whether the
tenant is still at home there (rag.enter_tenant), so that one which was moved meanwhile is an error and never an empty answer
(docs/adr/0082-citus.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import structlog

from cairn.db.queries import load_queries
from cairn.errors import BackupError, DatabaseUnavailableError

log = structlog.get_logger(__name__)

MOVED: Final = "CR003"
"""SQLSTATE of rag.enter_tenant at a node that does not have the tenant."""


class Node(NamedTuple):
    """Where a server of the cluster listens, as the coordinator knows it."""

    host: str
    port: int


def has_moved(error: BaseException) -> bool:
    """Whether a statement was sent to a node that does not have the tenant."""
    return getattr(error, "sqlstate", None) == MOVED


async def is_distributed(connection: Any) -> bool:
    """Whether tenants are spread over the nodes of a cluster."""
    if not await connection.fetchval(load_queries("nodes")["has_citus"]):
        return False
    return bool(await connection.fetchval(load_queries("nodes")["is_distributed"]))


async def refuse_distributed(connection: Any, what: str) -> None:
    """Raises BackupError where `what`, which reads all rows in one session, would not find them."""
    if await is_distributed(connection):
        raise BackupError(f"{what} does not work on a database that is distributed by Citus; see docs/scale.md")


class Nodes:
    """A pool of connections for each node, made when the first tenant that lives there is met."""

    def __init__(self, coordinator: Any, open_pool: Callable[[Node], Awaitable[Any]], ask_seconds: float) -> None:
        """`coordinator`: a pool that is asked where tenants are."""
        self._coordinator, self._open_pool, self._ask_seconds = coordinator, open_pool, ask_seconds
        self._pools: dict[Node, Any] = {}
        self._homes: dict[int, Node] = {}
        self._opening = asyncio.Lock()

    async def pool_of(self, tenant_id: int) -> Any:
        """The pool of the node that has the tenant. Raises what connecting raises, DatabaseUnavailableError."""
        node = self._homes.get(tenant_id) or await self._find(tenant_id)
        if (pool := self._pools.get(node)) is not None:
            return pool
        async with self._opening:
            if node not in self._pools:
                self._pools[node] = await self._open_pool(node)
        return self._pools[node]

    def forget(self, tenant_id: int) -> None:
        """Its rows have moved: the coordinator is asked again."""
        self._homes.pop(tenant_id, None)

    async def _find(self, tenant_id: int) -> Node:
        async with self._coordinator.acquire(timeout=self._ask_seconds) as connection:
            row = await connection.fetchrow(load_queries("nodes")["home"], tenant_id)
        if row is None:
            raise DatabaseUnavailableError("the cluster has no node with the rows of this tenant; try again")
        node = self._homes[tenant_id] = Node(row["host"], row["port"])
        log.info("nodes.home", tenant=tenant_id, host=node.host, port=node.port)
        return node

    async def close(self) -> None:
        for pool in self._pools.values():
            await pool.close()
