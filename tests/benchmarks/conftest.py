"""One durable server for all benchmarks, as a user's is; each module has a database of its own."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import numpy as np
import pytest

from cairn.db import runtime
from cairn.db.embedded import EmbeddedServer, ensure_running
from cairn.providers.minilm import find_model
from tests.benchmarks.children import PEERS, REPO
from tests.benchmarks.corpus import Query
from tests.benchmarks.timing import processor_seconds, scheduled_seconds
from tests.conftest import temporary_home

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def bench_server(closed_world: None) -> Iterator[EmbeddedServer]:
    with temporary_home(quick=False) as home, ensure_running(home) as running:
        yield running


@pytest.fixture(scope="session")
def processor(bench_server: EmbeddedServer) -> Callable[[], float]:
    """Processor seconds used so far by PostgreSQL, this process and what it has started."""
    postmaster = int((bench_server.home / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
    return lambda: processor_seconds(os.getpid(), postmaster)


@pytest.fixture(scope="session")
def scheduled(bench_server: EmbeddedServer) -> Callable[[], float]:
    """The same of what lives now, fine enough for a single search."""
    postmaster = int((bench_server.home / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
    return lambda: scheduled_seconds(os.getpid(), postmaster)


@pytest.fixture(scope="session")
def program(bench_server: EmbeddedServer) -> Callable[[str], Path]:
    """Programs of the server's installation; those that the lean copy lacks come from the wheel, here or among the peers."""

    def find(name: str) -> Path:
        places = [
            bench_server.home / "postgres" / runtime.VERSION,
            *runtime.sources(),
            *PEERS.glob("lib/*/site-packages"),
        ]
        found = next((runtime.program(place, name) for place in places if runtime.program(place, name).is_file()), None)
        if found is None:
            pytest.skip(f"{name} is not installed: run `make bench-peers`")
        return found

    return find


@pytest.fixture
def dsn(bench_server: EmbeddedServer, program: Callable[[str], Path]) -> Iterator[str]:
    """An empty database."""
    name, psql = f"bench_{next(_numbers)}", program("psql")

    def run(sql: str) -> None:
        subprocess.run([psql, "-Xq", "-d", bench_server.dsn("postgres"), "-c", sql], check=True)

    run(f"CREATE DATABASE {name}")
    yield bench_server.dsn(name)
    run(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = find_model(tmp_path_factory.mktemp("model"))
    if found is None:
        pytest.skip("no embedding model: run make install")
    return found


@dataclass(frozen=True)
class Serving:
    pid: int
    port: int
    seconds: float
    """From the start of the process to the first answer of /health/ready."""


@pytest.fixture
def serve(tmp_path: Path, model_folder: Path) -> Callable[..., AbstractContextManager[Serving]]:
    """Starts `cairn serve`; with `queries`, their vectors take the place of the model. `environment`: variables of its own."""

    @contextmanager
    def start(dsn: str, queries: list[Query] | None = None, **environment: str) -> Iterator[Serving]:
        command = [sys.executable, "-m", "cairn", "serve"]
        if queries is not None:
            file = tmp_path / "queries.npz"
            np.savez(file, texts=[query.text for query in queries], vectors=np.stack([q.vector for q in queries]))
            command = [sys.executable, str(REPO / "tests" / "benchmarks" / "serve_ready.py"), str(file)]
        port = free_port()
        own = {"CAIRN_DATABASE_URL": dsn, "CAIRN_PORT": str(port), "CAIRN_HOME": str(tmp_path),
               "CAIRN_MODEL_DIR": str(model_folder), "PYTHONPATH": str(REPO / "app"), **environment}  # fmt: skip
        started = time.perf_counter()
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen(command, env={**os.environ, **own}, stdout=log, stderr=log, cwd=tmp_path)
        try:
            while httpx_ready(port) is False:
                assert process.poll() is None, (tmp_path / "log").read_text()
                assert time.perf_counter() - started < 600, (tmp_path / "log").read_text()
                time.sleep(0.01)
            yield Serving(process.pid, port, time.perf_counter() - started)
        finally:
            process.terminate()
            process.wait(20)

    return start


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def httpx_ready(port: int) -> bool:
    with contextlib.suppress(httpx2.TransportError):
        return httpx2.get(f"http://127.0.0.1:{port}/health/ready", trust_env=False).status_code == 200
    return False
