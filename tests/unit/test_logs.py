"""What a serving process writes on standard error where that is no terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cairn.domain.key import new_secret
from cairn.interfaces.http.logs import LogStream

WRITES = """
import logging, sys, warnings, structlog
from cairn.interfaces.http import logs
logs.configure()
structlog.get_logger().info("own", stage="search", body={"texts": ["of " + sys.argv[1]]})
warnings.warn("old spelling", DeprecationWarning)
warnings.warn(f"{sys.argv[1]} was seen")
logging.getLogger("library").info("too chatty")
secret = "of a document"
try:
    raise ValueError("no such thing")
except ValueError:
    logging.getLogger("library").exception("failed")
"""


def test_each_line_is_one_object_whoever_writes_it() -> None:
    key = new_secret()
    ended = subprocess.run([sys.executable, "-c", WRITES, key], capture_output=True, text=True, check=True)
    own, *warned, failed = [json.loads(line) for line in ended.stderr.splitlines()]
    assert (own["event"], own["level"], own["stage"]) == ("own", "info", "search")
    assert {(line["logger"], line["level"]) for line in warned} == {("py.warnings", "warning")}
    assert [any(text in line["event"] for line in warned) for text in ("old spelling", "was seen")] == [True, True]
    assert (failed["event"], failed["level"], failed["logger"]) == ("failed", "error", "library")
    assert "ValueError: no such thing" in failed["exception"]
    assert key not in ended.stderr
    assert "too chatty" not in ended.stderr
    assert "of a document" not in failed["exception"]
    assert all("timestamp" in line for line in (own, *warned, failed))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full is a part of Linux")
def test_a_log_that_cannot_be_written_stops_nothing_and_says_so_later(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full, (tmp_path / "log").open("w") as room:
        stream = LogStream(full)
        for number in range(1000):  # more than a buffer holds
            print(f"line {number} {'x' * 50}", file=stream, flush=True)
        os.dup2(room.fileno(), full.fileno())
        print("there is room again", file=stream, flush=True)
        print("and so on", file=stream, flush=True)
    written = (tmp_path / "log").read_text()
    assert "there is room again" in written
    assert written.endswith("and so on\n")
    assert '"log.interrupted"' in written
    assert "line 999 " not in written


FAILING = """
import structlog
from cairn.interfaces.cli.terminal import quiet_logs
quiet_logs()
def fail(secret):
    try:
        raise ValueError(f"something about {len(secret)} characters")
    except ValueError:
        structlog.get_logger("test").exception("failed")
fail("cairn_" + "k" * 20)
structlog.get_logger("test").warning("quoted", said=["sk-proj-" + "a1" * 20], exc_info=KeyError("AKIA" + "Q7" * 8))
"""


def test_a_stack_trace_of_a_command_shows_no_values_of_variables() -> None:
    """Keys are among them. In a process of its own: the tests here have another formatter of stack traces."""
    shown = subprocess.run([sys.executable, "-c", FAILING], capture_output=True, text=True, check=True)
    assert "ValueError: something about 26 characters" in shown.stderr
    assert "k" * 20 not in shown.stderr
    assert shown.stderr.count("[struck out]") == 2
    assert "a1a1" not in shown.stderr
    assert "Q7Q7" not in shown.stderr
    assert shown.stdout == ""
