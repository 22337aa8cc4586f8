"""Milliseconds per stage, for traces and responses."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Stopwatch:
    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._stages: dict[str, float] = {}

    async def measure(self, stage: str, work: Awaitable[T]) -> T:
        """Await and book the time; a stage that runs twice adds up."""
        begun = time.perf_counter()
        try:
            return await work
        finally:
            self.book(stage, (time.perf_counter() - begun) * 1000)

    def book(self, stage: str, milliseconds: float) -> None:
        """Add time that was measured elsewhere."""
        self._stages[stage] = round(self._stages.get(stage, 0) + milliseconds, 3)

    def timings(self) -> dict[str, float]:
        """Stages so far, and the total since the start."""
        return {**self._stages, "total": round((time.perf_counter() - self._started) * 1000, 3)}
