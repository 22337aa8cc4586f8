"""What calls of models cost, in tokens, money and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Prices = Mapping[str, tuple[float, float]]
"""Model to the price of a million input tokens and of a million output tokens, in one currency."""


@dataclass(frozen=True, slots=True)
class Spend:
    """One call, or several: spends add up, and `Spend()` is nothing spent.

    Tokens are None as soon as one call did not report them, and `cost` as soon as one call's is not known, because a sum
    of the known ones would look like the whole. `seconds` is the time of all calls together. `models`: each one once.
    """

    models: tuple[str, ...] = ()
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost: float | None = 0.0
    calls: int = 0
    seconds: float = 0.0

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            tuple(dict.fromkeys((*self.models, *other.models))),
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            None if self.cost is None or other.cost is None else self.cost + other.cost,
            self.calls + other.calls,
            self.seconds + other.seconds,
        )

    def usage(self) -> dict[str, Any]:
        """As it stands in drafts, answers and traces: model, input_tokens, output_tokens, cost, calls, seconds."""
        return {
            "model": ", ".join(self.models) or None,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": None if self.cost is None else round(self.cost, 8),
            "calls": self.calls,
            "seconds": round(self.seconds, 3),
        }


def one_call(model: str, input_tokens: int | None, output_tokens: int | None, seconds: float, prices: Prices) -> Spend:
    """The spend of a single call; its cost is None without a price for the model or without a report of its tokens."""
    price, cost = prices.get(model), None
    if price and input_tokens is not None and output_tokens is not None:
        cost = (input_tokens * price[0] + output_tokens * price[1]) / 1_000_000
    return Spend((model,), input_tokens, output_tokens, cost, 1, seconds)


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
