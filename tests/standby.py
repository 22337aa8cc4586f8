"""A real primary and a standby that streams from it, or one server alone, of the embedded binaries; for tests that stop, pause
and promote it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from cairn.db import runtime
from cairn.db.cluster import DATABASE, SUPERUSER, ClusterFolders, Owner, make_folders, prepare_cluster, server_user
from tests.folders import temporary_folder
from tests.waiting import patience, until, wait_until

_SETTINGS = {
    "listen_addresses": "", "wal_level": "replica", "hot_standby": "on", "fsync": "off",
    "jit": "off", "shared_buffers": "64MB", "max_standby_streaming_delay": "300ms",
    "wal_retrieve_retry_interval": "200ms", "wal_keep_size": "256MB", "timezone": "UTC",
}  # fmt: skip


@dataclass
class Postgres:
    """A server that can be stopped, killed and started again."""

    place: ClusterFolders
    binaries: Path
    owner: Owner | None
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def dsn(self) -> str:
        return f"postgresql://{SUPERUSER}@/{DATABASE}?host={self.place.root}"

    @property
    def log(self) -> str:
        return self.place.log.read_text(errors="replace")

    def start(self) -> None:
        command = [str(runtime.program(self.binaries, "postgres")), "-D", str(self.place.data)]
        for name, value in {**_SETTINGS, "unix_socket_directories": str(self.place.root)}.items():
            command += ["-c", f"{name}={value}"]
        uid, gid = self.owner or (None, None)
        with self.place.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd="/", user=uid, group=gid,
                extra_groups=None if uid is None else [],
            )  # fmt: skip
        asked = [runtime.program(self.binaries, "pg_isready"), "-q", "-h", str(self.place.root)]

        def answers() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, self.log[-2000:]
            return subprocess.run(asked, check=False).returncode == 0

        wait_until(answers, 30, told=lambda: self.log[-2000:])

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: as an administrator does. SIGQUIT: at once, without good-byes."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(patience())
            self._process = None

    def freeze(self, *, stopped: bool) -> None:
        """The whole server does nothing, as behind a network that loses everything; or goes on."""
        assert self._process is not None
        processes = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self._process.pid)], capture_output=True, text=True, check=True
        )
        for pid in [self._process.pid, *map(int, processes.stdout.split())]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP if stopped else signal.SIGCONT)

    async def run(self, statement: str, *arguments: object) -> object:
        """As superuser, on a connection of its own."""
        connection = await asyncpg.connect(self.dsn)
        try:
            return await connection.fetchval(statement, *arguments)
        finally:
            await connection.close()


@dataclass(frozen=True)
class Pair:
    primary: Postgres
    standby: Postgres

    async def catch_up(self) -> None:
        """Wait until the standby has replayed all that there is."""
        end = await self.primary.run("SELECT pg_current_wal_insert_lsn()::text")
        await until(lambda: self.standby.run("SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", end))


@contextlib.contextmanager
def one_server(binaries: Path) -> Iterator[Postgres]:
    """Runs until the context ends."""
    with temporary_folder() as folder:
        server = _made(folder / "server", binaries)
        prepare_cluster(server.place, binaries, server.owner, durable=False)
        _allow(server)
        server.start()
        with contextlib.ExitStack() as running:
            running.callback(server.stop, signal.SIGQUIT)
            yield server


@contextlib.contextmanager
def primary_and_standby(binaries: Path) -> Iterator[Pair]:
    """Both run until the context ends. `binaries`: where the server's user can read them (app/cairn/db/runtime.py)."""
    with temporary_folder() as folder:
        pair = Pair(_made(folder / "primary", binaries), _made(folder / "standby", binaries))
        with contextlib.ExitStack() as running:
            prepare_cluster(pair.primary.place, binaries, pair.primary.owner, durable=False)
            _allow(pair.primary)
            running.callback(pair.primary.stop, signal.SIGQUIT)
            shutil.copytree(pair.primary.place.data, pair.standby.place.data, symlinks=True)  # nobody runs on it
            (pair.standby.place.data / "standby.signal").touch()
            with (pair.standby.place.data / "postgresql.auto.conf").open("a") as settings:
                settings.write(f"primary_conninfo = 'user={SUPERUSER} host={pair.primary.place.root}'\n")
            _give(pair.standby)
            pair.primary.start()
            running.callback(pair.standby.stop, signal.SIGQUIT)
            pair.standby.start()
            yield pair


def _made(home: Path, binaries: Path) -> Postgres:
    place = ClusterFolders(home)
    make_folders(place)
    server = Postgres(place, binaries, server_user(place))
    _give(server)
    return server


def _give(server: Postgres) -> None:
    if server.owner:
        for path in (server.place.root, *server.place.data.rglob("*"), server.place.data):
            if path.exists():
                os.chown(path, *server.owner, follow_symlinks=False)
    if server.place.data.exists():
        server.place.data.chmod(0o700)


def _allow(server: Postgres) -> None:
    """Everybody who reaches the socket, for replication too."""
    rules = server.place.data / "pg_hba.conf"
    rules.write_text("local all all trust\nlocal replication all trust\n")
