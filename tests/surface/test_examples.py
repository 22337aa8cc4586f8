"""The programs of examples/ and of docs/library.md, as they stand."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Cairn
from serving import REPO, Api

from tests.waiting import patience

EXAMPLES = REPO / "examples"
LEAVE = "# Leave\n\nEmployees have 30 days of leave per year. A manager approves leave.\n"
QUESTION = "How many days of leave do employees have?"
ANSWER = "Employees have 30 days of leave per year. [1] A manager approves leave."


def run(command: list[str | Path], folder: Path, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPO / "app"), **variables}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=patience(300), check=False
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Runs a program again, as its main module, to see with which message it fails."""

    def fail(name: str, where: str) -> str:
        monkeypatch.setattr(sys, "argv", [name, where, QUESTION])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return str(ended.value)

    return fail


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


def test_ask_a_folder_and_what_was_not_answered(
    folder: Path,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    cairn: Cairn,
    in_this_process: Callable[[str, str], str],
) -> None:
    command = [sys.executable, EXAMPLES / "ask_a_folder.py", "handbook", QUESTION]
    done = run(command, folder)
    assert done.stdout.splitlines()[0] == ANSWER
    assert "[1] handbook/leave.md Leave: Employees have 30 days of leave per year." in done.stdout
    assert re.search(r"^(found|likely) \(\d+%\)$", done.stdout, re.MULTILINE)
    assert "could not be read: handbook/broken.pdf" in done.stderr
    missing = in_this_process("ask_a_folder.py", "nowhere")
    assert missing.startswith("invalid-input: there is no file or folder")

    for question in ("Who won the World Cup in 1998?", "who won the world cup in 1998?"):
        assert cairn("ask", question, "--collection", "example").code == 0
    monkeypatch.setenv("CAIRN_ANALYST_DATABASE_URL", database)
    header, *rows = cairn("sql", "--csv", (EXAMPLES / "unanswered.sql").read_text()).out.splitlines()
    assert header.startswith("question,asked,not_answered")
    assert [row.split(",")[:3] for row in rows] == [["who won the world cup in 1998?", "2", "2"]]


def test_stream_over_http(
    folder: Path, api: Api, monkeypatch: pytest.MonkeyPatch, in_this_process: Callable[[str, str], str]
) -> None:
    program = EXAMPLES / "stream_over_http.py"
    api.index("handbook", leave=LEAVE)
    done = run([sys.executable, program, "handbook", QUESTION], folder, CAIRN_URL=api.url)
    assert ANSWER in done.stdout
    assert "[1] leave: Employees have 30 days of leave per year." in done.stdout
    assert "..." in done.stderr
    monkeypatch.setenv("CAIRN_URL", api.url)
    assert "not-found: no collection named nowhere" in in_this_process("stream_over_http.py", "nowhere")


def test_the_program_in_the_guide_of_the_library_runs(used_home: Path, tmp_path: Path) -> None:
    """On an embedded PostgreSQL of its own."""
    programs = re.findall(
        r"^```python\n(.*?)^```$", (REPO / "docs" / "library.md").read_text(), re.MULTILINE | re.DOTALL
    )
    (program,) = [text for text in programs if "cairn.open()" in text]
    assert len([line for line in program.splitlines() if line.strip()]) <= 20
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "leave.md").write_text(LEAVE)

    done = run([sys.executable, "-c", program], tmp_path, CAIRN_HOME=str(used_home))

    lines = done.stdout.splitlines()
    assert lines[0] == "1 documents, 0 failed"
    assert lines[1].startswith("Leave ('Leave',)")
    assert ANSWER in lines
    assert "[1] handbook/leave.md: Employees have 30 days of leave per year." in lines
    assert "A manager approves leave." in lines[-1]  # streamed
    assert done.stderr == ""
