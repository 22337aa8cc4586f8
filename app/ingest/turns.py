"""The queue before the storing stage: several documents are stored at once where their order does not matter."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pgvector import HalfVector

from app.domain.document import PreparedDocument

WAITING = 64
"""Embedded documents that may wait to be stored."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A document and the vectors of its chunks, by model id."""

    document: PreparedDocument
    vectors: dict[int, list[HalfVector]]


@dataclass(frozen=True, slots=True)
class _Turn:
    item: Embedded
    after: tuple[asyncio.Event, ...]
    done: asyncio.Event


class Turns:
    """Keeps the order of the queue where the outcome depends on it, so that a run gives the same each time.

    A document waits for the one before it under the same identity, whose successor it is, and for the first of each of its
    languages: the average length of that one is what BM25 weighs the others with.
    """

    def __init__(self) -> None:
        self._queue: asyncio.Queue[_Turn | None] = asyncio.Queue(WAITING)
        self._first: dict[str, asyncio.Event] = {}
        self._last: dict[str, asyncio.Event] = {}

    async def put(self, item: Embedded) -> None:
        """Waits while the queue is full."""
        identity, done = item.document.source.external_id, asyncio.Event()
        configurations = {passage.config for passage in item.document.passages}
        earlier = [self._last.get(identity), *(self._first.get(name) for name in configurations)]
        self._last[identity] = done
        for name in configurations:
            self._first.setdefault(name, done)
        await self._queue.put(_Turn(item, tuple(event for event in earlier if event), done))

    async def close(self) -> None:
        """Nothing more will be put."""
        await self._queue.put(None)

    async def work(self, store: Callable[[Embedded], Awaitable[None]]) -> None:
        """Store what comes, until `close`; several may work at once. What a turn waits for was taken before it."""
        while turn := await self._queue.get():
            for event in turn.after:
                await event.wait()
            await store(turn.item)
            turn.done.set()
            identity = turn.item.document.source.external_id
            if self._last.get(identity) is turn.done:
                del self._last[identity]
        await self.close()  # for the others
