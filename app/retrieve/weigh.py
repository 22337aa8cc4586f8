"""Text against graph after both were searched: confidence shifts the weights, and weights cap what each brings.

Pure. Used where a graph leg exists; a collection without a graph has text = 1 from the start.
"""

from __future__ import annotations

from typing import Final

from app.domain.plan import FusionWeights

CONFIDENCE_THRESHOLD: Final = 0.3
"""A leg that is less sure than this gives weight away."""
SKIP: Final = 0.15
"""A side with less weight is not asked."""
MAX_SHIFT: Final = 0.3
"""What a leg gives away that found nothing."""


def confidence_shift(confidence: float, threshold: float = CONFIDENCE_THRESHOLD) -> float:
    """Weight that a leg of this confidence (0..1) gives away, 0 to MAX_SHIFT: .30 -> 0, .25 -> .05, 0 -> .30."""
    if confidence >= threshold:
        return 0.0
    return MAX_SHIFT * (1 - max(confidence, 0.0) / threshold)


def shifted(
    weights: FusionWeights, *, text: float, graph: float, threshold: float = CONFIDENCE_THRESHOLD
) -> FusionWeights:
    """The weights after both legs have told their confidence: a low one boosts the other.

    No leg gives away more than it has. Where both are low there is nothing to lean on: the weights stay and the mode is
    ADAPTIVE.
    """
    if text < threshold and graph < threshold:
        return FusionWeights(weights.text, weights.graph, "ADAPTIVE")
    moved = confidence_shift(graph, threshold) - confidence_shift(text, threshold)
    share = min(max(weights.text + moved, 0.0), 1.0)
    return FusionWeights(share, 1.0 - share, weights.mode) if moved else weights


def cap(found: int, weight: float) -> int:
    """How many of `found` a leg of this weight may bring: its share, at least one; none at weight 0."""
    return max(1, int(found * weight + 0.5)) if weight > 0 and found > 0 else 0
