"""Chunking does not run away, whatever the text is made of."""

from __future__ import annotations

import pytest

from cairn.domain.document import Markup
from tests.growth import repeated, takes_linear_time
from tests.unit.test_chunkers import split


@pytest.mark.sweep(4)
@pytest.mark.parametrize("strategy", ["parent_child", "tokens"])
@pytest.mark.parametrize("markup", ["markdown", "plain", "code"])
@pytest.mark.parametrize(
    "unit",
    ["x", "-", "ab ", "a" + " " * 99, "x" + " " * 150, "# x\n", "# x\n\nb\n\n", "```\n", "a\n==\n", "[", "漢", "a. "],
)
def test_no_text_takes_quadratic_time(unit: str, markup: Markup, strategy: str) -> None:
    language = "python" if markup == "code" else None
    assert takes_linear_time(
        lambda text: split(text, markup, strategy=strategy, language=language), repeated(unit), 5_000
    )
