"""When a failed call to a provider is tried again, and how long it may take altogether.

The SDKs' own retries are switched off, so that every attempt is ours: visible, bounded and never after output began.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final, TypeVar

from cairn.errors import ProviderError, ProviderTimeoutError
from cairn.providers.requests import check_repeat

T = TypeVar("T")
MESSAGE_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with full jitter: wait uniform(0, min(longest, base * 2**n)), in seconds."""

    attempts: int = 3
    base_seconds: float = 0.5
    longest_seconds: float = 8.0
    """Bound of one wait. A server that asks for more (retry-after) is not waited for: its error is raised at once."""

    def wait(self, failures: int, asked: float | None) -> float | None:
        """Seconds to wait after so many failed attempts, at least what the server asked for; None: do not retry."""
        if failures >= self.attempts or (asked or 0.0) > self.longest_seconds:
            return None
        backoff = min(self.longest_seconds, self.base_seconds * 2.0 ** (failures - 1))
        return max(asked or 0.0, random.uniform(0, backoff))


def retryable_status(status: int) -> bool:
    """Whether the same HTTP request may succeed later: timeouts, rate limits and errors of the server."""
    return status in (408, 429) or status >= 500


def retry_after(value: str | None) -> float | None:
    """Seconds that a retry-after header asks for, as a number or as the date until when; None when it says neither."""
    try:
        seconds = float(value or "")
    except ValueError:
        seconds = _until(value or "")
    return seconds if 0 <= seconds < float("inf") else None


def _until(date: str) -> float:
    """Seconds until a date of HTTP, 0 where it has passed; NaN where it is none."""
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return float("nan")


def redacted(text: str, secret: str | None) -> str:
    """A server's own words for an error: without the key, which some repeat, and cut to MESSAGE_CHARS."""
    if secret:
        text = text.replace(secret, "***")
    return text if len(text) <= MESSAGE_CHARS else text[:MESSAGE_CHARS] + "..."


def now() -> float:
    """Seconds on the clock that deadlines refer to."""
    return asyncio.get_running_loop().time()


async def before(deadline: float, awaitable: Awaitable[T]) -> T:
    """Await until `deadline` (see `now`). Raises ProviderTimeoutError when it passes first."""
    try:
        async with asyncio.timeout_at(deadline):
            return await awaitable
    except TimeoutError:
        raise ProviderTimeoutError("The model provider did not answer in time", retryable=True) from None


async def retried(call: Callable[[], Awaitable[T]], *, deadline: float, policy: RetryPolicy | None = None) -> T:
    """Result of the first attempt that succeeds before `deadline`. `call` must raise nothing but ProviderError.

    Raises the last ProviderError when it is not retryable, when the attempts are used up, or when the next wait would
    outlast the deadline. The number of attempts stands in its `extra`. Raises BudgetExceededError instead of waiting for an
    attempt that must not be made.
    """
    policy, failures = policy or RetryPolicy(), 0
    while True:
        try:
            return await before(deadline, call())
        except ProviderError as error:
            failures += 1
            error.extra["attempts"] = failures
            pause = policy.wait(failures, error.extra.get("retry_after")) if error.retryable else None
            if pause is None or now() + pause >= deadline:
                raise
            check_repeat()
        await asyncio.sleep(pause)
