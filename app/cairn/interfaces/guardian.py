"""Whoever asks this process to end is obeyed within a time, whatever it does.

SIGTERM and SIGINT reach Python only between two steps of Python; a computation in C that holds the interpreter keeps all
of them waiting, also timers and threads. But the signal's arrival is written to a file descriptor at once, by C. At the
other end waits a guardian: a small process (this file as a script, so: standard library only, no imports of ours) that
kills this one when it has not ended in time. It ends with it, however that ends.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

SIGNALS = (signal.SIGTERM, signal.SIGINT)
KILL_SECONDS = 8.5
"""After the signal. What ends orderly does so before."""


class GuardedProcess:
    """A context for the life of a process that serves: the guardian watches from its beginning, and where the process was
    asked to end, to the very last (threads are waited for after all else)."""

    def __init__(self) -> None:
        self._asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        out, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        command = [sys.executable, "-I", "-S", __file__, str(KILL_SECONDS)]
        self._guardian = subprocess.Popen(
            command, stdin=out, stdout=subprocess.DEVNULL, cwd="/", start_new_session=True
        )
        os.close(out)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        return self

    def obey(self, end: Callable[[], object]) -> None:
        """From now on SIGTERM and SIGINT call `end`, in the main thread between any two steps of it: it may not block. Until
        then they end the process at once."""

        def ask(_number: int, _frame: FrameType | None) -> None:
            self._asked = True
            end()

        self._before = {number: signal.signal(number, ask) for number in SIGNALS}

    def __exit__(self, *_: object) -> None:
        if self._asked:
            return
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        os.close(self._wake)
        self._guardian.wait()


def guard(seconds: float) -> None:
    """Return when the process that started this one is gone; kill it `seconds` after a signal arrived there."""
    guarded = os.getppid()
    for number in (*SIGNALS, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # who ends a whole group wants the guarded one to end by itself
    deadline: float | None = None
    while os.getppid() == guarded:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            os.kill(guarded, signal.SIGKILL)
            return
        if select.select([0], [], [], left)[0]:
            arrived = os.read(0, 1000)
            if not arrived:
                return
            if deadline is None and any(number in arrived for number in SIGNALS):
                deadline = time.monotonic() + seconds


if __name__ == "__main__":
    guard(float(sys.argv[1]))
