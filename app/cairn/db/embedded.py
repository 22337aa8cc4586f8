"""The embedded PostgreSQL: `ensure_running(home)` and everybody on that home shares one server.

    home/postgres/18.4/         binaries                 home/postgres/data/     the cluster (PGDATA)
    home/postgres/run/*.lock    who uses, starts, runs   home/postgres/socket/   the only way in, mode 0700
    home/postgres/server.log    at most 2 x 10 MB        home/postgres/run/state     what is wrong, if anything

The server listens on the socket only, without passwords: the folder's mode is the guard, and the kernel tells whose process is at
the other end. What serves logs in as `cairn_server`, who is no superuser (cairn/db/roles.py). PostgreSQL refuses to run as
root, so root runs it as the user `cairn` (or `nobody`). cairn.db.supervisor starts and stops it; see there and
docs/adr/0002-embedded-postgres.md for why nothing is left behind when processes are killed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

import structlog

from cairn.db import runtime, supervisor
from cairn.db.cluster import (
    CLUSTER_NAME,
    DATABASE,
    SUPERUSER,
    ClusterFolders,
    check_reachable,
    make_folders,
    prepare_cluster,
    server_user,
    socket_folder,
    write_access_rules,
)
from cairn.db.machine import GB, MB, usable_memory
from cairn.db.supervisor import SupervisorConfig, try_lock
from cairn.errors import EmbeddedServerError, reason_of

log = structlog.get_logger(__name__)

_WAIT_SECONDS = supervisor.START_SECONDS + 60
_GUARD_SECONDS = 0.5
"""Between two looks whether the supervisor lives."""
_LOW_BYTES = 200_000_000
"""A dozen segments of the write-ahead log."""
_PATIENCE_SECONDS = 10.0
"""How long a newcomer waits for a server that is supervised and does not come up, before it says why."""
_SETTINGS = {
    "listen_addresses": "",
    "cluster_name": CLUSTER_NAME,
    "max_connections": "200",
    "wal_level": "minimal",  # nobody replicates an embedded server
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "max_wal_size": "2GB",
    "synchronous_commit": "on",
    "restart_after_crash": "on",
    "jit": "off",
    "random_page_cost": "1.1",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "log_checkpoints": "off",
}
# A killed process still loses nothing. Tests run many servers at once, so they are small.
_VOLATILE = {
    "fsync": "off", "full_page_writes": "off", "shared_buffers": "128MB", "maintenance_work_mem": "128MB",
    "max_wal_size": "512MB",
}  # fmt: skip


class EmbeddedServer:
    """One user's hold on the server of a home. Release it, or end: the kernel releases it then."""

    def __init__(self, home: Path, socket_folder: str, users_lock: int, durable: bool) -> None:
        self.home = home
        self.socket_folder = socket_folder
        self._users_lock: int | None = users_lock
        self._durable = durable
        self._released = threading.Event()
        self._unsupervised: str | None = None

    def dsn(self, database: str = DATABASE, user: str = SUPERUSER) -> str:
        """A URL for asyncpg and libpq; SQLAlchemy takes it with the scheme `postgresql+asyncpg`."""
        host = quote(self.socket_folder, safe="/")
        return f"postgresql://{quote(user, safe='')}@/{quote(database, safe='')}?host={host}&port=5432"

    def release(self) -> None:
        """Leave. The last to leave waits until the server has stopped. Releasing twice does nothing."""
        self._released.set()
        lock, self._users_lock = self._users_lock, None
        if lock is None:
            return
        try:
            if try_lock(lock, fcntl.LOCK_EX):  # newcomers wait until the lock is closed
                _stop_supervisor(ClusterFolders(self.home))
        finally:
            os.close(lock)

    def problem(self) -> str | None:
        """Why the server does not answer, as far as its supervisor knows; None when all is well. Asks no server."""
        return self._unsupervised or supervisor.read_state(ClusterFolders(self.home).state)

    def warning(self) -> str | None:
        """That its disk is nearly full: writes fail then, and after some of them the server ends."""
        free = self.free_bytes()
        if free is None or free >= _LOW_BYTES:
            return None
        return f"only {free // 10**6} MB are free on the disk of the database"

    def free_bytes(self) -> int | None:
        """Of its disk; None where that cannot be told."""
        try:
            room = os.statvfs(ClusterFolders(self.home).data)
        except OSError:
            return None
        return room.f_bavail * room.f_frsize

    def guard(self) -> EmbeddedServer:
        """For users that stay: from now on the server is started again should its supervisor be killed."""
        threading.Thread(target=self._keep_supervised, name="embedded", daemon=True).start()
        return self

    def _keep_supervised(self) -> None:
        """The supervisor keeps the server alive, and its users keep the supervisor. Never gives up; logs what changes."""
        place, pause, logged = ClusterFolders(self.home), _GUARD_SECONDS, None
        while not self._released.wait(pause):
            try:
                if not _supervised(place):
                    log.warning("embedded.unsupervised", home=str(self.home))
                    with _starting(place):
                        _start(place, self._durable)
                self._unsupervised, pause = None, _GUARD_SECONDS
            except (EmbeddedServerError, OSError) as error:
                self._unsupervised = f"PostgreSQL cannot be started again: {reason_of(error)}"
                pause = min(2 * pause, supervisor.LONGEST_PAUSE_SECONDS)
            if (problem := self.problem()) != logged:
                log.warning("embedded.down", problem=problem) if problem else log.info("embedded.up")
                logged = problem

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def ensure_running(home: Path, *, durable: bool = True) -> EmbeddedServer:
    """Start the server of `home`, or join the one that runs; blocks until it accepts connections.

    Call it from a thread. The first call on a home creates the cluster. `durable=False` (tests) gives up safety
    against power loss for speed; it has no effect on a server that runs already. Raises EmbeddedServerError.
    """
    place = ClusterFolders(home.absolute())
    try:
        make_folders(place)
        users_lock = _lock(place.run / "users.lock", fcntl.LOCK_SH)
        try:
            with _starting(place):
                socket_folder = _start(place, durable)
        except BaseException:
            os.close(users_lock)
            raise
    except OSError as error:
        full = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or error
        raise EmbeddedServerError(f"cannot use {place.root}: {full} ({error.filename or 'while writing'})") from error
    return EmbeddedServer(place.home, socket_folder, users_lock, durable)


# --- starting and stopping ------------------------------------------------------------------------------------------


def _start(place: ClusterFolders, durable: bool) -> str:
    """The socket folder of the running server, started if need be. The caller holds the start lock."""
    # before the time counts in which a server has to be ready: the first time it may be fetched
    runtime.install(place.root)
    began = time.monotonic()
    while (waited := time.monotonic() - began) < _WAIT_SECONDS:
        if not _supervised(place):
            _launch(place, durable)
        if folder := supervisor.ready_socket(place.data):
            return folder
        if waited > _PATIENCE_SECONDS and (problem := supervisor.read_state(place.state)):
            raise EmbeddedServerError(problem)
        time.sleep(0.02)
    raise EmbeddedServerError(f"PostgreSQL did not become ready; see {place.log}")


def _launch(place: ClusterFolders, durable: bool) -> None:
    owner = server_user(place)
    binaries = runtime.install(place.root)
    check_reachable(place, binaries, owner)
    prepare_cluster(place, binaries, owner, durable)
    settings = (
        _SETTINGS
        | size_settings(usable_memory(), os.cpu_count() or 1)
        | write_access_rules(place, owner)
        | {
            "unix_socket_directories": str(socket_folder(place, owner)),
            "unix_socket_permissions": "0700",
            "dynamic_shared_memory_type": _shared_memory(),
        }
    )
    command = [str(runtime.program(binaries, "postgres")), "-D", str(place.data), "-p", "5432"]
    for name, value in (settings | ({} if durable else _VOLATILE)).items():
        command += ["-c", f"{name}={value}"]
    job = SupervisorConfig(
        command=command, owner=owner, data=str(place.data), log=str(place.log),
        users_lock=str(place.run / "users.lock"), supervisor_lock=str(place.run / "supervisor.lock"),
        state=str(place.state),
    )  # fmt: skip
    script = [sys.executable, "-I", "-S", supervisor.__file__, json.dumps(asdict(job))]
    said = subprocess.run(
        script, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/",
        check=False,
    ).stdout.strip()  # fmt: skip
    if said:
        raise EmbeddedServerError(f"PostgreSQL did not start on {place.data}: {said}")


def size_settings(memory: int, processors: int) -> dict[str, str]:
    """Settings of PostgreSQL for a share of so many bytes and processors.

    Less than on a machine of its own: the orchestrator, the models and whatever else its user runs are there too. An eighth as
    shared buffers, taken from the system only as pages are read. A sixteenth for whatever is maintained, and up to half for
    the one build of a large HNSW index (cairn.db.build_memory). docs/production.md says what to set on a server of its own.
    """
    return {
        "shared_buffers": _megabytes(memory // 8, 128 * MB, 8 * GB),
        "effective_cache_size": _megabytes(memory // 2, 256 * MB, 64 * GB),
        "maintenance_work_mem": _megabytes(memory // 16, 64 * MB, 2 * GB),
        "cairn.build_memory": f"{memory // 2 // MB}MB",
        "max_parallel_maintenance_workers": str(min(max(processors - 1, 1), 8)),
        "max_parallel_workers": str(min(max(processors, 2), 16)),
    }


def _megabytes(wanted: int, least: int, most: int) -> str:
    return f"{min(max(wanted, least), most) // MB}MB"


def _shared_memory() -> str:
    """Parallel index builds need room in /dev/shm, of which containers have 64 MB by default."""
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return "mmap"
    return "posix" if room.f_bavail * room.f_frsize > 2**29 else "mmap"


def _supervised(place: ClusterFolders) -> bool:
    with contextlib.closing(_LockFile(place.run / "supervisor.lock")) as lock:
        return not try_lock(lock.fd, fcntl.LOCK_SH)


def _stop_supervisor(place: ClusterFolders) -> None:
    """Ask the supervisor to stop the server and wait until it has ended."""
    lock = place.run / "supervisor.lock"
    asked = False
    deadline = time.monotonic() + sum(seconds for _, seconds in supervisor.STOP_LADDER)
    while _supervised(place) and time.monotonic() < deadline:
        pid = lock.read_text().strip()
        if pid and not asked:
            os.kill(int(pid), signal.SIGTERM)
            asked = True
        time.sleep(0.01)


# --- locks ------------------------------------------------------------------------------------------------------------


class _LockFile:
    """An open lock file. Python opens it so that programs started later do not inherit it."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def close(self) -> None:
        os.close(self.fd)


def _lock(path: Path, kind: int) -> int:
    """The file descriptor of a lock that is held. Waits; a holder that hangs becomes an EmbeddedServerError."""
    file = _LockFile(path)
    deadline = time.monotonic() + _WAIT_SECONDS
    while not try_lock(file.fd, kind):
        if time.monotonic() > deadline:
            file.close()
            raise EmbeddedServerError(f"{path} has been locked for {_WAIT_SECONDS:.0f} s by another process")
        time.sleep(0.02)
    return file.fd


@contextlib.contextmanager
def _starting(place: ClusterFolders) -> Iterator[None]:
    """One process at a time creates or starts."""
    lock = _lock(place.run / "start.lock", fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(lock)
