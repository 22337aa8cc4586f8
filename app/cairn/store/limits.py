"""What keys and tenants may use, over all processes. Each function runs inside a transaction of the principal's tenant."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.principal import KeyLimits, Principal
from cairn.domain.usage import Holding, KeyUsage, Lease
from cairn.errors import TenantFullError

SQL = load_queries("limits")
FULL = "CR002"
"""SQLSTATE of rag.check_room."""


async def lease_requests(connection: Any, key: UUID, most: int, block: int, given_back: tuple[int, int]) -> Lease:
    """Up to a block of requests for this second. `given_back`: how many of an earlier lease were not used, and its second."""
    return Lease(**dict(await connection.fetchrow(SQL["lease_requests"], key, most, block, *given_back)))


async def take_slot(connection: Any, slot: UUID, key: UUID, owner: UUID, most: int, lease: timedelta) -> bool:
    """A place among the runs of a key, until the lease is over; False where there is none."""
    return bool(await connection.fetchval(SQL["take_slot"], slot, key, owner, most, lease))


async def renew_slots(connection: Any, owner: UUID, lease: timedelta) -> None:
    """All of a process, of whatever tenants."""
    await connection.execute(SQL["renew_slots"], owner, lease)


async def release_slot(connection: Any, principal: Principal, slot: UUID) -> None:
    await connection.execute(SQL["release_slot"], principal.tenant_id, slot)


async def reserve(
    connection: Any, key: UUID, *, reading: int, wanted: int, fewest: int, costs: tuple[float, float], limits: KeyLimits
) -> tuple[date, int | None, str | None]:
    """The day, and how many tokens a call may write after reading so many; else what is used up, "tokens" or "cost". `costs`:
    of what it reads, and of each token that it writes."""
    row = await connection.fetchrow(
        SQL["reserve"], key, reading, wanted, fewest, *costs, limits.tokens_per_day, limits.cost_per_day
    )
    return row["day"], row["written"], row["exceeded"]


async def book(
    connection: Any, principal: Principal, key: UUID, day: date | None, calls: int, tokens: int, cost: float
) -> None:
    """Add to what a key has used on a day (None: today); negative tokens and costs correct what was reserved."""
    await connection.execute(SQL["book"], principal.tenant_id, key, day, calls, tokens, cost)


async def key_usage(connection: Any, principal: Principal, key: UUID | None = None) -> list[KeyUsage]:
    """Of one key, or of all that are in use."""
    return [KeyUsage(**dict(row)) for row in await connection.fetch(SQL["key_usage"], principal.tenant_id, key)]


Defaults = tuple[int | None, int | None, int | None]
"""Documents, bytes and chunks that a tenant may keep that has no limits of its own; None: as much as it likes."""


async def check_room(connection: Any, grows: Holding, defaults: Defaults, *, published: bool) -> None:
    """Raises TenantFullError where documents would take the tenant beyond its limits. `published`: they are counted already, and
    no other publication of the tenant is until the transaction ends."""
    grown = [one or 0 for one in _numbers(grows)]
    await _check(connection, SQL["check_room"], grown, published, defaults)


async def check_waiting(connection: Any, defaults: Defaults) -> None:
    """Raises TenantFullError where the files that wait for indexing are more than the tenant may keep."""
    await _check(connection, SQL["check_waiting"], defaults)


async def _check(connection: Any, statement: str, *arguments: Any) -> None:
    try:
        await connection.execute(statement, *arguments)
    except Exception as error:
        if getattr(error, "sqlstate", None) == FULL:
            raise TenantFullError(f"{error}; delete some, or ask who operates this server for more") from None
        raise


def _numbers(holding: Holding) -> list[int | None]:
    return [holding.documents, holding.bytes, holding.chunks]


async def set_tenant_limits(connection: Any, principal: Principal, limits: Holding) -> None:
    await connection.execute(SQL["set_tenant_limits"], principal.tenant_id, *_numbers(limits))


async def tenant_limits(connection: Any, principal: Principal) -> Holding:
    """Its own; None where those of the settings hold."""
    row = await connection.fetchrow(SQL["tenant_limits"], principal.tenant_id)
    return Holding(**dict(row)) if row else Holding()


async def tenant_usage(connection: Any, principal: Principal) -> Holding:
    """What it keeps, of which the caller is told what it may read."""
    readable = await connection.fetchrow(SQL["readable_usage"], principal.tenant_id)
    return Holding(**dict(readable or await connection.fetchrow(SQL["tenant_usage"], principal.tenant_id)))
