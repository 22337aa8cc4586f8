"""The real PgBouncer before the server of the tests: in transaction mode, with few sessions that go round among the clients."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cairn.db.embedded import EmbeddedServer
from cairn.db.roles import SERVER_LOGIN
from tests.waiting import patience, wait_until

BINARY = os.environ.get("CAIRN_TEST_PGBOUNCER") or shutil.which("pgbouncer", path=f"{os.environ.get('PATH')}:/usr/sbin")
"""Read before the tests forget their environment."""
PORT = 6432
KEEPS_STATEMENTS_SINCE = (1, 22)
"""It could in 1.21 already, with faults in COPY."""


def can_keep_statements() -> bool:
    """Whether the binary can carry prepared statements in transaction mode."""
    if BINARY is None:
        return False
    said = subprocess.run([str(BINARY), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"PgBouncer (\d+)\.(\d+)", said)
    assert found, said
    return (int(found[1]), int(found[2])) >= KEEPS_STATEMENTS_SINCE


@dataclass
class PgBouncer:
    """A process that can be killed and started again."""

    folder: Path
    user: tuple[int, int] | None
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def dsn(self, database: str) -> str:
        """For serving: the login that is a member of cairn_app alone."""
        return f"postgresql://{SERVER_LOGIN}@/{database}?host={self.folder}&port={PORT}"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def start(self) -> None:
        uid, gid = self.user or (None, None)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(BINARY), str(self.folder / "pgbouncer.ini")], stdout=log, stderr=log, cwd="/",
                user=uid, group=gid, extra_groups=None if uid is None else [],
            )  # fmt: skip
        wait_until(self._answers, told=lambda: self.log)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log
        with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
            probe.connect(str(self.folder / f".s.PGSQL.{PORT}"))
            return True
        return False

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(patience())
            self._process = None
        (self.folder / f".s.PGSQL.{PORT}").unlink(missing_ok=True)


@contextlib.contextmanager
def pgbouncer(server: EmbeddedServer, *, keeps_statements: bool = False, **settings: str | int) -> Iterator[PgBouncer]:
    """Between its clients and the server until the context ends. It runs as the user of the server, whom the server's socket
    lets in, and refuses to be root."""
    lines = {
        "listen_addr": "", "listen_port": PORT, "auth_type": "trust", "pool_mode": "transaction", "server_reset_query": "",
        "ignore_startup_parameters": "role", "default_pool_size": 6, "server_round_robin": 1, "max_client_conn": 100,
    }  # fmt: skip
    if can_keep_statements():
        lines["max_prepared_statements"] = 100 if keeps_statements else 0
    lines |= settings
    folder = Path(tempfile.mkdtemp(prefix="cairn-pgb-"))
    owner = (server.home / "postgres" / "data").stat()
    user = (owner.st_uid, owner.st_gid) if os.geteuid() == 0 else None
    users = folder / "users.txt"
    users.write_text(f'"{SERVER_LOGIN}" ""\n')
    lines |= {"unix_socket_dir": str(folder), "auth_file": str(users)}
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host={server.socket_folder} port=5432\n[pgbouncer]\n"
        + "".join(f"{name} = {value}\n" for name, value in lines.items())
    )
    if user:
        for path in (folder, *folder.iterdir()):
            os.chown(path, *user)
    running = PgBouncer(folder, user)
    try:
        running.start()
        yield running
    finally:
        running.kill()
        shutil.rmtree(folder, ignore_errors=True)
