"""Time that grows with a text and no faster, told by how it grows: on some ten thousand characters, where a bound in seconds
wants ten times as many. Time is that of the thread, so that a busy machine says nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

BRIEF = 0.01
"""Seconds: what takes less for the large one is fine."""
GROWTH = 9.0
"""Between one and four times the size: 4 is linear, 16 quadratic."""
TRIES = 3
"""Of which one must be right: a measurement may be disturbed."""


def takes_linear_time(read: Callable[[T], object], made: Callable[[int], T], size: int) -> bool:
    """Whether `read(made(4 * size))` takes at most a little more than four times as long as `read(made(size))`."""
    small, large = made(size), made(4 * size)
    read(made(size // 4))  # what is loaded or compiled at the first use
    for _ in range(TRIES):
        seconds = _seconds(read, large)
        if seconds < BRIEF or seconds <= GROWTH * _seconds(read, small):
            return True
    return False


def repeated(unit: str) -> Callable[[int], str]:
    """Makes texts of so many characters of it."""
    return lambda size: (unit * (size // len(unit) + 1))[:size]


def _seconds(read: Callable[[T], object], text: T) -> float:
    began = time.thread_time()
    read(text)
    return time.thread_time() - began
