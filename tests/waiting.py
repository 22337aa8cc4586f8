"""How long tests wait: until what they wait for is so. A deadline is there only so that a hang ends, and says nothing of speed.

So deadlines are generous: a machine that is five times slower, or busy with something else, makes a test slow and not wrong.
What has to be fast is measured by the benchmarks, or said here as a count or as an order of events. CAIRN_TEST_PATIENCE
changes by how much deadlines are longer than what a machine of its own needs.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Callable
from typing import Any

FACTOR = float(os.environ.get("CAIRN_TEST_PATIENCE") or 8)
LEAST_SECONDS = 10.0


def patience(seconds: float = LEAST_SECONDS, *, least: float = LEAST_SECONDS) -> float:
    """The deadline, in seconds, for what takes no longer than `seconds` on a machine that has nothing else to do."""
    return FACTOR * max(seconds, least)


def wait_until(true: Callable[[], Any], seconds: float = LEAST_SECONDS, *, told: Callable[[], object] = str) -> Any:
    """Look until it is true, and return what it said; fails after patience(seconds) with what `told` says."""
    began = time.monotonic()
    while not (found := true()):
        waited = time.monotonic() - began
        assert waited < patience(seconds), f"not within {patience(seconds):.0f} s {told()}"
        time.sleep(_pause(waited))
    return found


async def until(true: Callable[[], Any], seconds: float = LEAST_SECONDS) -> Any:
    """The same inside an event loop; `true` may be a coroutine function."""
    began = time.monotonic()
    while True:
        found = true()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        waited = time.monotonic() - began
        assert waited < patience(seconds), f"not within {patience(seconds):.0f} s"
        await asyncio.sleep(_pause(waited))


def _pause(waited: float) -> float:
    """Until the next look, which may be a request over HTTP: what takes long is looked at less often."""
    return 0.02 if waited < 1 else 0.06


def hang_guard(seconds: float = LEAST_SECONDS) -> asyncio.Timeout:
    """`async with hang_guard():` ends what hangs."""
    return asyncio.timeout(patience(seconds))
