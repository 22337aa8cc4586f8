"""Readers of files are forked from one process; whatever becomes of it, or of one of them, costs the file that was read then."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from cairn.domain.document import Source
from cairn.errors import ParseError
from cairn.ingest.confine import ConfinedProcess
from cairn.ingest.parse import parse
from cairn.settings import IngestSettings
from tests.conftest import InstallPackage
from tests.faults.bomb_files import docx, word
from tests.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each reader is started for itself")

PAGE = Source("page.html", "page.html", b"<html><body><p>Still alive.</p></body></html>")
LETTER = Source("a.docx", "a.docx", docx(word(b"<w:p><w:r><w:t>Hello</w:t></w:r></w:p>")))
LIMITS = IngestSettings()
READ = {"task": "load", "media_type": "text/html", "limits": [9, 999, 999, 9]}


async def start() -> ConfinedProcess:
    return await ConfinedProcess.start("load", media_type="text/html", memory_bytes=LIMITS.parse_memory_bytes)


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: told.strip() for name, _, told in (line.partition(":") for line in lines)}


def held_by(pid: int) -> set[str]:
    return {os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir()}


def server_of(child: ConfinedProcess) -> int:
    """The process that forked it."""
    return int(status_of(child.pid)["PPid"])


async def test_one_process_forks_all_of_them_and_each_is_confined() -> None:
    async with await start() as one, await start() as other:
        assert server_of(one) == server_of(other) != os.getpid()
        assert one.pid != other.pid
        await until(lambda: status_of(one.pid)["Seccomp"] == "2")
        assert status_of(one.pid)["NoNewPrivs"] == "1"
        assert os.getpgid(one.pid) == one.pid


async def test_a_reader_holds_nothing_but_its_own_input_and_output() -> None:
    """Neither the socket by which others are ordered nor those of the others."""
    async with await start(), await start() as child:
        await until(lambda: status_of(child.pid)["Seccomp"] == "2")
        [line] = held_by(child.pid) - {"/dev/null"}
        assert line.startswith("socket:")


async def test_files_of_several_kinds_at_once() -> None:
    read = await asyncio.gather(*[parse(one, LIMITS) for one in [PAGE, LETTER] * 4])
    assert [one.text for one in read] == ["Still alive.", "Hello"] * 4


async def test_a_reader_that_is_killed_costs_its_file_alone() -> None:
    async with await start() as child, await start() as other:
        os.kill(child.pid, signal.SIGSEGV)
        with pytest.raises(ParseError, match="SIGSEGV"):
            await child.ask(READ, b"", longest=1, seconds=60)
        head, text = await other.ask(READ, PAGE.content, longest=999, seconds=60)
        assert (head["title"], text) == (None, b"Still alive.")


async def test_the_end_of_the_process_that_forks_costs_what_was_read_then() -> None:
    async with await start() as child:
        await until(lambda: status_of(child.pid)["Seccomp"] == "2")
        os.kill(child.pid, signal.SIGSTOP)  # so it does not answer first
        os.kill(server_of(child), signal.SIGKILL)
        with pytest.raises(ParseError, match="ended from outside"):
            await child.ask(READ, b"", longest=1, seconds=60)
    assert (await parse(PAGE, LIMITS)).text == "Still alive."


async def test_one_that_was_given_up_leaves_no_process() -> None:
    child = await start()
    reading = asyncio.create_task(child.ask(READ, b"", longest=1, seconds=60))
    os.kill(child.pid, signal.SIGSTOP)  # so it never answers
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
    await child.close()  # changes nothing


LEAVES_ITS_GROUP = """
import os, time
from cairn.ingest.loaders.base import TELL_SHARE, Loader

def load(content, limits):
    try:
        os.setpgid(0, os.getppid())
    except OSError:
        pass
    TELL_SHARE.get()(0.5)
    while True:
        time.sleep(60)

LEAVING = Loader("leaving", load, {"text/x-leaving": (".leaving",)}, isolated=True)
"""


async def test_a_reader_that_leaves_its_group_is_killed_all_the_same(
    install_package: InstallPackage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parser that was taken over may call whatever its box allows; who forks waits for nobody."""
    folder = install_package("leaving", LEAVES_ITS_GROUP, loaders={"leaving": "leaving:LEAVING"})
    monkeypatch.setenv("PYTHONPATH", str(folder))
    child = await ConfinedProcess.start("load", media_type="text/x-leaving", memory_bytes=LIMITS.parse_memory_bytes)
    request, left = {**READ, "media_type": "text/x-leaving"}, asyncio.Event()

    async def tell(share: float) -> None:
        left.set()

    reading = asyncio.create_task(child.ask(request, b"x", longest=1, seconds=60, on_share=tell))
    await asyncio.wait([reading, asyncio.create_task(left.wait())], return_when=asyncio.FIRST_COMPLETED)
    assert left.is_set()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
    assert (await parse(PAGE, LIMITS)).text == "Still alive."


async def test_a_package_that_cannot_be_imported_costs_its_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docx.py").write_text("raise ValueError('broken')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    async with await start() as child:
        with pytest.raises(ParseError, match="broken"):
            await parse(LETTER, LIMITS)
        _, text = await child.ask(READ, PAGE.content, longest=999, seconds=60)
        assert text == b"Still alive."


async def test_starts_that_are_given_up_hinder_no_other() -> None:
    """Each at another point of its start, and together with others that go on."""
    for turns in range(6):
        given_up = [asyncio.create_task(start()) for _ in range(3)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for one in given_up:
            one.cancel()
        kept = [asyncio.create_task(parse(PAGE, LIMITS)) for _ in range(3)]
        ends = await asyncio.gather(*given_up, return_exceptions=True)
        assert [one.text for one in await asyncio.gather(*kept)] == ["Still alive."] * 3
        for end in ends:
            if isinstance(end, ConfinedProcess):
                await end.close()


async def test_it_is_closed_once_however_often_that_is_asked() -> None:
    child = await start()
    closing = asyncio.create_task(child.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(child.close(), child.close())
    with pytest.raises(asyncio.CancelledError):
        await closing
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


async def test_another_environment_has_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time zones and folders of packages are those of the moment; who is at work stays so."""
    async with await start() as child:
        before = server_of(child)
        monkeypatch.setenv("TZ", "Europe/Zurich")
        async with await start() as other:
            assert server_of(other) != before
        head, _ = await child.ask(READ, PAGE.content, longest=999, seconds=60)
        assert head["title"] is None
    monkeypatch.undo()
    assert (await parse(PAGE, LIMITS)).text == "Still alive."
