"""A process of its own for what untrusted content may make misbehave (cairn/ingest/child.py).

It has its own limits on memory and processor time (with a generous clock behind that: no file is worse because the machine is
busy), a box without network and files (box.py), none of this process's environment (keys, database URLs), and answers in JSON
and UTF-8, which cannot execute anything here. It is killed when it does not answer in time or as it should, on cancellation, and
when this process dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from cairn.errors import (
    EmptyDocumentError,
    EncryptedDocumentError,
    NoTextLayerError,
    ParseError,
    ParserLimitError,
)
from cairn.ingest.box import Box
from cairn.ingest.child import out_of_memory
from cairn.ingest.children import Child, new_child

_ERRORS: Final[Mapping[str, type[ParseError]]] = {
    error.__name__: error
    for error in (EmptyDocumentError, EncryptedDocumentError, NoTextLayerError, ParseError, ParserLimitError)
}
OnRead = Callable[[float], Awaitable[None]]
CLOCK_PER_PROCESSOR_SECOND: Final = 10
"""What waits without working (a deadlock, a pipe) has no end in processor time; neither has one on a machine that gives it less
than a tenth of a processor."""
_LOOK_AGAIN_SECONDS: Final = 0.05
# how native libraries end when memory is refused; a plain crash is a segmentation fault
_OUT_OF_MEMORY: Final = (signal.SIGABRT, signal.SIGTRAP, signal.SIGILL, signal.SIGKILL)


class ConfinedProcess:
    """`async with await ConfinedProcess.start(...) as child: await child.ask(...)`."""

    def __init__(self, child: Child, box: Box) -> None:
        self._child = child
        self._box = box
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        task: str,
        *,
        memory_bytes: int,
        cpu_seconds: int = 0,
        programs: bool = False,
        media_type: str | None = None,
    ) -> ConfinedProcess:
        """For requests of a task, of files of `media_type`. `cpu_seconds` 0: no limit but the time that each request may take.
        `programs`: it may start others (Tesseract). Raises OSError."""
        box = Box(os.getpid(), memory_bytes, cpu_seconds, programs)
        return cls(await new_child(box, task, media_type), box)

    @property
    def pid(self) -> int:
        return self._child.pid

    async def ask(
        self,
        request: Mapping[str, Any],
        content: bytes,
        *,
        longest: int,
        seconds: float,
        on_share: OnRead | None = None,
    ) -> tuple[dict[str, Any], bytes]:
        """Fields and bytes of the answer, at most `longest` of these, for at most `seconds` of its processor time, or
        CLOCK_PER_PROCESSOR_SECOND times that by the clock. One request at a time. `on_share` hears how much of it is read.

        Raises the ParseError that the child reports or that its end stands for, ParserLimitError for too long an answer,
        TimeoutError. After an error the process is gone.
        """
        head = json.dumps({**request, "size": len(content)}).encode() + b"\n"
        feeding = asyncio.create_task(self._feed(head, content))
        watching: asyncio.Task[None] | None = None
        try:
            async with asyncio.timeout(CLOCK_PER_PROCESSOR_SECOND * seconds) as limit:
                watching = asyncio.create_task(self._watch(limit, seconds))
                return await self._read(longest, on_share)
        except BaseException:  # cancelled half-way through an answer, too
            await self.close()
            raise
        finally:
            feeding.cancel()
            if watching is not None:
                watching.cancel()

    async def _watch(self, limit: asyncio.Timeout, seconds: float) -> None:
        """Let the limit end when so much processor time is used; without the system's figures, by the clock."""
        clock = asyncio.get_running_loop().time
        begun, worked = clock(), self._processor_seconds()
        while not limit.expired():
            now = self._processor_seconds()
            used = clock() - begun if now is None or worked is None else now - worked
            if used >= seconds:
                limit.reschedule(clock())
                return
            await asyncio.sleep(max(seconds - used, _LOOK_AGAIN_SECONDS))

    def _processor_seconds(self) -> float | None:
        """What it and the programs that it waited for have used; None where the system does not tell."""
        try:
            fields = Path(f"/proc/{self._child.pid}/stat").read_text().rpartition(")")[2].split()
            return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError):
            return None

    async def _feed(self, *parts: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for part in parts:
                self._child.writer.write(part)
                await self._child.writer.drain()

    async def _read(self, longest: int, on_share: OnRead | None) -> tuple[dict[str, Any], bytes]:
        head = await self._line()
        while (share := head.pop("share", None)) is not None:
            if on_share is not None:
                await on_share(_share(share))
            head = await self._line()
        size = _size(head)
        if size > longest:
            raise ParserLimitError("the file's text is longer than ingest.maxTextChars; split the file")
        body = await self._received(lambda reader: reader.readexactly(size))
        if "error" in head:
            raise _ERRORS.get(str(head["error"]), ParseError)(str(head.get("detail")))
        return head, body

    async def _line(self) -> dict[str, Any]:
        try:
            head = json.loads(await self._received(lambda reader: reader.readuntil(b"\n")))
        except (ValueError, asyncio.LimitOverrunError) as error:
            raise malformed(error) from None
        if not isinstance(head, dict):
            raise malformed(TypeError())
        return head

    async def _received(self, read: Callable[[asyncio.StreamReader], Awaitable[bytes]]) -> bytes:
        """Raises what the end of the process stands for where it ends meanwhile."""
        try:
            return await read(self._child.reader)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise self._death(await self._child.wait()) from None

    def _death(self, status: int) -> ParseError:
        """What the end of a process that owes an answer says."""
        if status == -signal.SIGXCPU:
            limit = self._box.cpu_seconds
            return ParserLimitError(f"reading the file took more than {limit} s of CPU (ingest.parseSeconds)")
        if -status in _OUT_OF_MEMORY:
            return out_of_memory(self._box.memory_bytes)
        if status < 0:
            return ParseError(
                f"the parser crashed on this file ({signal.Signals(-status).name}); the file may be damaged"
            )
        return ParseError(f"the parser failed on this file (exit status {status}); the file may be damaged")

    async def close(self) -> None:
        """End the whole group, once. Shielded: a second cancellation must not leave a process behind."""
        self._ending = self._ending or asyncio.create_task(self._child.end())
        await asyncio.shield(self._ending)

    async def __aenter__(self) -> ConfinedProcess:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def malformed(error: Exception) -> ParseError:
    """What stands for an answer that is not as it should be: the process may have been taken over."""
    return ParseError(f"the parser gave a malformed answer ({type(error).__name__})")


def _share(told: Any) -> float:
    """0 to 1; 0 for what is no number. Raises ParseError."""
    try:
        return min(1.0, max(0.0, float(told)))
    except (ValueError, TypeError) as error:
        raise malformed(error) from None


def _size(head: dict[str, Any]) -> int:
    """How many bytes follow. Raises ParseError."""
    try:
        if (size := int(head.pop("size"))) < 0:
            raise ValueError("size")
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise malformed(error) from None
    return size
