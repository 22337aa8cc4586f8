"""Merging the legs into one list of passages. Pure; neither form depends on the order of the legs (W3).

Two forms, chosen by `retrieve.fusion`: reciprocal ranks, as the source documents describe it, and relative scores, the
default by measurement (docs/adr/0008-fusion.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from app.domain.passage import Fused, Leg, LegResult
from app.settings import Settings


def weights(legs: Collection[Leg], settings: Settings) -> dict[Leg, float]:
    """What each leg counts: shares of the settings, or all where it is alone."""
    share = settings.rag.hybrid_search_weight
    return {"vector": share, "lexical": 1 - share} if len(legs) > 1 else dict.fromkeys(legs, 1.0)


def fuse(legs: Mapping[Leg, LegResult], settings: Settings) -> list[Fused]:
    """By the form that the settings name. rag.fused_best is the same in SQL, to guess what will be shown."""
    if settings.retrieve.fusion == "rrf":
        return reciprocal_rank_fusion(legs, weights(legs, settings), settings.retrieve.rrf_k)
    return relative_score_fusion(legs, weights(legs, settings))


def reciprocal_rank_fusion(legs: Mapping[Leg, LegResult], weights: Mapping[Leg, float], k: int = 60) -> list[Fused]:
    """score(d) = sum over legs of weight / (k + rank), ranks from 1 (A3.02, A3.03; Cormack et al. 2009).

    A leg that does not hold d contributes 0; a leg without a weight counts 1; ties are broken by id.
    """
    return _ordered(
        {
            passage_id: {leg: weights.get(leg, 1.0) / (k + rank) for leg, rank in ranks.items()}
            for passage_id, ranks in _ranks(legs).items()
        },
        legs,
    )


def relative_score_fusion(legs: Mapping[Leg, LegResult], weights: Mapping[Leg, float]) -> list[Fused]:
    """score(d) = sum over legs of weight * s(d) / s(best of the leg), in 0..1 where the weights sum to 1.

    Unlike ranks, scores tell a clear winner from the first of many equals, so a leg that knows nothing about a query
    moves little. What a cut-off list does not hold may be as good as its last entry and gets that one's score; what a
    complete list does not hold gets 0. Negative scores count as 0.
    """
    relative = {leg: _relative(result) for leg, result in legs.items()}
    shares = {
        passage_id: {
            leg: weights.get(leg, 1.0) * scores.get(passage_id, floor) for leg, (scores, floor) in relative.items()
        }
        for passage_id in _ranks(legs)
    }
    return _ordered(shares, legs)


def _relative(result: LegResult) -> tuple[dict[UUID, float], float]:
    """Scores of one leg relative to its best, and what a passage gets that is not among them."""
    best = max((hit.score for hit in result.hits), default=0.0)
    if best <= 0:
        return {}, 0.0
    scores = {hit.passage_id: max(0.0, hit.score / best) for hit in result.hits}
    return scores, 0.0 if result.complete else min(scores.values())


def _ranks(legs: Mapping[Leg, LegResult]) -> dict[UUID, dict[Leg, int]]:
    ranks: dict[UUID, dict[Leg, int]] = {}
    for leg in sorted(legs):
        for rank, hit in enumerate(legs[leg].hits, start=1):
            ranks.setdefault(hit.passage_id, {}).setdefault(leg, rank)
    return ranks


def _ordered(shares: Mapping[UUID, Mapping[Leg, float]], legs: Mapping[Leg, LegResult]) -> list[Fused]:
    ranks = _ranks(legs)
    fused = [Fused(key, sum(parts.values()), ranks[key], parts) for key, parts in shares.items()]
    return sorted(fused, key=lambda item: (-item.score, item.passage_id))
