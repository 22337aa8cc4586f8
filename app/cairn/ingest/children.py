"""Processes that read files of strangers, as this process holds them: forked from one that has the modules (fork_server.py), or
started each for itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from cairn.errors import ParseError
from cairn.ingest.box import Box

HEAD_BYTES: Final = 1 << 20
"""Room for the first line of an answer: the page starts of a long document."""
_SOURCE_ROOT: Final = Path(__file__).resolve().parents[2]
"""The folder that the package `cairn` lies in."""
_PASSED_ON: Final = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TZ")
_REAP_SECONDS: Final = 10
"""How long a killed child is waited for."""
_START_SECONDS: Final = 120
"""How long a forked one is: some milliseconds, and once for each format what importing its library takes."""
_PYTHON: Final = (sys.executable, "-P", "-m")


class Child(Protocol):
    """A process with its input and output."""

    pid: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def wait(self) -> int:
        """How it ended, as subprocess tells it: its exit status, or less than 0 for a signal. Raises ParseError where it ended
        with the process that forked it."""

    async def end(self) -> None:
        """Kill it and its group, if it is not ended, and wait for that, for _REAP_SECONDS at most. To be awaited once."""


async def new_child(box: Box, task: str, media_type: str | None) -> Child:
    """A child that answers requests for a task (child.py), of files of a kind. Raises OSError."""
    if sys.platform == "linux":
        return await _SERVER.fork(box, task, media_type)
    return await start_child((*_PYTHON, "cairn.ingest.child"), box)


# --- started for itself -----------------------------------------------------------------------------------------------


class _Started:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid, self.reader, self.writer = process.pid, process.stdout, process.stdin
        self._process = process

    async def wait(self) -> int:
        return await self._process.wait()

    async def end(self) -> None:
        """What it had written is read away first: asyncio pauses a pipe that nobody reads, and `wait` returns only when every
        pipe has ended."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REAP_SECONDS):
                while await self.reader.read(1 << 16):
                    pass
                await self._process.wait()


async def start_child(command: Sequence[str], box: Box) -> Child:
    """A child that a command starts. Raises OSError."""
    process = await asyncio.create_subprocess_exec(
        *command,
        json.dumps(box._replace(parent=os.getpid())),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
        env=_environment(),
        limit=HEAD_BYTES,
    )
    return _Started(process)


def _environment() -> dict[str, str]:
    """Only what an interpreter needs, and where packages lie; who reads an untrusted file has no business with keys."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    folders = [str(_SOURCE_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    path = os.pathsep.join(dict.fromkeys(map(os.path.abspath, folders)))
    return kept | {"PYTHONPATH": path, "PYTHONUTF8": "1", "MALLOC_ARENA_MAX": "2"}


# --- forked -----------------------------------------------------------------------------------------------------------


class _Forked:
    def __init__(
        self, pid: int, data: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        told: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:  # fmt: skip
        self.pid = pid
        self.reader, self.writer = data
        self._told, self._hold = told

    async def wait(self) -> int:
        line = await self._told.readline()
        if not line:
            raise ParseError("the process that read the file was ended from outside; hand the file over again")
        return int(line)

    async def end(self) -> None:
        self.writer.transport.abort()  # what it has not read is of no use
        try:
            with contextlib.suppress(TimeoutError, OSError):
                self._hold.write_eof()
                async with asyncio.timeout(_REAP_SECONDS):
                    await self._told.read()
        finally:
            self._hold.transport.abort()


class _ForkServer:
    """The one of this process, whichever of its threads and event loops asks. It is begun with the first child, and anew when it
    has ended or would have another environment."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._begun_for: tuple[int, Mapping[str, str]] | None = None

    async def fork(self, box: Box, task: str, media_type: str | None) -> Child:
        """Raises OSError."""
        order = json.dumps({"box": box, "task": task, "media_type": media_type}).encode()
        for _ in range(2):  # one that ends for want of work may not see the order
            control, data, told = self._order(order)
            try:
                async with asyncio.timeout(_START_SECONDS):
                    if (forked := await _forked(data, told)) is not None:
                        return forked
            except TimeoutError:
                self._forget(control, kill=True)
                raise OSError(f"the process that forks readers of files did nothing for {_START_SECONDS} s") from None
            self._forget(control)
        raise OSError("the process that forks readers of files ended twice")

    def _order(self, order: bytes) -> tuple[socket.socket, socket.socket, socket.socket]:
        """Raises BlockingIOError where it is that far behind."""
        (data, its_data), (told, its_told) = socket.socketpair(), socket.socketpair()
        with its_data, its_told, self._lock:
            try:
                control = self._connected()
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it ended; `told` says so
                    socket.send_fds(control, [order], [its_data.fileno(), its_told.fileno()])
            except BaseException:
                data.close()
                told.close()
                raise
            return control, data, told

    def _connected(self) -> socket.socket:
        wanted = (os.getpid(), _environment())
        if self._control is None or self._begun_for != wanted:
            self._close()
            control, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with its:
                self._process = subprocess.Popen(
                    [*_PYTHON, "cairn.ingest.fork_server", str(its.fileno())],
                    pass_fds=[its.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    env=wanted[1],
                )
            threading.Thread(target=self._process.wait, daemon=True).start()  # so that nothing is left of it
            control.setblocking(False)
            self._control, self._begun_for = control, wanted
        return self._control

    def _forget(self, control: socket.socket, *, kill: bool = False) -> None:
        with self._lock:
            if self._control is control:
                if kill and self._process is not None:
                    self._process.kill()
                self._close()

    def _close(self) -> None:
        if self._control is not None:
            self._control.close()
        self._control = self._process = None


_SERVER: Final = _ForkServer()


async def _forked(data: socket.socket, told: socket.socket) -> Child | None:
    """None where the server ended before. The sockets are the child's, or closed. Raises OSError for what the server says."""
    opened: list[asyncio.StreamWriter] = []
    try:
        tidings = await asyncio.open_unix_connection(sock=told)
        opened.append(tidings[1])
        line = (await tidings[0].readline()).strip().decode()
        if line.isdecimal():
            streams = await asyncio.open_unix_connection(sock=data, limit=HEAD_BYTES)
            return _Forked(int(line), streams, tidings)
    except BaseException:
        _close_all(opened, data, told)
        raise
    _close_all(opened, data, told)
    if line:
        raise OSError(f"no process to read a file: {line}")
    return None


def _close_all(opened: Sequence[asyncio.StreamWriter], *sockets: socket.socket) -> None:
    """A socket that a transport has is closed by that alone: its number may be another's by then."""
    held = {writer.get_extra_info("socket").fileno() for writer in opened}
    for one in sockets:
        if one.fileno() not in held:
            one.close()
    for writer in opened:
        writer.transport.abort()
