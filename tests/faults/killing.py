"""kill -9 of a process by its number, and what it was started with."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def kill_process(pid: int) -> bool:
    """Whether there was one."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def read_process(pid: int, name: str) -> str:
    """A file of /proc about it; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""


def serves_connection(pid: int) -> bool:
    """Whether it is a process of PostgreSQL that serves a connection."""
    return "[local]" in read_process(pid, "cmdline")
