"""Metrics that others publish and the product has no other use for: TAT-QA's exact match and F1, and what WiCE and LLM-AggreFact
say of a verdict. Pure; the values that tests/unit/test_leaderboard_scores.py has are computed by hand."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cairn.domain.evaluation import Estimate
from cairn.evals.metrics import RESAMPLES, SEED, interval

# --- TAT-QA ---------------------------------------------------------------------------------------------------------

SCALES: Final = {"hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000, "percent": 0.01}
_SIGNS: Final = str.maketrans("", "", "'\"\\$€£¥%(),[]")
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
_DIGITS: Final = re.compile(r"[+-]?\d+(?:\.\d+)?")
_WITH_WORD: Final = re.compile(r"[\d.]+\s?([a-zA-Z]+)")
_IN_BRACKETS: Final = re.compile(r"\([\d.\s]+\)")
_BEFORE_PERCENT: Final = re.compile(r"[\d.\s]+%")
_ARTICLE: Final = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def score_table_answer(said: Sequence[str], answer: Sequence[str], scale: str, kind: str) -> tuple[float, float]:
    """Exact match and F1 (each 0..1) of an answer in the metric of TAT-QA, where `said` names its scale in words or by a percent
    sign, or has none. Numbers are compared to four decimals as multiples of their scale; F1 is over different words, rounded to
    two decimals, and exact match for what is computed or counted."""
    if not said:
        return 0.0, 0.0
    wanted = _canonical(answer, scale)
    readings = [_canonical(said, "")]
    if len(said) == 1 and _is_number(said[0]) and "%" not in said[0] and (value := _number(said[0])) is not None:
        readings.append(f"{value:.4f}")
    exact, shared = max((float(_words(one) == _words(wanted)), _set_f1(one, wanted)) for one in readings)
    return exact, exact if kind in ("arithmetic", "count") else shared


def _canonical(parts: Sequence[str], scale: str) -> str:
    said = []
    for part in sorted(parts):
        value = _number(part) if _is_number(part) else None
        if value is None:
            said.append(f"{part} {scale}" if scale else part)
        elif "%" in part:
            said.append(f"{value:.4f}")
        else:
            said.append(f"{round(value, 2) * SCALES.get(scale, 1):.4f}")
    return " ".join(said)


def _is_number(text: str) -> bool:
    """A number by itself, or with the word of a scale."""
    words = text.translate(_SIGNS).split()
    return bool(words) and bool(_NUMBER.fullmatch(words[0])) and (len(words) == 1 or _scale(words[1]) != 1)


def _scale(word: str) -> float:
    return next((value for name, value in SCALES.items() if name in word.lower()), 1)


def _number(text: str) -> float | None:
    """The first number: less than 0 in brackets, a hundredth before a percent sign, times its scale. Whole where it is written
    so, as the metric has it: "2019" in a sentence is not the answer "2019.0"."""
    found = _DIGITS.search(text.translate(_SIGNS))
    if found is None:
        return None
    word = _WITH_WORD.search(text)
    value = (float(found[0]) if "." in found[0] else int(found[0])) * (_scale(word[1]) if word else 1)
    value *= -1 if _IN_BRACKETS.search(text) else 1
    return round(value * 0.01 if _BEFORE_PERCENT.search(text) else value, 4)


def _words(text: str) -> list[str]:
    """Lower case, no punctuation and no articles; a number as its value."""
    found = []
    for word in text.lower().split(" "):
        plain = word if _is_number(word) else word.translate(_PUNCTUATION)
        value = _number(plain) if _is_number(plain) else None
        found += _ARTICLE.sub(" ", plain if value is None else str(value)).split()
    return found


def _set_f1(said: str, wanted: str) -> float:
    ours, theirs = set(_words(said)), set(_words(wanted))
    if not ours or not theirs:
        return float(ours == theirs)
    return round(2 * len(ours & theirs) / (len(ours) + len(theirs)), 2)


# --- verdicts -------------------------------------------------------------------------------------------------------

Truths = NDArray[np.bool_]


def balanced_accuracy(labels: Truths, verdicts: Truths) -> float:
    """Mean of the shares of true and of other claims that were judged right. NaN without one of them."""
    return float((verdicts[labels].mean() + (~verdicts[~labels]).mean()) / 2)


def verdict_f1(labels: Truths, verdicts: Truths) -> float:
    """F1 of the claims that are supported; 0 where none was found."""
    right = int((labels & verdicts).sum())
    return 2 * right / int(labels.sum() + verdicts.sum()) if right else 0.0


def estimate_verdicts(
    measure: Callable[[Truths, Truths], float], labels: Sequence[bool], verdicts: Sequence[bool]
) -> Estimate:
    """With its 95 % bootstrap interval: claims are resampled, each class by itself. Raises ValueError without one of them."""
    truth, said = np.asarray(labels, bool), np.asarray(verdicts, bool)
    classes = [np.flatnonzero(truth), np.flatnonzero(~truth)]
    if not all(len(one) for one in classes):
        raise ValueError("one class only")
    draws = np.random.default_rng(SEED)
    drawn = [np.concatenate([draws.choice(one, len(one)) for one in classes]) for _ in range(RESAMPLES)]
    return Estimate(measure(truth, said), *interval(np.array([measure(truth[one], said[one]) for one in drawn])))
