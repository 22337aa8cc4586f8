"""Tokens and cost of a key in a day (UTC), over all processes, by the one meter of model calls (cairn/providers/metered.py).

Before a call is made, what it may use is booked in PostgreSQL; afterwards that is corrected to what it has used. So calls of all
processes together stay within the limits. What a killed process had booked stays booked: the call was probably made.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from datetime import date as Date
from typing import Final
from uuid import UUID

import structlog

from cairn.domain.principal import KeyLimits, Principal
from cairn.domain.trace import Prices, Spend
from cairn.domain.usage import KeyUsage, Reservation
from cairn.errors import BudgetExceededError, RateLimitedError, reason_of
from cairn.runs.limits.effective import limits_of
from cairn.settings import LimitSettings
from cairn.store import limits as store
from cairn.store.session import Database

log = structlog.get_logger(__name__)

FLUSH_SECONDS: Final = 0.2
"""Usage is written so long after a call has ended."""
RETRY_SECONDS: Final = 2.0
"""Between attempts to write it while the database is away."""
CLOSING_SECONDS: Final = 2.0

_Entry = tuple[int, UUID, Date | None]


class Spending:
    """Of all keys that come to this process."""

    def __init__(self, database: Database, settings: Callable[[], LimitSettings]) -> None:
        self._database = database
        self._settings = settings
        self._unwritten: dict[_Entry, tuple[int, int, float]] = defaultdict(lambda: (0, 0, 0.0))
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def allowance(self, principal: Principal) -> Allowance | None:
        """What a run of the caller is booked on; None for callers that are not counted."""
        key = principal.caller.key_id
        return None if key is None else Allowance(self, principal, key, limits_of(principal, self._settings()))

    async def check_left(self, principal: Principal) -> None:
        """Raises RateLimitedError where the key has used up its day: no run is begun then."""
        key, limits = principal.caller.key_id, limits_of(principal, self._settings())
        if key is None or (limits.tokens_per_day is None and limits.cost_per_day is None):
            return
        await self.flush()
        async with self._database.transaction(principal, readonly=True) as connection:
            [used] = await store.key_usage(connection, principal, key) or [KeyUsage(key)]
        if limits.tokens_per_day is not None and used.tokens >= limits.tokens_per_day:
            raise _tokens_used_up(limits.tokens_per_day)
        if limits.cost_per_day is not None and used.cost >= limits.cost_per_day:
            raise _cost_used_up(limits.cost_per_day)

    async def reserve(
        self, principal: Principal, key: UUID, limits: KeyLimits, *, reading: int, wanted: int, fewest: int,
        price: tuple[float, float] | None,
    ) -> tuple[int, Reservation]:  # fmt: skip
        """Tokens that a call may write, and what was booked for it. `price`: of a million tokens read, and written. Raises
        BudgetExceededError."""
        read_cost, each = (reading * price[0] / 1e6, price[1] / 1e6) if price else (0.0, 0.0)
        async with self._database.transaction(principal) as connection:
            day, written, exceeded = await store.reserve(
                connection, key, reading=reading, wanted=wanted, fewest=fewest, costs=(read_cost, each), limits=limits
            )
        if exceeded is not None or written is None:
            if exceeded == "tokens":
                limit, refusal = f"{limits.tokens_per_day:,}", _tokens_used_up(limits.tokens_per_day or 0)
            else:
                limit, refusal = f"{limits.cost_per_day:g}", _cost_used_up(limits.cost_per_day or 0)
            raise BudgetExceededError(f"the {exceeded} of its key for today ({limit})", refusal)
        return written, Reservation(day, reading + written, read_cost + written * each)

    def book(self, principal: Principal, key: UUID, reserved: Reservation | None, spend: Spend) -> None:
        """What a call has cost. Never waits and never raises."""
        entry = (principal.tenant_id, key, reserved.day if reserved else None)
        tokens = spend.tokens - (reserved.tokens if reserved else 0)
        self._add(entry, (spend.calls, tokens, spend.priced - (reserved.cost if reserved else 0.0)))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write_soon())

    def _add(self, entry: _Entry, amounts: tuple[int, int, float]) -> None:
        calls, tokens, cost = self._unwritten[entry]
        self._unwritten[entry] = (calls + amounts[0], tokens + amounts[1], cost + amounts[2])

    async def _write_soon(self) -> None:
        pause = FLUSH_SECONDS
        while self._unwritten:
            await asyncio.sleep(pause)
            try:
                await self.flush()
            except Exception as error:
                log.warning("limits.usage_delayed", problem=reason_of(error))
                pause = RETRY_SECONDS

    async def flush(self) -> None:
        """Write what was booked. Raises CairnError when that cannot be done; it is kept then."""
        async with self._lock:
            for entry in list(self._unwritten):
                tenant_id, key, day = entry
                amounts = self._unwritten.pop(entry)
                principal = Principal(tenant_id, "")
                try:
                    async with self._database.transaction(principal) as connection:
                        await store.book(connection, principal, key, day, *amounts)
                except BaseException:
                    self._add(entry, amounts)
                    raise

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        try:
            async with asyncio.timeout(CLOSING_SECONDS):
                await self.flush()
        except Exception:
            log.exception("limits.usage_lost")


class Allowance:
    """What calls of models on behalf of one key are booked on."""

    def __init__(self, spending: Spending, principal: Principal, key: UUID, limits: KeyLimits) -> None:
        self._spending = spending
        self._principal = principal
        self._key = key
        self._limits = limits

    async def reserve(
        self, model: str, reading: int, wanted: int, fewest: int, prices: Prices
    ) -> tuple[int, Reservation | None]:
        """See cairn.providers.metered.Account."""
        limits, price = self._limits, prices.get(model)
        if limits.tokens_per_day is None and limits.cost_per_day is None:
            return wanted, None
        if limits.cost_per_day is not None and price is None:
            reason = f"what its key may cost today, since answer.prices has none for {model}"
            said = f"the cost of this key is limited, and nobody has said what {model} costs (answer.prices)"
            raise BudgetExceededError(reason, _refusal(said, "cost", None))
        return await self._spending.reserve(
            self._principal, self._key, limits, reading=reading, wanted=wanted, fewest=fewest, price=price
        )

    def book(self, reserved: Reservation | None, spend: Spend) -> None:
        """See cairn.providers.metered.Account."""
        self._spending.book(self._principal, self._key, reserved, spend)


def _tokens_used_up(limit: int) -> RateLimitedError:
    return _refusal(f"this key may use {limit:,} tokens per day (UTC), and too few are left", "tokens", limit)


def _cost_used_up(limit: float) -> RateLimitedError:
    return _refusal(
        f"this key may have calls of models for {limit:g} per day (UTC), and too little is left", "cost", None
    )


def _refusal(said: str, policy: str, limit: int | None) -> RateLimitedError:
    now = datetime.fromtimestamp(time.time(), UTC)
    tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return RateLimitedError(
        said, policy=policy, limit=limit, retry_after=(tomorrow - now).total_seconds(), window=24 * 3600, unit=policy,
    )  # fmt: skip
