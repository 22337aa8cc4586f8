"""Whatever is killed, the embedded server recovers and nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest
from serving import starter
from starter import StartedProcess

from cairn.db import embedded, supervisor
from cairn.db.embedded import EmbeddedServer, ensure_running
from cairn.errors import EmbeddedServerError
from tests.waiting import patience, wait_until

pytestmark = pytest.mark.fault

REPO = Path(__file__).resolve().parents[2]
OWNER = """
import sys, time
from pathlib import Path
from cairn.db.embedded import ensure_running
server = ensure_running(Path(sys.argv[1]), durable=False)
print(server.dsn(), flush=True)
time.sleep(600)
"""


BUSY = """
import asyncio, sys, asyncpg
async def main():
    connection = await asyncpg.connect(sys.argv[1])
    await connection.execute(f"SELECT pg_read_file('{sys.argv[2]}')")
asyncio.run(main())
"""
"""Of a pipe into which nobody writes: like one that computes, such a statement does not notice that its server has gone."""


_owners: list[StartedProcess] = []


@pytest.fixture
def home(used_home: Path) -> Iterator[Path]:
    """A home that is stopped; afterwards nothing may be left of whatever the test did to it."""
    home = used_home
    yield home
    for owner in _owners:
        owner.kill()
        owner.wait()
    _owners.clear()
    wait_until(lambda: not left_over(home), told=lambda: f"left behind: {left_over(home)}")


def supervisors(home: Path) -> list[int]:
    """Every live process that mentions this home's supervisor lock: the supervisor itself, found without its help."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(home / "postgres/run/supervisor.lock").encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def left_over(home: Path) -> list[int]:
    return supervisors(home) + supervisor.servers_on(home / "postgres/data")


def postmaster(home: Path) -> int:
    try:
        return int((home / "postgres/data/postmaster.pid").read_text().split()[0])
    except (OSError, IndexError):
        return 0  # between two servers


def kill(*pids: int) -> None:
    """SIGKILL, and wait until they are gone: the kernel takes its time."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(alive(pid) for pid in pids))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def start_owner(home: Path) -> StartedProcess:
    program, said = home.with_name("owner.py"), home.with_name(f"owner-{len(_owners)}")
    program.write_text(OWNER)
    said.write_text("")
    owner = starter().start(dict(os.environ), said, str(program), str(home))
    _owners.append(owner)
    wait_until(lambda: said.read_text().startswith("postgresql://"), told=said.read_text)
    return owner


def run(server: EmbeddedServer, sql: str) -> object:
    async def ask() -> object:
        connection = await asyncpg.connect(server.dsn())
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    return asyncio.run(ask())


def test_killing_the_only_owner_stops_the_server(home: Path) -> None:
    owner = start_owner(home)
    assert supervisors(home)
    owner.kill()
    owner.wait()
    wait_until(lambda: not left_over(home))


@pytest.mark.siege
def test_killing_one_of_two_owners_leaves_the_other_its_server(home: Path) -> None:
    owner = start_owner(home)
    with ensure_running(home, durable=False) as server:
        before = postmaster(home)
        owner.kill()
        owner.wait()
        time.sleep(3 * supervisor.POLL_SECONDS)
        assert run(server, "SELECT 1") == 1
        assert postmaster(home) == before


def test_a_killed_postmaster_comes_back_under_its_users_with_what_was_committed(home: Path) -> None:
    with ensure_running(home, durable=False) as server:
        run(server, "CREATE TABLE kept AS SELECT 42 AS n")
        before = postmaster(home)
        os.kill(before, signal.SIGKILL)
        data = home / "postgres/data"
        wait_until(lambda: postmaster(home) not in (0, before) and supervisor.ready_socket(data) is not None)
        assert run(server, "SELECT n FROM kept") == 42


@pytest.mark.siege
def test_a_killed_postmaster_is_no_hindrance_for_the_next_start(home: Path) -> None:
    """Server and supervisor die together, busy backends survive for a while, postmaster.pid stays."""
    owner = start_owner(home)
    with ensure_running(home, durable=False) as server:
        os.mkfifo(pipe := home / "pipe")
        pipe.chmod(0o644)
        query = subprocess.Popen([sys.executable, "-c", BUSY, server.dsn(), pipe], stderr=subprocess.DEVNULL)
        active = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_read_file(%'"
        wait_until(lambda: run(server, active) == 2)  # the long query and this one
        for pid in supervisors(home):
            os.kill(pid, signal.SIGSTOP)  # it would start the server again
        kill(postmaster(home))
        kill(owner.pid, *supervisors(home))
        assert supervisor.servers_on(home / "postgres/data"), "the busy backend has not noticed yet"
        with ensure_running(home, durable=False) as again:
            assert run(again, "SELECT 1") == 1
        query.wait(patience())
        owner.wait()
        pipe.unlink()


def test_a_killed_supervisor_takes_the_server_along_and_the_next_start_copes(home: Path) -> None:
    owner = start_owner(home)
    kill(*supervisors(home))
    wait_until(lambda: not left_over(home))  # without a supervisor nobody would stop the server later
    with ensure_running(home, durable=False) as server:
        assert run(server, "SELECT 1") == 1
    owner.kill()
    owner.wait()


@pytest.mark.siege
def test_a_user_that_stays_has_its_supervisor_and_server_again(home: Path) -> None:
    data = home / "postgres/data"
    with ensure_running(home, durable=False).guard() as server:
        run(server, "CREATE TABLE kept_too AS SELECT 42 AS n")
        for _ in range(2):
            gone = postmaster(home)
            kill(*supervisors(home))
            wait_until(lambda gone=gone: postmaster(home) not in (0, gone) and supervisor.ready_socket(data))  # type: ignore[misc]
            assert run(server, "SELECT n FROM kept_too") == 42
    wait_until(lambda: not left_over(home))


@pytest.mark.siege
def test_a_server_that_fails_to_start_is_tried_again_for_as_long_as_it_is_wanted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_PATIENCE_SECONDS", 0.5)
    with ensure_running(home, durable=False) as server:
        control, away = home / "postgres/data/global/pg_control", home / "pg_control"
        control.rename(away)
        kill(postmaster(home))
        starts = home / "postgres/server.log"
        wait_until(lambda: starts.read_text().count("[supervisor]") > 3)
        assert "pg_control" in str(server.problem())
        with pytest.raises(EmbeddedServerError, match="pg_control"):
            ensure_running(home, durable=False)
        away.rename(control)
        wait_until(lambda: supervisor.ready_socket(home / "postgres/data"))
        wait_until(lambda: server.problem() is None)
        assert run(server, "SELECT 1") == 1
    wait_until(lambda: not left_over(home))


def test_everything_killed_at_once(home: Path) -> None:
    owner = start_owner(home)
    kill(owner.pid, *left_over(home))
    owner.wait()
    with ensure_running(home, durable=False) as server:
        assert run(server, "SELECT 1") == 1


def test_a_stale_pid_that_belongs_to_somebody_else_now(home: Path) -> None:
    """After a reboot postmaster.pid may name any process; it must neither stop the start nor be harmed."""
    owner = start_owner(home)
    data = home / "postgres/data"
    stale = (data / "postmaster.pid").read_text()
    lock = Path(stale.splitlines()[4], ".s.PGSQL.5432.lock")
    stale_lock = lock.read_text()
    user = data.stat()
    kill(owner.pid, *left_over(home))
    owner.wait()
    as_server = {"user": user.st_uid, "group": user.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    stranger = subprocess.Popen(["sleep", "600"], cwd="/", **as_server)  # type: ignore[call-overload]
    try:
        for path, text in ((data / "postmaster.pid", stale), (lock, stale_lock)):
            path.write_text(text.replace(stale.split()[0], str(stranger.pid), 1))
        with ensure_running(home, durable=False) as server:
            assert run(server, "SELECT 1") == 1
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.siege
def test_a_starter_killed_at_any_moment_of_the_first_start(make_home: Callable[[], Path]) -> None:
    for delay in (0.25, 0.35, 0.5, 0.7, 0.9):
        home = make_home()
        starter = subprocess.Popen([sys.executable, "-c", OWNER, home], cwd=REPO, stdout=subprocess.DEVNULL)
        time.sleep(delay)
        starter.kill()
        starter.wait()
        ensure_running(home, durable=False).release()
        wait_until(lambda home=home: not left_over(home))  # type: ignore[misc]


@pytest.mark.siege
def test_twenty_processes_start_at_once_and_share_one_server(make_home: Callable[[], Path]) -> None:
    home = make_home()
    script = """
import asyncio, sys, asyncpg
from pathlib import Path
from cairn.db.embedded import ensure_running
with ensure_running(Path(sys.argv[1]), durable=False) as server:
    async def ask():
        connection = await asyncpg.connect(server.dsn())
        print(await connection.fetchval("SELECT pg_postmaster_start_time()::text"), flush=True)
        await connection.close()
    asyncio.run(ask())
    sys.stdin.read()
"""
    command = [sys.executable, "-c", script, str(home)]
    pipe = subprocess.PIPE
    users = [subprocess.Popen(command, cwd=REPO, stdin=pipe, stdout=pipe, text=True) for _ in range(20)]
    started = {user.stdout.readline() for user in users if user.stdout}
    for user in users:
        user.communicate()
    assert len(started) == 1
    assert started != {""}
    assert [user.returncode for user in users] == [0] * 20
    assert left_over(home) == [], "the last to leave waits until the server has stopped"
