"""The queue before the storing stage: several documents are stored at once where their order does not matter."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pgvector import HalfVector

from app.domain.document import PreparedDocument

WAITING = 64
"""Embedded documents that may wait to be stored."""
TOGETHER_CHUNKS = 256
"""Chunks of small documents that are stored in one transaction: what they have in common is counted once, and the lock of the
collection is taken once, for some 50 ms."""


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
    languages: the average length of that one is what BM25 weighs the others with. What waits and needs nobody is stored
    together with what stands before it, up to TOGETHER_CHUNKS.
    """

    def __init__(self) -> None:
        self._queue: asyncio.Queue[_Turn | None] = asyncio.Queue(WAITING)
        self._taking = asyncio.Lock()
        self._next: _Turn | None = None
        """Taken from the queue, and not yet by a worker."""
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

    async def work(self, store: Callable[[list[Embedded]], Awaitable[None]]) -> None:
        """Store what comes, until `close`; several may work at once."""
        while turns := await self._take():
            await store([turn.item for turn in turns])
            for turn in turns:
                turn.done.set()
                identity = turn.item.document.source.external_id
                if self._last.get(identity) is turn.done:
                    del self._last[identity]

    async def _take(self) -> list[_Turn]:
        """The next document, when what it waits for is done, with those behind it that wait for nothing; none at the end."""
        async with self._taking:
            first = self._next or await self._queue.get()
            self._next = None
            if first is None:
                await self._queue.put(None)  # for the others
                return []
            for event in first.after:  # was taken before, so somebody is at it
                await event.wait()
            turns, chunks = [first], len(first.item.document.chunks)
            while not self._queue.empty():
                turn = self._queue.get_nowait()
                if turn is None:
                    self._queue.put_nowait(None)
                    break
                chunks += len(turn.item.document.chunks)
                if chunks > TOGETHER_CHUNKS or not all(event.is_set() for event in turn.after):
                    self._next = turn
                    break
                turns.append(turn)
            return turns
