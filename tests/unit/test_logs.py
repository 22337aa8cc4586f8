"""What a serving process writes on standard error where that is no terminal."""

from __future__ import annotations

import json
import subprocess
import sys

from app.domain.key import new_secret

WRITES = """
import logging, sys, warnings, structlog
from app.api import logs
logs.configure()
structlog.get_logger().info("own", stage="search")
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
