"""Starts servers and other commands that have loaded what a server needs: forks of one process that did so once, since loading is
four fifths of a start, and takes five seconds of a processor. The processes that share the tests share it.

`cairn serve` as a user starts it, from nothing, is in test_wheel.py, and `cairn mcp` in test_mcp.py (a siege). Run as a program
this is the process that is forked: it has no Python threads, answers on sockets, and ends when its owners are gone."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

REPO = Path(__file__).resolve().parents[2]
LOADED = (
    "cairn.interfaces.server", "alembic.command",
    "sqlalchemy.dialects.postgresql.asyncpg", "pgvector.sqlalchemy", "onnxruntime", "tokenizers",
    "py3langid", "langchain_text_splitters", "uvicorn.protocols.http.httptools_impl", "uvicorn.protocols.websockets.auto",
    "uvicorn.lifespan.off", "anyio._backends._asyncio", "watchfiles", "httpcore2",
    "openai", "openai.resources.chat", "openai.resources.models", "cairn.providers.oidc_sign_in",
    "nicegui", "cairn.interfaces.web.pages", "cairn.interfaces.mcp.server", "mcp.server.streamable_http_manager",
    "cairn.interfaces.cli.main", "cairn.interfaces.cli.mcp",
)  # fmt: skip
LONGEST = 1_000_000
"""Bytes of a message; an environment is some thousands."""


class StartedProcess:
    """The part of subprocess.Popen that tests use."""

    def __init__(self, starter: Starter, pid: int) -> None:
        self._starter = starter
        self.pid = pid
        self.returncode: int | None = None

    def poll(self, seconds: float = 0) -> int | None:
        """What it ended with, looked for as long as that; several threads may."""
        if self.returncode is None and (code := self._starter.ended(self.pid, seconds)) is not None:
            self.returncode = code
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        until = None if timeout is None else time.monotonic() + timeout
        left = 0.0
        while (code := self.poll(min(left, 1.0))) is None:
            left = 1.0 if until is None else until - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(f"server {self.pid}", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Starter:
    """One process that is forked for each server; `run`: of whom it is shared, else it is for this process alone."""

    def __init__(self, run: str | None = None) -> None:
        self._channel, self._process = _connected(run or uuid.uuid4().hex)
        self._lock = threading.RLock()
        self._begun: list[int] = []
        self._ended: dict[int, int] = {}

    def start(
        self, environment: dict[str, str], log: Path, *command: str, folder: Path | None = None,
        pipes: tuple[Path, Path] | None = None,
    ) -> StartedProcess:  # fmt: skip
        """A server, or another command or program (`run`), with exactly this environment, in this folder or the current one,
        which writes to the log; one that is a terminal is read from, too. `pipes`: named ones, from which it reads and to which
        it writes instead, and which it opens in this order."""
        wanted = {"environment": environment, "log": str(log), "folder": str(folder or Path.cwd()), "command": command}
        wanted |= {"pipes": [str(pipe) for pipe in pipes or ()]}
        with self._lock:
            self._channel.send(json.dumps(wanted).encode())
            while not self._begun:
                self._read(None)
            return StartedProcess(self, self._begun.pop())

    def ended(self, pid: int, seconds: float) -> int | None:
        """How a process ended, looked for as long as that."""
        with self._lock:
            while pid not in self._ended and self._read(seconds):
                seconds = 0
            return self._ended.pop(pid, None)  # another process may have that number later

    def _read(self, seconds: float | None) -> bool:
        if not select.select([self._channel], [], [], seconds)[0]:
            return False
        said = self._channel.recv(LONGEST)
        assert said, "the starter of servers has ended; see its message above"
        match json.loads(said):
            case ["begun", pid]:
                self._begun.append(pid)
            case ["ended", pid, code]:
                self._ended[pid] = code
        return True

    def close(self) -> None:
        self._channel.close()


def _connected(run: str) -> tuple[socket.socket, subprocess.Popen[bytes] | None]:
    """A channel to the process that serves this run, and the process where it was started for it."""
    address = f"\0cairn-starter-{run}"  # is no file, and ends with who listens
    while True:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with contextlib.suppress(ConnectionError):  # nobody listens, or the one who did has just ended
            channel.connect(address)
            if channel.recv(LONGEST):
                return channel, None
        channel.close()
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            try:
                listening.bind(address)
            except OSError as error:
                channel.close()
                if error.errno != errno.EADDRINUSE:
                    raise
                continue  # another one was quicker
            listening.listen(64)
            channel.connect(address)
            process = _start(listening)
        assert channel.recv(LONGEST), "the starter of servers could not start; see its message above"
        return channel, process


def _start(listening: socket.socket) -> subprocess.Popen[bytes]:
    """With nothing of the test that happens to be the first one."""
    own = {name: text for name, text in os.environ.items() if not name.startswith(("CAIRN_", "PYTEST_"))}
    return subprocess.Popen(
        [sys.executable, __file__, str(listening.fileno()), *LOADED], env={**own, "PYTHONPATH": str(REPO / "app")}, cwd=REPO,
        stdin=subprocess.DEVNULL, pass_fds=[listening.fileno()],
    )  # fmt: skip


# --- the process that is forked ---------------------------------------------------------------------------------------------


def answer(listening: socket.socket) -> None:
    """Fork when asked, and tell who has ended, until all owners are gone."""
    out, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for the whole group: the owners end, and this with them
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    channels: list[socket.socket] = []
    begun: dict[int, socket.socket] = {}
    while True:
        sources: list[Any] = [out, listening, *channels]
        ready = select.select(sources, [], [])[0]
        if out in ready:
            os.read(out, 1000)
            for pid, code in reap():
                if owner := begun.pop(pid, None):
                    tell(owner, ["ended", pid, code])
        if listening in ready:
            come = listening.accept()[0]
            if user_of(come) == os.geteuid():  # anybody on the machine can find the address
                tell(come, ["welcome"])
                channels.append(come)
            else:
                come.close()
        for channel in [one for one in channels if one in ready]:
            if not (asked := channel.recv(LONGEST)):
                for pid in [pid for pid, owner in begun.items() if owner is channel]:
                    os.kill(pid, signal.SIGTERM)  # what an owner leaves that was killed itself
                channels.remove(channel)
                channel.close()
                if not channels and not select.select([listening], [], [], 0)[0]:
                    listening.close()  # at once: who comes now starts another one
                    return
                continue
            wanted = json.loads(asked)
            if (pid := os.fork()) == 0:
                command = wanted.pop("command")
                opened = [out, woken, listening.detach(), *(one.detach() for one in channels)]
                become(partial(run, command) if command else serve, opened, **wanted)
            begun[pid] = channel
            tell(channel, ["begun", pid])


def tell(owner: socket.socket, said: list[Any]) -> None:
    with contextlib.suppress(OSError):  # it is gone
        owner.send(json.dumps(said).encode())


def user_of(channel: socket.socket) -> int:
    """Who is at its other end."""
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return int(user)


def reap() -> list[tuple[int, int]]:
    found = []
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append((ended[0], os.waitstatus_to_exitcode(ended[1])))
    return found


def become(
    work: Callable[[], Any], opened: list[int], environment: dict[str, str], log: str, folder: str, pipes: list[str]
) -> NoReturn:
    """In the fork: be as a new process is, do the work, and end as one does."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for descriptor in opened:
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        terminal = log.startswith("/dev/")
        if terminal:
            os.setsid()  # so that it is the terminal of this process when it is opened
        written = os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        if terminal:
            os.dup2(written, 0)
        os.dup2(written, 1)
        os.dup2(written, 2)
        os.close(written)
        for place, pipe in enumerate(pipes):
            held = os.open(pipe, (os.O_RDONLY, os.O_WRONLY)[place])
            os.dup2(held, place)
            os.close(held)
        work()
        code = 0
    except SystemExit as ending:
        if isinstance(ending.code, str):
            print(ending.code, file=sys.stderr)
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as the end of an interpreter does
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve() -> None:
    """`cairn serve`, without its command line."""
    from cairn.errors import CairnError
    from cairn.interfaces.server import serve as run
    from cairn.settings import SettingsStore, read_environment

    try:
        environment = read_environment()
        run(environment, SettingsStore(environment.settings_path))
    except CairnError as error:
        sys.exit(f"{error.code}: {error.detail}")


def run(command: list[str]) -> None:
    """`cairn` with these arguments, or a program that is named by its file."""
    if command[0].endswith(".py"):
        sys.argv[:] = command
        runpy.run_path(command[0], run_name="__main__")
        return
    from cairn.interfaces.cli.main import run as run_command

    sys.exit(run_command(command))


if __name__ == "__main__":
    for name in sys.argv[2:]:
        with contextlib.suppress(ModuleNotFoundError):  # an extra that is not installed
            importlib.import_module(name)
    from cairn.language import identify, linear

    identify.warm()  # .4 s of a processor for each that loads it
    linear.compile_all()  # .8 s
    gc.collect()
    gc.freeze()
    answer(socket.socket(fileno=int(sys.argv[1])))
