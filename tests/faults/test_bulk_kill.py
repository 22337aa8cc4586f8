"""kill -9 of `cairn prepare` and of `cairn load`: what was done stays, running it again does the rest, and in the end all is
as if nothing had happened."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import numpy as np
import pytest
import structlog
from commands import Cairn, in_process
from recounts import faults

from cairn.ingest.prepared_files import open_prepared
from tests.bulk_environment import HASHED, LIBRARIES, need_pyarrow
from tests.conftest import REPO, InstallPackage
from tests.waiting import patience, wait_until

need_pyarrow()
pytestmark = [pytest.mark.fault, pytest.mark.siege]

DOCUMENTS = 120
SMALL_PARTS = (
    "import cairn.ingest.prepared_files as files, cairn.interfaces.cli.main as cli; files.PART_CHUNKS = 20; cli.main()"
)
"""`cairn`, but with parts that a short test writes several of."""
Start = Callable[..., "subprocess.Popen[str]"]
Again = Callable[..., Any]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(DOCUMENTS):
        parts = [
            f"Part {part}: the schooner {number} left Lisbon for Porto under captain {part}. " * 4 for part in range(4)
        ]
        (folder / f"text-{number:03}.md").write_text(f"# Ship {number}\n\n" + "\n\n".join(parts))
    return folder


@pytest.fixture
def package(install_package: InstallPackage) -> Path:
    """Where the embedding model is."""
    return install_package("hashed_for_cairn", HASHED, providers={"hashed": "hashed_for_cairn:HASHED"})


@pytest.fixture
def start(database: str, tmp_path: Path, package: Path) -> Iterator[Start]:
    """Starts `cairn` with arguments, in a process of its own that ends with the test."""
    settings = tmp_path / "settings.json"
    settings.write_text(
        json.dumps({"rag": {"embeddingModel": "hashed:one"}, "vector": {"bulkAbove": 50, "dedicatedAbove": 100}})
    )
    path = os.pathsep.join([str(REPO / "app"), str(package), *LIBRARIES])
    variables = {
        **os.environ, "PYTHONPATH": path, "CAIRN_DATABASE_URL": database, "CAIRN_HOME": str(tmp_path / "home"),
        "CAIRN_SETTINGS": str(settings),
    }  # fmt: skip
    running: list[subprocess.Popen[str]] = []

    def run(*arguments: str | Path, seconds: float = 0) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", SMALL_PARTS, *map(str, arguments)], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**variables, "HASHED_SECONDS": str(seconds)},
        )  # fmt: skip
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def again(
    start: Start, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Again]:
    """The report of `cairn` with the same settings, in this process."""
    cairn: Cairn = in_process(capfd)
    monkeypatch.setenv("CAIRN_DATABASE_URL", database)
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CAIRN_SETTINGS", str(tmp_path / "settings.json"))

    def run(*arguments: str | Path) -> Any:
        done = cairn(*arguments, "--json")
        assert done.code == 0, done.err
        return done.json

    yield run
    structlog.reset_defaults()  # commands point it at the stderr of their time


def ended(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate(timeout=patience(120))
    assert process.returncode == 0, err
    return json.loads(out)


def killed(process: subprocess.Popen[str]) -> None:
    assert process.poll() is None, f"ended too early, the test is void: {process.communicate()}"
    process.send_signal(signal.SIGKILL)
    process.wait()


def contents(folder: Path) -> dict[str, Any]:
    rows = open_prepared(folder).rows()
    return {one.values["external_id"]: (one.values, np.asarray(one.vectors).tolist()) for one in rows}


def test_preparing_and_then_loading_goes_on_where_it_was_killed(
    start: Start, again: Again, texts: Path, tmp_path: Path, database: str
) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    process = start("prepare", texts, "--out", out, seconds=0.05)
    wait_until(lambda: len(list(out.glob("part-*.parquet"))) >= 2, 60)
    killed(process)
    there = len(open_prepared(out).places)
    assert 0 < there < DOCUMENTS
    (out / ".part-left.parquet.tmp").write_bytes(b"what a process that was killed left")

    done = again("prepare", texts, "--out", out)

    assert (done["unchanged"], done["documents"], done["failed"]) == (there, DOCUMENTS - there, [])
    at_once = again("prepare", texts, "--out", whole)
    assert at_once["documents"] == DOCUMENTS
    assert contents(out) == contents(whole)

    process = start("load", out)
    wait_until(lambda: _query(database, "SELECT count(*) FROM rag.documents WHERE status = 'indexed'") >= 5, 60)
    killed(process)
    loaded = _query(database, "SELECT count(*) FROM rag.documents WHERE status = 'indexed'")
    assert 0 < loaded < DOCUMENTS, "killed too late: the test is void"

    done = again("load", out)

    assert done["counts"]["unchanged"] >= loaded
    assert done["counts"]["unchanged"] + done["counts"]["added"] == DOCUMENTS
    assert not done["failed"]
    assert _query(database, "SELECT count(*) FROM rag.embeddings") == at_once["chunks"]
    assert asyncio.run(_faults(database)) == {}
    assert _query(database, "SELECT string_agg(state, ' ') FROM rag.vector_indexes") == "ready"
    assert _query(database, "SELECT count(*) FROM rag.embeddings WHERE NOT own") == 0


def test_two_processes_prepare_into_one_folder(start: Start, texts: Path, tmp_path: Path) -> None:
    """As xargs does it: each names some of the files."""
    files, out, whole = sorted(texts.iterdir()), tmp_path / "out", tmp_path / "whole"
    both = [start("prepare", *files[first::2], "--out", out, "--json") for first in (0, 1)]
    assert [ended(process)["documents"] for process in both] == [DOCUMENTS // 2] * 2
    ended(start("prepare", texts, "--out", whole, "--json"))
    assert contents(out) == contents(whole)


def _query(dsn: str, sql: str) -> Any:
    async def ask() -> Any:
        connection = await asyncpg.connect(dsn)
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    return asyncio.run(ask())


async def _faults(dsn: str) -> dict[str, list[Any]]:
    connection = await asyncpg.connect(dsn)
    try:
        return await faults(connection)
    finally:
        await connection.close()
