"""Which of many like cases `make test` tries; `make test-all` tries all of them.

A change has to pass one test of each guarantee. Cases that only differ are a sweep, whose others are sieges; questions that are
a figure of quality together are measurements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

EVERY = 3

STEPS = pytest.mark.parametrize("step", [EVERY, pytest.param(1, marks=pytest.mark.measurement)])
"""For a test that goes through questions itself: `cases[::step]`."""

SWEPT = pytest.mark.parametrize("step", [EVERY, pytest.param(1, marks=pytest.mark.siege)])
"""For a test that goes through like cases itself."""


def ends(cases: Sequence[Any]) -> list[Any]:
    """For `parametrize`, where the first and the last case reach furthest: what lies between them is a siege."""
    between = [pytest.param(one, marks=pytest.mark.siege) for one in cases[1:-1]]
    return [cases[0], *between, *cases[1:][-1:]]


def thin_sweeps(items: Iterable[pytest.Item]) -> None:
    """Marks as sieges what is left out of each test with `pytest.mark.sweep(every)`: all but the first and every so many."""
    seen: Counter[str] = Counter()
    for item in items:
        if sweep := item.get_closest_marker("sweep"):
            test = item.nodeid.partition("[")[0]
            if seen[test] % sweep.args[0]:
                item.add_marker(pytest.mark.siege)
            seen[test] += 1
