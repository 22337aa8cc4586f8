"""A PostgreSQL that starts, or recovers after a crash, says so to whoever connects; who starts then waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final, TypeVar

import asyncpg
import structlog

from cairn.errors import reason_of

log = structlog.get_logger(__name__)

T = TypeVar("T")

RECOVERY_SECONDS: Final = 60.0
"""How long a start waits; recovery takes as long as the write-ahead log since the last checkpoint is."""
_AGAIN_SECONDS: Final = 0.2


async def connect_when_up(connect: Callable[[], Awaitable[T]], *, seconds: float = RECOVERY_SECONDS) -> T:
    """What `connect` gives, asked again as long as the server answers that it cannot be connected to now (SQLSTATE 57P03).

    Raises asyncpg.CannotConnectNowError where that takes longer than so many seconds, and at once all else that `connect` raises.
    """
    until, told = monotonic() + seconds, False
    while True:
        try:
            return await connect()
        except asyncpg.CannotConnectNowError as error:
            if monotonic() >= until:
                raise
            if not told:
                log.warning("database.waited_for", problem=reason_of(error), seconds=seconds)
            told = True
        await asyncio.sleep(_AGAIN_SECONDS)
