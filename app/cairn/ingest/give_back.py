"""Memory that a large document took, back to the system once it is done.

The allocator keeps what was freed for the next time. After a document of many megabytes that is a hundred of them and more, which
a process that serves for months would hold for nothing. glibc gives them back when it is asked to; other allocators (musl, macOS)
do so by themselves or not at all, and are left alone.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Final

FROM_CHARS: Final = 1 << 20
"""Of the text that a run has read: less leaves nothing behind that would be worth looking for."""
AFTER_SECONDS: Final = 1.0
"""When the request that brought the documents has let go of them; runs that end together are followed by one look."""

_due: set[asyncio.AbstractEventLoop] = set()


@cache
def _trim() -> Callable[[int], int] | None:
    """glibc's function; None where the C library is another one."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None


def give_back() -> bool:
    """Free memory to the system; whether the C library can do that. It lets other threads work meanwhile."""
    trim = _trim()
    if trim is None:
        return False
    trim(0)
    return True


def give_back_soon() -> None:
    """The same in a thread, in a moment."""
    loop = asyncio.get_running_loop()
    if loop not in _due:
        _due.add(loop)
        loop.call_later(AFTER_SECONDS, _begin, loop)


def _begin(loop: asyncio.AbstractEventLoop) -> None:
    _due.discard(loop)
    loop.run_in_executor(None, give_back)
