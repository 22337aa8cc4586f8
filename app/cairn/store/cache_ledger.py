"""What a process saw of the retrieval cache, written in the background: searches must not meet in one counter row."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from cairn.domain.passage import CacheCounts
from cairn.domain.principal import Principal
from cairn.errors import ReadOnlyError
from cairn.store import cache
from cairn.store.session import Database

log = structlog.get_logger(__name__)

FLUSH_SECONDS = 1.0
"""Counters of other processes are at most this old."""
TOUCH_SECONDS = 30.0
"""A process writes the use of an entry at most so often, unless an insert needs the order."""


@dataclass(slots=True)
class _Use:
    hits: int
    last: datetime
    since: float


class CacheLedger:
    """Counts searches and uses of entries. Nothing is lost but by a crash: what cannot be written is kept."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: dict[int, CacheCounts] = defaultdict(CacheCounts)
        self._uses: dict[int, dict[str, _Use]] = defaultdict(dict)
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def count(self, principal: Principal, counts: CacheCounts) -> None:
        """Never waits and never raises."""
        self._counts[principal.tenant_id] = self._counts[principal.tenant_id].plus(counts)
        self._wake()

    def use(self, principal: Principal, key: str) -> None:
        """An entry has answered."""
        use = self._uses[principal.tenant_id].setdefault(key, _Use(0, datetime.now(UTC), time.monotonic()))
        use.hits, use.last = use.hits + 1, datetime.now(UTC)
        self._wake()

    async def flush(self) -> None:
        """Write everything. Raises CairnError when that cannot be done; it is kept then."""
        await self._write(older_than=0)

    async def settle(self, principal: Principal) -> None:
        """Write the uses of the tenant's entries: an insert is about to ask which of them was last used."""
        if self._uses.get(principal.tenant_id):
            await self._write(older_than=0)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        try:
            await self.flush()
        except Exception:
            log.exception("cache.counters_lost")

    def _wake(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while self._counts or any(self._uses.values()):
            await asyncio.sleep(FLUSH_SECONDS)
            try:
                await self._write(older_than=TOUCH_SECONDS)
            except Exception:
                log.exception("cache.counters_delayed")

    async def _write(self, older_than: float) -> None:
        async with self._lock:  # who waits here may rely on what others are writing
            for tenant_id in {*self._counts, *self._uses}:
                await self._write_tenant(tenant_id, older_than)

    async def _write_tenant(self, tenant_id: int, older_than: float) -> None:
        principal, until = Principal(tenant_id, ""), time.monotonic() - older_than
        counts = self._counts.pop(tenant_id, CacheCounts())
        uses = self._uses.pop(tenant_id, {})
        due = {key: use for key, use in uses.items() if use.since <= until}
        self._keep(tenant_id, {key: use for key, use in uses.items() if key not in due})
        if counts == CacheCounts() and not due:
            return
        try:
            async with self._database.transaction(
                principal, config={"synchronous_commit": "off", "statement_timeout": "5000"}
            ) as connection:
                if counts != CacheCounts():
                    await cache.count(connection, principal, counts)
                if due:
                    await cache.touch(connection, principal, {key: (use.hits, use.last) for key, use in due.items()})
        except ReadOnlyError:
            return  # a standby counts nothing, which health says
        except BaseException:
            self._counts[tenant_id] = self._counts[tenant_id].plus(counts)
            self._keep(tenant_id, due)
            raise

    def _keep(self, tenant_id: int, uses: dict[str, _Use]) -> None:
        """Take back what was not written, beside what came meanwhile."""
        for key, use in uses.items():
            newer = self._uses[tenant_id].get(key)
            if newer is None:
                self._uses[tenant_id][key] = use
            else:
                newer.hits, newer.since = newer.hits + use.hits, use.since
