"""Where servers of tests keep what they write: in memory where the machine has it to spare, else on its disk.

A database is some 850 files, and a thousand tests clone one: on a disk that takes longer than the tests. Nothing is the worse for
it, since tests run their servers without fsync anyway; benchmarks, which measure what a disk costs, do not ask here."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cairn.db.machine import unused_memory

MEMORY_FOLDER = Path("/dev/shm")
NAMES = "cairn-test-"
FIRST_MOMENTS = 60
"""Seconds in which a folder may be there that is not locked yet."""
GB = 2**30
ROOM_NEEDED, MEMORY_NEEDED = 6 * GB, 10 * GB
"""Bytes free there, and of memory that nobody uses, for all processes that share the tests. Two of them took .6 GB at most."""


@functools.cache
def quick_folder() -> Path | None:
    """The folder in memory, decided once a process; None: the machine is too small, has none, or starts no programs there."""
    try:
        room = os.statvfs(MEMORY_FOLDER)
    except OSError:
        return None
    fits = room.f_bavail * room.f_frsize >= ROOM_NEEDED and unused_memory() >= MEMORY_NEEDED
    usable = not room.f_flag & (os.ST_NOEXEC | os.ST_RDONLY) and os.access(MEMORY_FOLDER, os.W_OK | os.X_OK)
    if not (fits and usable and MEMORY_FOLDER.is_mount()):
        return None
    _remove_left(MEMORY_FOLDER)
    return MEMORY_FOLDER


def _remove_left(place: Path) -> None:
    """What killed runs left: memory is too dear for it. Whose folder it is holds a lock on it from its first moments on."""
    for folder in place.glob(f"{NAMES}*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > FIRST_MOMENTS:
                with _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path, kind: int) -> Iterator[None]:
    """Raises BlockingIOError where others hold it."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, kind)
        yield
    finally:
        os.close(opened)


@contextlib.contextmanager
def temporary_folder(*, quick: bool = True) -> Iterator[Path]:
    """A folder with a short path that root's unprivileged server can reach (pytest's tmp_path is for its user only); `quick`: in
    memory, if there is room."""
    folder = Path(tempfile.mkdtemp(prefix=NAMES, dir=quick_folder() if quick else None))
    with _locked(folder, fcntl.LOCK_SH):
        try:
            if os.geteuid() == 0:
                folder.chmod(0o755)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
