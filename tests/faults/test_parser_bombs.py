"""Files made to break a parser cost this document, within its limits, and nothing else."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
import zlib
from pathlib import Path

import pytest

import cairn
from cairn.domain.document import LoadedDocument, Source
from cairn.errors import ParseError, ParserLimitError
from cairn.ingest.box import Box
from cairn.ingest.children import start_child
from cairn.ingest.confine import ConfinedProcess
from cairn.ingest.parse import parse
from cairn.settings import IngestSettings
from tests.faults.bomb_files import deflate, docx, pdf, word
from tests.waiting import patience, until

ROOT = Path(cairn.__path__[0]).parent
SECONDS = 6
LIMITS = IngestSettings.model_validate({"parseSeconds": SECONDS, "parseMemoryBytes": 700_000_000})
PATIENT = LIMITS.model_copy(update={"parse_seconds": round(patience(SECONDS))})
GOOD = Source("good.html", "good.html", b"<html><body><p>Still alive.</p></body></html>")


def source(name: str, content: bytes) -> Source:
    return Source(name, name, content)


async def read(name: str, content: bytes) -> LoadedDocument:
    return await parse(source(name, content), LIMITS)


async def assert_refused(name: str, content: bytes, error: type[ParseError]) -> ParseError:
    """The file raises `error` within its time, and costs this process no memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.monotonic()
    with pytest.raises(error) as caught:
        await read(name, content)
    assert time.monotonic() - start < patience(SECONDS)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB, in this process
    return caught.value


async def test_the_helpers_make_readable_files() -> None:
    """The bombs below differ from these only in size."""
    assert (await read("a.pdf", pdf(zlib.compress(b"BT /F1 12 Tf 72 700 Td (Hello) Tj ET")))).text == "Hello"
    assert (await read("a.docx", docx(word(b"<w:p><w:r><w:t>Hello</w:t></w:r></w:p>")))).text == "Hello"


async def test_a_pdf_stream_that_inflates_to_a_gigabyte_is_refused() -> None:
    """And the next file is read as if nothing had been."""
    bomb = pdf(deflate(b" " * 1_000_000, 1000))
    assert len(bomb) < 2_000_000
    await assert_refused("bomb.pdf", bomb, ParseError)
    assert (await parse(GOOD, PATIENT)).text == "Still alive."


@pytest.mark.siege
async def test_a_pdf_with_millions_of_operators_is_refused() -> None:
    operators = b"BT /F1 1 Tf 1 0 0 1 %d 7 Tm (a) Tj ET\n"
    block = b"".join(operators % x for x in range(0, 600, 2)) * 40
    await assert_refused("bomb.pdf", pdf(deflate(block, 300)), ParserLimitError)


@pytest.mark.siege
async def test_a_word_file_that_inflates_to_300_mb_is_refused() -> None:
    bomb = docx(word(b"<w:p><w:r><w:t>%s</w:t></w:r></w:p>" % (b"a" * 1000 * 1000)) for _ in range(300))
    assert len(bomb) < 1_000_000
    error = await assert_refused("bomb.docx", bomb, ParserLimitError)
    assert "zip bomb" in error.detail


async def test_a_word_file_with_too_many_entries_is_refused() -> None:
    error = await assert_refused("many.docx", docx(word(b"<w:p/>"), extra_entries=5001), ParserLimitError)
    assert "5000" in error.detail


async def test_a_word_file_that_declares_entities_is_refused() -> None:
    """Billion laughs, and an external entity that would read a file of the server."""
    laughs = b'<!DOCTYPE x [<!ENTITY a "ha">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 10) for i in range(9)
    )
    paragraph = b"<w:p><w:r><w:t>&%s;</w:t></w:r></w:p>"
    error = await assert_refused("lol.docx", docx(word(paragraph % b"j", laughs + b"]>")), ParseError)
    assert "entities" in error.detail
    external = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
    await assert_refused("xxe.docx", docx(word(paragraph % b"a", external)), ParseError)


async def test_xml_entities_in_html_are_never_expanded() -> None:
    page = b'<!DOCTYPE html [<!ENTITY a SYSTEM "file:///etc/passwd">]><html><body><p>before &a; after</p></body></html>'
    assert "root:" not in (await read("xxe.html", page)).text


async def test_deep_nesting_is_read_or_refused_never_cut_short() -> None:
    """libxml2 silently drops what is nested deeper than 2048 elements."""

    def page(depth: int) -> bytes:
        return b"<html><body>" + b"<div>" * depth + b"bottom" + b"</div>" * depth

    assert (await read("deep.html", page(2000))).text == "bottom"
    await assert_refused("deeper.html", page(20_000), ParserLimitError)


async def run_instead(*command: str) -> ConfinedProcess:
    box = Box(os.getpid(), LIMITS.parse_memory_bytes, 0, programs=False)
    return ConfinedProcess(await start_child(command, box), box)


async def ask(*command: str, content: bytes = b"", longest: int = 4000, seconds: float = SECONDS) -> bytes:
    """The answer of a process that is not ours."""
    async with await run_instead(*command) as child:
        _, body = await child.ask({}, content, longest=longest, seconds=seconds)
        return body


async def test_a_child_that_never_ends_is_killed_in_time() -> None:
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        await ask(sys.executable, "-c", "import time; time.sleep(3600)", seconds=0.2)
    assert time.monotonic() - start < patience(20)


@pytest.mark.siege
async def test_time_is_what_the_processor_worked_with_a_clock_behind_it() -> None:
    """A machine that is busy with something else makes no good file a bad one."""
    waits = """sleep 3; echo '{"size": 3}'; echo abc"""
    assert await ask("/bin/sh", "-c", waits, longest=3, seconds=1) == b"abc"
    with pytest.raises(TimeoutError):
        await ask("/bin/sh", "-c", "while :; do :; done", seconds=1)


async def test_a_child_that_crashes_is_a_parse_error() -> None:
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    with pytest.raises(ParseError, match="SIGSEGV"):
        await ask(sys.executable, "-c", crash, content=b"x" * 5_000_000)


@pytest.mark.parametrize(
    ("script", "error", "why"),
    [
        ("tr '\\0' x < /dev/zero", ParseError, "malformed"),
        ("""echo '{"size": 1e9}'; cat /dev/zero""", ParserLimitError, "maxTextChars"),
        ("yes", ParseError, "malformed"),
        ("echo '{}'", ParseError, "malformed"),
        ("echo '[]'", ParseError, "malformed"),
        ("""echo '{"size": -1}'""", ParseError, "malformed"),
        ("""echo '{"size": 5}'""", ParseError, "exit status 0"),
    ],
    ids=["no line ends", "too long", "no JSON", "no size", "no object", "less than nothing", "cut off"],
)
async def test_a_child_that_does_not_answer_as_it_should_is_cut_off(
    script: str, error: type[ParseError], why: str
) -> None:
    """Again and again: whether the pipe is full and paused when the child is killed is a matter of luck."""
    for _ in range(10):
        with pytest.raises(error, match=why):
            await ask("/bin/sh", "-c", script)


async def test_the_child_does_not_inherit_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    monkeypatch.setenv("CAIRN_DATABASE_URL", "postgresql://secret")
    show = "import os; told = str(dict(os.environ)); print('{\"size\": %d}\\n%s' % (len(told), told))"
    shown = await ask(sys.executable, "-c", show)
    assert b"PYTHONPATH" in shown
    assert b"secret" not in shown


async def test_cancelling_the_task_kills_the_child(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(3600)"
    task = asyncio.create_task(ask(sys.executable, "-c", script, seconds=3600))
    child = await wait_for_number(note)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(child)


async def test_a_process_that_erred_is_not_asked_again() -> None:
    """What is left of an answer must not become that of the next request."""
    script = """echo '{"size": 3}'; echo abcdef; sleep 60"""
    async with await run_instead("/bin/sh", "-c", script) as child:
        assert await child.ask({}, b"", longest=10, seconds=SECONDS) == ({}, b"abc")
        with pytest.raises(ParseError, match="malformed"):
            await child.ask({}, b"", longest=10, seconds=SECONDS)
        assert not alive(child.pid)


@pytest.mark.siege
@pytest.mark.fault
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends children of a dead parent only on Linux")
async def test_the_child_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    """A busy child reads no pipe, so the closed pipe alone would not end it; and the process that forked it ends, too."""
    bomb = tmp_path / "slow.pdf"
    operators = b"BT /F1 1 Tf 1 0 0 1 %d 7 Tm (a) Tj ET\n"
    bomb.write_bytes(pdf(deflate(b"".join(operators % x for x in range(0, 600, 2)) * 40, 300)))
    script = textwrap.dedent(
        f"""
        import asyncio, pathlib
        from cairn.domain.document import Source
        from cairn.ingest.parse import parse
        from cairn.settings import IngestSettings
        content = pathlib.Path({str(bomb)!r}).read_bytes()
        asyncio.run(parse(Source("a.pdf", "a.pdf", content), IngestSettings()))
        """
    )
    parent = start_python(script)
    try:
        server = await wait_for_number(Path(f"/proc/{parent.pid}/task/{parent.pid}/children"))
        child = await wait_for_number(Path(f"/proc/{server}/task/{server}/children"))
        await until(lambda: processor_seconds(child) > 2)  # its start takes a tenth of that: it is at work
        assert alive(child)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    await until(lambda: not alive(child) and not alive(server))


def start_python(script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)})


async def wait_for_number(file: Path) -> int:
    """The first number in a file, as soon as there is one."""
    found: list[int] = await until(lambda: numbers_in(file))
    return found[0]


def numbers_in(file: Path) -> list[int]:
    return [int(word) for word in file.read_text().split()] if file.exists() else []


def processor_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
