"""From evidence to a score: how probably the sources support a sentence, and an answer. Pure.

The logistic model was fitted by scripts/fit_grounding.py to the human labels of WiCE dev (349 claims) and of BEGIN dev
(wow, cmu, tc: 1,148 responses), each set with the same weight and both classes with the same, so that .5 is as probable as
not where nothing else is known. docs/quality.md has what it reaches in cross-validation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from app.answer.ground_evidence import SentenceEvidence

INTERCEPT: Final = -3.30
COEFFICIENTS: Final = (4.56, 2.60, -0.41, -2.23, -1.87, -0.90)
"""Of `features`, in their order."""
CONTRADICTED: Final = math.log(0.2 / 0.8)
"""Highest logit of a sentence with a number or a command that no source has, or that a source says the other way round. Of
126 responses with such a number 5 are labelled as supported; turned sentences are too rare in the sets to be fitted."""
STRANGE: Final = math.log(0.4 / 0.6)
"""Highest logit of a sentence with a name that no source has: one of eleven such responses is labelled as supported."""


def features(evidence: SentenceEvidence) -> tuple[float, ...]:
    """Words in the best place, content words in the best two, content words that are nowhere (log of 1 + their number);
    whether speaker or listener, a number, a name come in that no source has."""
    return (
        evidence.near,
        evidence.pair,
        math.log1p(len(evidence.missing)),
        float(evidence.speaker > 0),
        float(bool(evidence.numbers)),
        float(bool(evidence.names)),
    )


def logit(evidence: SentenceEvidence) -> float:
    raw = INTERCEPT + sum(c * f for c, f in zip(COEFFICIENTS, features(evidence), strict=True))
    if evidence.numbers or evidence.turned or evidence.commands:
        return min(raw, CONTRADICTED)
    return min(raw, STRANGE) if evidence.names else raw


def probability(value: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))


def combined(logits: Sequence[float]) -> float:
    """Of a whole answer: half the mean, half the weakest sentence. One invented sentence among five spoils an answer, one
    weak one does not."""
    return (sum(logits) / len(logits) + min(logits)) / 2
