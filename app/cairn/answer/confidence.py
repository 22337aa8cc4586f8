"""How probably an answer is right, and whether it is given: yes, no or unsure. Pure.

Two questions, each a logistic regression over what speaks for the best quotation (`SelectionFeatures`): do the documents
answer at all, and if they do, is it this quotation? Confidence is the product. A collection may have a calibration of its own,
fitted by `cairn eval calibrate` to judged questions about it: a straight line over the log odds of either (Platt 1999).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cairn.domain.answer import AnswerStatus, ConfidenceWord, SelectionFeatures

PRESENT_ENOUGH: Final = 0.30  # measured: tests/unit/test_edges_answer.py
"""Probability that the documents answer from which a quotation is shown: on sets left out of the fit it refuses 8 % of what they
answer, and 78 % of what they do not."""
FACT_ENOUGH: Final = 0.5  # measured: tests/unit/test_edges_answer.py
"""The same of a number, a time, a sum or a name, where the reader has read (docs/adr/0119-what-is-not-said.md)."""
FACT_DOUBTED: Final = 0.7  # measured: tests/unit/test_edges_answer.py
"""The same where the reader's own word on the stretch is below READER_DOUBTS, and the confidence below SURE: all words of a
question may stand near to what is told of something else (docs/adr/0122-what-is-told-of-something-else.md)."""
READER_DOUBTS: Final = -1.0  # measured: tests/unit/test_edges_answer.py
"""Log odds."""
RIGHT_ENOUGH: Final = 0.12  # measured: tests/unit/test_edges_answer.py
"""Confidence from which a quotation that the reader has read is shown (docs/adr/0133-whole-lists.md)."""
NAMED_ENOUGH: Final = 0.15  # measured: tests/db/test_described.py
"""The same where the question names the document: who does knows that there is something in it."""
NEAR_ENOUGH: Final = 0.03  # measured: tests/unit/test_edges_quotation.py
"""Confidence from which a refusal shows what comes nearest: below it is about something else altogether."""
SURE: Final = 0.5  # measured: tests/unit/test_edges_answer.py
"""Confidence from which an answer counts as one, "likely"; below it is a guess that says so, "not sure"."""
FOUND: Final = 0.75  # fitted: tests/benchmarks/fit_reading.py
"""Confidence from which a quotation that the reader has read is "found". Fitted as the lowest at which at most 2 wrong answers
in 100 questions say so on families left out (tests/benchmarks/fit_reading.py, docs/quality.md)."""
GUESS: Final = 0.45  # measured: tests/unit/test_edges_answer.py
"""Confidence of a guess at best."""

PRESENT: Final[Mapping[str, float]] = {  # fitted: tests/benchmarks/fit_confidence.py
    "cosine_english": 3.35, "cosine_other": 1.86, "english": -0.46, "missing": -2.81, "topic_around": 2.46, "anywhere": 2.86,
    "lead": 1.46, "margin": 1.55, "row": 0.57, "": -4.66,
}  # fmt: skip
RIGHT: Final[Mapping[str, float]] = {  # fitted: tests/benchmarks/fit_confidence.py
    "cosine_english": 0.32, "cosine_other": 0.73, "english": -0.03, "anywhere": -0.77, "fits": 0.25, "misfits": -0.06,
    "score": 1.19, "margin": 2.55, "row": 0.55, "": -1.01,
}  # fmt: skip
"""Weights, "" the constant. Fitted by ridge regression (fit_logistic) to 2,774 questions of six public sets in four languages,
asked of the passages found for them and of these without the documents that answer (tests/benchmarks/fit_confidence.py);
docs/adr/0043-confidence.md has the figures for each set when it was left out."""

PRESENT_READ: Final[Mapping[str, float]] = {  # fitted: tests/benchmarks/fit_reading.py
    "cosine_english": 2.64, "cosine_other": 0.81, "english": -0.66, "missing": -2.32, "topic_around": 0.64,
    "anywhere": 0.65, "lead": 1.39, "margin": -0.16, "row": -0.55, "read_most": 0.80, "read": 1.11,
    "read_margin": 0.68, "": -1.17,
}  # fmt: skip
RIGHT_READ: Final[Mapping[str, float]] = {  # fitted: tests/benchmarks/fit_reading.py
    "cosine_english": 0.94, "cosine_other": 1.20, "english": 0.34, "anywhere": 0.03, "fits": 0.14, "misfits": -0.09,
    "score": 0.06, "margin": 0.00, "row": 0.57, "read": 0.86, "read_margin": 2.89, "": -1.30,
}  # fmt: skip
"""The same where the local reader has read: 8,207 questions of 38 families (tests/benchmarks/fit_reading.py). On families left
out PRESENT_ENOUGH refuses 13 % of what they answer, and 59 % of what they do not (docs/adr/0095-a-reader-of-our-own.md)."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Confidence:
    """`present`: probability that what was read answers; `right`: that the quotation does, if something does."""

    present: float
    right: float

    @property
    def value(self) -> float:
        """Probability that the quotation answers."""
        return self.present * self.right

    def is_doubted(self, read: float | None) -> bool:
        """Whether it is a guess, and the reader doubts it (`read`: its log odds on the stretch; None: it has not read)."""
        return read is not None and read < READER_DOUBTS and self.value < SURE

    def unsure(self) -> Confidence:
        """The same, so that it makes a guess at best."""
        return Confidence(self.present, min(self.right, GUESS / max(self.present, GUESS)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Slope and intercept over the log odds of either probability; fitted to so many judged `questions`."""

    present: tuple[float, float] = (1.0, 0.0)
    right: tuple[float, float] = (1.0, 0.0)
    questions: int = 0

    def apply(self, raw: Confidence) -> Confidence:
        return Confidence(_line(raw.present, self.present), _line(raw.right, self.right))

    def as_json(self) -> dict[str, Any]:
        return {"present": list(self.present), "right": list(self.right), "questions": self.questions}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Calibration:
        """Raises KeyError, ValueError for what `as_json` did not make."""
        (a, b), (c, d) = value["present"], value["right"]
        return cls((float(a), float(b)), (float(c), float(d)), int(value["questions"]))


UNCALIBRATED: Final = Calibration()


def features_of(found: SelectionFeatures) -> dict[str, float]:
    """What the regressions see, all about 0..1. MiniLM knows English best, so its cosine counts by itself there."""
    cosine = found.cosine or 0.0
    return {
        "cosine_english": cosine * found.english,
        "cosine_other": cosine * (not found.english),
        "english": float(found.english),
        "missing": min(found.missing, 3) / 3,
        "topic_around": found.topic_around,
        "anywhere": found.anywhere,
        "lead": found.lead,
        "fits": float(found.fits is True),
        "misfits": float(found.fits is False),
        "score": found.score / 10,
        "margin": min(found.margin, 5.0) / 5,
        "row": float(found.kind == "row"),
        "read": _bounded(found.read or 0.0, 6.0),
        "read_most": _bounded(found.read_most, 6.0),
        "read_margin": _bounded(found.read_margin, 5.0),
    }


def _bounded(value: float, most: float) -> float:
    """-1 to 1."""
    return max(-most, min(most, value)) / most


def estimate_confidence(found: SelectionFeatures) -> Confidence:
    """As shipped, before the calibration of a collection."""
    values = features_of(found)
    present, right = (PRESENT, RIGHT) if found.read is None else (PRESENT_READ, RIGHT_READ)
    return Confidence(_logistic(_sum(present, values)), _logistic(_sum(right, values)))


def decide(confidence: float) -> AnswerStatus:
    """Whether a quotation that is shown counts as an answer."""
    return "yes" if confidence >= SURE else "unsure"


def word_of(confidence: float, *, read: bool, whole: bool) -> ConfidenceWord:
    """What a quotation is worth. `read`: the local reader has read it, since without it the surest third is right no more often
    than the rest; `whole`: nothing of the question is known to be missing."""
    if confidence < SURE:
        return "not_sure"
    return "found" if confidence >= FOUND and read and whole else "likely"


def _sum(weights: Mapping[str, float], values: Mapping[str, float]) -> float:
    return weights.get("", 0.0) + sum(weight * values[name] for name, weight in weights.items() if name)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))


def _log_odds(p: float) -> float:
    p = min(max(p, 1e-6), 1 - 1e-6)
    return math.log(p / (1 - p))


def _line(p: float, line: tuple[float, float]) -> float:
    slope, intercept = line
    return _logistic(slope * _log_odds(p) + intercept)


# --- fitting ------------------------------------------------------------------------------------------------------------

MOST_STEPS: Final = 50  # bound: tests/unit/test_edges_answer.py


def fit_logistic(rows: Floats, labels: Floats, *, weights: Floats | None = None, ridge: float = 1.0) -> Floats:
    """Coefficients with the constant last, by Newton's method with a ridge penalty on all but the constant."""
    table = np.c_[rows, np.ones(len(rows))]
    mass = np.ones(len(rows)) if weights is None else weights
    penalty = np.diag([ridge] * rows.shape[1] + [1e-6])
    found = np.zeros(table.shape[1])
    for _ in range(MOST_STEPS):
        p = 1 / (1 + np.exp(-np.clip(table @ found, -30, 30)))
        gradient = table.T @ (mass * (p - labels)) + penalty @ found
        step = np.linalg.solve((table * (mass * p * (1 - p))[:, None]).T @ table + penalty, gradient)
        found = found - step
        if np.allclose(step, 0):
            break
    return found


@dataclass(frozen=True, slots=True)
class JudgedConfidence:
    """A question that was asked: the confidence as shipped, whether the documents answer it, and whether the quotation
    did."""

    raw: Confidence
    answerable: bool
    right: bool


FEWEST_JUDGED: Final = 20  # measured: tests/unit/test_edges_answer.py
"""Questions to fit two straight lines to."""


def fit_calibration(judged: Sequence[JudgedConfidence]) -> Calibration:
    """Lines that fit the judged questions; one that there is nothing to learn from (all or none) stays as shipped, and the
    penalty keeps both near to it where there are few."""
    here = [one for one in judged if one.answerable]
    return Calibration(
        _fit_line([one.raw.present for one in judged], [one.answerable for one in judged]),
        _fit_line([one.raw.right for one in here], [one.right for one in here]),
        len(judged),
    )


def _fit_line(probabilities: Sequence[float], labels: Sequence[bool]) -> tuple[float, float]:
    if len(set(labels)) < 2:
        return 1.0, 0.0
    x, y = np.array([_log_odds(p) for p in probabilities]), np.array(labels, np.float64)
    # targets of Platt 1999 keep the slope finite where the classes do not overlap
    high, low = (y.sum() + 1) / (y.sum() + 2), 1 / (len(y) - y.sum() + 2)
    slope, intercept = fit_logistic(x[:, None], np.where(y > 0, high, low), ridge=1.0)
    return float(max(slope, 0.05)), float(intercept)
