"""No reason is empty: an error that says nothing (a TimeoutError) is at least named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cairn.errors import CairnError, DatabaseUnavailableError, named_reason, reason_of
from cairn.jobs.outcome import describe

APP = Path(__file__).resolve().parents[2] / "app"
MAY_BE_EMPTY = re.compile(
    r"(?:problem|reason|error)=str\(error\)|\{type\(error\).__name__\}: \{(?:str\()?error|\{error\.strerror\}"
)
"""How such reasons were written before; a silent error makes `problem=""` or ends a line in a colon."""


@pytest.mark.parametrize(
    ("error", "said", "named"),
    [
        (TimeoutError(), "TimeoutError", "TimeoutError"),
        (ValueError("wrong"), "wrong", "ValueError: wrong"),
        (OSError(" \n"), "OSError", "OSError"),
        (RuntimeError("two\nlines"), "two lines", "RuntimeError: two lines"),
    ],
)
def test_a_reason_says_something_on_one_line(error: Exception, said: str, named: str) -> None:
    assert reason_of(error) == said
    assert named_reason(error) == named
    assert describe(error) == named


def test_an_expected_error_without_a_detail_has_its_title() -> None:
    assert CairnError("").detail == "Internal error"
    assert describe(DatabaseUnavailableError("")) == DatabaseUnavailableError.title


def test_nothing_makes_reasons_that_may_be_empty() -> None:
    found = [
        f"{path.relative_to(APP)}: {match[0]}"
        for path in sorted(APP.rglob("*.py")) if path.name != "errors.py"
        for match in MAY_BE_EMPTY.finditer(path.read_text(encoding="utf-8"))
    ]  # fmt: skip
    assert found == [], "cairn.errors.reason_of and named_reason never are"
