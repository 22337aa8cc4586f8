"""How much text and how much graph a kind of question deserves. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.plan import Classification, FusionWeights, QueryType

WEIGHTS: Final[Mapping[QueryType, FusionWeights]] = {
    "FACTUAL": FusionWeights(0.7, 0.3, "HYBRID"),
    "RELATIONAL": FusionWeights(0.2, 0.8, "HYBRID"),
    "COMPARATIVE": FusionWeights(0.3, 0.7, "HYBRID"),
    "EXPLORATORY": FusionWeights(0.1, 0.9, "GRAPH_ONLY"),
    "PROCEDURAL": FusionWeights(0.8, 0.2, "HYBRID"),
    "ANALYTICAL": FusionWeights(0.5, 0.5, "HYBRID"),
    "UNKNOWN": FusionWeights(0.6, 0.4, "HYBRID"),
}
"""CogniDoc's table; its "vector" is text here, both legs together."""
SURE: Final = 0.7
"""Confidence above which a factual question does without the graph."""


def fusion_weights(classification: Classification, entities: Sequence[str], *, has_graph: bool) -> FusionWeights:
    """By type of question, with overrides. A collection without a graph has text alone.

    EXPLORATORY is graph only (0/1): whoever retrieves runs the text legs all the same when the graph finds little.
    """
    if not has_graph:
        return FusionWeights(1.0, 0.0, "TEXT_ONLY")
    if classification.type == "FACTUAL" and classification.confidence > SURE:
        return FusionWeights(1.0, 0.0, "TEXT_ONLY")
    if classification.type == "EXPLORATORY":
        return FusionWeights(0.0, 1.0, "GRAPH_ONLY")
    if classification.type == "RELATIONAL" and not entities:
        return FusionWeights(0.5, 0.5, "HYBRID")
    return WEIGHTS[classification.type]
