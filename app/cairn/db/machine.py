"""Memory of the machine that a process runs on, in bytes."""

from __future__ import annotations

import os
from pathlib import Path

MB = 2**20
GB = 2**30
CGROUPS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Version 2 and 1; inside a container they are its own."""
UNUSED = Path("/proc/meminfo")


def usable_memory(cgroups: tuple[Path, ...] = CGROUPS) -> int:
    """What the machine has, or the container may take."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for file in cgroups:
        try:
            limits.append(int(file.read_text()))
        except (OSError, ValueError):  # "max", or no such file
            continue
    return min(limits)


def unused_memory(told: Path = UNUSED) -> int:
    """What programs could take now without swapping; where the system does not tell, half of what may be taken."""
    usable = usable_memory()
    try:
        lines = told.read_text().splitlines()
    except OSError:
        return usable // 2
    kilobytes = (int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    return min(next((number * 1024 for number in kilobytes), usable // 2), usable)
