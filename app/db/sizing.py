"""How much of the machine the embedded PostgreSQL takes: less than a machine of its own would give it, since the orchestrator,
the models and whatever else its user runs are there too. docs/production.md says what to set on a server of its own.
"""

from __future__ import annotations

import os
from pathlib import Path

MB = 2**20
GB = 2**30
CGROUPS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Version 2 and 1; inside a container they are its own."""


def usable_memory(cgroups: tuple[Path, ...] = CGROUPS) -> int:
    """Bytes that the machine has, or the container may take."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for file in cgroups:
        try:
            limits.append(int(file.read_text()))
        except (OSError, ValueError):  # "max", or no such file
            continue
    return min(limits)


def size_settings(memory: int, processors: int) -> dict[str, str]:
    """Settings of PostgreSQL for a share of so many bytes and processors.

    An eighth as shared buffers, taken from the system only as pages are read; chunks are some 4 KB each with all their indexes,
    so a machine of 16 GB keeps half a million of them at hand. A sixteenth to build an index: an HNSW graph that does not fit
    (1.2 KB a chunk) is built several times slower.
    """
    return {
        "shared_buffers": _megabytes(memory // 8, 128 * MB, 8 * GB),
        "effective_cache_size": _megabytes(memory // 2, 256 * MB, 64 * GB),
        "maintenance_work_mem": _megabytes(memory // 16, 64 * MB, 2 * GB),
        "max_parallel_maintenance_workers": str(min(max(processors - 1, 1), 8)),
        "max_parallel_workers": str(min(max(processors, 2), 16)),
    }


def _megabytes(wanted: int, least: int, most: int) -> str:
    return f"{min(max(wanted, least), most) // MB}MB"
