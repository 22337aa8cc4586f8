"""What calls cost, one and together."""

from __future__ import annotations

import pytest

from app.domain.trace import Spend, one_call

PRICES = {"m": (0.5, 1.5)}


def test_cost_is_tokens_by_the_price_of_a_million() -> None:
    spent = one_call("m", 2000, 1000, 1.25, PRICES)
    assert spent.usage() == {
        "model": "m", "input_tokens": 2000, "output_tokens": 1000, "cost": pytest.approx(0.0025), "calls": 1,
        "seconds": 1.25,
    }  # fmt: skip


@pytest.mark.parametrize(("model", "tokens"), [("other", 5), ("m", None)])
def test_an_unknown_price_or_count_makes_no_cost(model: str, tokens: int | None) -> None:
    assert one_call(model, tokens, 5, 0, PRICES).cost is None


def test_calls_add_up_and_nothing_is_neutral() -> None:
    one, two = one_call("m", 2000, 1000, 1.0, PRICES), one_call("m", 4000, 0, 0.5, PRICES)
    assert sum([one, two], Spend()) == Spend(("m",), 6000, 1000, pytest.approx(0.0045), 2, 1.5)  # type: ignore[arg-type]
    assert Spend() + one == one


def test_a_sum_with_something_unknown_is_unknown() -> None:
    total = one_call("m", 2000, 1000, 1.0, PRICES) + one_call("n", None, 7, 1.0, PRICES)
    assert (total.models, total.input_tokens, total.output_tokens, total.cost) == (("m", "n"), None, 1007, None)
