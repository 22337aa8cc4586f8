"""The queue before the storing stage: several documents are stored at once where their order does not matter."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pgvector import HalfVector

from cairn.domain.document import PreparedDocument
from cairn.store.documents import KnownDocument

WAITING = 64
"""Embedded documents that may wait to be stored."""
TOGETHER_CHUNKS = 256
"""Chunks of small documents that are stored in one transaction: what they have in common is counted once, and the lock of the
collection is taken once, for some 50 ms."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A document and the vectors of its chunks, by model id. `registered`: what was known of it when it was begun;
    None: it was not begun by itself."""

    document: PreparedDocument
    vectors: dict[int, list[HalfVector]]
    registered: KnownDocument | None = None


@dataclass(slots=True)
class _Turn:
    item: Embedded
    after: tuple[_Turn, ...]
    done: bool = False

    @property
    def chunks(self) -> int:
        return len(self.item.document.chunks)


class Turns:
    """Keeps the order of the queue where the outcome depends on it, so that a run gives the same each time.

    A document waits for the one before it under the same identity, whose successor it is, and for the first of each of its
    languages: the average length of that one is what BM25 weighs the others with.

    What stands together and waits for nobody is stored together, up to TOGETHER_CHUNKS. One worker takes what there is at once;
    the others only groups that are full. So groups grow where storing is slow, as where others write the same collection, and
    nobody waits for company where it is quick.
    """

    def __init__(self) -> None:
        self._waiting: deque[_Turn] = deque()
        self._storing = 0
        self._closed = False
        self._changed = asyncio.Condition()
        self._first: dict[str, _Turn] = {}
        self._last: dict[str, _Turn] = {}

    async def put(self, item: Embedded) -> None:
        """Waits while the queue is full."""
        identity = item.document.source.external_id
        configurations = {passage.config for passage in item.document.passages}
        earlier = [self._last.get(identity), *(self._first.get(name) for name in configurations)]
        turn = self._last[identity] = _Turn(item, tuple(one for one in earlier if one))
        for name in configurations:
            self._first.setdefault(name, turn)
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._waiting) < WAITING)
            self._waiting.append(turn)
            self._changed.notify_all()

    async def close(self) -> None:
        """Nothing more will be put."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()

    async def work(self, store: Callable[[list[Embedded]], Awaitable[None]]) -> None:
        """Store what comes, until `close`; several may work at once."""
        while turns := await self._take():
            await store([turn.item for turn in turns])
            async with self._changed:
                self._storing -= 1
                for turn in turns:
                    self._end(turn)
                self._changed.notify_all()

    def _end(self, turn: _Turn) -> None:
        turn.done, turn.after = True, ()
        identity = turn.item.document.source.external_id
        if self._last[identity] is turn:
            del self._last[identity]

    async def _take(self) -> list[_Turn]:
        """None at the end."""
        async with self._changed:
            while not (turns := self._next()) and (self._waiting or not self._closed):
                await self._changed.wait()
            for _ in turns:
                self._waiting.popleft()
            self._storing += bool(turns)
            self._changed.notify_all()
            return turns

    def _next(self) -> list[_Turn]:
        """What is to be stored now; none while it is better to wait."""
        turns: list[_Turn] = []
        chunks = 0
        for turn in self._waiting:
            chunks += turn.chunks
            if not all(one.done for one in turn.after) or (turns and chunks > TOGETHER_CHUNKS):
                return turns
            turns.append(turn)
        return turns if self._closed or not self._storing or chunks >= TOGETHER_CHUNKS else []
