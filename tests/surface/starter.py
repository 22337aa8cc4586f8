"""Starts servers and other commands that have loaded what a server needs: forks of one process that did so once, since loading is
four fifths of a start.

`cairn serve` as a user starts it, from nothing, is in tests/faults (served.py), and `cairn worker` in the sieges there. Run as a
program this is the process that is forked: it has no Python threads, answers on one socket, and ends when its owner is gone."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

REPO = Path(__file__).resolve().parents[2]
LOADED = (
    "cairn.interfaces.server", "alembic.command",
    "sqlalchemy.dialects.postgresql.asyncpg", "pgvector.sqlalchemy", "onnxruntime", "tokenizers",
    "py3langid", "langchain_text_splitters", "uvicorn.protocols.http.httptools_impl", "uvicorn.protocols.websockets.auto",
    "nicegui", "cairn.interfaces.web.pages",
)  # fmt: skip
LONGEST = 1_000_000
"""Bytes of a message; an environment is some thousands."""


class StartedProcess:
    """The part of subprocess.Popen that tests use."""

    def __init__(self, starter: Starter, pid: int) -> None:
        self._starter = starter
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._starter.ended(self.pid, 0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        until = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            left = 1.0 if until is None else until - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(f"server {self.pid}", timeout or 0)
            self.returncode = self._starter.ended(self.pid, min(left, 1.0))
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Starter:
    """One process that is forked for each server."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno()), *LOADED]
        own = {**os.environ, "PYTHONPATH": str(REPO / "app")}
        self._process = subprocess.Popen(command, env=own, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        theirs.close()
        self._channel = ours
        self._lock = threading.RLock()
        self._begun: list[int] = []
        self._ended: dict[int, int] = {}

    def start(self, environment: dict[str, str], log: Path, *command: str) -> StartedProcess:
        """A server, or another command, with exactly this environment, which writes to the log."""
        with self._lock:
            self._channel.send(
                json.dumps(
                    {"environment": environment, "log": str(log), "folder": os.getcwd(), "command": command}
                ).encode()
            )
            while not self._begun:
                self._read(None)
            return StartedProcess(self, self._begun.pop())

    def ended(self, pid: int, seconds: float) -> int | None:
        """How a process ended, looked for as long as that."""
        with self._lock:
            while pid not in self._ended and self._read(seconds):
                seconds = 0
            return self._ended.get(pid)

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
        self._process.wait()


# --- the process that is forked ---------------------------------------------------------------------------------------------


def answer(channel: socket.socket) -> None:
    """Fork when asked, and tell who has ended, until the owner is gone."""
    out, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for the whole group: the owner ends, and this with it
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    both: list[Any] = [channel, out]
    while True:
        ready = select.select(both, [], [])[0]
        if out in ready:
            os.read(out, 1000)
            for pid, code in reap():
                channel.send(json.dumps(["ended", pid, code]).encode())
        if channel in ready:
            if not (asked := channel.recv(LONGEST)):
                return
            wanted = json.loads(asked)
            if (pid := os.fork()) == 0:
                channel.close()
                command = wanted.pop("command")
                become(partial(run, command) if command else serve, [out, woken], **wanted)
            channel.send(json.dumps(["begun", pid]).encode())


def reap() -> list[tuple[int, int]]:
    found = []
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append((ended[0], os.waitstatus_to_exitcode(ended[1])))
    return found


def become(work: Callable[[], Any], opened: list[int], environment: dict[str, str], log: str, folder: str) -> NoReturn:
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
        written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.dup2(written, 1)
        os.dup2(written, 2)
        os.close(written)
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
    from cairn.interfaces.cli.main import run as run_command

    sys.exit(run_command(command))


if __name__ == "__main__":
    for name in sys.argv[2:]:
        with contextlib.suppress(ModuleNotFoundError):  # an extra that is not installed
            importlib.import_module(name)
    from cairn.language import identify

    identify.warm()  # .4 s of a processor for each that loads it
    gc.collect()
    gc.freeze()
    answer(socket.socket(fileno=int(sys.argv[1])))
