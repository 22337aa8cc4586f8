"""Source -> LoadedDocument, with the dangerous parsers behind the wall of a process.

The child has its own memory, CPU and wall-clock limits, none of this process's environment (keys, database URLs), and
answers in JSON and UTF-8, which cannot execute anything here. It is killed on time-out, on cancellation and when this
process dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import app
from app.domain.document import LoadedDocument, PageStart, Source
from app.errors import (
    CairnError,
    EmptyDocumentError,
    EncryptedDocumentError,
    NoTextLayerError,
    ParseError,
    ParserLimitError,
    TooLargeError,
    UnsupportedTypeError,
)
from app.ingest.loaders import load, load_text, sniff
from app.language.text import normalise
from app.settings import IngestSettings

_ERRORS: dict[str, type[CairnError]] = {
    error.__name__: error
    for error in (
        EmptyDocumentError,
        EncryptedDocumentError,
        NoTextLayerError,
        ParseError,
        ParserLimitError,
        UnsupportedTypeError,
    )
}
_COMMAND = (sys.executable, "-P", "-m", "app.ingest.parse_child")
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TZ", "COVERAGE_PROCESS_START")
_REAP_SECONDS = 10
"""How long a killed child is waited for."""
_HEAD_BYTES = 1 << 20
"""Room for the first line of an answer beside the text."""
# how native libraries end when memory is refused; a plain crash is a segmentation fault
_OUT_OF_MEMORY = (signal.SIGABRT, signal.SIGTRAP, signal.SIGILL, signal.SIGKILL)


async def parse(source: Source, limits: IngestSettings) -> LoadedDocument:
    """Normalised text of the source.

    Raises TooLargeError, UnsupportedTypeError, or a ParseError: EmptyDocumentError, EncryptedDocumentError,
    NoTextLayerError, ParserLimitError (memory, CPU, time, pages, size), or itself for a damaged file.
    """
    if len(source.content) > limits.max_file_bytes:
        raise TooLargeError(
            f"the file has {len(source.content)} bytes, more than ingest.maxFileBytes ({limits.max_file_bytes})"
        )
    if source.is_text:
        return await asyncio.to_thread(load_text, source.content, source.name, limits)
    kind = sniff(source.name, source.content, source.media_type)
    if not kind.format.isolated:
        return await asyncio.to_thread(load, source.content, source.name, source.media_type, limits)
    answer = await run_child(_COMMAND, _request(source, limits), limits)
    return _document(answer, limits)


def _request(source: Source, limits: IngestSettings) -> tuple[bytes, bytes]:
    fields = ("max_pages", "max_text_chars", "max_unpacked_bytes", "parse_memory_bytes", "parse_seconds")
    head = {
        "name": source.name,
        "media_type": source.media_type,
        "limits": {name: getattr(limits, name) for name in fields},
        "parent": os.getpid(),
    }
    return json.dumps(head).encode() + b"\n", source.content


async def run_child(command: Sequence[str], request: tuple[bytes, bytes], limits: IngestSettings) -> bytes:
    """Standard output of `command` fed with `request`; the process group is gone when this returns or raises.

    Raises ParserLimitError for time, memory or too long an answer, ParseError for a crash.
    """
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
        env=child_environment(),
    )
    feeding = asyncio.create_task(_feed(child, request))
    try:
        async with asyncio.timeout(limits.parse_seconds):
            answer = await _read(child, 4 * limits.max_text_chars + _HEAD_BYTES)
            status = await child.wait()
    except TimeoutError:
        raise ParserLimitError(
            f"reading the file took longer than {limits.parse_seconds} s (ingest.parseSeconds)"
        ) from None
    finally:
        feeding.cancel()
        await _kill(child)
    _check_status(status, limits)
    return answer


def child_environment() -> dict[str, str]:
    """Only what an interpreter needs; the parser of an untrusted file has no business with keys."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return kept | {"PYTHONPATH": str(Path(app.__path__[0]).parent), "PYTHONUTF8": "1", "MALLOC_ARENA_MAX": "2"}


async def _feed(child: asyncio.subprocess.Process, request: tuple[bytes, bytes]) -> None:
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for part in request:
            child.stdin.write(part)
            await child.stdin.drain()
        child.stdin.close()


async def _read(child: asyncio.subprocess.Process, limit: int) -> bytes:
    assert child.stdout is not None
    answer = bytearray()
    while block := await child.stdout.read(1 << 16):
        answer += block
        if len(answer) > limit:
            raise ParserLimitError("the file's text is longer than ingest.maxTextChars; split the file")
    return bytes(answer)


async def _kill(child: asyncio.subprocess.Process) -> None:
    """End the whole group. Shielded: a second cancellation must not leave a process behind."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await asyncio.shield(_reap(child))


async def _reap(child: asyncio.subprocess.Process) -> None:
    """Wait for a killed child. What it had written is read away first: asyncio pauses a pipe that nobody reads, and
    `wait` returns only when every pipe has ended."""
    assert child.stdout is not None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_REAP_SECONDS):
            while await child.stdout.read(1 << 16):
                pass
            await child.wait()


def _check_status(status: int, limits: IngestSettings) -> None:
    if status == -signal.SIGXCPU:
        raise ParserLimitError(f"reading the file took more than {limits.parse_seconds} s of CPU (ingest.parseSeconds)")
    if -status in _OUT_OF_MEMORY:
        raise ParserLimitError(
            f"reading the file needs more than {limits.parse_memory_bytes} bytes of memory (ingest.parseMemoryBytes)"
        )
    if status < 0:
        raise ParseError(f"the parser crashed on this file ({signal.Signals(-status).name}); the file may be damaged")
    if status > 0:
        raise ParseError(f"the parser failed on this file (exit status {status}); the file may be damaged")


def _document(answer: bytes, limits: IngestSettings) -> LoadedDocument:
    """The answer as a value; anything unexpected in it is a ParseError, since the child may have been taken over."""
    line, _, body = answer.partition(b"\n")
    try:
        head = json.loads(line)
        if "error" in head:
            raise _ERRORS.get(str(head["error"]), ParseError)(str(head["detail"]))
        return _value(head, body.decode("utf-8"), limits)
    except (ValueError, TypeError, KeyError) as error:
        raise ParseError(f"the parser gave a malformed answer ({type(error).__name__})") from None


def _value(head: dict[str, Any], text: str, limits: IngestSettings) -> LoadedDocument:
    pages = tuple(PageStart(int(start), int(number)) for start, number in head["pages"])
    starts = [page.start for page in pages]
    title, markup = head["title"], head["markup"]
    if text != normalise(text) or len(text) > limits.max_text_chars or markup not in ("markdown", "plain", "code"):
        raise ValueError
    if starts != sorted(starts) or len(pages) > limits.max_pages or (starts and not 0 <= starts[0] <= starts[-1]):
        raise ValueError
    return LoadedDocument(
        text=text,
        media_type=str(head["media_type"]),
        markup=markup,
        title=None if title is None else normalise(str(title)),
        pages=pages,
        code_language=None if head["code_language"] is None else str(head["code_language"]),
    )
