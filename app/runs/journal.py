"""Storing what a resumable run says, while it says it; renewing its lease; learning that it is to end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import groupby

import structlog

from app.domain.event import TERMINAL, Event, Surface, Token
from app.domain.ids import new_id
from app.domain.principal import Principal
from app.domain.question import Question
from app.errors import DatabaseUnavailableError, QueryTimeoutError
from app.runs.live import Live
from app.store import runs
from app.store.runs import Signal
from app.store.session import Database

log = structlog.get_logger(__name__)

MERGE_SECONDS = 0.25
"""Pieces of text wait so long for more: a row each, however fast a model writes."""
BEAT_SECONDS = 1.0
"""After so long a silence the lease is renewed, and a cancellation noticed."""
ANSWER_SECONDS = 10.0
"""How long one storing may take; it takes milliseconds."""
OUTAGE_SECONDS = 60.0
"""How long storing is tried again while the database is away. Then the run counts as lost."""

OUTAGES = (DatabaseUnavailableError, QueryTimeoutError, TimeoutError)


def merged(events: Sequence[Event]) -> list[Event]:
    """The same events, with pieces of text that follow each other as one."""
    together: list[Event] = []
    for kind, group in groupby(events, key=type):
        same = list(group)
        together.extend(
            [Token("".join(item.text for item in same if isinstance(item, Token)))] if kind is Token else same
        )
    return together


class Journal:
    """The one writer of a run's events. Fenced by an id of its own and by their number, so that nothing is stored twice
    and nothing after the end."""

    def __init__(self, database: Database, principal: Principal, live: Live, lease: timedelta) -> None:
        self._database = database
        self._principal = principal
        self._live = live
        self._lease = lease
        self._owner = new_id()
        self._stored = 0

    async def open(self, question: Question, surface: Surface) -> bool:
        """False: the run id is taken."""
        async with self._database.transaction(self._principal) as connection:
            return await runs.open_run(connection, self._principal, question, surface, self._owner, self._lease)

    async def keep(self) -> None:
        """Until the last event is stored, or the run is somebody else's."""
        while True:
            await self._wait()
            batch, self._live.events = merged(self._live.events), []
            self._live.urgent.clear()
            signal = await self._store(batch)
            self._live.stored.ring()
            if signal is None:
                log.warning("run.lost", run_id=str(self._live.run_id))
                self._live.cancel()
                return
            if batch and isinstance(batch[-1], TERMINAL):
                return
            if signal == "cancel":
                self._live.cancel()

    async def _wait(self) -> None:
        """For the next event; for a moment more where it goes on with a text; or for the next beat."""
        with suppress(TimeoutError):
            async with asyncio.timeout(BEAT_SECONDS):
                while not self._live.events:
                    await self._live.said.next.wait()
            async with asyncio.timeout(MERGE_SECONDS):
                await self._live.urgent.wait()

    async def _store(self, batch: list[Event]) -> Signal | None:
        """None: the run is not ours any more. A storing whose outcome is unknown is looked at before it is tried again."""
        given_up, retried = time.monotonic() + OUTAGE_SECONDS, False
        while True:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    signal = await self._append(batch, retried)
                self._stored += len(batch)
                return signal
            except OUTAGES as error:
                log.warning("run.not_stored", run_id=str(self._live.run_id), problem=str(error))
                if time.monotonic() > given_up:
                    return None
                retried = True
                await asyncio.sleep(BEAT_SECONDS)
            except Exception:
                log.exception("run.not_stored", run_id=str(self._live.run_id))
                return None

    async def _append(self, batch: list[Event], retried: bool) -> Signal | None:
        run_id, principal = self._live.run_id, self._principal
        async with self._database.transaction(principal) as connection:
            signal = await runs.append(connection, principal, run_id, self._owner, self._lease, self._stored, batch)
            if signal is None and retried:
                state = await runs.get(connection, principal, run_id)
                if state and (state.owner, state.last_seq) == (self._owner, self._stored + len(batch)):
                    return "go_on"
        return signal
