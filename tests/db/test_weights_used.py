"""Searches tell the weights that were in force; scores lie in 0..1, whatever ran."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.domain.passage import LEGS, Leg
from cairn.service.search import get_trace, make_request, run_search
from cairn.wiring import Services
from tests.documents import find, index_texts
from tests.sharing import SHARED

pytestmark = SHARED

CHAIN = "Who did the director of Big Eyes marry?"
TEXTS = {
    "film": "Big Eyes is a film directed by Tim Burton.",
    "director": "Tim Burton married in secret.",
    "noise": "Cranes marry no one, and lift stones.",
    "other": "A cairn is a heap of stones.",
}


@pytest.mark.parametrize(
    ("query", "mode", "expected", "weighting", "classifier"),
    [
        (CHAIN, "hybrid", {"vector": 0.35, "lexical": 0.15, "graph": 0.5}, "HYBRID", "names"),
        ("What is a cairn?", "hybrid", {"vector": 0.7, "lexical": 0.3}, "TEXT_ONLY", "names"),
        (CHAIN, "text", {"vector": 0.7, "lexical": 0.3}, "TEXT_ONLY", "caller"),
        (CHAIN, "lexical", {"lexical": 1.0}, "TEXT_ONLY", "caller"),
        (CHAIN, "graph", {"graph": 1.0}, "GRAPH_ONLY", "caller"),
    ],
)
async def test_the_weights_are_those_of_the_legs_that_ran(
    services: Services, query: str, mode: Any, expected: dict[Leg, float], weighting: str, classifier: str
) -> None:
    await index_texts(services, TEXTS)
    result = await run_search(services, make_request(services.settings.current, query, ("test",), mode=mode))
    used = result.weights
    assert used
    assert (dict(used.legs), used.mode, used.classifier) == (expected, weighting, classifier)
    assert set(used.legs) == set(result.legs_used)
    assert used.reason
    trace = await get_trace(services, result.trace_id)
    assert trace.plan["weights"] == used.as_json()
    again = await run_search(services, make_request(services.settings.current, query, ("test",), mode=mode))
    assert again.from_cache
    assert again.weights == used


@pytest.mark.sweep(5)
@pytest.mark.parametrize(
    "legs", [("vector",), ("lexical",), ("vector", "lexical"), LEGS, ("graph",), ("lexical", "graph")]
)
@pytest.mark.parametrize("fusion", ["relative_score", "rrf"])
@pytest.mark.parametrize("group_by", ["passage", "document"])
async def test_scores_lie_in_0_to_1_and_fall(
    services: Services, legs: tuple[Leg, ...], fusion: Any, group_by: Any
) -> None:
    """In one statement (passages) and stepwise (documents), which agree."""
    await index_texts(services, TEXTS)
    result = await find(services, CHAIN, legs=legs, explicit=True, fusion=fusion, group_by=group_by, cache=False)
    scores = [passage.score for passage in result.passages]
    assert scores
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert result.weights
    assert result.weights.fusion == fusion
    assert not result.retries


async def test_fusion_is_chosen_per_request_and_known_to_the_cache(services: Services) -> None:
    await index_texts(services, TEXTS)
    first = await find(services, "heap of stones")
    ranks = await find(services, "heap of stones", fusion="rrf")
    assert not ranks.from_cache
    assert (await find(services, "heap of stones", fusion="rrf")).from_cache
    assert ranks.passages[0].score == pytest.approx(1.0), "the first of every list"
    assert [p.score for p in first.passages] != [p.score for p in ranks.passages]
