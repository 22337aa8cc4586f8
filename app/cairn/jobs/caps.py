"""The caps of jobs that ask chat models: tokens and cost, of one job and of all of its kind in a day. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cairn.domain.trace import Prices, Spend, one_call
from cairn.settings import SpendingCaps
from cairn.store.model_usage import JobUsage


class CapReachedError(Exception):
    """A cap is reached; says which."""


def spent(used: Iterable[JobUsage], prices: Prices) -> Spend:
    """The sum; its cost is None where a model has no price."""
    total = Spend()
    for one in used:
        total += one_call(one.model, one.input_tokens, one.output_tokens, 0.0, prices)
    return total


def stop_note(
    section: str, caps: SpendingCaps, prices: Prices, model: str, used: Sequence[JobUsage], tokens: tuple[int, int]
) -> str | None:
    """Why a call of at most so many (input, output) tokens must not be made; None where it may. `section`: of the settings.

    What the call may cost counts beforehand, so a cap is not exceeded but by other jobs at the same moment.
    """
    ahead = one_call(model, *tokens, 0.0, prices)
    spans: tuple[tuple[str, Callable[[JobUsage], bool], int, float | None], ...] = (
        ("", lambda one: one.own, caps.max_tokens, caps.max_cost),
        ("PerDay", lambda one: one.today, caps.max_tokens_per_day, caps.max_cost_per_day),
    )
    for name, counts, most_tokens, most_cost in spans:
        total = spent(filter(counts, used), prices) + ahead
        if (total.input_tokens or 0) + (total.output_tokens or 0) > most_tokens:
            return f"{section}.maxTokens{name} ({most_tokens}) is reached"
        if most_cost is not None and total.cost is None:
            return f"{section}.maxCost{name} is set, but answer.prices lacks a model ({', '.join(total.models)})"
        if most_cost is not None and (total.cost or 0.0) > most_cost:
            return f"{section}.maxCost{name} ({most_cost:g}) is reached"
    return None
