"""`cairn sql`: psql as an analyst of one tenant, on the embedded server and on a server of one's own."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
import structlog
from commands import Cairn, in_process
from serving import starter

from cairn.db.embedded import EmbeddedServer, ensure_running
from tests.waiting import patience, wait_until


@pytest.fixture
def home(model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedServer]:
    """A home with a running server, so that commands need not start it each time."""
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(model))
    monkeypatch.delenv("CAIRN_DATABASE_URL", raising=False)
    with tempfile.TemporaryDirectory(prefix="cairn-sql-") as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setenv("CAIRN_HOME", folder)
        with ensure_running(Path(folder), durable=False) as server:
            yield server
    structlog.reset_defaults()


@pytest.fixture
def cairn(home: EmbeddedServer, capfd: pytest.CaptureFixture[str]) -> Cairn:
    return in_process(capfd)


def test_it_reads_schema_analyst_of_its_tenant_and_nothing_else(
    cairn: Cairn, home: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = cairn("sql", "SELECT 1")
    assert nothing.code == 1
    assert "begin with cairn ingest" in nothing.err
    (tmp_path / "rocks.md").write_text("Basalt is a dark rock.\n")
    assert cairn("ingest", tmp_path / "rocks.md").code == 0
    monkeypatch.setenv("CAIRN_TENANT", "second")
    assert cairn("ingest", tmp_path / "rocks.md", "--collection", "theirs").code == 0
    monkeypatch.delenv("CAIRN_TENANT")

    for _ in range(2):  # the login is made once
        done = cairn("sql", "SELECT collection, document_count FROM collections", "--csv")
        assert (done.code, done.out) == (0, "collection,document_count\ndefault,1\n")
    for statement in ("SELECT * FROM rag.documents", "DELETE FROM documents", "CREATE TABLE mine (x int)"):
        refused = cairn("sql", statement)
        assert refused.code == 1
        assert "denied" in refused.err or "cannot delete" in refused.err, refused.err
    assert cairn("sql", "--csv").code == 2

    url = cairn("sql", "--url").out.strip()
    assert "cairn_reads_" in url

    async def count() -> int:
        connection = await asyncpg.connect(url)
        found: int = await connection.fetchval("SELECT count(*) FROM analyst.documents")
        await connection.close()
        return found

    assert asyncio.run(count()) == 1


@pytest.mark.siege
def test_on_a_terminal_it_is_psql(cairn: Cairn, home: EmbeddedServer, tmp_path: Path) -> None:
    """A statement, Ctrl-C that ends one and not the session, and the way out."""
    (tmp_path / "rocks.md").write_text("Basalt is a dark rock.\n")
    assert cairn("ingest", tmp_path / "rocks.md").code == 0
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PAGER": "cat", "TERM": "dumb"}
    session = starter().start(environment, Path(os.ttyname(theirs)), "sql")
    try:
        _await_words(ours, b"=>")
        os.write(ours, b"SELECT pg_sleep(600);\n")
        wait_until(lambda: asyncio.run(_sleeps(home.dsn())), 10)  # at its prompt Ctrl-C would only clear the line
        os.write(ours, b"\x03")
        _await_words(ours, b"canceling")
        os.write(ours, b"SELECT 40+2;\n")
        _await_words(ours, b"42")
        os.write(ours, b"\\q\n")
        assert session.wait(timeout=patience(10)) == 0
    finally:
        session.kill()
        session.wait()
        os.close(theirs)
        os.close(ours)


def _await_words(terminal: int, words: bytes) -> None:
    seen, until = b"", time.monotonic() + patience(10)
    while words not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, until - time.monotonic()))
        assert ready, f"no {words!r} in {seen!r}"
        seen += os.read(terminal, 4096)


async def _sleeps(dsn: str) -> bool:
    connection = await asyncpg.connect(dsn)
    try:
        statement = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'"
        return bool(await connection.fetchval(statement))
    finally:
        await connection.close()


@pytest.mark.siege
def test_a_server_of_ones_own_has_a_login_that_its_owner_made(
    home: EmbeddedServer, cairn: Cairn, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_DATABASE_URL", database)
    refused = cairn("sql")
    assert refused.code == 2
    assert "CAIRN_ANALYST_DATABASE_URL" in refused.err
    assert "rag.grant_analyst" in refused.err
    monkeypatch.setenv("CAIRN_ANALYST_DATABASE_URL", database)
    assert cairn("sql", "--url").out.strip() == database
    done = cairn("sql", "SELECT count(*) AS n FROM documents", "--csv")
    assert (done.code, done.out) == (0, "n\n0\n")
