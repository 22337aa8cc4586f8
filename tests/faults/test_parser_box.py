"""A parser that was taken over reads, writes and reaches nothing (app/cairn/ingest/box.py); what it needs it has."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import cairn
from cairn.domain.document import Source
from cairn.ingest import box
from cairn.ingest.loaders import load, ocr, sniff
from cairn.ingest.outlines import outline_reader
from cairn.ingest.parse import parse
from cairn.settings import IngestSettings, Settings
from tests.faults.bomb_files import docx, word
from tests.faults.hostile import become_ordinary
from tests.office_files import book, mail, notebook, open_text, presentation, workbook
from tests.pdf_files import SCAN, scanned, text_page
from tests.thinning import STEPS
from tests.waiting import patience

ROOT = Path(cairn.__path__[0]).parent
TESTS = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the box is made of parts of Linux")
PROGRAMS = {"start a program"}
LIMITS = (1_000_000_000, 60)
"""Bytes of memory, seconds of CPU."""
users = pytest.mark.parametrize("ordinary", [False, True], ids=["as it is", "as an ordinary user"])


@pytest.fixture
def place() -> Iterator[dict[str, Any]]:
    """Something to lose: a file that everybody may read, a server on loopback and one in a folder."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="cairn-box-"))
        stack.callback(shutil.rmtree, folder, True)
        folder.chmod(0o777)
        for name in ("secret", "deletable"):
            (folder / name).write_text("secret")
            (folder / name).chmod(0o666)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        door = stack.enter_context(socket.socket(socket.AF_UNIX))
        door.bind(str(folder / "door"))
        (folder / "door").chmod(0o777)
        door.listen()
        yield {"secret": str(folder / "secret"), "door": str(folder / "door"), "port": listener.getsockname()[1]}


def attack(place: dict[str, Any], inside: list[Any] | None, ordinary: bool, landlock: bool = True) -> dict[str, Any]:
    """What succeeded, on a victim of the same user."""
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    victim = subprocess.Popen(sleeping, preexec_fn=become_ordinary if ordinary else None)
    arguments = map(json.dumps, (inside, ordinary, landlock, place | {"victim": victim.pid}))
    try:
        return dict(run_script(["-m", "tests.faults.hostile", *arguments]))
    finally:
        victim.kill()
        victim.wait()


def run_script(arguments: list[str]) -> Any:
    """JSON that it prints last."""
    done = subprocess.run(
        [sys.executable, "-P", *arguments], capture_output=True, text=True, check=False, timeout=patience(120), cwd="/",
        env={"PYTHONPATH": f"{ROOT}{os.pathsep}{TESTS}", "PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@users
def test_without_the_box_much_succeeds(ordinary: bool, place: dict[str, Any]) -> None:
    """Else the tests below would show nothing."""
    expected = {
        "connect by TCP", "connect to a Unix socket", "read a file of others", "write a file", "truncate a file", "delete a file",
        "start a program", "start 200 processes", "open 400 files", "signal the server", "limit the server",
    }  # fmt: skip
    assert expected <= set(attack(place, None, ordinary)["succeeded"])


@users
@pytest.mark.parametrize("programs", [False, True], ids=["", "with programs"])
@pytest.mark.skipif(not box.landlock_version(), reason="the kernel has no Landlock")
def test_nothing_succeeds_in_the_box(ordinary: bool, programs: bool, place: dict[str, Any]) -> None:
    """But starting a program where one is needed; it is in the box as well."""
    found = attack(place, [*LIMITS, programs], ordinary)
    assert set(found["succeeded"]) == (PROGRAMS if programs else set())
    assert Path(place["secret"]).read_text() == "secret"
    if os.geteuid() == 0 and not ordinary:
        assert found["uid"] in range(60706, 61184)


@users
def test_without_landlock_files_can_be_read_and_nothing_else(ordinary: bool, place: dict[str, Any]) -> None:
    """What `missing` says. Root's parser may read what everybody may, or, where its Python is for root alone, what root may."""
    found = attack(place, [*LIMITS, False], ordinary, landlock=False)
    reading = {"read a file of others", "read /etc/passwd", "list a folder", "read the server's environment"}
    remains_root = {"become root"} if found["uid"] == 0 else set()
    assert set(found["succeeded"]) <= reading | remains_root
    assert "read a file of others" in found["succeeded"]


# --- what a parser needs ----------------------------------------------------------------------------------------------

READ = """
import asyncio, json, sys
from pathlib import Path
from tests.faults.hostile import become_ordinary
become_ordinary()
from cairn.domain.document import Source
from cairn.ingest.parse import parse
from cairn.settings import IngestSettings

async def main():
    texts = {}
    for path in sorted(Path(sys.argv[1]).iterdir()):
        loaded = await parse(Source(path.name, path.name, path.read_bytes()), IngestSettings())
        texts[path.name] = loaded.text
    print(json.dumps(texts))

asyncio.run(main())
"""


@pytest.mark.siege
@STEPS
async def test_every_format_reads_as_outside_of_the_box(tmp_path: Path, step: int) -> None:
    """With Tesseract; every third, among them that, also as an ordinary user."""
    with_scan = [text_page(), SCAN] if "eng" in ocr.installed_languages() else [text_page()]
    files = {
        "a.pdf": scanned(*with_scan), "a.docx": docx(word(b"<w:p><w:r><w:t>Hello</w:t></w:r></w:p>")), "a.xlsx": workbook(),
        "a.pptx": presentation(), "a.eml": mail().as_bytes(), "a.epub": book({"one.xhtml": "<p>A chapter.</p>"}),
        "a.odt": open_text("<text:p>Open.</text:p>"), "a.html": b"<html><body><p>A page.</p></body></html>",
        "a.ipynb": notebook({"cell_type": "markdown", "source": "# A cell", "metadata": {}}), "a.rtf": b"{\\rtf1 Rich.\\par}",
    }  # fmt: skip
    outside = {name: load(content, sniff(name, content), IngestSettings()).text for name, content in files.items()}
    assert {n: (await parse(Source(n, n, c), IngestSettings())).text for n, c in files.items()} == outside
    by_others = sorted(files)[::step]
    assert "a.pdf" in by_others
    for name in by_others:
        (tmp_path / name).write_bytes(files[name])
    assert await asyncio.to_thread(run_script, ["-c", READ, str(tmp_path)]) == {n: outside[n] for n in by_others}


async def test_code_is_outlined_in_the_box() -> None:
    """Grammars are native libraries that are loaded when a file needs them."""
    async with outline_reader(Settings()) as reader:
        for name, text in {
            "a.py": "def f(): pass\n",
            "a.rs": "fn f() {}\n",
            "a.go": "package a\nfunc f() {}\n",
        }.items():
            loaded = load(text.encode(), sniff(name, text.encode()), IngestSettings())
            outlined = await reader.outlined(loaded, name)
            assert outlined.outline is not None
            assert "f" in [one.name.split(".")[-1] for one in outlined.outline.definitions]
