"""Where servers of tests keep what they write: in memory where the machine has it to spare, else on its disk.

A database is some 850 files, and a thousand tests clone one: on a disk that takes longer than the tests. Nothing is the worse for
it, since tests run their servers without fsync anyway; benchmarks, which measure what a disk costs, do not ask here."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from app.db.embedded import usable_memory

MEMORY_FOLDER = Path("/dev/shm")
GB = 2**30
ROOM_NEEDED, MEMORY_NEEDED = 6 * GB, 10 * GB
"""Bytes free there, and of memory that nobody uses, for all processes that share the tests; they take about half of that."""


@functools.cache
def quick_folder() -> Path | None:
    """The folder in memory, decided once a process; None: the machine is too small, has none, or starts no programs there."""
    try:
        room = os.statvfs(MEMORY_FOLDER)
        information = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    unused = next((int(line.split()[1]) * 1024 for line in information.splitlines() if "MemAvailable" in line), 0)
    fits = room.f_bavail * room.f_frsize >= ROOM_NEEDED and min(unused, usable_memory()) >= MEMORY_NEEDED
    usable = not room.f_flag & (os.ST_NOEXEC | os.ST_RDONLY) and os.access(MEMORY_FOLDER, os.W_OK | os.X_OK)
    return MEMORY_FOLDER if fits and usable and MEMORY_FOLDER.is_mount() else None


@contextlib.contextmanager
def temporary_folder(prefix: str, *, quick: bool = True) -> Iterator[Path]:
    """A folder with a short path that root's unprivileged server can reach (pytest's tmp_path is for its user only); `quick`: in
    memory, if there is room."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=quick_folder() if quick else None))
    try:
        if os.geteuid() == 0:
            folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
