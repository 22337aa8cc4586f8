"""Whether a search follows the graph, and how much what it finds counts against the text legs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.domain.passage import LEGS, Fused, Leg, LegResult, Mode, SearchRequest
from app.domain.plan import FusionWeights
from app.retrieve.fuse import CONFIDENCE_THRESHOLD, SKIP, shifted, with_graph, with_graph_capped
from app.retrieve.graph import names_something
from app.settings import Settings


def default_legs(settings: Settings) -> tuple[Leg, ...]:
    """Legs of a search that names none."""
    return legs_of("hybrid" if settings.rag.hybrid_search_enabled else "vector", settings)


def legs_of(mode: Mode, settings: Settings) -> tuple[Leg, ...]:
    """Hybrid has the graph where the settings want it followed."""
    if mode == "hybrid" and settings.graph.enabled and settings.graph.search:
        return LEGS
    if mode == "hybrid" or mode == "text":
        return ("vector", "lexical")
    return (mode,)


def routed(request: SearchRequest, settings: Settings) -> SearchRequest:
    """The request with the legs that run. Its query has no operators any more.

    By names, the graph is left out where the query names nothing and the caller did not choose the legs. By type, the
    side with a weight below SKIP is left out.
    """
    text = tuple(leg for leg in request.legs if leg != "graph")
    if text == request.legs or not text:
        return request
    if (weights := _by_type(request, settings)) is not None:
        left = text if weights.graph < SKIP else ("graph",) if weights.text < SKIP else request.legs
        return replace(request, legs=left)
    return request if request.explicit or names_something(request.query) else replace(request, legs=text)


def unsure(request: SearchRequest, ran: SearchRequest, legs: Mapping[Leg, LegResult]) -> bool:
    """Whether text legs that were left out have to run all the same: the graph found too little."""
    found = legs.get("graph")
    return ran.legs == ("graph",) != request.legs and (found is None or found.confidence < CONFIDENCE_THRESHOLD)


def joined(
    text: Sequence[Fused],
    legs: Mapping[Leg, LegResult],
    graph: LegResult,
    request: SearchRequest,
    settings: Settings,
) -> list[Fused]:
    """The order of the text legs with what the graph found, by the weights in force and the form of the settings."""
    share = settings.graph.weight
    weights = FusionWeights(1 - share, share, "HYBRID")
    if (by_type := _by_type(request, settings)) is not None:
        sure = max((leg.confidence for leg in legs.values()), default=0.0)
        weights = shifted(by_type, text=sure, graph=graph.confidence)
    if settings.graph.fusion == "capped":
        return with_graph_capped(text, graph, weights, request.top_k)
    return with_graph(text, graph, weights.graph / weights.text if weights.text > 0 else 1.0)


def _by_type(request: SearchRequest, settings: Settings) -> FusionWeights | None:
    return request.weights if settings.graph.routing == "type" else None
