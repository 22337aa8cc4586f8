"""Cases of questions that are a figure of quality together: `make test` asks every third, `make test-all` all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

EVERY = 3


def thinned(cases: Iterable[Any]) -> list[Any]:
    """For `parametrize`: all but every third are measurements."""
    return [
        one if number % EVERY == 0 else pytest.param(one, marks=pytest.mark.measurement)
        for number, one in enumerate(cases)
    ]


STEPS = pytest.mark.parametrize("step", [EVERY, pytest.param(1, marks=pytest.mark.measurement)])
"""For a test that goes through its cases itself: `cases[::step]`."""
