"""Probabilities of a quotation, what follows from them, and calibrations of a collection's own."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from cairn.answer.confidence import (
    FOUND,
    PRESENT,
    PRESENT_READ,
    RIGHT,
    RIGHT_READ,
    SURE,
    UNCALIBRATED,
    Calibration,
    Confidence,
    JudgedConfidence,
    decide,
    estimate_confidence,
    features_of,
    fit_calibration,
    fit_logistic,
    word_of,
)
from cairn.domain.answer import ConfidenceWord, SelectionFeatures
from cairn.errors import InputError
from cairn.evals.calibrate import calibrate
from cairn.language.lexicon import Language, languages

GOOD = SelectionFeatures(
    kind="prose", english=True, question_words=5, missing=0, idf_direct=0.8, idf_around=0.9, topic_direct=0.8,
    topic_around=0.9, adjacent=0.5, numbers=1, names=1, fits=True, label=0, rank=1, retrieval=1, matched=True, score=9,
    margin=3, cosine=0.7, anywhere=1.0, lead=0.6,
)  # fmt: skip


def test_what_speaks_for_a_quotation_makes_it_more_probable() -> None:
    found = estimate_confidence(GOOD)
    assert 0.9 < found.present < 1
    assert found.value == pytest.approx(found.present * found.right)
    for worse in (
        replace(GOOD, missing=2),
        replace(GOOD, cosine=0.1),
        replace(GOOD, anywhere=0.3, topic_around=0.3),
        replace(GOOD, lead=0.0),
    ):
        assert estimate_confidence(worse).present < found.present
    assert estimate_confidence(replace(GOOD, margin=0, score=3)).right < found.right


def test_every_weight_has_its_feature() -> None:
    assert set(PRESENT) | set(RIGHT) | set(PRESENT_READ) | set(RIGHT_READ) == {*features_of(GOOD), ""}


def test_the_answer_follows_from_the_probability() -> None:
    assert decide(SURE) == "yes"
    assert decide(SURE - 1e-6) == "unsure"


def test_a_regression_finds_what_made_the_data() -> None:
    drawn = np.random.default_rng(3)
    rows = drawn.normal(size=(20_000, 2))
    truth = 1 / (1 + np.exp(-(2 * rows[:, 0] - rows[:, 1] + 0.5)))
    found = fit_logistic(rows, (drawn.uniform(size=20_000) < truth).astype(float))
    assert found == pytest.approx([2, -1, 0.5], abs=0.1)


def judged(count: int = 300) -> list[JudgedConfidence]:
    """Too sure of itself: what it takes for .9 happens in half of the cases."""
    drawn = np.random.default_rng(4)
    made = []
    for p in drawn.uniform(0.02, 0.98, size=count):
        raw = Confidence(float(p), 0.9)
        here = bool(drawn.uniform() < p * 0.6)
        made.append(JudgedConfidence(raw, here, here and bool(drawn.uniform() < 0.5)))
    return made


def test_a_calibration_brings_confidence_nearer_to_what_happens() -> None:
    report = calibrate(judged())
    assert report.helps
    assert report.after.error < 0.06 < report.before.error
    assert Calibration.from_json(report.calibration.as_json()) == report.calibration
    tamed = report.calibration.apply(Confidence(0.9, 0.9))
    assert tamed.value < 0.6


def test_nothing_to_learn_from_changes_nothing() -> None:
    same = [JudgedConfidence(Confidence(0.8, 0.7), True, True)] * 30
    assert fit_calibration(same) == Calibration(questions=30)
    assert UNCALIBRATED.apply(Confidence(0.3, 0.7)).value == pytest.approx(0.21)
    with pytest.raises(InputError, match="too few"):
        calibrate(same[:5])


# --- in a word ----------------------------------------------------------------------------------------------------------------

LEFT_OUT = (
    (0, 0), (120, 15), (547, 63), (599, 105), (500, 133), (395, 114), (341, 125), (284, 116), (262, 114), (278, 120),
    (207, 113), (232, 140), (200, 123), (215, 147), (195, 150), (164, 125), (168, 132), (198, 166), (146, 129), (15, 15),
)  # fmt: skip
"""Quotations that were shown, and how many of them were right, by confidence in steps of .05: 38 families, each by what was
fitted to the others (tests/benchmarks/fit_reading.py); more than half of ASKED are about what is not there."""
ASKED = 8207


def test_found_begins_where_two_wrong_answers_in_a_hundred_questions_say_so() -> None:
    wrong = [sum(n - right for n, right in LEFT_OUT[step:]) for step in range(20)]
    assert next(step for step in range(20) if wrong[step] <= 0.02 * ASKED) == FOUND * 20
    n, right = (sum(column) for column in zip(*LEFT_OUT[int(FOUND * 20) :], strict=True))
    assert right >= 0.82 * n, "the half of the questions that nothing answers counted"
    n, right = (sum(column) for column in zip(*LEFT_OUT[int(SURE * 20) : int(FOUND * 20)], strict=True))
    assert 0.6 * n <= right <= 0.7 * n


@pytest.mark.parametrize(
    ("confidence", "read", "whole", "word"),
    [
        (FOUND, True, True, "found"),
        (FOUND - 0.001, True, True, "likely"),
        (0.99, False, True, "likely"),
        (0.99, True, False, "likely"),
        (SURE, True, True, "likely"),
        (SURE, False, False, "likely"),
        (SURE - 0.001, True, True, "not_sure"),
        (0.0, False, True, "not_sure"),
    ],
)
def test_a_word_follows_from_the_number(confidence: float, read: bool, whole: bool, word: str) -> None:
    assert word_of(confidence, read=read, whole=whole) == word
    assert decide(confidence) == ("unsure" if word == "not_sure" else "yes")


@pytest.mark.parametrize("spoken", languages(), ids=lambda one: one.code)
def test_every_language_has_the_words(spoken: Language) -> None:
    said = spoken.replies.confidence
    assert set(said) == set(get_args(ConfidenceWord))
    assert len(set(said.values())) == len(said)
