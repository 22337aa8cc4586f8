"""Which candidate answers best: a linear model over what speaks for each. Pure.

The weights were fitted by tests/benchmarks/fit_selection.py (a conditional logit: among the candidates of a question, those that
hold the expected answer) to seven public sets of questions together: tables and text of financial reports, encyclopaedia
in three languages, public services in French, and questions in two steps. Checked with each set left out in turn
(docs/adr/0042-one-quotation.md has the figures).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from app.answer.evidence import FEATURES, Measured

WEIGHTS: Final[Mapping[str, float]] = {"idf_direct": 3.97, "idf_around": 2.92, "topic_direct": 1.20, "topic_around": -0.21, "adjacent": 0.89, "numbers": -0.46, "names": -0.87, "fits": 1.21, "misfits": -1.21, "defines": 0.29, "reasons": 1.84, "label": 2.23, "cell": 1.47, "row": -2.40, "row_fits": 2.34, "item": 0.62, "code": 0.00, "rank": 0.67, "retrieval": 1.42, "matched": 0.82, "first": 0.28, "length": 0.28, "short": 0.18, "new_words": -0.11}
_WEIGHTS: Final = np.array([WEIGHTS.get(name, 0.0) for name in FEATURES])


def score_all(measured: Measured) -> Measured:
    """One score a candidate, in natural-logarithm odds against the others; of use only to compare those of one question."""
    scores: Measured = measured @ _WEIGHTS
    return scores
