"""`cairn chat` and `cairn history` as their users meet them: a pipe, a file, a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pytest
import structlog
from serving import starter

from cairn.interfaces.cli.main import run
from tests.waiting import patience

GUIDE = "A cairn is a pile of stones that marks a trail. Wash ropes in cold water without soap."
TALK = "What is a cairn?\n\n  How are ropes washed?  \n"


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Cairn = Callable[..., Done]


@pytest.fixture
def environment(database: str, model: Path, tmp_path: Path) -> dict[str, str]:
    return {"CAIRN_DATABASE_URL": database, "CAIRN_HOME": str(tmp_path / "home"), "CAIRN_MODEL_DIR": str(model)}


@pytest.fixture
def cairn(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Cairn]:
    """Runs commands in this process, with a guide that is indexed; `input` comes out of a pipe."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, input: str | Path = "") -> Done:
        capfd.readouterr()
        with contextlib.ExitStack() as stack:
            stdin = input.open() if isinstance(input, Path) else piped(input)
            monkeypatch.setattr(sys, "stdin", stack.enter_context(stdin))
            code = run(list(arguments))
        sys.stdout.flush()
        return Done(code, *capfd.readouterr())

    (tmp_path / "guide.md").write_text(GUIDE)
    assert call("ingest", "guide.md").code == 0
    yield call
    structlog.reset_defaults()  # commands point it at the stderr of their time


def piped(text: str) -> TextIO:
    ours, theirs = os.pipe()
    with os.fdopen(theirs, "w") as writer:
        writer.write(text)  # less than a pipe holds
    return os.fdopen(ours)


def messages(cairn: Cairn, session: str) -> list[dict[str, Any]]:
    done = cairn("history", session, "--json")
    assert done.code == 0, done.err
    return list(json.loads(done.out)["messages"])


def test_a_conversation_from_a_pipe_is_answered_and_remembered(cairn: Cairn) -> None:
    done = cairn("chat", "--session", "s1", input=TALK)
    assert done.code == 0, done.err
    assert done.out.index("pile of stones") < done.out.index("cold water")
    assert "guide" in done.out, "sources are shown"
    assert "Session s1, collection default." in done.err
    said = [(message["role"], message["content"]) for message in messages(cairn, "s1")]
    assert [content for role, content in said if role == "user"] == ["What is a cairn?", "How are ropes washed?"]
    shown = cairn("history", "s1").out
    assert "you\nWhat is a cairn?" in shown
    assert "[1] guide.md" in shown


def test_quit_ends_and_a_file_is_read_too(cairn: Cairn, tmp_path: Path) -> None:
    """Also without a line end at the end, and with the session that an earlier one began."""
    (tmp_path / "talk").write_text("What is a cairn?\n/quit\nHow are ropes washed?")
    assert cairn("chat", "-s", "s1", input=tmp_path / "talk").code == 0
    assert len(messages(cairn, "s1")) == 2
    assert cairn("chat", "-s", "s1", input="How are ropes washed?").code == 0
    assert len(messages(cairn, "s1")) == 4
    assert cairn("chat", "-s", "s2", input="").code == 0


def test_what_cannot_be_answered_is_said_and_the_conversation_goes_on(cairn: Cairn) -> None:
    done = cairn("chat", "--session", "s1", input="x" * 4001 + "\nWhat is a cairn?\n")
    assert done.code == 1
    assert "at most 4,000 are allowed" in done.err
    assert "pile of stones" in done.out


def test_bad_sessions_and_collections_are_one_line_on_stderr(cairn: Cairn) -> None:
    for arguments, code, said in (
        (("chat", "--session", " "), 2, "is not a session id"),
        (("chat", "--collection", "nowhere"), 1, "collection nowhere has no documents yet"),
        (("history", "unknown"), 1, "there is no conversation unknown"),
        (("history", "unknown", "--delete"), 1, "there is no conversation unknown"),
    ):
        done = cairn(*arguments)
        assert (done.code, done.out) == (code, "")
        assert said in done.err
        assert "Traceback" not in done.err


def test_a_conversation_is_deleted(cairn: Cairn) -> None:
    cairn("chat", "--session", "s1", input=TALK)
    assert cairn("history", "s1", "--delete").code == 0
    assert cairn("history", "s1").code == 1


def test_at_a_terminal_there_is_a_prompt_and_ctrl_c_ends_it(
    cairn: Cairn, environment: dict[str, str], tmp_path: Path
) -> None:
    ours, theirs = pty.openpty()
    own, terminal = {**os.environ, **environment, "TERM": "dumb"}, Path(os.ttyname(theirs))
    process = starter().start(own, terminal, "chat", "--session", "s1", folder=tmp_path)
    try:
        read_until(ours, "> ")
        os.write(ours, b"What is a cairn?\n")
        answer = read_until(ours, "\n> ")
        assert "pile of stones" in answer
        process.send_signal(signal.SIGINT)
        assert process.wait(patience(20)) == 130
    finally:
        process.kill()
        os.close(theirs)
        os.close(ours)
    assert len(messages(cairn, "s1")) == 2


def read_until(descriptor: int, end: str, seconds: float = 60) -> str:
    seen, until = "", time.monotonic() + patience(seconds)
    while not seen.replace("\r", "").endswith(end):
        assert time.monotonic() < until, seen
        with contextlib.suppress(OSError):
            seen += os.read(descriptor, 1000).decode()
    return seen
