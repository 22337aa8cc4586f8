"""What a large document took is the system's again once it is done."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from cairn.ingest.give_back import _due, give_back, give_back_soon
from tests.waiting import until

MEGABYTE = 1 << 20
BLOCK = 1000
"""Bytes: too large for Python's own allocator, too small to be mapped by itself."""
BLOCKS = 200_000

_GROWN = f"""
from pathlib import Path
from cairn.ingest.give_back import give_back

def resident():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))

blocks = [bytes({BLOCK}) for _ in range({BLOCKS})]
last = bytes({BLOCK})  # lies behind them, so that the heap cannot shrink from its end
blocks.clear()
kept = resident()
assert give_back()
print(kept - resident())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell what a process holds")
def test_what_was_freed_in_the_middle_of_the_heap_is_given_back() -> None:
    if not give_back():
        pytest.skip("the C library cannot be asked to")
    given = int(subprocess.run([sys.executable, "-c", _GROWN], check=True, capture_output=True, text=True).stdout)
    assert given * 1024 > 100 * MEGABYTE


async def test_runs_that_end_together_are_followed_by_one_look() -> None:
    loop = asyncio.get_running_loop()
    give_back_soon()
    give_back_soon()
    assert loop in _due
    await until(lambda: loop not in _due)
    give_back_soon()
    assert loop in _due
