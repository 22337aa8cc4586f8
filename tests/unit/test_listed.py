"""Where a list shows what it found."""

from __future__ import annotations

import pytest

from app.answering.listed import place_of
from tests.unit.test_cite import passage


@pytest.mark.parametrize(
    ("content", "term", "wanted"),
    [
        ("Jump to content\n\nThe ducks of the pond eat bread. They sleep.", "duck", "The ducks of the pond eat bread."),
        ("# Ducks\n\nIntroduced here. Many ducks swim in the lake.", "ducks", "Many ducks swim in the lake."),
        ("# Ducks\n\nNothing more on them.", "ducks", "Ducks"),
    ],
)
def test_a_sentence_with_the_term_is_cited_before_a_heading_or_the_first_line(
    content: str, term: str, wanted: str
) -> None:
    cited = place_of(1, passage(content), term)
    assert cited is not None
    assert cited.quote == wanted
