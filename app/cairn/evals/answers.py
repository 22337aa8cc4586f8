"""How good an answer is against the expected ones: whether its first quotation holds it, exact match and token F1 as SQuAD
counts them; how often it is refused, and whether its confidence means anything. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from cairn.answer.cite import without_marks
from cairn.domain.answer import Answer
from cairn.errors import InputError
from cairn.evals.datasets import read_records
from cairn.evals.groundedness import auc
from cairn.evals.metrics import Judgements, recall, score
from cairn.evals.questions import questions_file

ANSWER_METRICS: Final = (
    "quoted",
    "token_f1",
    "exact_match",
    "answer_in",
    "citation_recall",
    "source_recall",
    "context_utilization",
    "semantic_similarity",
    "answer_relevance",
    "grounded",
    "found",
)
"""What is shown of a run over questions."""
LONGEST_QUOTATION: Final = 250
"""Characters of a first quotation that can be read at a glance; in a longer one the answer has still to be looked for."""
BINS: Final = 10
"""Of the expected calibration error, each with the same number of questions."""
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = re.compile(r"[^\w\s]")


@dataclass(frozen=True, slots=True)
class Expected:
    """Wordings of the right answer; none where the documents do not answer, and a refusal is right."""

    wordings: tuple[str, ...]


def load_answers(folder: Path) -> Mapping[str, Expected]:
    """Query id to what is expected, out of `answers.jsonl` or `questions.jsonl` {_id, answer, aliases?, answerable?}; empty
    where there is no such file. An answer that is a list has all its texts. Raises InputError that names file and line."""
    path = folder / "answers.jsonl"
    if not path.is_file():
        beside = questions_file(folder)
        if beside is None:
            return {}
        path = beside
    expected: dict[str, Expected] = {}
    for number, record in read_records(path):
        answer, aliases = record.get("answer"), record.get("aliases") or []
        if not record.get("answerable", True):
            expected[str(record["_id"])] = Expected(())
        elif answer is None or not isinstance(aliases, list):
            raise InputError(f"{path}, line {number}: wanted an object with _id and answer")
        else:
            whole = " ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
            expected[str(record["_id"])] = Expected((whole, *map(str, aliases)))
    return expected


# --- wordings ---------------------------------------------------------------------------------------------------------


def tokens(text: str) -> list[str]:
    """In lower case, without punctuation and English articles."""
    return _ARTICLE.sub(" ", _PUNCTUATION.sub(" ", text.casefold())).split()


def token_f1(said: str, expected: str) -> float:
    """Harmonic mean of the shares of tokens that both have."""
    ours, theirs = tokens(said), tokens(expected)
    common = sum((Counter(ours) & Counter(theirs)).values())
    if not common:
        return float(ours == theirs)
    return 2 * common / (len(ours) + len(theirs))


def exact_match(said: str, expected: str) -> float:
    return float(tokens(said) == tokens(expected))


def holds(said: str, expected: str) -> float:
    """Whether the expected words stand in the answer, in a row: a sentence that says it is right, whatever its F1."""
    ours, theirs = tokens(said), tokens(expected)
    return float(bool(theirs) and any(ours[at : at + len(theirs)] == theirs for at in range(len(ours))))


# --- one answer -------------------------------------------------------------------------------------------------------


def ranking(answer: Answer) -> tuple[str, ...]:
    """Documents that the answer was made of, best first."""
    return tuple(dict.fromkeys(source.external_id for source in answer.sources))


def judge(answer: Answer | None, judgements: Judgements, expected: Expected | None) -> dict[str, float]:
    """Every metric of one question; None, a run that failed, is 0 in all. `expected` None: without the answer's metrics.

    Retrieval metrics are those of the documents that the answer was made of. A refusal is right where nothing is expected,
    and only there, as in SQuAD 2.
    """
    sources = ranking(answer) if answer else ()
    found = bool(answer and answer.route.get("found"))
    cited = tuple(dict.fromkeys(item.external_id for item in answer.citations if not item.instead)) if answer else ()
    metrics = {
        **score(sources, judgements),
        "source_recall": recall(sources, judgements, len(sources)),
        "citation_recall": recall(cited, judgements, len(cited)),
        "context_utilization": used_share(answer) if answer else 0.0,
        "grounded": float(found and answer is not None and answer.grounded is not False),
        "found": float(found),
        "confidence": answer.confidence if answer else 0.0,
    }
    if expected is not None:
        text = answer_text(answer)
        for name, measure in (("token_f1", token_f1), ("exact_match", exact_match), ("answer_in", holds)):
            metrics[name] = _best(measure(text, wording) for wording in expected.wordings) if text is not None else float(
                answer is not None and not expected.wordings
            )  # fmt: skip
        metrics["quoted"] = float(found and answer is not None and quotes(answer, expected))
        metrics["length"] = float(len(text or ""))
    return metrics


def answer_text(answer: Answer | None) -> str | None:
    """What the answer says, without its marks; None for a refusal or a failed run."""
    return without_marks(answer.answer) if answer and answer.route.get("found") else None


def used_share(answer: Answer) -> float:
    """Share of the passages that were read which the answer cites; 0 where nothing was read."""
    read = {source.passage_id for source in answer.sources}
    cited = {citation.passage_id for citation in answer.citations if not citation.instead}
    return len(read & cited) / len(read) if read else 0.0


def quotation_of(answer: Answer) -> str:
    """The first one that it rests on; empty where there is none."""
    return next((one.quote for one in answer.citations[:1] if not one.instead), "")


def quotes(answer: Answer, expected: Expected) -> bool:
    """Whether the expected words stand in the first quotation, and that can be read at a glance."""
    first = quotation_of(answer)
    return 0 < len(first) <= LONGEST_QUOTATION and any(holds(first, wording) for wording in expected.wordings)


def _best(values: Iterable[float]) -> float:
    return max(values, default=0.0)


def shown(names: Sequence[str]) -> list[str]:
    """Those of the answer's metrics that a run has."""
    return [name for name in ANSWER_METRICS if name in names]


# --- many answers -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """What came of questions. `quoted`, `answer_in` and `wrongly_refused` are shares of those that the documents answer
    (`answerable`), `rightly_refused` of the others; `length` is the median of characters of an answer.

    `auc`: how often confidence is higher where the first quotation holds the answer than where it does not;
    `calibration_error`: by how much it is off as a probability of that, in 0..1. Both count refusals, as not held. None
    where there is nothing to count.
    """

    questions: int
    answerable: int
    quoted: float | None
    answer_in: float | None
    wrongly_refused: float | None
    rightly_refused: float | None
    length: float | None
    auc: float | None
    calibration_error: float | None


def figures(judged: Sequence[tuple[Expected, Mapping[str, float]]]) -> AnswerFigures:
    """Of questions with what was expected and their metrics. Raises ValueError without any."""
    right = [bool(metrics["quoted"]) for _, metrics in judged]
    sure = [metrics["confidence"] for _, metrics in judged]
    here = [metrics for expected, metrics in judged if expected.wordings]
    nowhere = [metrics for expected, metrics in judged if not expected.wordings]
    lengths = [metrics["length"] for _, metrics in judged if metrics["found"]]
    return AnswerFigures(
        questions=len(judged),
        answerable=len(here),
        quoted=_mean([metrics["quoted"] for metrics in here]),
        answer_in=_mean([metrics["answer_in"] for metrics in here]),
        wrongly_refused=_mean([1 - metrics["found"] for metrics in here]),
        rightly_refused=_mean([1 - metrics["found"] for metrics in nowhere]),
        length=median(lengths) if lengths else None,
        auc=auc(right, sure) if len(set(right)) == 2 else None,
        calibration_error=calibration_error(right, sure),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def calibration_error(labels: Sequence[bool], probabilities: Sequence[float], bins: int = BINS) -> float:
    """Expected calibration error with bins of equal mass: the mean over the bins, weighted by their size, of the difference
    between the share that is true and the mean probability (Naeini et al. 2015; equal mass as in Nixon et al. 2019).

    Raises ValueError without values.
    """
    truth, values = np.asarray(labels, np.float64), np.asarray(probabilities, np.float64)
    if not len(truth):
        raise ValueError("no probabilities")
    order = np.argsort(values, kind="stable")
    parts = np.array_split(order, min(bins, len(order)))
    return float(sum(len(part) * abs(truth[part].mean() - values[part].mean()) for part in parts) / len(order))
