"""The programs of examples/ and of docs/library.md, as they stand."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from commands import Cairn
from serving import REPO, Api

EXAMPLES = REPO / "examples"
LEAVE = "# Leave\n\nEmployees have 30 days of leave per year. A manager approves leave.\n"
QUESTION = "How many days of leave do employees have?"
ANSWER = "Employees have 30 days of leave per year. [1] A manager approves leave."


Program = Callable[..., tuple[str, str, object]]


@pytest.fixture
def program(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Program]:
    """Runs a file as a main program: what it printed on both, and what it ended with (None: well). In this process, which has
    loaded the libraries."""
    monkeypatch.chdir(folder)

    def run(file: Path, *arguments: str) -> tuple[str, str, object]:
        structlog.reset_defaults()  # as in a process of its own: structlog.testing.capture_logs leaves it configured
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", [str(file), *arguments])
        ended: object = None
        try:
            runpy.run_path(str(file), run_name="__main__")
        except SystemExit as end:
            ended = end.code
        sys.stdout.flush()
        return (*capfd.readouterr(), ended)

    yield run
    structlog.reset_defaults()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "leave.md").write_text(LEAVE)
    (tmp_path / "handbook" / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing else")
    return tmp_path


def test_each_example_is_listed_and_run_here() -> None:
    listed = set(re.findall(r"examples/(\w+\.\w+)", (EXAMPLES / "README.md").read_text()))
    assert listed == {path.name for path in EXAMPLES.iterdir()} - {"README.md"}
    assert all(name in Path(__file__).read_text() for name in listed)


@pytest.mark.siege
def test_ask_a_folder_and_what_was_not_answered(
    database: str, monkeypatch: pytest.MonkeyPatch, cairn: Cairn, program: Program, folder: Path
) -> None:
    monkeypatch.chdir(folder)
    said, failed, ended = program(EXAMPLES / "ask_a_folder.py", "handbook", QUESTION)
    assert (said.splitlines()[0], ended) == (ANSWER, None)
    assert "[1] handbook/leave.md Leave: Employees have 30 days of leave per year." in said
    assert re.search(r"^(found|likely) \(\d+%\)$", said, re.MULTILINE)
    assert "could not be read: handbook/broken.pdf" in failed
    missing = program(EXAMPLES / "ask_a_folder.py", "nowhere", QUESTION)[2]
    assert str(missing).startswith("invalid-input: there is no file or folder")

    for question in ("Who won the World Cup in 1998?", "who won the world cup in 1998?"):
        assert cairn("ask", question, "--collection", "example").code == 0
    monkeypatch.setenv("CAIRN_ANALYST_DATABASE_URL", database)
    header, *rows = cairn("sql", "--csv", (EXAMPLES / "unanswered.sql").read_text()).out.splitlines()
    assert header.startswith("question,asked,not_answered")
    assert [row.split(",")[:3] for row in rows] == [["who won the world cup in 1998?", "2", "2"]]


@pytest.mark.siege
def test_stream_over_http(api: Api, monkeypatch: pytest.MonkeyPatch, program: Program) -> None:
    api.index("handbook", leave=LEAVE)
    monkeypatch.setenv("CAIRN_URL", api.url)
    said, waited, ended = program(EXAMPLES / "stream_over_http.py", "handbook", QUESTION)
    assert ended is None
    assert ANSWER in said
    assert "[1] leave: Employees have 30 days of leave per year." in said
    assert "..." in waited
    missing = program(EXAMPLES / "stream_over_http.py", "nowhere", QUESTION)[2]
    assert "not-found: no collection named nowhere" in str(missing)


def test_the_program_in_the_guide_of_the_library_runs(
    used_home: Path, tmp_path: Path, folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an embedded PostgreSQL of its own."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (REPO / "docs" / "library.md").read_text(), re.MULTILINE | re.DOTALL)
    (text,) = [block for block in blocks if "cairn.open()" in block]
    assert len([line for line in text.splitlines() if line.strip()]) <= 20
    (folder / "handbook" / "broken.pdf").unlink()
    file = tmp_path / "program.py"
    file.write_text(text)
    monkeypatch.setenv("CAIRN_HOME", str(used_home))

    said, failed, _ = program(file)

    lines = said.splitlines()
    assert lines[0] == "1 documents, 0 failed"
    assert lines[1].startswith("Leave ('Leave',)")
    assert ANSWER in lines
    assert "[1] handbook/leave.md: Employees have 30 days of leave per year." in lines
    assert "A manager approves leave." in lines[-1]  # streamed
    assert failed == ""
