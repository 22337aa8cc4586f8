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

from cairn.answer.evidence import FEATURES, Measured

WEIGHTS: Final[Mapping[str, float]] = {  # fitted: tests/benchmarks/fit_selection.py
    "idf_direct": 3.98,
    "idf_around": 4.70,
    "fits": 0.87,
    "misfits": -0.87,
    "defines": 2.03,
    "reasons": 1.43,
    "label": 2.34,
    "cell": 1.22,
    "row": -2.87,
    "row_fits": 1.76,
    "retrieval": 3.32,
    "matched": 0.57,
    "code": -3.00,
}
_WEIGHTS: Final = np.array([WEIGHTS[name] for name in FEATURES])


def score_quotations(measured: Measured) -> Measured:
    """One score a candidate, in natural-logarithm odds against the others; of use only to compare those of one question."""
    scores: Measured = measured @ _WEIGHTS
    return scores
