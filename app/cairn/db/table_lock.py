"""One at a time among processes of the owner, by locks that nobody else can take.

Advisory locks are free for all: a login that may only read could hold those of migrations for ever. Locking a table needs rights.
The lock lives in a session of its own that does nothing else, and so has no snapshot: CREATE INDEX CONCURRENTLY waits for every
transaction that has one. For the same reason it is asked for again and again, never waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncpg

POLL_SECONDS: Final = 0.2
_MODE: Final = "SHARE UPDATE EXCLUSIVE"
"""Excludes itself, and neither readers nor writers of rows."""

# It may last as long as an index build does, whatever the server's own limits are.
_SESSION: Final = {
    "lock_timeout": "0",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}

_HOLDER: Final = """
SELECT format('process %s, %s, since %s', l.pid, coalesce(nullif(a.application_name, ''), 'unnamed'), a.backend_start)
FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a USING (pid)
WHERE l.locktype = 'relation' AND l.relation = $1::text::regclass AND l.granted AND l.mode = 'ShareUpdateExclusiveLock'
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
LIMIT 1
"""


class LockHeldError(Exception):
    """The time is over; the text says who holds the lock."""


@asynccontextmanager
async def table_lock(dsn: str, table: str, *, name: str, seconds: float | None = None) -> AsyncIterator[None]:
    """Hold the lock of a table that exists. `name` is shown to who looks for it; `seconds` None: wait for ever.

    Raises LockHeldError, and what asyncpg raises.
    """
    session = _SESSION | {"application_name": name}
    holder = await asyncpg.connect(dsn, server_settings=session, timeout=15)
    try:
        if holder.get_server_version().major >= 17:
            await holder.execute("SET transaction_timeout = 0")
        deadline = None if seconds is None else time.monotonic() + seconds
        while (other := await _try(holder, table)) is not None:
            if deadline is not None and time.monotonic() >= deadline:
                raise LockHeldError(other)
            await asyncio.sleep(POLL_SECONDS)
        yield
    finally:
        await holder.close(timeout=5)


async def _try(holder: Any, table: str) -> str | None:
    """None when the lock is ours, else who has it. Looked first: each attempt in vain is an error in the server's log."""
    if (other := await holder.fetchval(_HOLDER, table)) is not None:
        return str(other)
    try:
        await holder.execute(f"BEGIN; LOCK TABLE {table} IN {_MODE} MODE NOWAIT")
    except asyncpg.LockNotAvailableError:
        await holder.execute("ROLLBACK")
        return await holder.fetchval(_HOLDER, table) or "already gone"
    return None
