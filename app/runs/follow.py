"""Reading a resumable run from the database, whichever process runs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from uuid import UUID

from app.domain.event import TERMINAL, Numbered, RunState
from app.domain.principal import Principal
from app.errors import NotFoundError
from app.runs.live import Live
from app.store import runs
from app.store.session import Database

LOOK_SECONDS = 0.25
"""How often a reader looks for news of a run of another process; one of this process says when there is some."""


async def look(database: Database, principal: Principal, run_id: UUID) -> RunState | None:
    """What became of a resumable run so far; one whose process died is ended as failed by whoever looks first."""
    async with database.transaction(principal, readonly=True) as connection:
        state = await runs.get(connection, principal, run_id)
    if state is None or not state.lost:
        return state
    async with database.transaction(principal) as connection:
        await runs.bury(connection, principal, run_id)
        return await runs.get(connection, principal, run_id)


async def follow(
    database: Database, principal: Principal, run_id: UUID, after: int, here: Callable[[], Live | None]
) -> AsyncGenerator[Numbered]:
    """Events from the one after `after` to the last. `here`: the run, if it is under way in this process. Raises
    NotFoundError for a run that is gone."""
    while True:
        live = here()
        news = live.stored.next if live else asyncio.Event()
        async with database.transaction(principal, readonly=True) as connection:
            found, looked = await runs.events(connection, principal, run_id, after)
        for item in found:
            yield item
            if isinstance(item.event, TERMINAL):
                return
        if looked > after:
            after = looked
            continue
        state = await look(database, principal, run_id)
        if state is None:
            raise NotFoundError(f"run {run_id} is not kept any more")
        if state.ended and after >= state.last_seq:
            return
        if after >= state.last_seq:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await news.wait()
