"""What calls cost, one and together."""

from __future__ import annotations

import pytest

from cairn.domain.trace import Spend, one_call

PRICES = {"m": (0.5, 1.5)}


def test_cost_is_tokens_by_the_price_of_a_million() -> None:
    spent = one_call("m", 2000, 1000, 1.25, PRICES)
    assert spent.usage() == {
        "model": "m", "input_tokens": 2000, "output_tokens": 1000, "estimated": False, "cost": pytest.approx(0.0025), "calls": 1,
        "seconds": 1.25,
    }  # fmt: skip


def test_an_unknown_price_makes_no_cost() -> None:
    assert one_call("other", 5, 5, 0, PRICES).cost is None


def test_calls_add_up_and_nothing_is_neutral() -> None:
    one, two = one_call("m", 2000, 1000, 1.0, PRICES), one_call("m", 4000, 0, 0.5, PRICES, calls=2)
    total = sum([one, two], Spend())
    assert (total.models, total.input_tokens, total.output_tokens, total.calls) == (("m",), 6000, 1000, 3)
    assert (total.cost, total.seconds, total.tokens) == (pytest.approx(0.0045), 1.5, 7000)
    assert Spend() + one == one


def test_a_sum_with_an_unknown_price_is_unknown_but_what_is_known_counts_against_limits() -> None:
    total = one_call("m", 2000, 1000, 1.0, PRICES) + one_call("n", 3, 7, 1.0, PRICES, estimated=True)
    assert (total.models, total.cost, total.priced) == (("m", "n"), None, pytest.approx(0.0025))
    assert total.estimated
