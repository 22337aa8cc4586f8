"""A disk that runs full under the embedded server, and gets room again: the same process serves again by itself."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest
from served import ServedHome

from cairn.db.embedded import ensure_running
from cairn.errors import EmbeddedServerError
from tests.waiting import patience, wait_until

pytestmark = pytest.mark.fault

SIZE = "260m"
"""Room for binaries, cluster and two segments of the write-ahead log."""


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """The folder of a file system that can be filled without harm to others."""
    folder = Path(tempfile.mkdtemp(prefix="cairn-disk-"))
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0755", "cairn", folder], capture_output=True, check=False
        )
    except FileNotFoundError:
        mounted = None
    if mounted is None or mounted.returncode:
        folder.rmdir()
        pytest.skip("a small file system can be mounted by root alone, and not in every container")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


@pytest.fixture
def served(small_disk: Path, tmp_path: Path) -> Iterator[ServedHome]:
    running = ServedHome(small_disk / "home")
    running.start()
    yield running
    running.end_all()


def fill(folder: Path) -> Path:
    """A file that takes what room is left."""
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(64 * 1024))
        except OSError:
            pass
    return filler


def index(served: ServedHome, name: str, text: str) -> httpx2.Response:
    body = {"collection": "disk", "documents": [{"external_id": name, "text": text}]}
    return httpx2.post(f"{served.url}/index", json=body, timeout=patience(30))


async def crash(dsn: str) -> None:
    """Make the server write until its log has no room: it ends itself then."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(
        "CREATE TABLE public.burst AS SELECT repeat(md5(n::text), 20) FROM generate_series(1, 500000) n"
    )


def test_a_full_disk_is_told_and_survived(served: ServedHome, small_disk: Path) -> None:
    for turn in range(2):
        assert index(served, f"kept-{turn}", f"Stone {turn} lies on the ridge.").status_code == 200
    process = served.processes["serve"]
    with ensure_running(served.home) as database:
        dsn = database.dsn()
        filler = fill(small_disk)
        with pytest.raises((asyncpg.PostgresError, OSError)):
            asyncio.run(crash(dsn))
        served.kill_postmaster()  # if it has not ended itself: without room it cannot come back

        def told() -> dict[str, Any] | None:
            fill(small_disk)  # what a crash left of its files gives room back
            status, body = served.readiness()
            return body if status == 503 and "disk is full" in body["detail"] else None

        body = wait_until(told, 30, told=lambda: (served.readiness(), process.poll(), served.log("serve")[-3000:]))
        assert any("disk is full" in problem for problem in body["problems"])
        refused = index(served, "refused", "There is no room for this.")
        # recovery may have found a little room meanwhile; what is said to be stored is there in the end, then
        acknowledged = {"refused"} if refused.status_code == 200 else set()
        if not acknowledged:
            assert (refused.status_code, refused.json()["code"]) == (503, "database-unavailable"), refused.text
        filler.unlink()
        wait_until(served.ready, 60, told=lambda: served.readiness())
        assert any("MB are free" in problem for problem in served.readiness()[1]["problems"]), (
            "a warning before it is full"
        )
    assert process.poll() is None, "the same process"
    assert index(served, "later", "Stone 9 lies on the ridge.").status_code == 200
    found = httpx2.post(f"{served.url}/search", json={"query": "stone ridge", "collection": "disk"}, timeout=patience())
    assert {"kept-0", "kept-1", "later"} | acknowledged <= {one["external_id"] for one in found.json()["results"]}
    log = served.log("serve")
    # it lies on the same disk: what could not be written is counted in the first line for which there is room
    assert "disk is full" in log or "log.interrupted" in log, "its log has the reason too"


@pytest.mark.siege
def test_a_start_on_a_full_disk_says_why(small_disk: Path) -> None:
    home = small_disk / "home"
    ensure_running(home, durable=False).release()
    filler = fill(small_disk)
    with pytest.raises(EmbeddedServerError, match="the disk is full"):
        ensure_running(home, durable=False)
    filler.unlink()
    ensure_running(home, durable=False).release()
