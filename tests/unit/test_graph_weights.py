"""Weights after retrieval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.plan import FusionWeights
from cairn.retrieve.fuse import cap
from cairn.retrieve.weights import confidence_shift, shift_weights

unit = st.floats(0, 1)


@pytest.mark.parametrize(("confidence", "shift"), [(1.0, 0), (0.30, 0), (0.25, 0.05), (0.15, 0.15), (0.0, 0.30)])
def test_a_leg_below_the_threshold_gives_weight_away(confidence: float, shift: float) -> None:
    assert confidence_shift(confidence) == pytest.approx(shift)


@pytest.mark.parametrize(
    ("text", "graph", "expected"), [(0.15, 0.9, (0.35, 0.65)), (0.9, 0.15, (0.65, 0.35)), (0.9, 0.9, (0.5, 0.5))]
)
def test_a_low_leg_boosts_the_other(text: float, graph: float, expected: tuple[float, float]) -> None:
    after = shift_weights(FusionWeights(0.5, 0.5, "HYBRID"), text=text, graph=graph)
    assert (after.text, after.graph) == pytest.approx(expected)
    assert after.mode == "HYBRID"


def test_with_both_low_nothing_moves_and_the_mode_says_so() -> None:
    assert shift_weights(FusionWeights(0.7, 0.3, "HYBRID"), text=0.1, graph=0.2) == FusionWeights(0.7, 0.3, "ADAPTIVE")


@given(unit, unit, unit)
def test_weights_stay_shares(text_weight: float, text: float, graph: float) -> None:
    after = shift_weights(FusionWeights(text_weight, 1 - text_weight, "HYBRID"), text=text, graph=graph)
    assert 0 <= after.text <= 1
    assert after.text + after.graph == pytest.approx(1)


@pytest.mark.parametrize(
    ("found", "weight", "capped"), [(10, 0.7, 7), (10, 0.25, 3), (10, 0.01, 1), (10, 0.0, 0), (0, 1.0, 0), (7, 1.0, 7)]
)
def test_caps_are_proportional_half_up_and_at_least_one(found: int, weight: float, capped: int) -> None:
    assert cap(found, weight) == capped
