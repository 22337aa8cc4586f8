"""Reciprocal rank fusion over passages. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

from app.domain.passage import Fused, Leg


def reciprocal_rank_fusion(
    rankings: Mapping[Leg, Sequence[UUID]], weights: Mapping[Leg, float], k: int = 60
) -> list[Fused]:
    """score(d) = sum over legs of weight / (k + rank), ranks from 1 (A3.02, A3.03; Cormack et al. 2009).

    A leg that does not hold d contributes 0; a leg without a weight counts 1. Ties are broken by id, so the result
    does not depend on the order of the legs.
    """
    ranks: dict[UUID, dict[Leg, int]] = defaultdict(dict)
    for leg, ranking in rankings.items():
        for rank, passage_id in enumerate(ranking, start=1):
            ranks[passage_id].setdefault(leg, rank)
    fused = []
    for passage_id, by_leg in ranks.items():
        shares = {leg: weights.get(leg, 1.0) / (k + rank) for leg, rank in sorted(by_leg.items())}
        fused.append(Fused(passage_id, sum(shares.values()), by_leg, shares))
    return sorted(fused, key=lambda item: (-item.score, item.passage_id))
