"""Fusing what the retrievers found into one list of passages. Pure; neither form depends on the order of the retrievers.

Two forms, chosen by the request or `retrieve.fusion`: reciprocal ranks, as the source documents describe it, and relative
scores, the default by measurement (docs/adr/0008-fusion.md). The graph, which starts from what the text retrievers found, is
added to either (docs/adr/0024-graph-leg.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from cairn.domain.passage import Fused, FusionForm, Leg, LegResult
from cairn.domain.plan import FusionWeights
from cairn.retrieve.context import Retrieved, SearchContext
from cairn.retrieve.weights import graph_weights, text_shares
from cairn.settings import Settings

KEPT: Final = 1  # measured: tests/unit/test_graph_rank.py
"""Best passages of the text retrievers that the graph does not move."""
DEEPEST: Final = 50  # bound: tests/unit/test_edges_retrieve.py
"""Place in the order of the text retrievers below which the graph takes no passage to stand: their lists are as long in a search
for few passages, and who asks for a hundred has the same ones first."""


def fuse(legs: Mapping[Leg, LegResult], form: FusionForm, settings: Settings) -> list[Fused]:
    """Best first, with scores in 0..1. rag.search_collection does the same in SQL, for plain searches.

    A reciprocal rank says how good a place is only against others, so such scores are told as shares of the best one possible,
    which is that of the first place in every list.
    """
    shares = text_shares(legs, settings)
    if form == "relative_score":
        return relative_score_fusion(legs, shares)
    k = settings.retrieve.rrf_k
    # counted as the SQL does, or the two would break ties of equal sums differently
    parts = {leg: (k + 1) * share for leg, share in shares.items()}
    return [item._replace(score=min(1.0, item.score)) for item in reciprocal_rank_fusion(legs, parts, k)]


# measured: tests/unit/test_fuse.py
def reciprocal_rank_fusion(legs: Mapping[Leg, LegResult], weights: Mapping[Leg, float], k: int = 60) -> list[Fused]:
    """score(d) = sum over retrievers of weight / (k + rank), ranks from 1 (Cormack et al. 2009).

    A retriever that does not hold d contributes 0; a retriever without a weight counts 1.
    """
    points = {
        leg: [weights.get(leg, 1.0) / (k + rank) for rank in range(1, len(result.hits) + 1)]
        for leg, result in legs.items()
    }
    return _merge(legs, points, {})


def relative_score_fusion(legs: Mapping[Leg, LegResult], weights: Mapping[Leg, float]) -> list[Fused]:
    """score(d) = sum over retrievers of weight * s(d) / s(best of the retriever), in 0..1 where the weights sum to 1.

    Unlike ranks, scores tell a clear winner from the first of many equals, so a retriever that knows nothing about a query
    moves little. What a cut-off list does not hold may be as good as its last entry and gets that one's score; what a
    complete list does not hold gets 0. Negative scores count as 0.
    """
    points = {leg: _relative_scores(result, weights.get(leg, 1.0)) for leg, result in legs.items()}
    floors = {leg: 0.0 if legs[leg].complete else min(points[leg], default=0.0) for leg in sorted(legs)}
    return _merge(legs, points, floors)


def with_graph(text: Sequence[Fused], graph: LegResult, weight: float = 1.0) -> list[Fused]:
    """The order of the text retrievers, with what the graph knows added: score(d) = text(d) / best text + weight * graph(d).

    Scores of the graph are absolute (cairn/graph/rank.py), so a weak link moves nothing. The best passage of the text retrievers
    stays first: a question with one answer loses nothing by a graph that knows no better. What the text retrievers found
    below place DEEPEST, or not at all, counts as the entry there does. Without a text retriever it is the order of the graph.
    """
    best = max((item.score for item in text), default=0.0)
    scale = 1 / best if best > 0 else 0.0
    floor = min((item.score for item in text[:DEEPEST]), default=0.0) * scale
    found = {hit.passage_id: (rank, weight * max(0.0, hit.score)) for rank, hit in enumerate(graph.hits, start=1)}
    merged = [_add_share(item, scale, found.pop(item.passage_id, None), floor) for item in text]
    merged += [Fused(key, floor + share, {"graph": rank}, {"graph": share}) for key, (rank, share) in found.items()]
    highest = max((item.score for item in merged), default=0.0)
    kept = {item.passage_id for item in text[:KEPT]}
    merged = [item._replace(score=highest) if item.passage_id in kept else item for item in merged]
    ordered = sorted(
        merged, key=lambda item: (item.passage_id not in kept, -item.score)
    )  # stable: equal ones stay in order
    return _scaled(ordered, (best if best > 0 else min(1.0, highest)) / highest if highest > 0 else 1.0)


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


def _scaled(fused: Sequence[Fused], factor: float) -> list[Fused]:
    """With scores and shares times `factor`; none above 1, where rounding would leave it there."""
    if factor == 1:
        return list(fused)
    return [
        item._replace(
            score=min(1.0, factor * item.score), shares={leg: factor * share for leg, share in item.shares.items()}
        )
        for item in fused
    ]


def _add_share(item: Fused, scale: float, graph: tuple[int, float] | None, floor: float) -> Fused:
    shares = {leg: share * scale for leg, share in item.shares.items()}
    if graph is None:
        return Fused(item.passage_id, item.score * scale, item.ranks, shares)
    rank, share = graph
    score = max(item.score * scale, floor) + share
    return Fused(item.passage_id, score, {**item.ranks, "graph": rank}, {**shares, "graph": share})


def _relative_scores(result: LegResult, weight: float) -> list[float]:
    """What each hit of a retriever counts."""
    scores = [hit.score for hit in result.hits]
    best = max(scores, default=0.0)
    if best <= 0:
        return [0.0] * len(scores)
    return [weight * (score / best) if score > 0 else 0.0 for score in scores]


def _merge(
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
    legs: dict[Leg, LegResult] = {**text.legs, "graph": graph}
    return replace(
        text,
        fused=merge_graph(text.fused, graph, graph_weights(legs, context.request, context.settings), context),
        legs=legs,
        linked=linked,
    )


def merge_graph(text: Sequence[Fused], graph: LegResult, weights: FusionWeights, context: SearchContext) -> list[Fused]:
    """The order of the text retrievers with what the graph found, by these weights and the form of the settings."""
    if context.settings.graph.fusion == "capped":
        return with_graph_capped(text, graph, weights, context.request.top_k)
    return with_graph(text, graph, weights.graph / weights.text if weights.text > 0 else 1.0)


def cap(found: int, weight: float) -> int:
    """How many of `found` a side of this weight may bring: its share, at least one; none at weight 0."""
    return max(1, int(found * weight + 0.5)) if weight > 0 and found > 0 else 0
