"""Fusing what the retrievers found into one list of passages. Pure; neither form depends on the order of the retrievers.

Two forms, chosen by `retrieve.fusion`: reciprocal ranks, as the source documents describe it, and relative scores, the
default by measurement (docs/adr/0008-fusion.md). The graph, which starts from what the text retrievers found, is added to either
(docs/adr/0024-graph-leg.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from app.domain.passage import Fused, Leg, LegResult, SearchRequest
from app.domain.plan import FusionWeights
from app.retrieve.context import Retrieved, SearchContext
from app.settings import Settings

KEPT: Final = 1
"""Best passages of the text retrievers that the graph does not move."""
CONFIDENCE_THRESHOLD: Final = 0.3
"""A side that is less sure than this gives weight away."""
MAX_SHIFT: Final = 0.3
"""What a side gives away that found nothing."""


def weights(legs: Collection[Leg], settings: Settings) -> dict[Leg, float]:
    """What each retriever counts: shares of the settings, or all where it is alone."""
    share = settings.rag.hybrid_search_weight
    return {"vector": share, "lexical": 1 - share} if len(legs) > 1 else dict.fromkeys(legs, 1.0)


def fuse(legs: Mapping[Leg, LegResult], settings: Settings) -> list[Fused]:
    """By the form that the settings name. rag.fused_best is the same in SQL, to guess what will be shown."""
    if settings.retrieve.fusion == "rrf":
        return reciprocal_rank_fusion(legs, weights(legs, settings), settings.retrieve.rrf_k)
    return relative_score_fusion(legs, weights(legs, settings))


def reciprocal_rank_fusion(legs: Mapping[Leg, LegResult], weights: Mapping[Leg, float], k: int = 60) -> list[Fused]:
    """score(d) = sum over retrievers of weight / (k + rank), ranks from 1 (Cormack et al. 2009).

    A retriever that does not hold d contributes 0; a retriever without a weight counts 1.
    """
    points = {
        leg: [weights.get(leg, 1.0) / (k + rank) for rank in range(1, len(result.hits) + 1)]
        for leg, result in legs.items()
    }
    return _merged(legs, points, {})


def relative_score_fusion(legs: Mapping[Leg, LegResult], weights: Mapping[Leg, float]) -> list[Fused]:
    """score(d) = sum over retrievers of weight * s(d) / s(best of the retriever), in 0..1 where the weights sum to 1.

    Unlike ranks, scores tell a clear winner from the first of many equals, so a retriever that knows nothing about a query
    moves little. What a cut-off list does not hold may be as good as its last entry and gets that one's score; what a
    complete list does not hold gets 0. Negative scores count as 0.
    """
    points = {leg: _relative(result, weights.get(leg, 1.0)) for leg, result in legs.items()}
    floors = {leg: 0.0 if legs[leg].complete else min(points[leg], default=0.0) for leg in sorted(legs)}
    return _merged(legs, points, floors)


def with_graph(text: Sequence[Fused], graph: LegResult, weight: float = 1.0) -> list[Fused]:
    """The order of the text retrievers, with what the graph knows added: score(d) = text(d) / best text + weight * graph(d).

    Scores of the graph are absolute (app/graph/rank.py), so a weak link moves nothing. The best passage of the text retrievers
    stays first: a question with one answer loses nothing by a graph that knows no better. What the text retrievers did not
    find counts as their last entry does. Without a text retriever it is the order of the graph.
    """
    best = max((item.score for item in text), default=0.0)
    scale = 1 / best if best > 0 else 0.0
    floor = min((item.score for item in text), default=0.0) * scale
    found = {hit.passage_id: (rank, weight * max(0.0, hit.score)) for rank, hit in enumerate(graph.hits, start=1)}
    merged = [_added(item, scale, found.pop(item.passage_id, None)) for item in text]
    merged += [Fused(key, floor + share, {"graph": rank}, {"graph": share}) for key, (rank, share) in found.items()]
    highest = max((item.score for item in merged), default=0.0)
    kept = {item.passage_id for item in text[:KEPT]}
    merged = [item._replace(score=highest) if item.passage_id in kept else item for item in merged]
    return sorted(
        merged, key=lambda item: (item.passage_id not in kept, -item.score)
    )  # stable: equal ones stay in order


def with_graph_capped(text: Sequence[Fused], graph: LegResult, weights: FusionWeights, places: int) -> list[Fused]:
    """The same passages by quota: of `places` each side brings its share, text first, then the rest as they were.

    Scores only tell the order: 1 / rank.
    """
    order = [item.passage_id for item in text]
    linked = [hit.passage_id for hit in graph.hits]
    brought = [*order[: cap(places, weights.text)], *linked[: cap(places, weights.graph)]]
    place = {key: at for at, key in enumerate(dict.fromkeys([*brought, *order, *linked]))}
    merged = [item._replace(score=1 / (1 + place[item.passage_id])) for item in with_graph(text, graph)]
    return sorted(merged, key=lambda item: place[item.passage_id])


def _added(item: Fused, scale: float, graph: tuple[int, float] | None) -> Fused:
    shares = {leg: share * scale for leg, share in item.shares.items()}
    if graph is None:
        return Fused(item.passage_id, item.score * scale, item.ranks, shares)
    rank, share = graph
    return Fused(item.passage_id, item.score * scale + share, {**item.ranks, "graph": rank}, {**shares, "graph": share})


def _relative(result: LegResult, weight: float) -> list[float]:
    """What each hit of a retriever counts."""
    scores = [hit.score for hit in result.hits]
    best = max(scores, default=0.0)
    if best <= 0:
        return [0.0] * len(scores)
    return [weight * (score / best) if score > 0 else 0.0 for score in scores]


def _merged(
    legs: Mapping[Leg, LegResult], points: Mapping[Leg, Sequence[float]], floors: Mapping[Leg, float]
) -> list[Fused]:
    """Best first. `points` of each hit of a retriever; `floors`: what a passage gets from retrievers that do not hold it.

    Equal ones stand as the retriever that ranks them best has them, then by id: cosines below 0 all count 0, and keep their
    order. This runs for a hundred candidates in each search, hence one pass.
    """
    ranks: dict[UUID, dict[Leg, int]] = {}
    shares: dict[UUID, dict[Leg, float]] = {}
    for leg in sorted(legs):
        for rank, (hit, gained) in enumerate(zip(legs[leg].hits, points[leg], strict=True), start=1):
            passage_id = hit.passage_id
            known = ranks.get(passage_id)
            if known is None:
                ranks[passage_id] = {leg: rank}
                shares[passage_id] = {**floors, leg: gained}
            elif leg not in known:
                known[leg] = rank
                shares[passage_id][leg] = gained
    order = sorted([(-sum(parts.values()), min(ranks[key].values()), key) for key, parts in shares.items()])
    return [Fused(key, -score, ranks[key], shares[key]) for score, _, key in order]


# --- text against graph, after both were searched ---------------------------------------------------------------------


def add_graph(context: SearchContext, text: Retrieved, graph: LegResult, linked: Mapping[UUID, UUID]) -> Retrieved:
    """What the text retrievers found, with what the graph adds. `linked`: over which entity it came to a passage."""
    return replace(
        text,
        fused=merge_graph(text.fused, text.legs, graph, context.request, context.settings),
        legs={**text.legs, "graph": graph},
        documents={**text.documents, **{hit.passage_id: hit.document_id for hit in graph.hits}},
        linked=linked,
    )


def merge_graph(
    text: Sequence[Fused],
    legs: Mapping[Leg, LegResult],
    graph: LegResult,
    request: SearchRequest,
    settings: Settings,
) -> list[Fused]:
    """The order of the text retrievers with what the graph found, by the weights in force and the form of the settings."""
    share = settings.graph.weight
    weights = FusionWeights(1 - share, share, "HYBRID")
    if (by_type := weights_by_type(request, settings)) is not None:
        sure = max((leg.confidence for leg in legs.values()), default=0.0)
        weights = shift_weights(by_type, text=sure, graph=graph.confidence)
    if settings.graph.fusion == "capped":
        return with_graph_capped(text, graph, weights, request.top_k)
    return with_graph(text, graph, weights.graph / weights.text if weights.text > 0 else 1.0)


def weights_by_type(request: SearchRequest, settings: Settings) -> FusionWeights | None:
    """Weights that the type of the question gives, where it decides."""
    return request.weights if settings.graph.routing == "type" else None


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


def cap(found: int, weight: float) -> int:
    """How many of `found` a side of this weight may bring: its share, at least one; none at weight 0."""
    return max(1, int(found * weight + 0.5)) if weight > 0 and found > 0 else 0
