"""Keeps the embedded PostgreSQL running while anybody uses it, and stops it when nobody is left.

A small process of its own, started by app.db.embedded as a script (so: standard library only, no imports of ours).
Every user of the server holds a shared lock on `users.lock`, which the kernel drops however the user ends. The
supervisor, parent of the server, tries to lock that file exclusively; when it succeeds nobody is left, and it stops
the server and ends. It starts the server again when the server dies while in use, and the kernel stops the server
should the supervisor itself be killed. So nothing is left behind, whatever is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 0.2
START_SECONDS = 300.0
"""Crash recovery after a kill can take minutes; a server that fails ends by itself and is noticed at once."""
STOP_LADDER = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))
"""Fast shutdown (with a checkpoint), immediate shutdown, kill; and how long each is given, seconds."""
LOG_BYTES = 10_000_000
RESTARTS = 3
"""Starts in a row that may fail before the supervisor gives up; the next user then sees the reason."""


@dataclass(frozen=True)
class SupervisorConfig:
    """What to supervise. `owner` is (uid, gid) of the server when this process is root."""

    command: list[str]
    owner: tuple[int, int] | None
    data: str
    users_lock: str
    supervisor_lock: str
    log: str


def try_lock(fd: int, kind: int) -> bool:
    """Take or convert a lock (fcntl.LOCK_SH or LOCK_EX) if that is possible at once."""
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def ready_socket(data: Path) -> str | None:
    """The socket folder of the server that runs on `data` and accepts connections, or None.

    postmaster.pid says so itself (fifth and eighth line), but outlives a killed server: hence the connection.
    """
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
        if len(lines) < 8 or lines[7].strip() != "ready":
            return None
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(f"{lines[4]}/.s.PGSQL.{lines[3]}")
    except OSError:
        return None
    return lines[4]


def servers_on(data: Path) -> list[int]:
    """Process ids of PostgreSQL processes whose working folder is `data`; empty where there is no /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            program = os.readlink(entry / "exe")
            if Path(program).name.startswith("postgres") and os.path.samefile(entry / "cwd", data):
                found.append(int(entry.name))
        except OSError:
            continue  # ended meanwhile, or not ours to see
    return found


def evict(data: Path, owner: tuple[int, int] | None) -> None:
    """Wait for the remains of an earlier server (its supervisor or postmaster was killed), then end them.

    Orphaned backends still share memory, and PostgreSQL rightly refuses to start beside them. Root does this as the
    server's user: it may signal nothing else then, and root in a container may not look at other users' processes.
    """
    if owner is not None:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            return
        try:
            os.setgroups([])
            os.setgid(owner[1])
            os.setuid(owner[0])
            evict(data, None)
        finally:
            os._exit(0)
    for sign, seconds in ((0, 5.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)):
        for pid in servers_on(data):
            _signal(pid, sign)
        if _wait(lambda: not servers_on(data), seconds):
            return


def stop_with_parent() -> Callable[[], None] | None:
    """For the child after fork: ask Linux to send it SIGINT (fast shutdown) when the supervisor dies."""
    if sys.platform != "linux":
        return None
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
    parent = os.getpid()

    def ask() -> None:
        prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)

    return ask


def start(job: SupervisorConfig, log: int) -> subprocess.Popen[bytes]:
    """Start the server; it may still fail or need recovery."""
    data = Path(job.data)
    evict(data, job.owner)
    environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    if Path("/proc/self").exists():
        # A stale postmaster.pid may name a process id that something else has by now. No server runs on this folder
        # (evict), so tell PostgreSQL to ignore that id as it would ignore its own starter's. Its check for shared
        # memory that is still in use stays in force; deleting the file would switch that off.
        with contextlib.suppress(OSError, ValueError):
            environment["PG_GRANDPARENT_PID"] = str(int((data / "postmaster.pid").read_text().split("\n")[0]))
    uid, gid = job.owner or (None, None)
    return subprocess.Popen(
        job.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env=environment, umask=0o077,
        user=uid, group=gid, extra_groups=None if uid is None else [], preexec_fn=stop_with_parent(),
    )  # fmt: skip


def stop(server: subprocess.Popen[bytes]) -> None:
    for sign, seconds in STOP_LADDER:
        if server.poll() is None:
            server.send_signal(sign)
            _wait(lambda: server.poll() is not None, seconds)


def _signal(pid: int, sign: int) -> None:
    with contextlib.suppress(OSError):  # ended meanwhile
        os.kill(pid, sign)


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def trim(path: str, log: int) -> None:
    """Keep the log bounded: one full file beside the current one."""
    if os.fstat(log).st_size > LOG_BYTES:
        shutil.copyfile(path, path + ".1")
        os.ftruncate(log, 0)


class Supervisor:
    """One server under supervision. `asked` becomes true with SIGTERM: stop now."""

    def __init__(self, job: SupervisorConfig) -> None:
        self.job = job
        self.log = os.open(job.log, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self.users = os.open(job.users_lock, os.O_RDWR | os.O_CREAT, 0o600)
        self.asked = False
        self.alarm, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._ask)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to wake up
        self.server = start(job, self.log)

    def _ask(self, *_: object) -> None:
        self.asked = True

    def become_ready(self) -> bool:
        """Wait until the server accepts connections (or nobody is left to want it); False when it ended."""
        data = Path(self.job.data)
        _wait(lambda: self.finished() or self.unused() or ready_socket(data) is not None, START_SECONDS)
        return not self.finished()

    def finished(self) -> bool:
        return self.asked or self.server.poll() is not None

    def unused(self) -> bool:
        """True when no user is left. From then on the lock is ours until we end, and newcomers wait."""
        return try_lock(self.users, fcntl.LOCK_EX)

    def watch(self) -> None:
        """Return when the server is no longer wanted, or cannot be kept alive."""
        failures = 0
        while not self.asked and not self.unused() and failures < RESTARTS:
            if select.select([self.alarm], [], [], POLL_SECONDS)[0]:
                os.read(self.alarm, 1000)
            trim(self.job.log, self.log)
            if self.server.poll() is not None and not self.asked:
                self.server = start(self.job, self.log)
                failures = 0 if self.become_ready() else failures + 1


def main() -> None:
    """Detach, take the place of the one supervisor, serve. Standard output carries the reason of a failure and is
    closed as soon as the server is ready: the starter waits for that."""
    job = SupervisorConfig(**json.loads(sys.argv[1]))
    if os.fork():
        os._exit(0)  # the starter gets no child that it would have to reap
    os.setsid()
    place = os.open(job.supervisor_lock, os.O_RDWR | os.O_CREAT, 0o600)
    if not _wait(lambda: try_lock(place, fcntl.LOCK_EX), 2):
        return  # another one is in charge
    os.ftruncate(place, 0)
    os.write(place, str(os.getpid()).encode())
    before = os.stat(job.log).st_size if os.path.exists(job.log) else 0
    supervisor = Supervisor(job)
    if supervisor.become_ready():
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        supervisor.watch()
    else:
        said = Path(job.log).read_bytes()[before:].decode(errors="replace").splitlines()
        print("\n".join(said[-8:]) or "the server ended without a word", flush=True)
    stop(supervisor.server)


if __name__ == "__main__":
    main()
