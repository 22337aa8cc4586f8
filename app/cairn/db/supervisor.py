"""Keeps the embedded PostgreSQL running while anybody uses it, and stops it when nobody is left.

A small process of its own, started by cairn.db.embedded as a script (so: standard library only, no imports of ours).
Every user of the server holds a shared lock on `users.lock`, which the kernel drops however the user ends. The
supervisor, parent of the server, tries to lock that file exclusively; when it succeeds nobody is left, and it stops
the server and ends. It starts the server again when the server dies while in use, for as long as anybody uses it, with
pauses that grow while it does not come up; what is wrong stands in a file for its users meanwhile. The kernel stops the
server should the supervisor itself be killed. So nothing is left behind, whatever is killed.
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
STEADY_SECONDS = 5.0
"""A server that was up for so long did not fail to start: it is started again at once."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 10.0
"""Before the second start in a row that failed, doubled with each further one, and at most."""
STATE_BYTES = 2048
"""Size of the file that says what is wrong. It is as large from the beginning, so that a full disk cannot keep it empty."""
LEAST_FREE_BYTES = 1_000_000
"""With less than that on its file system a server cannot start: lock file, a segment of the log, temporary files."""


@dataclass(frozen=True)
class SupervisorConfig:
    """What to supervise. `owner` is (uid, gid) of the server when this process is root."""

    command: list[str]
    owner: tuple[int, int] | None
    data: str
    users_lock: str
    supervisor_lock: str
    log: str
    state: str


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
    """Keep the log bounded: one full file beside the current one, where there is room for it."""
    if os.fstat(log).st_size > LOG_BYTES:
        with contextlib.suppress(OSError):
            shutil.copyfile(path, path + ".1")
        os.ftruncate(log, 0)


def last_words(log: int, offset: int) -> str:
    """What the server wrote since `offset`: its last complaints, else its last lines."""
    size = os.fstat(log).st_size
    start = max(offset if offset <= size else 0, size - 8000)
    lines = os.pread(log, 8000, start).decode(errors="replace").splitlines()
    complaints = [line for line in lines if "FATAL:" in line or "PANIC:" in line]
    return "\n".join(complaints[-2:] or lines[-4:])


def missing_room(data: Path) -> str | None:
    """That the file system of the data is full, in words; None where it is not."""
    room = os.statvfs(data)
    free = room.f_bavail * room.f_frsize
    if free < LEAST_FREE_BYTES:
        return f"the disk is full: {free // 1000} kB are free on the file system of {data}"
    return f"no file can be made on the file system of {data}: its inodes are used up" if room.f_favail == 0 else None


def read_state(path: Path) -> str | None:
    """What is wrong with the server that is supervised, as `Supervisor.note` wrote it; None when all is well."""
    try:
        return path.read_bytes()[:STATE_BYTES].strip(b" \0\n").decode(errors="replace") or None
    except OSError:
        return None


class Supervisor:
    """One server under supervision. `asked` becomes true with SIGTERM: stop now."""

    def __init__(self, job: SupervisorConfig) -> None:
        self.job = job
        self.log = os.open(job.log, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self.users = os.open(job.users_lock, os.O_RDWR | os.O_CREAT, 0o600)
        self.state = os.open(job.state, os.O_RDWR | os.O_CREAT, 0o600)
        self.asked = False
        self.failures = 0
        self.since = time.monotonic()
        self.log_offset = 0
        self.server: subprocess.Popen[bytes] | None = None
        self.alarm, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._ask)
        self.note("")

    def _ask(self, *_: object) -> None:
        self.asked = True

    def attempt(self) -> str | None:
        """Start the server and wait until it accepts connections, or nobody is left to want it. The reason of a failure."""
        data = Path(self.job.data)
        self.log_offset = os.fstat(self.log).st_size
        try:
            self.server = start(self.job, self.log)
        except (OSError, subprocess.SubprocessError) as error:  # no memory, no process, no program
            self.server = None
            return f"it cannot be started: {error}"
        _wait(lambda: self.finished() or self.unused() or ready_socket(data) is not None, START_SECONDS)
        self.since = time.monotonic()
        return self.reason() if self.ended() else None

    def ended(self) -> bool:
        return self.server is None or self.server.poll() is not None

    def finished(self) -> bool:
        return self.asked or self.ended()

    def unused(self) -> bool:
        """True when no user is left. From then on the lock is ours until we end, and newcomers wait."""
        return try_lock(self.users, fcntl.LOCK_EX)

    def reason(self) -> str:
        """Why the server ended, in words."""
        words = last_words(self.log, self.log_offset)
        try:
            full = missing_room(Path(self.job.data))
        except OSError as error:
            full = f"its folder cannot be read: {error}"
        return "; ".join(filter(None, (full, words))) or "the server ended without a word"

    def note(self, problem: str) -> None:
        """Tell the users what is wrong; an empty text says that all is well."""
        text = problem.encode()[:STATE_BYTES].ljust(STATE_BYTES)
        with contextlib.suppress(OSError):
            os.pwrite(self.state, text, 0)

    def say(self, line: str) -> None:
        """Into the server's log, if the disk has room for it."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        with contextlib.suppress(OSError):
            os.write(self.log, f"{stamp} [supervisor] {line}\n".encode())

    def watch(self) -> None:
        """Keep the server alive; return when it is no longer wanted."""
        while not self.pause(POLL_SECONDS):
            trim(self.job.log, self.log)
            if self.ended():
                self.revive()

    def revive(self) -> None:
        """Start the server until it runs, or nobody wants it any more. Never gives up: a disk gets room again."""
        steady = time.monotonic() - self.since > STEADY_SECONDS
        self.failures = 0 if steady else self.failures + 1
        problem = self.reason()
        while True:
            seconds = min(FIRST_PAUSE_SECONDS * 2 ** min(self.failures - 1, 10), LONGEST_PAUSE_SECONDS)
            seconds = seconds if self.failures else 0.0
            self.say(f"the server ended; starting it again in {seconds:.1f} s")
            self.note(f"PostgreSQL ended and is started again every {max(seconds, 1):.0f} s: {problem}")
            if self.pause(seconds):
                return
            found = self.attempt()
            if found is None or self.asked:
                self.note("")
                return
            problem, self.failures = found, self.failures + 1

    def pause(self, seconds: float) -> bool:
        """Wait; whether the server is no longer wanted, which ends the pause at once."""
        until = time.monotonic() + seconds
        while not self.asked and not self.unused():
            left = min(until - time.monotonic(), POLL_SECONDS)
            if left <= 0:
                return False
            select.select([self.alarm], [], [], left)
        return True


def take_place(path: str) -> int | None:
    """The lock of the one supervisor with our process id in the file; None when another one is in charge.

    The id has a fixed width and is written in place: a disk that is full has no room for a new block.
    """
    place = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if not _wait(lambda: try_lock(place, fcntl.LOCK_EX), 2):
        return None
    os.pwrite(place, f"{os.getpid():<20}".encode(), 0)
    return place


def main() -> None:
    """Detach, take the place of the one supervisor, serve. Standard output carries the reason of a failure and is
    closed as soon as the server is ready: the starter waits for that."""
    job = SupervisorConfig(**json.loads(sys.argv[1]))
    if os.fork():
        os._exit(0)  # the starter gets no child that it would have to reap
    os.setsid()
    try:
        place = take_place(job.supervisor_lock)
        if place is None:
            return
        supervisor = Supervisor(job)
        problem = supervisor.attempt()
    except OSError as error:
        print(missing_room(Path(job.data)) or error, flush=True)
        return
    if problem is None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        supervisor.watch()
    else:
        print(problem, flush=True)
    if supervisor.server is not None:
        stop(supervisor.server)


if __name__ == "__main__":
    main()
