"""What large and hostile documents leave behind in the process that serves: next to nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from bomb_files import docx
from serving import Api

MEGABYTE = 1 << 20
BOMBS = 2
UNPACKED = 300 * MEGABYTE
"""What each would be in memory, if it were unpacked where others are served."""
LEFT = 200 * MEGABYTE
"""More than the models, libraries and caches that the first document brings in; less than a single bomb."""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system does not tell what a process holds"
)


def resident(api: Api) -> int:
    lines = Path(f"/proc/{api.process.pid}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def is_idle(api: Api) -> bool:
    queue = api.client.get("/health/ready").json()["queue"]
    return not queue["queued"] and not queue["running"]


@pytest.mark.siege
def test_memory_comes_back_after_bombs_and_large_texts(api: Api) -> None:
    api.index("memory", first="A cairn is a pile of stones that marks a trail.")
    before = resident(api)
    bomb = docx(iter([b"<w:p>" + b" " * MEGABYTE] * (UNPACKED // MEGABYTE)))
    for number in range(BOMBS):
        files = [("files", (f"bomb{number}.docx", bomb))]
        assert api.client.post("/collections/memory/documents", files=files).status_code == 202
    api.index("memory", long="a" * (MEGABYTE // 4), spaces=" stone" + " " * 4 * MEGABYTE + "pile")
    api.await_until(lambda: is_idle(api), 120)
    documents = api.client.get("/collections/memory/documents", params={"limit": 100}).json()["items"]
    refused = {one["external_id"] for one in documents if one["status"] == "failed"}
    assert refused == {f"bomb{number}.docx" for number in range(BOMBS)}
    api.await_until(lambda: resident(api) < before + LEFT, 30)
