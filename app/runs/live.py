"""A run under way in this process: a task that says events, and who listens to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast
from uuid import UUID

import structlog

from app.domain.event import TERMINAL, Cancelled, Event, Failed, Token
from app.errors import CairnError

log = structlog.get_logger(__name__)


FIRST_EVENTS = 16
"""After each of these who listens has a turn, so that the first words come at once also where a model sends all in one; a
turn after each of hundreds would slow both."""


class Bell:
    """Wakes who waits for the next ring; take `next` before looking for what it may announce."""

    def __init__(self) -> None:
        self.next = asyncio.Event()

    def ring(self) -> None:
        self.next.set()
        self.next = asyncio.Event()


class Live:
    """Exactly one terminal event is said on every path, and it is the last.

    `events`: what was said; of a resumable run, what is not stored yet. `task` runs it.
    """

    def __init__(self, run_id: UUID, *, resumable: bool) -> None:
        self.run_id = run_id
        self.resumable = resumable
        self.events: list[Event] = []
        self.ended = False
        self.said, self.stored = Bell(), Bell()
        self.urgent = asyncio.Event()
        """Whether there is something to store at once: all but further pieces of text."""
        self.task: asyncio.Task[None] | None = None
        self._instead: Event | None = None
        self._in_text = False

    def start(self, events: AsyncIterator[Event]) -> asyncio.Task[None]:
        self.task = asyncio.create_task(self._run(events))
        self.task.add_done_callback(lambda _: self._say(Cancelled(self.run_id)))  # cancelled before it began
        return self.task

    def cancel(self, instead: Event | None = None) -> None:
        """Ask for its end; `instead`: the last event then, where it is not to be Cancelled."""
        self._instead = self._instead or instead
        if self.task is not None and not self.ended:
            self.task.cancel()

    async def listen(self) -> AsyncGenerator[Event]:
        """What was said and what will be, to the last event. Of a plain run, whose events are not taken away."""
        place = 0
        while True:
            more = self.said.next
            while place < len(self.events):
                yield self.events[place]
                place += 1
            if self.ended:
                return
            await more.wait()

    async def _run(self, events: AsyncIterator[Event]) -> None:
        try:
            async with aclosing(cast("AsyncGenerator[Event]", events)) as running:
                async for event in running:
                    self._say(event)
                    if len(self.events) < FIRST_EVENTS:
                        await asyncio.sleep(0)
            self._say(Failed(CairnError("the run ended without a result; report this with the request id")))
        except asyncio.CancelledError:
            self._say(Cancelled(self.run_id))
        except CairnError as error:
            self._say(Failed(error))
        except Exception:
            log.exception("run.bug", run_id=str(self.run_id))
            self._say(Failed(CairnError("An internal error ended this run; the log has the details.")))

    def _say(self, event: Event) -> None:
        if self.ended:
            return
        if isinstance(event, Cancelled) and self._instead is not None:
            event = self._instead
        self.ended = isinstance(event, TERMINAL)
        self.events.append(event)
        if not (self._in_text and isinstance(event, Token)):
            self.urgent.set()
        self._in_text = isinstance(event, Token)
        self.said.ring()
