"""What the embedded PostgreSQL takes of a machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.db.embedded import size_settings
from cairn.db.machine import GB, MB, unused_memory, usable_memory


@pytest.mark.parametrize(
    ("memory", "buffers", "maintenance"),
    [(512 * MB, "128MB", "64MB"), (4 * GB, "512MB", "256MB"), (24 * GB, "3072MB", "1536MB"), (256 * GB, "8192MB", "2048MB")],
)  # fmt: skip
def test_memory_is_taken_by_the_size_of_the_machine(memory: int, buffers: str, maintenance: str) -> None:
    settings = size_settings(memory, 4)
    assert (settings["shared_buffers"], settings["maintenance_work_mem"]) == (buffers, maintenance)


@pytest.mark.parametrize("processors", [1, 2, 16, 128])
def test_an_index_is_built_by_more_than_one_and_not_by_all(processors: int) -> None:
    workers = int(size_settings(4 * GB, processors)["max_parallel_maintenance_workers"])
    assert 1 <= workers <= 8
    assert workers <= max(1, processors - 1)


def test_a_container_has_what_it_may_take(tmp_path: Path) -> None:
    limit, none = tmp_path / "limit", tmp_path / "none"
    limit.write_text(f"{300 * MB}\n")
    none.write_text("max\n")
    assert usable_memory((none, tmp_path / "missing", limit)) == 300 * MB
    assert usable_memory((none,)) == usable_memory(()) > 300 * MB


def test_a_build_may_take_half_of_the_machine() -> None:
    assert size_settings(24 * GB, 4)["cairn.build_memory"] == "12288MB"


def test_memory_that_nobody_uses_is_what_the_system_says(tmp_path: Path) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemTotal:       64 kB\nMemAvailable:         48 kB\nBuffers: 2 kB\n")
    assert unused_memory(told) == 48 * 1024
    told.write_text(f"MemAvailable: {2**50} kB\n")
    assert unused_memory(told) == usable_memory()
    assert unused_memory(tmp_path / "missing") == usable_memory() // 2
