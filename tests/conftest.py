"""Shared fixtures: a real PostgreSQL for the run, a database of its own for each test, and no network but loopback."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib.util
import ipaddress
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytest
import structlog
from hypothesis import settings

from cairn.db import runtime
from cairn.db.embedded import EmbeddedServer, ensure_running
from cairn.db.migrate import migrate
from cairn.plugins import forget_extensions
from cairn.providers import onnx_model
from cairn.providers.minilm import MiniLM, find_model
from tests.folders import temporary_folder
from tests.remembering import make_sessions_remember, turn_remembering
from tests.thinning import thin_sweeps

REPO = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("CAIRN_SHARED") or REPO.parent / "shared")


def pytest_configure(config: pytest.Config) -> None:
    """A shared machine is slow now and then; a property does not get wrong by that.

    `make test` draws a quarter of the examples of `make test-all`, which is the one without an expression of marks."""
    settings.register_profile("cairn", deadline=None, max_examples=25 if config.option.markexpr else 100)
    settings.load_profile("cairn")
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_number: int, _frame: object) -> None:
    """What Python's own handler does. Where that one is in place asyncio puts its own there for each test and each fixture, and
    `signal` draws up what it replaces, the task with all its arguments, which took a twentieth of the time."""
    raise KeyboardInterrupt


gc.disable()  # until the tests are collected: all that is made till then stays

WAITING, LAST = ("faults", "surface"), "unit"
"""Folders of tests that wait more than they compute, and the one of short files, after which the processes that share the tests
end at about the same time."""
LONG = frozenset({"test_patterns.py", "test_house.py"})
"""Of that folder the files that are not short; they come first there, so that none of them ends alone."""
BROWSER = "tests/surface/browser/"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of tests that wait alternate with those that compute, so that the processors have work at all times."""
    thin_sweeps(items)
    modules: dict[str, dict[Path, int]] = {}

    @cache
    def kind(path: Path) -> str:
        folder = path.relative_to(REPO / "tests").parts[0]
        return folder if folder == LAST else "waiting" if folder in WAITING else "computing"

    for item in items:
        of_kind = modules.setdefault(kind(item.path), {})
        of_kind.setdefault(item.path, len(of_kind))
    place = {
        path: (name == LAST, name == LAST and path.name not in LONG, number / len(of_kind))
        for name, of_kind in modules.items()
        for path, number in of_kind.items()
    }
    items.sort(key=lambda item: place[item.path])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each file goes to one of the processes that share the tests, and all files of the browser to one, which starts it once."""
    from xdist.scheduler import LoadFileScheduling  # without xdist nobody asks

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return BROWSER if nodeid.startswith(BROWSER) else str(super()._split_scope(nodeid))

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """What is loaded by now stays: an eighth of the time went into looking through it for garbage."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


# --- a closed world -------------------------------------------------------------------------------------------------


class NetworkClosedError(OSError):
    """A test tried to leave the machine."""


# Structlog draws a stack trace with all variables by rich, which takes half a second and more.
structlog.get_config()["processors"][-1].exception_formatter = structlog.dev.plain_traceback

_network = {"closed": False}


def _is_local(host: object) -> bool:
    if host in (None, "", b"", "localhost", b"localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host).partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


_DIALLING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_ASKING = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})


def _guard(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook sees every socket of this process, whichever library opened it; and all else that happens, so it is brief."""
    if event in _DIALLING:
        target = arguments[1]
        host = target[0] if isinstance(target, tuple) else None  # else a Unix socket, or connected already
    elif event in _ASKING:
        host = arguments[0]
    else:
        return
    if not _network["closed"]:
        return
    if not _is_local(host):
        raise NetworkClosedError(f"network is closed in tests: {event} {host!r}")


sys.addaudithook(_guard)

_OUTSIDE = ("CAIRN_", "OPENAI_", "AZURE_", "COHERE_", "CO_API", "ANTHROPIC_", "HF_", "PG", "HTTP_PROXY", "HTTPS_PROXY")


PROXIES = {name: text for name, text in os.environ.items() if name.lower().endswith("_proxy")}
"""By which an installer reaches its index."""


@pytest.fixture(scope="session", autouse=True)
def closed_world() -> Iterator[None]:
    """No network but loopback, and nothing from outside that changes what the product does."""
    removed = {name: os.environ.pop(name) for name in list(os.environ) if name.upper().startswith(_OUTSIDE)}
    _network["closed"] = True
    os.environ["CAIRN_EMBEDDING_MODEL"] = "all-MiniLM-L6-v2"  # the quick one, where a test is not about which
    yield
    _network["closed"] = False
    del os.environ["CAIRN_EMBEDDING_MODEL"]
    os.environ.update(removed)


# --- PostgreSQL -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def temporary_home(*, quick: bool = True) -> Iterator[Path]:
    """A home for an embedded server; `quick`: in memory, if there is room (tests/folders.py)."""
    with temporary_folder(quick=quick) as folder:
        yield folder / "home"


@pytest.fixture
def make_home() -> Iterator[Callable[[], Path]]:
    """Makes homes that are removed after the test."""
    with contextlib.ExitStack() as homes:
        yield lambda: homes.enter_context(temporary_home())


@pytest.fixture(scope="module")
def used_home() -> Iterator[Path]:
    """A home whose cluster exists and whose server is stopped; a test leaves it so."""
    with temporary_home() as home:
        ensure_running(home, durable=False).release()
        yield home


@pytest.fixture(scope="session")
def server(closed_world: None) -> Iterator[EmbeddedServer]:
    """One embedded server for this run; several runs at once do not meet."""
    with temporary_home() as home, ensure_running(home, durable=False) as running:
        yield running


Psql = Callable[..., str]


class Clones:
    """Makes and drops databases by one session of psql: a process and a connection for each would take as long as the copy.
    It is made anew where a test has killed it, with its server or alone."""

    def __init__(self, program: Path, dsn: str) -> None:
        self._command: list[str | Path] = [program, "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", dsn]
        self._psql = self._open()

    def make(self, name: str, template: str = "template1") -> None:
        self._run(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")

    def drop(self, name: str) -> None:
        self._run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def close(self) -> None:
        self._psql.communicate()

    def _open(self) -> subprocess.Popen[str]:
        return subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _run(self, sql: str) -> None:
        if self._said(sql):
            return
        self._psql.wait()
        self._psql = self._open()
        assert self._said(sql), f"{sql}: psql says above why it was not done"

    def _said(self, sql: str) -> bool:
        assert self._psql.stdin is not None
        assert self._psql.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._psql.stdin.write(f"{sql};\n\\echo done\n")
            self._psql.stdin.flush()
        return self._psql.stdout.readline() == "done\n"


@pytest.fixture(scope="session")
def clones(server: EmbeddedServer) -> Iterator[Clones]:
    session = Clones(runtime.program(server.home / "postgres" / runtime.VERSION, "psql"), server.dsn("postgres"))
    yield session
    session.close()


@pytest.fixture(scope="session")
def psql(server: EmbeddedServer) -> Psql:
    """Runs SQL with psql as superuser, outside any event loop: psql("SELECT 1", database="cairn") -> "1"."""
    program = runtime.program(server.home / "postgres" / runtime.VERSION, "psql")

    def run(sql: str, database: str = "postgres") -> str:
        command: list[str | Path] = [program, "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", server.dsn(database), "-c", sql]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return str(done.stdout).strip()

    return run


@pytest.fixture(scope="session")
def template(server: EmbeddedServer, psql: Psql) -> str:
    """A database that the product's own migration has made; tests get clones of it."""
    psql("CREATE DATABASE cairn_template")
    asyncio.run(migrate(server.dsn("cairn_template")))
    return "cairn_template"


_numbers = itertools.count(1)


@pytest.fixture
def database(server: EmbeddedServer, clones: Clones, template: str) -> Iterator[str]:
    """DSN (superuser) of a migrated database that only this test sees."""
    name = f"test_{next(_numbers)}"
    clones.make(name, template)
    yield server.dsn(name)
    clones.drop(name)


@pytest.fixture
def empty_database(server: EmbeddedServer, clones: Clones) -> Iterator[str]:
    """DSN (superuser) of a database without anything in it: for migrations and plain SQL."""
    name = f"empty_{next(_numbers)}"
    clones.make(name)
    yield server.dsn(name)
    clones.drop(name)


@pytest.fixture(scope="session", autouse=True)
def loaded_model(closed_world: None, tmp_path_factory: pytest.TempPathFactory) -> object:
    """Holds the embedding model, so that the thousand tests that open it find it loaded (providers/onnx_model.py); None where
    there is none."""
    make_sessions_remember()
    folder = find_model(tmp_path_factory.mktemp("loaded"))
    if folder is None or not importlib.util.find_spec("onnxruntime"):
        return None
    model = MiniLM(folder)
    return model, model._session, model.tokens._tokenizer


@pytest.fixture(scope="module", autouse=True)
def remembering(request: pytest.FixtureRequest) -> None:
    """Where a test is not about a model itself, it answers the same texts once a process (tests/remembering.py)."""
    turn_remembering(on="contract" not in request.path.parts)


_held: set[object] = set()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown() -> None:
    """Holds the other models, too, which a test has at its end: the reader takes .45 s of a processor to load."""
    _held.update(model for held in onnx_model._loaded.valuerefs() if (model := held()) is not None)


# --- data -----------------------------------------------------------------------------------------------------------


class InstallPackage(Protocol):
    """Writes a package of one module, as an installer would leave it, into a folder that it returns and puts on sys.path.
    `groups`: entry points, as tools={"weather": "module:PART"}."""

    def __call__(self, package: str, source: str, **groups: dict[str, str]) -> Path: ...


def write_package(folder: Path, package: str, source: str, **groups: dict[str, str]) -> Path:
    """See `InstallPackage`; the folder in which it lies."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / f"{package}.py").write_text(source)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [
        line
        for group, named in groups.items()
        for line in (f"[cairn.{group}]", *(f"{name} = {value}" for name, value in named.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return folder


@pytest.fixture
def install_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InstallPackage]:
    def install(package: str, source: str, **groups: dict[str, str]) -> Path:
        folder = write_package(tmp_path / package, package, source, **groups)
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, package, raising=False)
        forget_extensions()
        return folder

    forget_extensions()
    yield install
    forget_extensions()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets, found by CAIRN_SHARED or beside the repository; skips where there is none."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder} (set CAIRN_SHARED)")
    return folder
