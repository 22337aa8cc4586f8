"""Iterators that wait for disks and servers, read by coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Final, TypeVar

T = TypeVar("T")
BATCH: Final = 256
"""Items that one visit to a thread brings: many small visits would cost more than what they fetch."""


async def iterate_in_thread(items: Iterator[T]) -> AsyncIterator[T]:
    """All that the iterator gives, without holding up the event loop; what it raises is raised here."""
    while batch := await asyncio.to_thread(lambda: list(islice(items, BATCH))):
        for item in batch:
            yield item
