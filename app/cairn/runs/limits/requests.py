"""Requests per minute of a key, over all processes: never more than the limit in any sixty seconds.

A process takes permits of the second in blocks from PostgreSQL (rag.lease_requests) and gives them out itself, so that most
requests of a busy key ask no database. What it has not given out when the second is over it gives back with the next block.
Of a key that has used up its limit the process knows when there is more, and refuses until then without waiting for anybody;
whether another process has given something back is asked beside (docs/adr/0143-refused-unread.md).
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import structlog

from cairn.domain.principal import Principal
from cairn.domain.usage import Lease, RateStanding
from cairn.errors import CairnError, RateLimitedError, ReadOnlyError
from cairn.runs.limits.effective import limits_of
from cairn.settings import LimitSettings
from cairn.store import limits as store
from cairn.store.session import Database

log = structlog.get_logger(__name__)

BLOCKS: Final = 20
"""Statements that a process needs at most for the requests of a key in one second."""
KEPT_SECONDS: Final = 61
"""A request counts in its second and in the sixty that follow: so wherever sixty seconds begin, none of theirs is missing."""
REMEMBERED: Final = 10_000
"""Keys; of others the permits are forgotten, and so lost to the minute."""
NOT_DURABLE: Final = {"synchronous_commit": "off", "statement_timeout": "5000"}
"""A crash of the server may forget some permits; waiting for its disk would cost every block."""

Key = tuple[int, UUID]


@dataclass(slots=True)
class _Permits:
    """What the process has of a key: `held` permits of `second`, until `ends` (monotonic), and what it knows of the others:
    `left_for_all` had been taken by nobody when it last asked, and more would come at `more_at`. `alone`: what it let in by
    seconds of its own, where it can ask nobody."""

    limit: int = 0
    held: int = 0
    second: int = 0
    left_for_all: int = 0
    ends: float = 0.0
    more_at: float = 0.0
    alone: dict[int, int] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    asking: asyncio.Task[None] | None = None

    def answers(self, limit: int) -> bool:
        """Whether a request can be let in or refused by what is known here."""
        known = self.limit == limit and time.monotonic() < self.ends
        return known and (self.held > 0 or not self.left_for_all)

    def is_used_up(self, limit: int) -> bool:
        """Whether it was when the process last asked, and nothing has come free since, unless another one gave it back."""
        return self.limit == limit and not self.held and not self.left_for_all and time.monotonic() < self.more_at

    def refusal(self, limit: int) -> RateLimitedError:
        return RateLimitedError(
            f"this key may make {limit:,} requests in any minute, and has made them", policy="requests", limit=limit,
            retry_after=max(0.0, self.more_at - time.monotonic()), window=60,
        )  # fmt: skip

    def lease_alone(self, limit: int, block: int, given_back: int) -> Lease:
        """As rag.lease_requests does for all processes."""
        present = time.monotonic()
        second = int(present)
        self.alone = {one: count for one, count in self.alone.items() if one > second - KEPT_SECONDS}
        if self.second in self.alone:
            self.alone[self.second] -= given_back
        taken = sum(self.alone.values())
        granted = max(0, min(block, limit - taken))
        self.alone[second] = self.alone.get(second, 0) + granted
        oldest = min(one for one, count in self.alone.items() if count or one == second)
        return Lease(granted, taken + granted, second, second + 1 - present, oldest + KEPT_SECONDS - present)


class RequestPermits:
    """Of all keys that come to this process. `settings`: what holds for keys without limits of their own."""

    def __init__(self, database: Database, settings: Callable[[], LimitSettings]) -> None:
        self._database = database
        self._settings = settings
        self._of_keys: OrderedDict[Key, _Permits] = OrderedDict()

    def check(self, principal: Principal) -> None:
        """Count nothing and wait for nobody. Raises RateLimitedError where the limit is known to be used up."""
        if (known := self._limited(principal)) is None:
            return
        limit, permits = known
        if permits.is_used_up(limit):
            if not permits.answers(limit) and permits.asking is None:
                permits.asking = asyncio.create_task(self._ask_beside(principal, permits, limit))
            raise permits.refusal(limit)

    async def take(self, principal: Principal) -> RateStanding | None:
        """Count a request; where the caller stands then, None where it has no limit. Raises RateLimitedError."""
        self.check(principal)
        if (known := self._limited(principal)) is None:
            return None
        limit, permits = known
        await self._ask(principal, permits, limit)
        if not permits.held:
            raise permits.refusal(limit)
        permits.held -= 1
        return RateStanding(limit, permits.held + permits.left_for_all, max(0.0, permits.more_at - time.monotonic()))

    def _limited(self, principal: Principal) -> tuple[int, _Permits] | None:
        """The limit of a key, and what the process has of it; None where it has no limit."""
        key = principal.caller.key_id
        limit = None if key is None else limits_of(principal, self._settings()).requests_per_minute
        return None if key is None or limit is None else (limit, self._permits((principal.tenant_id, key)))

    async def _ask(self, principal: Principal, permits: _Permits, limit: int) -> None:
        """The database, unless the permits answer: those that come together ask once."""
        if not permits.answers(limit):
            async with permits.lock:
                if not permits.answers(limit):
                    await self._lease(principal, permits, limit)

    async def _ask_beside(self, principal: Principal, permits: _Permits, limit: int) -> None:
        try:
            await self._ask(principal, permits, limit)
        except CairnError as error:  # until there is more nobody needs the answer; who comes then asks again
            log.warning("limits.not_asked", problem=error.detail)
        finally:
            permits.asking = None

    def _permits(self, key: Key) -> _Permits:
        permits = self._of_keys.setdefault(key, _Permits())
        self._of_keys.move_to_end(key)
        if len(self._of_keys) > REMEMBERED:
            self._of_keys.popitem(last=False)
        return permits

    async def _lease(self, principal: Principal, permits: _Permits, limit: int) -> None:
        key = principal.caller.key_id
        assert key is not None
        asked, block = time.monotonic(), max(1, limit // BLOCKS)
        given_back, permits.held = permits.held, 0  # once, also where no answer comes
        try:
            async with self._database.transaction(principal, config=NOT_DURABLE) as connection:
                # what is held while the second lasts is of a limit that has changed meanwhile: given back as well
                lease = await store.lease_requests(connection, key, limit, block, (given_back, permits.second))
        except ReadOnlyError:  # nothing can be counted in a standby: each process counts for itself
            lease = permits.lease_alone(limit, block, given_back)
        permits.limit, permits.held, permits.second = limit, lease.granted, lease.second
        permits.left_for_all = max(0, limit - lease.taken)
        # the second ends no later than counted from before the answer was made, and there is more no earlier than from after it
        permits.ends, permits.more_at = asked + lease.seconds_left, time.monotonic() + lease.full_for
