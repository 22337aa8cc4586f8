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

WEIGHTS: Final[Mapping[str, float]] = {
    "idf_direct": 4.10,
    "idf_around": 4.58,
    "fits": 0.91,
    "misfits": -0.91,
    "defines": 2.03,
    "reasons": 1.42,
    "label": 2.11,
    "cell": 0.61,
    "row": -2.47,
    "row_fits": 2.73,
    "retrieval": 3.34,
    "matched": 0.62,
    "code": -3.00,
}
_WEIGHTS: Final = np.array([WEIGHTS[name] for name in FEATURES])


def score_all(measured: Measured) -> Measured:
    """One score a candidate, in natural-logarithm odds against the others; of use only to compare those of one question."""
    scores: Measured = measured @ _WEIGHTS
    return scores
