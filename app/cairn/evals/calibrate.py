"""Fitting a collection's confidence to judged questions about it, checked on questions it was not fitted to. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cairn.answer.confidence import (
    FEWEST_JUDGED,
    UNCALIBRATED,
    Calibration,
    JudgedConfidence,
    estimate_confidence,
    fit_calibration,
)
from cairn.domain.answer import Answer
from cairn.errors import InputError
from cairn.evals.answers import Expected, calibration_error, quotes
from cairn.evals.groundedness import auc

FOLDS: Final = 5
SEED: Final = 20261


@dataclass(frozen=True, slots=True)
class CalibrationFigures:
    """`auc`: how often confidence is higher where the quotation answers (None: it always or never does); `error`: expected
    calibration error."""

    auc: float | None
    error: float


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """`before` with the calibration as shipped, `after` on questions that each fold of the fit has not seen. `calibration` is
    fitted to all."""

    calibration: Calibration
    questions: int
    answerable: int
    right: int
    before: CalibrationFigures
    after: CalibrationFigures

    @property
    def helps(self) -> bool:
        """Whether confidence is nearer to what happens; only then is a calibration kept."""
        return self.after.error < self.before.error


def judge_confidence(answer: Answer, expected: Expected) -> JudgedConfidence | None:
    """One question with what came of it; None where there was nothing to quote."""
    if answer.evidence is None:
        return None
    found = bool(answer.route.get("found"))
    return JudgedConfidence(
        estimate_confidence(answer.evidence), bool(expected.wordings), found and quotes(answer, expected)
    )


def calibrate(judged: Sequence[JudgedConfidence]) -> CalibrationReport:
    """Raises InputError for fewer than FEWEST_JUDGED questions."""
    if len(judged) < FEWEST_JUDGED:
        raise InputError(f"{len(judged)} judged questions are too few to calibrate with; {FEWEST_JUDGED} are a start")
    return CalibrationReport(
        fit_calibration(judged),
        len(judged),
        sum(one.answerable for one in judged),
        sum(one.right for one in judged),
        _figures(judged, [UNCALIBRATED] * len(judged)),
        _figures(judged, _held_out(judged)),
    )


def _held_out(judged: Sequence[JudgedConfidence]) -> list[Calibration]:
    """For each question the calibration fitted to the folds that it is not in."""
    folds = [at % FOLDS for at in range(len(judged))]
    random.Random(SEED).shuffle(folds)
    fitted = [
        fit_calibration([one for one, at in zip(judged, folds, strict=True) if at != fold]) for fold in range(FOLDS)
    ]
    return [fitted[fold] for fold in folds]


def _figures(judged: Sequence[JudgedConfidence], calibrations: Sequence[Calibration]) -> CalibrationFigures:
    values = [made.apply(one.raw).value for one, made in zip(judged, calibrations, strict=True)]
    right = [one.right for one in judged]
    return CalibrationFigures(auc(right, values) if len(set(right)) == 2 else None, calibration_error(right, values))
