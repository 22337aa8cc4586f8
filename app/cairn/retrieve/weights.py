"""What each retriever counts in the order of a search, and why. Pure.

Shares of the vector and the lexical retriever are those of the settings. What the graph counts against both is a share of the
settings, or what the type of the question gives it (graph.routing), moved by how sure both sides are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from cairn.domain.passage import Leg, LegResult, SearchRequest, WeightsUsed
from cairn.domain.plan import FusionWeights
from cairn.retrieve.context import Retrieved, SearchContext
from cairn.settings import Settings

CONFIDENCE_THRESHOLD: Final = 0.3  # measured: tests/unit/test_graph_weights.py
"""A side that is less sure than this gives weight away."""
MAX_SHIFT: Final = 0.3  # measured: tests/unit/test_graph_weights.py
"""What a side gives away that found nothing."""


def text_shares(legs: Collection[Leg], settings: Settings) -> dict[Leg, float]:
    """What each text retriever counts: shares of the settings, or all where it is alone."""
    share = settings.rag.hybrid_search_weight
    return {"vector": share, "lexical": 1 - share} if len(legs) > 1 else dict.fromkeys(legs, 1.0)


def weights_by_type(request: SearchRequest, settings: Settings) -> FusionWeights | None:
    """Weights that the type of the question gives, where it decides."""
    return request.weights if settings.graph.routing == "type" else None


def graph_weights(legs: Mapping[Leg, LegResult], request: SearchRequest, settings: Settings) -> FusionWeights:
    """Text against graph in a search in which the graph was followed. `legs`: what all of them found."""
    text, graph = [result for leg, result in legs.items() if leg != "graph"], legs["graph"]
    if not text:
        return FusionWeights(0.0, 1.0, "GRAPH_ONLY")
    if (by_type := weights_by_type(request, settings)) is None:
        share = settings.graph.weight
        return FusionWeights(1 - share, share, "HYBRID")
    return shift_weights(by_type, text=max(leg.confidence for leg in text), graph=graph.confidence)


def confidence_shift(confidence: float) -> float:
    """Weight that a retriever of this confidence (0..1) gives away, 0 to MAX_SHIFT: .30 -> 0, .25 -> .05, 0 -> .30."""
    if confidence >= CONFIDENCE_THRESHOLD:
        return 0.0
    return MAX_SHIFT * (1 - max(confidence, 0.0) / CONFIDENCE_THRESHOLD)


def shift_weights(weights: FusionWeights, *, text: float, graph: float) -> FusionWeights:
    """The weights after both sides have told their confidence (0..1): a low one boosts the other.

    No side gives away more than it has. Where both are low there is nothing to lean on: the weights stay and the mode is
    ADAPTIVE.
    """
    if text < CONFIDENCE_THRESHOLD and graph < CONFIDENCE_THRESHOLD:
        return FusionWeights(weights.text, weights.graph, "ADAPTIVE")
    moved = confidence_shift(graph) - confidence_shift(text)
    share = min(max(weights.text + moved, 0.0), 1.0)
    return FusionWeights(share, 1.0 - share, weights.mode) if moved else weights


def weights_used(context: SearchContext, found: Retrieved) -> WeightsUsed:
    """The weights that were in force; retrievers that did not run, or failed, have none."""
    text: list[Leg] = [leg for leg in found.legs if leg != "graph"]
    sides = FusionWeights(1.0, 0.0, "TEXT_ONLY")
    if "graph" in found.legs:
        sides = graph_weights(found.legs, context.request, context.settings)
    legs: dict[Leg, float] = {leg: share * sides.text for leg, share in text_shares(text, context.settings).items()}
    if sides.graph:
        legs["graph"] = sides.graph
    return WeightsUsed(
        {leg: round(share, 4) for leg, share in legs.items()},
        sides.mode, context.fusion, context.graph_choice.reason, context.graph_choice.classifier,
    )  # fmt: skip
