"""Iterators that wait for disks and servers, read by coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")
BATCH: Final = 256
"""Items that one visit to a thread brings: many small visits would cost more than what they fetch."""


class InThread(Protocol):
    """Calls a function in a thread."""

    def __call__(self, function: Callable[..., T], /, *arguments: Any) -> Awaitable[T]: ...


@contextmanager
def one_thread() -> Iterator[InThread]:
    """For what must stay in the thread that it was made in."""
    with ThreadPoolExecutor(1, "cairn-list") as thread:
        loop = asyncio.get_running_loop()
        yield lambda function, *arguments: loop.run_in_executor(thread, partial(function, *arguments))


async def iterate_in_thread(items: Iterator[T], run: InThread = asyncio.to_thread) -> AsyncIterator[T]:
    """All that the iterator gives, without holding up the event loop; what it raises is raised here. `run`: in which thread."""
    while batch := await run(lambda: list(islice(items, BATCH))):
        for item in batch:
            yield item
