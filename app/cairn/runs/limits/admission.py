"""How much this process does at once: a gate for each kind of work, with a short queue before it.

What is admitted keeps its pace whatever is asked for; what finds the queue full, or waits too long in it, is refused at once, so
that it can be tried elsewhere. Limits are asked for at each turn, so a change of the settings counts at once.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from typing import Final

from cairn.errors import OverloadedError
from cairn.settings import AdmissionSettings

Release = Callable[[], None]
"""Gives a place back; calling it again does nothing."""

_SMOOTHING: Final = 0.1
"""Weight of the newest request in the mean time that a place is held."""
_LONGEST_RETRY: Final = 60

_coming: ContextVar[OnTheWay | None] = ContextVar("coming", default=None)
"""What the door counted of the request that is worked on here."""


class OnTheWay:
    """One that is on its way to a gate, and counted there until it arrives or gives up."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self._counted = True
        gate.expected += 1

    def over(self) -> None:
        """It has arrived, or will not come; calling it again does nothing."""
        if self._counted:
            self._counted = False
            self.gate.expected -= 1


class Gate:
    """At most `running` places, and so many waiting for one, first come, first served."""

    def __init__(self, name: str, limits: Callable[[], tuple[int, int]], wait_seconds: Callable[[], float]) -> None:
        """`limits`: places, and room in the queue. `name` is what is refused, in words."""
        self.name = name
        self.running = 0
        self.refused = 0
        self.expected = 0
        self._limits = limits
        self._wait_seconds = wait_seconds
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._held_seconds = 0.0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether whoever comes now is refused."""
        places, room = self._limits()
        return max(places - self.running, 0) + max(room - len(self._waiting), 0) <= self.expected

    def refusal(self) -> OverloadedError:
        """For one more that is refused, with the time in which the queue should have gone by, seconds."""
        self.refused += 1
        places, _ = self._limits()
        expected = self._held_seconds * (1 + len(self._waiting)) / max(places, 1)
        return OverloadedError(self.name, min(max(math.ceil(expected), 1), _LONGEST_RETRY))

    async def enter(self) -> Release:
        """A place, after waiting for one if need be. Raises OverloadedError."""
        if (coming := _coming.get()) is not None and coming.gate is self:
            coming.over()  # it has its room, which is_full does not count any more
        if self.is_full:
            raise self.refusal()
        if self.running < self._limits()[0] and not self._waiting:
            return self._take()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(self._wait_seconds()):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._give_back()  # the place was given in the moment in which nobody wanted it any more
            else:
                with suppress(ValueError):  # whoever gave a place back in this same moment took it out of the queue
                    self._waiting.remove(turn)
            if isinstance(error, TimeoutError):
                raise self.refusal() from None
            raise
        return self._taken()

    @contextmanager
    def expecting(self) -> Iterator[OnTheWay]:
        """Within the block one is on its way, and finds room when it enters. Raises OverloadedError."""
        if self.is_full:
            raise self.refusal()
        coming = OnTheWay(self)
        token = _coming.set(coming)
        try:
            yield coming
        finally:
            _coming.reset(token)
            coming.over()

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Within the block a place is held. Raises OverloadedError."""
        release = await self.enter()
        try:
            yield
        finally:
            release()

    def _take(self) -> Release:
        self.running += 1
        return self._taken()

    def _taken(self) -> Release:
        since, held = time.monotonic(), True

        def release() -> None:
            nonlocal held
            if held:
                held = False
                self._held_seconds += _SMOOTHING * (time.monotonic() - since - self._held_seconds)
                self._give_back()

        return release

    def _give_back(self) -> None:
        self.running -= 1
        places, _ = self._limits()
        while self._waiting and self.running < places:
            turn = self._waiting.popleft()
            if not turn.done():
                self.running += 1
                turn.set_result(None)


class Admission:
    """The gates of a process, by kind of work."""

    def __init__(self, settings: Callable[[], AdmissionSettings]) -> None:
        def gate(name: str, limits: Callable[[AdmissionSettings], tuple[int, int]]) -> Gate:
            return Gate(name, lambda: limits(settings()), lambda: settings().wait_seconds)

        self.search = gate("searches", lambda now: (now.searches, now.searches_waiting))
        self.answer = gate("questions", lambda now: (now.answers, now.answers_waiting))
        self.ingest = gate("uploads", lambda now: (now.uploads, now.uploads_waiting))
        self.light = gate("requests", lambda now: (now.requests, now.requests_waiting))
        self.gates = {"search": self.search, "answer": self.answer, "ingest": self.ingest, "light": self.light}
