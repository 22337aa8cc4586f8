"""Concurrent runs of a key, over all processes: each holds a slot, a row with a lease that its process renews. A process that is
killed gives its slots back when their leases are over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from cairn.domain.ids import new_id
from cairn.domain.principal import Principal
from cairn.errors import CairnError, RateLimitedError, ReadOnlyError
from cairn.runs.limits.effective import limits_of
from cairn.settings import LimitSettings
from cairn.store import limits as store
from cairn.store.session import Database

log = structlog.get_logger(__name__)

LEASE_SECONDS: Final = 15.0
"""After so long a silence a process has lost its slots."""
RENEW_SECONDS: Final = 4.0
RETRY_SECONDS: Final = 2
"""When a refused run may be tried again: nobody knows when another one ends."""
NOT_DURABLE: Final = {"synchronous_commit": "off"}
"""A crash of the server may forget who had begun or ended a run just before; its disk would cost every run."""
_LEASE = timedelta(seconds=LEASE_SECONDS)


class RunSlots:
    """Of all runs of this process whose keys have a limit."""

    def __init__(self, database: Database, settings: Callable[[], LimitSettings]) -> None:
        self._database = database
        self._settings = settings
        self._owner = new_id()
        self._held: dict[UUID, Principal] = {}
        self._renewing: asyncio.Task[None] | None = None
        self._releasing: set[asyncio.Task[None]] = set()

    async def take(self, principal: Principal) -> UUID | None:
        """A slot for a run, to be released when it has ended; None where its key has no limit. Raises RateLimitedError."""
        key = principal.caller.key_id
        most = None if key is None else limits_of(principal, self._settings()).concurrent_runs
        if key is None or most is None:
            return None
        slot = new_id()
        try:
            async with self._database.transaction(principal, config=NOT_DURABLE) as connection:
                taken = await store.take_slot(connection, slot, key, self._owner, most, _LEASE)
        except ReadOnlyError:  # nothing can be counted in a standby; admission bounds what this process does
            return None
        if not taken:
            raise RateLimitedError(
                f"this key may have {most:,} runs under way at once, and has them", policy="runs", limit=most,
                retry_after=RETRY_SECONDS, unit="concurrent-requests",
            )  # fmt: skip
        self._held[slot] = principal
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())
        return slot

    async def release(self, slot: UUID | None) -> None:
        """Whoever is told of the end of a run after this can begin another one. A cancellation does not stop it."""
        if task := self.release_soon(slot):
            await asyncio.shield(task)

    def release_soon(self, slot: UUID | None) -> asyncio.Task[None] | None:
        """The same without waiting. What cannot be given back now is when its lease is over; released again, it changes
        nothing."""
        principal = self._held.pop(slot, None) if slot else None
        if principal is None or slot is None:
            return None
        task = asyncio.create_task(self._give_back(principal, slot))
        self._releasing.add(task)
        task.add_done_callback(self._releasing.discard)
        return task

    async def _give_back(self, principal: Principal, slot: UUID) -> None:
        try:
            async with self._database.transaction(principal, config=NOT_DURABLE) as connection:
                await store.release_slot(connection, principal, slot)
        except CairnError as error:
            log.warning("limits.slot_kept", problem=error.detail)

    async def _renew(self) -> None:
        while self._held:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                async with self._database.connection() as connection:
                    await store.renew_slots(connection, self._owner, _LEASE)
            except CairnError as error:
                log.warning("limits.slots_not_renewed", problem=error.detail)

    async def close(self) -> None:
        """Give back all that is held."""
        if self._renewing is not None:
            self._renewing.cancel()
        for slot in list(self._held):
            self.release_soon(slot)
        if self._releasing:
            await asyncio.wait(self._releasing, timeout=2)
