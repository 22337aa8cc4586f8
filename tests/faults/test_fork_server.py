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
from tests.faults.bomb_files import docx, word
from tests.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each reader is started for itself")

PAGE = Source("page.html", "page.html", b"<html><body><p>Still alive.</p></body></html>")
LETTER = Source("a.docx", "a.docx", docx(word(b"<w:p><w:r><w:t>Hello</w:t></w:r></w:p>")))
LIMITS = IngestSettings()
NEVER = {"task": "load", "media_type": "text/html", "limits": [1, 1, 1, 1]}


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
            await child.ask(NEVER, b"", longest=1, seconds=60)
        head, text = await other.ask({**NEVER, "limits": [9, 999, 999, 9]}, PAGE.content, longest=999, seconds=60)
        assert (head["title"], text) == (None, b"Still alive.")


async def test_the_end_of_the_process_that_forks_costs_what_was_read_then() -> None:
    async with await start() as child:
        await until(lambda: status_of(child.pid)["Seccomp"] == "2")
        os.kill(child.pid, signal.SIGSTOP)  # so it does not answer first
        os.kill(server_of(child), signal.SIGKILL)
        with pytest.raises(ParseError, match="ended from outside"):
            await child.ask(NEVER, b"", longest=1, seconds=60)
    assert (await parse(PAGE, LIMITS)).text == "Still alive."


async def test_one_that_was_given_up_leaves_no_process() -> None:
    child = await start()
    reading = asyncio.create_task(child.ask(NEVER, b"", longest=1, seconds=60))
    os.kill(child.pid, signal.SIGSTOP)  # so it never answers
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
    await child.close()  # changes nothing


async def test_another_environment_has_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time zones and folders of packages are those of the moment; who is at work stays so."""
    async with await start() as child:
        before = server_of(child)
        monkeypatch.setenv("TZ", "Europe/Zurich")
        async with await start() as other:
            assert server_of(other) != before
        head, _ = await child.ask({**NEVER, "limits": [9, 999, 999, 9]}, PAGE.content, longest=999, seconds=60)
        assert head["title"] is None
    monkeypatch.undo()
    assert (await parse(PAGE, LIMITS)).text == "Still alive."
