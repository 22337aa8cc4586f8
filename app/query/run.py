"""What comes together while one message is understood: times, failures, costs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog

from app.domain.question import Turn
from app.errors import CairnError
from app.settings import Settings

log = structlog.get_logger(__name__)
T = TypeVar("T")


@dataclass(slots=True)
class Run:
    """What comes together while one message is understood."""

    message: str
    history: tuple[Turn, ...]
    settings: Settings
    timings: dict[str, float] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - begun) * 1000
            self.timings[name] = round(self.timings.get(name, 0.0) + spent, 3)

    async def attempt(self, name: str, what: str, work: Awaitable[T]) -> T | None:
        """The result of `work`; None, disclosed, where it fails."""
        with self.step(name):
            try:
                return await work
            except CairnError as error:
                self.degraded.append(f"{what} failed ({error.code}: {error.detail})")
            except Exception as error:
                log.exception("understand.failed", step=name)
                self.degraded.append(f"{what} failed ({type(error).__name__})")
        return None
