"""Chunking does not run away, whatever the text is made of."""

from __future__ import annotations

import time

import pytest

from cairn.domain.document import Markup
from tests.unit.test_chunkers import split


@pytest.mark.parametrize("strategy", ["parent_child", "tokens"])
@pytest.mark.parametrize("markup", ["markdown", "plain", "code"])
@pytest.mark.parametrize(
    "unit",
    ["x", "-", "ab ", "a" + " " * 99, "x" + " " * 150, "# x\n", "# x\n\nb\n\n", "```\n", "a\n==\n", "[", "漢", "a. "],
)
def test_no_text_takes_quadratic_time(unit: str, markup: Markup, strategy: str) -> None:
    """A guard against runaways, not a measurement: quadratic time would be minutes at this size."""
    text = unit * (100_000 // len(unit))
    begun = time.process_time()
    split(text, markup, strategy=strategy, language="python" if markup == "code" else None)
    assert time.process_time() - begun < 5
