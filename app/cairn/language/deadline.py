"""A computation that is ended when it takes too long, also in the middle of a regular expression.

The kernel counts what this process computes and interrupts it; Python lets the interruption raise in the main thread, and
its regular expressions look for one as they go. Only who owns the process may have it interrupted (`own_process`): the
server and the worker do. Elsewhere nothing happens, and what keeps the time is that every pattern is linear.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TimeUpError(Exception):
    """The computation took longer than it may."""


class _Alarm:
    """One for the process: its timer is. `armed`: a computation is under way that may be ended."""

    owned = False
    armed = False

    def ring(self, _number: int, _frame: FrameType | None) -> None:
        if self.armed:
            self.armed = False
            raise TimeUpError


_alarm = _Alarm()


def own_process() -> None:
    """From now on computations are ended. For the main thread of a process that is ours."""
    signal.signal(signal.SIGVTALRM, _alarm.ring)
    _alarm.owned = True


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """What is done within raises TimeUpError once the process has computed so long. It must not wait for anything: others
    would be ended in its place."""
    if not _alarm.owned or _alarm.armed or threading.current_thread() is not threading.main_thread():
        yield
        return
    _alarm.armed = True
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        yield
    finally:
        _alarm.armed = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
