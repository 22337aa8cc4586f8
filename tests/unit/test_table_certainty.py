"""What the certainty of the table parser is worth: the share that was right of what it read of tables it was not trained on."""

from __future__ import annotations

import pytest

from cairn.answer.computed import CONFIDENCE, SHOWN_ONLY
from cairn.answer.confidence import SURE
from cairn.strategies.computed import CERTAIN, MEANT, MOST_RIGHT, probably_right


@pytest.mark.parametrize(
    ("certainty", "share"),
    # between those of 37 tables of our own (50 of .86, 53 of .85, 81 of .94 right) and of 70 of WikiTableQuestions
    # (24 of .71, 19 of .95, 42 of .83), in the middle of each range
    [(0.65, 0.77), (0.75, 0.83), (0.85, 0.89)],
)
def test_it_is_as_often_right_as_was_measured(certainty: float, share: float) -> None:
    assert probably_right(certainty) == pytest.approx(share, abs=0.02)


def test_what_the_parser_reads_is_never_surer_than_what_rules_do() -> None:
    assert probably_right(1.0) == probably_right(0.99) == MOST_RIGHT < CONFIDENCE
    assert probably_right(CERTAIN) > SURE > SHOWN_ONLY
    assert MEANT < CERTAIN
