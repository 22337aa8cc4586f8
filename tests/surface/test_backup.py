"""A backup brings everything back: into an empty home, with the same answers, rights and row security; or it changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
import structlog
from commands import Cairn, in_process

from cairn.db.embedded import ensure_running
from cairn.db.programs import without_password
from tests.catalog import differences, read_catalog

REPO = Path(__file__).resolve().parents[2]
VOLATILE = {"trace_id", "run_id", "timings_ms", "latency_ms", "usage"}


TEXTS = {
    "rocks.md": "# Rocks\n\nBasalt is a dark rock. Ada Lovelace found basalt in Iceland. Lava cools and becomes basalt.\n",
    "bread.md": "# Bread\n\nBread is baked from flour and water. Grace Hopper bakes bread in Boston.\n",
}


def _lasting(value: Any) -> Any:
    """Without what every run has of its own."""
    if isinstance(value, dict):
        return {name: _lasting(inner) for name, inner in value.items() if name not in VOLATILE}
    return [_lasting(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture
def cairn(model: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Cairn]:
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(model))
    yield in_process(capfd)
    structlog.reset_defaults()


@pytest.fixture
def homes() -> Iterator[Path]:
    """A folder that the server's user can get at."""
    with tempfile.TemporaryDirectory(prefix="cairn-backup-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _rows_without_a_tenant(home: Path) -> list[int]:
    """What the serving role sees without a tenant, with that of the default one, and of another."""

    async def read() -> list[int]:
        with ensure_running(home) as server:
            connection = await asyncpg.connect(server.dsn(), server_settings={"role": "cairn_app"})
            counts = []
            for tenant in ("", "1", "2"):
                await connection.execute("SELECT set_config('app.tenant', $1, false)", tenant)
                counts.append(await connection.fetchval("SELECT count(*) FROM rag.passages"))
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute("DELETE FROM rag.audit_events")
            await connection.close()
            return counts

    return asyncio.run(read())


def _schema(home: Path) -> list[str]:
    """Tables, functions, owners, grants and policies."""
    with ensure_running(home) as server:
        return read_catalog(server.dsn())


def test_what_was_backed_up_answers_the_same(
    cairn: Cairn, homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def state(home: str) -> list[Any]:
        monkeypatch.setenv("CAIRN_HOME", str(homes / home))
        found = [cairn("search", "dark rock of lava", "--json", "--mode", mode).json for mode in ("lexical", "vector")]
        found.append(cairn("ask", "What is basalt?", "--json").json)
        found += [cairn("documents", "list", "--json").json, cairn("graph", "entities", "--json").json]
        return [json.dumps(_lasting(item), indent=1) for item in found]

    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    file = homes / "cairn.dump"
    monkeypatch.setenv("CAIRN_HOME", str(homes / "first"))
    with contextlib.ExitStack() as servers:
        servers.enter_context(ensure_running(homes / "first"))  # so that commands need not start it each time
        assert cairn("ingest", *(tmp_path / name for name in TEXTS)).code == 0
        monkeypatch.setenv("CAIRN_TENANT", "second")
        assert cairn("ingest", tmp_path / "rocks.md").code == 0
        monkeypatch.delenv("CAIRN_TENANT")
        done = cairn("backup", file)
        assert done.code == 0, done.err
        assert file.stat().st_mode & 0o777 == 0o600
        assert [path.name for path in homes.iterdir() if path.is_file()] == ["cairn.dump"]
        again = cairn("backup", file)
        assert (again.code, again.err) == (1, f"cairn: {file} exists already; choose another name\n")

        monkeypatch.setenv("CAIRN_HOME", str(homes / "second"))
        restored = cairn("restore", file)
        assert restored.code == 0, restored.err
        servers.enter_context(ensure_running(homes / "second"))
        assert differences(_schema(homes / "second"), _schema(homes / "first")) == []
        assert state("first") == state("second")
        counts = _rows_without_a_tenant(homes / "second")
        assert counts == _rows_without_a_tenant(homes / "first")
        assert counts[0] == 0
        assert counts[1] != counts[2] != 0

        for tenant in ("default", "second"):
            monkeypatch.setenv("CAIRN_TENANT", tenant)
            deeds = [(one["action"], one["target"]) for one in cairn("audit", "--action", "database", "--json").json]
            assert deeds == [("database.restore", "cairn.dump"), ("database.backup", "cairn.dump")]
        refused = cairn("restore", file)
        assert refused.code == 1
        assert re.fullmatch(r"cairn: the database is not empty: .*\n", refused.err)
        assert cairn("documents", "list", "--json").code == 0


@pytest.fixture
def small_dump(cairn: Cairn, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a database of a server of one's own, which commands use from here on."""
    monkeypatch.setenv("CAIRN_DATABASE_URL", database)
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    (tmp_path / "a.md").write_text("# Cairns\n\n" + "A cairn is a pile of stones.\n" * 50)
    assert cairn("ingest", tmp_path / "a.md").code == 0
    file = tmp_path / "small.dump"
    done = cairn("backup", file)
    assert done.code == 0, done.err
    return file


@pytest.fixture
def tables(empty_database: str, psql: Callable[..., str]) -> Callable[[], str]:
    """How many tables the empty database has."""
    name = urlsplit(empty_database).path[1:]
    return lambda: psql("SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('rag')", name).strip()


@pytest.mark.siege
def test_what_cannot_be_restored_is_one_line_and_leaves_nothing(
    cairn: Cairn, small_dump: Path, empty_database: str, tables: Callable[[], str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    whole = small_dump.read_bytes()
    broken = {
        "empty": b"", "text": b"# A guide\n" * 100, "head": whole[:100], "half": whole[: len(whole) // 2],
        "tail": whole[:-200], "newer": b"PGDMP" + bytes([1, 99]) + whole[7:],
    }  # fmt: skip
    monkeypatch.setenv("CAIRN_DATABASE_URL", empty_database)
    for name, content in broken.items():
        file = tmp_path / name
        file.write_bytes(content)
        done = cairn("restore", file)
        assert (done.code, done.out) == (1, ""), name
        assert re.fullmatch(r"cairn: [^\n]+\n", done.err), (name, done.err)
        assert tables() == "0", name
    assert cairn("restore", tmp_path / "none").err == f"cairn: there is no file {tmp_path / 'none'}\n"
    done = cairn("restore", small_dump)
    assert done.code == 0, done.err
    assert cairn("search", "pile of stones").code == 0


@pytest.mark.siege
def test_a_dump_of_newer_code_is_refused(
    cairn: Cairn, database: str, small_dump: Path, empty_database: str, tables: Callable[[], str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, psql: Callable[..., str],
) -> None:  # fmt: skip
    psql("UPDATE rag.alembic_version SET version_num = '9999'", urlsplit(database).path[1:])
    file = tmp_path / "newer.dump"
    assert cairn("backup", file).code == 0
    monkeypatch.setenv("CAIRN_DATABASE_URL", empty_database)
    done = cairn("restore", file)
    assert (done.code, done.out) == (3, "")
    assert "9999" in done.err
    assert tables() == "0"


def test_an_empty_database_is_not_backed_up(
    cairn: Cairn, empty_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_DATABASE_URL", empty_database)
    done = cairn("backup", tmp_path / "nothing.dump")
    assert (done.code, done.out) == (1, "")
    assert "nothing to back up" in done.err
    assert list(tmp_path.iterdir()) == []
    assert cairn("backup", tmp_path / "no" / "such" / "folder").code == 1


@pytest.mark.parametrize(
    ("url", "shown", "password"),
    [
        ("postgresql://cairn@/db?host=/tmp/x&port=5432", "postgresql://cairn@/db?host=/tmp/x&port=5432", None),
        ("postgresql://a:p%40ss@h:1/db", "postgresql://a@h:1/db", "p@ss"),
        ("postgresql://h/db?user=a&password=w%26rd&host=/s", "postgresql://h/db?user=a&host=/s", "w&rd"),
        ("postgresql://a@h1:1,h2:2/db", "postgresql://a@h1:1,h2:2/db", None),
    ],
)
def test_passwords_are_not_shown_in_the_list_of_processes(url: str, shown: str, password: str | None) -> None:
    assert without_password(url) == (shown, password)
