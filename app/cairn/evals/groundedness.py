"""How well groundedness is told from its absence: labelled responses in, areas under the ROC curve out.

A file has one JSON object a line: {_id, response, context | context_sentences, grounded: true | false | null}; a context
may be a text or a list of texts. Those with null (nothing that could be judged) are left aside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from cairn.answer.ground.check import NO_CLAIM
from cairn.answer.ground.score import fast_score
from cairn.domain.answer import Grounding
from cairn.domain.evaluation import Estimate
from cairn.domain.passage import Passage
from cairn.errors import InputError
from cairn.evals.metrics import RESAMPLES, SEED, interval
from cairn.language.text import normalise

METHODS: Final = ("overlap", "fast", "detector")
"""Plain word overlap, the score of the fast layer, and the score of the whole check."""
UNDECIDED: Final = 0.5
"""Score of a response that the check could not judge."""
THRESHOLDS: Final = (0.3, 0.5, 0.7, 0.8)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LabelledResponse:
    id: str
    response: str
    contexts: tuple[str, ...]
    grounded: bool


@dataclass(frozen=True)
class LabelledSet:
    """`unlabelled`: how many had null for a label."""

    name: str
    items: tuple[LabelledResponse, ...]
    unlabelled: int


@dataclass(frozen=True, slots=True)
class JudgedResponse:
    """One response with a score of each method; `seconds` of the whole check."""

    item: LabelledResponse
    overlap: float
    fast: float
    check: Grounding
    seconds: float

    def score(self, method: str) -> float:
        if method == "overlap":
            return self.overlap
        if method == "fast":
            return self.fast
        return UNDECIDED if self.check.score is None else self.check.score


# --- files ----------------------------------------------------------------------------------------------------------


def load(path: Path) -> list[LabelledSet]:
    """A file, or every `.jsonl` in a folder. Raises InputError that names file and line."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} has no .jsonl file")
    return [_load_file(file) for file in files]


def _load_file(path: Path) -> LabelledSet:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason})") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    found = [_item(line, f"{path}, line {n}", n) for n, line in enumerate(lines, start=1) if line.strip()]
    items = tuple(item for item in found if item)
    if len({item.grounded for item in items}) < 2:
        raise InputError(f"{path}: no curve without both grounded and other responses")
    return LabelledSet(f"{path.resolve().parent.name}/{path.stem}", items, len(found) - len(items))


def _item(line: str, where: str, number: int) -> LabelledResponse | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON ({error})") from None
    if not isinstance(record, dict) or not isinstance(record.get("response"), str):
        raise InputError(f"{where}: no text under response")
    label = record.get("grounded")
    if label is None:
        return None
    if not isinstance(label, bool):
        raise InputError(f"{where}: grounded is {str(label)[:40]!r}, not true, false or null")
    return LabelledResponse(
        str(record.get("_id", number)), normalise(record["response"]), _contexts(record, where), label
    )


def _contexts(record: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Sentences of a context are one text, a line each; a list of contexts is several."""
    sentences = record.get("context_sentences")
    context = "\n".join(map(str, sentences)) if isinstance(sentences, list) else record.get("context")
    texts = [text for text in (context if isinstance(context, list) else [context]) if isinstance(text, str)]
    if not texts or (isinstance(context, list) and len(texts) < len(context)):
        raise InputError(f"{where}: no text under context or context_sentences")
    return tuple(normalise(text) for text in texts)


# --- judging --------------------------------------------------------------------------------------------------------

Check = Callable[[str, Sequence[Passage]], Awaitable[Grounding]]
"""`ground` with everything but answer and sources given."""


async def judge(item: LabelledResponse, check: Check, clock: Callable[[], float]) -> JudgedResponse:
    begun = clock()
    found = await check(item.response, [_passage(n, text) for n, text in enumerate(item.contexts, start=1)])
    seconds = clock() - begun
    fast = fast_score(item.response, item.contexts)
    return JudgedResponse(item, overlap(item.response, item.contexts), fast, found, seconds)


def overlap(response: str, contexts: Sequence[str]) -> float:
    """Share of the response's different words, lowercased and otherwise as they are, that stand in the contexts."""
    said, held = _plain_words(response), _plain_words(" ".join(contexts))
    return len(said & held) / len(said) if said else 0.0


def _plain_words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _passage(number: int, text: str) -> Passage:
    here = UUID(int=number)
    return Passage(here, here, "", "", text, 0, len(text), None, (), 0, 1, "", "text/plain", {})


# --- figures --------------------------------------------------------------------------------------------------------


def auc(labels: Sequence[bool], scores: Sequence[float]) -> float:
    """Area under the ROC curve: how often a grounded response scores above another one; equal scores count half."""
    truth, values = np.asarray(labels, bool), np.asarray(scores, np.float64)
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # the mean rank of equal scores
    positives, negatives = int(truth.sum()), int((~truth).sum())
    if not positives or not negatives:
        raise ValueError("one class only")
    return float((ranks[truth].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def auc_estimate(labels: Sequence[bool], scores: Sequence[float]) -> Estimate:
    """With its 95 % bootstrap interval: responses are resampled, each class by itself."""
    truth, values = np.asarray(labels, bool), np.asarray(scores, np.float64)
    positives, negatives = values[truth], values[~truth]
    drawn = np.random.default_rng(SEED)
    order = np.r_[np.ones(len(positives), bool), np.zeros(len(negatives), bool)]
    areas = [
        auc(order.tolist(), np.r_[drawn.choice(positives, len(positives)), drawn.choice(negatives, len(negatives))].tolist())
        for _ in range(RESAMPLES)
    ]  # fmt: skip
    return Estimate(auc(labels, scores), *interval(np.asarray(areas)))


def roc(labels: Sequence[bool], scores: Sequence[float]) -> list[tuple[float, float]]:
    """(false positive rate, true positive rate) for every threshold, from (0, 0) to (1, 1)."""
    truth, values = np.asarray(labels, bool), np.asarray(scores, np.float64)
    steps = np.unique(values)[::-1]
    rates = [(float((values[~truth] >= t).mean()), float((values[truth] >= t).mean())) for t in steps]
    return [(0.0, 0.0), *rates]


def confusion(labels: Sequence[bool], verdicts: Sequence[bool]) -> dict[str, int]:
    """Counts by label and verdict: `true_positive` are grounded responses that were found to be."""
    pairs = list(zip(labels, verdicts, strict=True))
    return {
        "true_positive": pairs.count((True, True)), "false_positive": pairs.count((False, True)),
        "false_negative": pairs.count((True, False)), "true_negative": pairs.count((False, False)),
    }  # fmt: skip


def measure(data: LabelledSet, judged: Sequence[JudgedResponse]) -> dict[str, Any]:
    """Everything about one set, as JSON. `verdict` is the confusion of the check's own decision, None counting as no."""
    labels = [one.item.grounded for one in judged]
    scores = {method: [one.score(method) for one in judged] for method in METHODS}
    decided = [one.check for one in judged]
    seconds = [one.seconds for one in judged]
    return {
        "set": data.name,
        "responses": len(judged),
        "grounded": sum(labels),
        "unlabelled": data.unlabelled,
        "auc": {method: _json(auc_estimate(labels, scores[method])) for method in METHODS},
        "at": {str(t): confusion(labels, [s >= t for s in scores["detector"]]) for t in THRESHOLDS},
        "verdict": confusion(labels, [bool(check.grounded) for check in decided]),
        "undecided": sum(check.grounded is None for check in decided),
        "layers": {str(layer): sum(c.layer == layer for c in decided) for layer in {c.layer for c in decided}},
        "degraded": sum(bool(check.degraded) and check.degraded != (NO_CLAIM,) for check in decided),
        "milliseconds": {
            "p50": round(1000 * float(np.quantile(seconds, 0.5)), 2),
            "p95": round(1000 * float(np.quantile(seconds, 0.95)), 2),
        },
        "roc": {method: _thin_out(roc(labels, scores[method])) for method in METHODS},
        "items": [
            {
                "_id": one.item.id, "grounded": one.item.grounded, "verdict": one.check.grounded, "layer": one.check.layer,
                **{method: round(one.score(method), 4) for method in METHODS}, "issues": list(one.check.issues),
            }
            for one in judged
        ],
    }  # fmt: skip


def _json(value: Estimate) -> dict[str, float]:
    return {"auc": round(value.mean, 4), "low": round(value.low, 4), "high": round(value.high, 4)}


def _thin_out(points: list[tuple[float, float]], most: int = 200) -> list[tuple[float, float]]:
    step = max(1, len(points) // most)
    kept = points[::step]
    return [(round(x, 4), round(y, 4)) for x, y in (kept if kept[-1] == points[-1] else [*kept, points[-1]])]
