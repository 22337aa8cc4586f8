"""How much this process does at once: a gate for each kind of work, with a short queue before it.

What is admitted keeps its pace whatever is asked for; what finds the queue full, or waits too long in it, is refused at once, so
that it can be tried elsewhere. Limits are asked for at each turn, so a change of the settings counts at once.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from cairn.errors import OverloadedError
from cairn.settings import AdmissionSettings

Release = Callable[[], None]
"""Gives a place back; calling it again does nothing."""

_SMOOTHING: Final = 0.1
"""Weight of the newest request in the mean time that a place is held."""
_LONGEST_RETRY: Final = 60


class Gate:
    """At most `running` places, and so many waiting for one, first come, first served."""

    def __init__(self, name: str, limits: Callable[[], tuple[int, int]], wait_seconds: Callable[[], float]) -> None:
        """`limits`: places, and room in the queue. `name` is what is refused, in words."""
        self.name = name
        self.running = 0
        self.refused = 0
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
        return self.running >= places and len(self._waiting) >= room

    def refusal(self) -> OverloadedError:
        """For one more that is refused, with the time in which the queue should have gone by, seconds."""
        self.refused += 1
        places, _ = self._limits()
        expected = self._held_seconds * (1 + len(self._waiting)) / max(places, 1)
        return OverloadedError(self.name, min(max(math.ceil(expected), 1), _LONGEST_RETRY))

    async def enter(self) -> Release:
        """A place, after waiting for one if need be. Raises OverloadedError."""
        places, room = self._limits()
        if self.running < places and not self._waiting:
            return self._take()
        if len(self._waiting) >= room:
            raise self.refusal()
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
