"""How good an answer is against the expected ones: exact match and token F1 as SQuAD counts them. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.answer.cite import without_marks
from app.domain.answer import Answer
from app.errors import InputError
from app.evals.metrics import Judgements, recall, score

ANSWER_METRICS: Final = (
    "token_f1",
    "exact_match",
    "answer_in",
    "citation_recall",
    "source_recall",
    "grounded",
    "found",
)
"""What is shown of a run over questions."""
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = re.compile(r"[^\w\s]")


@dataclass(frozen=True, slots=True)
class Expected:
    """Wordings of the right answer; none where the documents do not answer, and a refusal is right."""

    wordings: tuple[str, ...]


def load_answers(folder: Path) -> Mapping[str, Expected]:
    """Query id to what is expected, out of `answers.jsonl` {_id, answer, aliases?, answerable?}; empty where there is no such
    file. Raises InputError that names file and line."""
    path = folder / "answers.jsonl"
    found: dict[str, Expected] = {}
    if not path.is_file():
        return found
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            wordings = [record["answer"], *record.get("aliases", [])] if record.get("answerable", True) else []
            found[str(record["_id"])] = Expected(tuple(map(str, wordings)))
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            raise InputError(f"{path}, line {number}: wanted an object with _id and answer") from None
    return found


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
    cited = tuple(dict.fromkeys(item.external_id for item in answer.citations)) if answer else ()
    metrics = {
        **score(sources, judgements),
        "source_recall": recall(sources, judgements, len(sources)),
        "citation_recall": recall(cited, judgements, len(cited)),
        "grounded": float(found and answer is not None and answer.grounded is True),
        "found": float(found),
    }
    if expected is not None:
        text = without_marks(answer.answer) if answer and found else None
        for name, measure in (("token_f1", token_f1), ("exact_match", exact_match), ("answer_in", holds)):
            metrics[name] = _best(measure(text, wording) for wording in expected.wordings) if text is not None else float(
                answer is not None and not expected.wordings
            )  # fmt: skip
    return metrics


def _best(values: Iterable[float]) -> float:
    return max(values, default=0.0)


def shown(names: Sequence[str]) -> list[str]:
    """Those of the answer's metrics that a run has."""
    return [name for name in ANSWER_METRICS if name in names]
