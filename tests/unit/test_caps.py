"""What jobs may spend that ask chat models: the four caps, each with the name of its setting."""

from __future__ import annotations

import pytest

from cairn.jobs.caps import stop_note
from cairn.settings import EnrichmentSettings, GraphModelSettings, SpendingCaps
from cairn.store.model_usage import JobUsage

PRICES = {"reader": (1.0, 2.0)}
USED = [JobUsage(True, True, "reader", 1, 400_000, 0), JobUsage(False, True, "reader", 1, 500_000, 0)]
"""40 and 50 cents: of this job, and of another of today."""
NEXT = (100_000, 50_000)
"""Twenty cents."""


@pytest.mark.parametrize(
    ("caps", "reached"),
    [
        ({"max_tokens": 550_000, "max_tokens_per_day": 1_050_000}, None),
        ({"max_tokens": 549_999, "max_tokens_per_day": 1_050_000}, "maxTokens (549999) is reached"),
        ({"max_tokens": 550_000, "max_tokens_per_day": 1_049_999}, "maxTokensPerDay (1049999) is reached"),
        ({"max_cost": 0.61, "max_cost_per_day": 1.11}, None),
        ({"max_cost": 0.59, "max_cost_per_day": 1.11}, "maxCost (0.59) is reached"),
        ({"max_cost": 0.61, "max_cost_per_day": 1.09}, "maxCostPerDay (1.09) is reached"),
    ],
)
@pytest.mark.parametrize("section", [EnrichmentSettings, GraphModelSettings])
def test_a_call_that_would_exceed_a_cap_is_not_made(
    section: type[SpendingCaps], caps: dict[str, float], reached: str | None
) -> None:
    most = section(**({"max_tokens": 10**9, "max_tokens_per_day": 10**9} | caps))  # type: ignore[arg-type]
    found = stop_note("enrichment", most, PRICES, "reader", USED, NEXT)
    assert found == (reached and f"enrichment.{reached}")


def test_a_cap_of_cost_needs_prices() -> None:
    found = stop_note("graph.model", GraphModelSettings(max_cost_per_day=100), {}, "reader", (), NEXT)
    assert found == "graph.model.maxCostPerDay is set, but answer.prices lacks a model (reader)"
