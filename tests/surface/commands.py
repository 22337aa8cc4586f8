"""Commands run in the process of the test: what they print, and their exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cairn.interfaces.cli.main import run


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cairn = Callable[..., Done]


def in_process(capfd: pytest.CaptureFixture[str]) -> Cairn:
    """Point structlog away from this test's stderr afterwards: `structlog.reset_defaults()`."""

    def call(*arguments: str | Path) -> Done:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        sys.stdout.flush()
        return Done(code, *capfd.readouterr())

    return call
