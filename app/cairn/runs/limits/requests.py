"""Requests per minute of a key, over all processes.

A process takes permits of the minute in blocks from PostgreSQL (rag.lease_requests) and gives them out itself, so that most
requests ask no database. What it has not given out when the minute is over is gone; so no more than the limit are ever answered,
and up to a block less per process where a key is used through several.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from cairn.domain.principal import Principal
from cairn.domain.usage import RateStanding
from cairn.errors import RateLimitedError, ReadOnlyError
from cairn.runs.limits.effective import limits_of
from cairn.settings import LimitSettings
from cairn.store import limits as store
from cairn.store.session import Database

BLOCKS: Final = 20
"""Statements that a process needs at most for the requests of a minute of one key."""
REMEMBERED: Final = 10_000
"""Keys; of others the permits are forgotten, and so lost to the minute."""
NOT_DURABLE: Final = {"synchronous_commit": "off", "statement_timeout": "5000"}
"""A crash of the server may forget some permits of the minute; waiting for its disk would cost every block."""

Key = tuple[int, UUID]


@dataclass(slots=True)
class _Minute:
    """What the process has of a minute: `held` permits until `ends` (monotonic), and what it knows of the others: `left_for_all`
    had been taken by nobody when it last asked."""

    limit: int = 0
    held: int = 0
    left_for_all: int = 0
    ends: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def answers(self, limit: int) -> bool:
        """Whether a request can be let in or refused by what is known here."""
        known = self.limit == limit and time.monotonic() < self.ends
        return known and (self.held > 0 or not self.left_for_all)


class RequestPermits:
    """Of all keys that come to this process. `settings`: what holds for keys without limits of their own."""

    def __init__(self, database: Database, settings: Callable[[], LimitSettings]) -> None:
        self._database = database
        self._settings = settings
        self._minutes: OrderedDict[Key, _Minute] = OrderedDict()

    async def take(self, principal: Principal) -> RateStanding | None:
        """Count a request; where the caller stands then, None where it has no limit. Raises RateLimitedError."""
        key = principal.caller.key_id
        limit = None if key is None else limits_of(principal, self._settings()).requests_per_minute
        if key is None or limit is None:
            return None
        minute = self._minute((principal.tenant_id, key))
        if not minute.answers(limit):
            async with minute.lock:
                if not minute.answers(limit):
                    await self._lease(principal, key, minute, limit)
        seconds = max(0.0, minute.ends - time.monotonic())
        if not minute.held:
            raise RateLimitedError(
                f"this key may make {limit:,} requests per minute, and has made them", policy="requests", limit=limit,
                retry_after=seconds, window=60,
            )  # fmt: skip
        minute.held -= 1
        return RateStanding(limit, minute.held + minute.left_for_all, seconds)

    def _minute(self, key: Key) -> _Minute:
        minute = self._minutes.setdefault(key, _Minute())
        self._minutes.move_to_end(key)
        if len(self._minutes) > REMEMBERED:
            self._minutes.popitem(last=False)
        return minute

    async def _lease(self, principal: Principal, key: UUID, minute: _Minute, limit: int) -> None:
        asked = time.monotonic()
        try:
            async with self._database.transaction(principal, config=NOT_DURABLE) as connection:
                block = max(1, limit // BLOCKS)
                granted, taken, seconds = await store.lease_requests(connection, key, limit, block)
        except ReadOnlyError:  # nothing can be counted in a standby: each process counts for itself
            granted, taken, seconds = limit, limit, 60.0
        minute.limit, minute.held, minute.left_for_all = limit, granted, max(0, limit - taken)
        minute.ends = asked + seconds  # counted from before the answer was made: never later than the minute's end
