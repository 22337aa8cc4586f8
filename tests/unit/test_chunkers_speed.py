"""Chunking takes linear time, whatever the text is made of."""

from __future__ import annotations

import time

import pytest

from app.domain.document import Markup
from tests.unit.test_chunkers import split


@pytest.mark.parametrize("strategy", ["parent_child", "tokens"])
@pytest.mark.parametrize("markup", ["markdown", "plain", "code"])
@pytest.mark.parametrize(
    "unit",
    ["x", "-", "ab ", "a" + " " * 99, "x" + " " * 150, "# x\n", "# x\n\nb\n\n", "```\n", "a\n==\n", "[", "漢", "a. "],
)
def test_time_grows_linearly(unit: str, markup: Markup, strategy: str) -> None:
    """Eight times the text takes far less than sixty-four times the time (a floor hides timer noise)."""

    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        split(text, markup, strategy=strategy, language="python" if markup == "code" else None)
        return time.process_time() - start

    seconds(1000)
    small = max(seconds(25_000), 0.02)
    assert seconds(200_000) < 24 * small
