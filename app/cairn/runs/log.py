"""Where a run's events stand until they are read: in memory for a plain run, in the database for a resumable one.

Both take events by `append`, which returns at once, and give them to any number of readers by `read(after)`, numbered from 1.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import groupby
from typing import Final, Protocol
from uuid import UUID

import structlog

from cairn.domain.event import TERMINAL, Event, Numbered, RunState, Surface, Token
from cairn.domain.ids import new_id
from cairn.domain.principal import Principal
from cairn.domain.question import Question
from cairn.domain.secrets import Mask
from cairn.domain.trace import RunTrace
from cairn.errors import DatabaseUnavailableError, NotFoundError, QueryTimeoutError, reason_of
from cairn.store import runs, traces
from cairn.store.runs import Signal
from cairn.store.session import Database

log = structlog.get_logger(__name__)


class EventLog(Protocol):
    """What a task needs of its log."""

    def append(self, event: Event) -> None:
        """Add an event. Returns at once, whoever reads; after a terminal event nothing is added."""
        ...

    def read(self, after: int = 0, reader: Principal | None = None) -> AsyncGenerator[Numbered]:
        """The events after a place: those that are there, then as they come, to the terminal one. `reader`: whose rights count
        from event to event, where these are stored; None: those of who asked."""
        ...


class News:
    """Wakes all who wait for the next ring; take `next` before looking for what it may announce."""

    def __init__(self) -> None:
        self.next = asyncio.Event()

    def ring(self) -> None:
        self.next.set()
        self.next = asyncio.Event()


# --- of a plain run ---------------------------------------------------------------------------------------------------

BEHIND: Final = 256
"""Events that the fastest reader may be behind; from there on pieces of text are joined, so that a log nobody reads stays
small."""


class MemoryLog:
    """Lives as long as somebody holds it."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._read = 0
        self._news = News()

    @property
    def ended(self) -> bool:
        return bool(self._events) and isinstance(self._events[-1], TERMINAL)

    def append(self, event: Event) -> None:
        """See EventLog."""
        if self.ended:
            return
        last = self._events[-1] if len(self._events) - self._read > BEHIND else None
        if isinstance(event, Token) and isinstance(last, Token):
            self._events[-1] = Token(last.text + event.text)
        else:
            self._events.append(event)
        self._news.ring()

    async def read(self, after: int = 0, reader: Principal | None = None) -> AsyncGenerator[Numbered]:
        """See EventLog. Whether the `reader` may see it is for the caller to ask."""
        while True:
            news = self._news.next
            while after < len(self._events):
                after += 1
                self._read = max(self._read, after)
                yield Numbered(after, self._events[after - 1])
            if self.ended:
                return
            await news.wait()


# --- of a resumable run -----------------------------------------------------------------------------------------------

MERGE_SECONDS: Final = 0.25
"""Pieces of text wait so long for more: a row each, however fast a model writes."""
BEAT_SECONDS: Final = 1.0
"""After so long a silence the lease is renewed, and a cancellation noticed."""
ANSWER_SECONDS: Final = 10.0
"""How long one storing may take; it takes milliseconds."""
OUTAGE_SECONDS: Final = 60.0
"""How long storing is tried again while the database is away. Then the run counts as lost."""

OUTAGES = (DatabaseUnavailableError, QueryTimeoutError, TimeoutError)


class DurableLog:
    """The one writer of a run's events. Fenced by an id of its own and by their number, so that nothing is stored twice
    and nothing after the end. Readers, in any process, read what is stored."""

    def __init__(self, database: Database, principal: Principal, run_id: UUID, lease: timedelta) -> None:
        self._database = database
        self._principal = principal
        self._run_id = run_id
        self._lease = lease
        self._owner = new_id()
        self._stored = 0
        self._mask: Mask | None = None
        self._waiting: list[Event] = []
        self._ended = self._in_text = False
        self._appended, self._urgent = asyncio.Event(), asyncio.Event()
        self._news = News()

    async def open(self, question: Question, surface: Surface, trace: RunTrace | None = None) -> bool:
        """False: the run id is taken. `trace`: of the run as it begins, which is there from then on."""
        self._mask = Mask.of(question.text)
        async with self._database.transaction(self._principal) as connection:
            opened = await runs.open_run(connection, self._principal, question, surface, self._owner, self._lease)
            if opened is None:
                return False
            if trace is not None:
                await traces.insert(connection, [replace(trace, session_id=opened["session_id"])])
            return True

    def append(self, event: Event) -> None:
        """See EventLog."""
        if self._ended:
            return
        self._ended = isinstance(event, TERMINAL)
        self._waiting.append(event)
        self._appended.set()
        if not (self._in_text and isinstance(event, Token)):  # only further pieces of a text may wait
            self._urgent.set()
        self._in_text = isinstance(event, Token)

    def read(self, after: int = 0, reader: Principal | None = None) -> AsyncGenerator[Numbered]:
        """See EventLog. Raises NotFoundError for a run that is deleted meanwhile, or withheld."""
        return follow(self._database, reader or self._principal, self._run_id, after, self._news)

    async def keep(self, cancel: Callable[[], None]) -> None:
        """Store what is appended, until the terminal event is stored or the run is somebody else's. `cancel` ends the run
        that writes here."""
        while True:
            await self._wait()
            batch, self._waiting = join_text(self._waiting), []
            self._appended.clear()
            self._urgent.clear()
            signal = await self._store(batch)
            self._news.ring()
            if signal is None:
                log.warning("run.lost", run_id=str(self._run_id))
                self._ended = True
                cancel()
                return
            if batch and isinstance(batch[-1], TERMINAL):
                return
            if signal == "cancel":
                cancel()

    async def _wait(self) -> None:
        """For the next event; for a moment more where it goes on with a text; or for the next beat."""
        with suppress(TimeoutError):
            async with asyncio.timeout(BEAT_SECONDS):
                await self._appended.wait()
            async with asyncio.timeout(MERGE_SECONDS):
                await self._urgent.wait()

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
                log.warning("run.not_stored", run_id=str(self._run_id), problem=reason_of(error))
                if time.monotonic() > given_up:
                    return None
                retried = True
                await asyncio.sleep(BEAT_SECONDS)
            except Exception:
                log.exception("run.not_stored", run_id=str(self._run_id))
                return None

    async def _append(self, batch: list[Event], retried: bool) -> Signal | None:
        run_id, principal = self._run_id, self._principal
        # by the house: who asked may have lost a right meanwhile
        async with self._database.transaction(principal.house) as connection:
            place = (run_id, self._owner, self._lease, self._stored)
            signal = await runs.append(connection, principal, *place, batch, self._mask)
            if signal is None and retried:
                state = await runs.get(connection, principal, run_id)
                if state and (state.owner, state.last_seq) == (self._owner, self._stored + len(batch)):
                    return "go_on"
        return signal


def join_text(events: Sequence[Event]) -> list[Event]:
    """The same events, with pieces of text that follow each other as one."""
    together: list[Event] = []
    for kind, group in groupby(events, key=type):
        same = list(group)
        together.extend(
            [Token("".join(item.text for item in same if isinstance(item, Token)))] if kind is Token else same
        )
    return together


# --- reading what is stored, whichever process runs it ----------------------------------------------------------------

LOOK_SECONDS: Final = 0.25
"""How often a reader looks for news of a run of another process; one of this process says when there is some."""


async def look(database: Database, principal: Principal, run_id: UUID) -> RunState | None:
    """What became of a resumable run so far; one whose process died is ended as failed by whoever looks first."""
    async with database.transaction(principal, readonly=True) as connection:
        state = await runs.get(connection, principal, run_id)
    if state is None or not state.lost:
        return state
    async with database.transaction(principal.house) as connection:
        await runs.bury(connection, principal, run_id)
    async with database.transaction(principal, readonly=True) as connection:
        return await runs.get(connection, principal, run_id)


async def follow(
    database: Database, principal: Principal, run_id: UUID, after: int, news: News | None = None
) -> AsyncGenerator[Numbered]:
    """Events from the one after `after` to the last. `news` rings when this process has stored some. Raises NotFoundError
    for a run that is gone."""
    while True:
        stored = news.next if news else asyncio.Event()
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
                    await stored.wait()
