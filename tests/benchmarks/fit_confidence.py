"""Refit the weights of app/cairn/answer/confidence.py and print how well confidence is calibrated, family by family of sets.

    python -m tests.benchmarks.fit_confidence HOME SET...

Sets are those of fit_selection. Each question is asked of what is found for it: all passages, and the first that answers with at
most one other (as in a small collection); and of the same without the documents that answer, where nothing is there to be quoted.
A family, "xquad" of xquad_en and xquad_de or "tatqa" of its formats, is left out as a whole: its questions are the same.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

import cairn
from cairn.answer.confidence import PRESENT, PRESENT_ENOUGH, RIGHT, Floats, features_of, fit_logistic
from cairn.answer.extract import extract
from cairn.domain.answer import SelectionFeatures
from cairn.domain.passage import Passage
from cairn.evals.answers import calibration_error
from cairn.evals.groundedness import auc
from cairn.providers.protocols import Embedder
from cairn.settings import AnswerSettings
from cairn.strategies.document_names import without_names
from tests.benchmarks.fit_selection import holds_answer, index, read_questions

MOST_QUESTIONS: Final = 250
"""Of a set, spread over it."""
SMALL: Final = 2
"""Passages of a small collection."""
RIDGE: Final = 1.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of some passages: what speaks for the quotation, whether they answer, and whether the quotation does."""

    family: str
    features: SelectionFeatures
    answerable: bool
    right: bool


def main() -> None:
    home, *folders = sys.argv[1:]
    report(asyncio.run(ask_all(home, [Path(folder) for folder in folders])))


async def ask_all(home: str, folders: Sequence[Path]) -> list[Asked]:
    asked: list[Asked] = []
    async with cairn.open(home) as rag:
        for folder in folders:
            collection = "-".join(folder.parts[-2:])
            await index(rag, folder, collection)
            questions = list(read_questions(folder))
            for _, text, document, gold in questions[:: max(1, len(questions) // MOST_QUESTIONS)]:
                query = f'{text} id:"{document}"' if document else text
                result = await rag.search(query, collection=collection, top_k=5)
                other = (await rag.search(text, collection=collection, top_k=10)).passages if document else ()
                asked += await ask(
                    family_of(folder), text, gold, result.passages, other, rag._services.search_deps.judge
                )
    return asked


def family_of(folder: Path) -> str:
    return folder.parent.name if (folder.parent / "questions.jsonl").is_file() else folder.name.split("_")[0]


async def ask(
    family: str,
    text: str,
    gold: Sequence[str],
    passages: Sequence[Passage],
    other: Sequence[Passage],
    embedder: Embedder,
) -> list[Asked]:
    """`other`: passages for the question without its document's name; those of other documents do not answer."""
    answers = {one.document_id for one in passages if holds_answer(one.content, gold)}
    without = [one for one in (other or passages) if one.document_id not in answers][:5]
    asked = []
    for read, answerable in variants(passages, without, answers):
        draft = await extract(without_names(text, ()), read, embedder, AnswerSettings(), enough=0.0)
        if draft.evidence and draft.citations:
            right = answerable and holds_answer(draft.citations[0].quote, gold)
            asked.append(Asked(family, draft.evidence, answerable, right))
    return asked


def variants(
    passages: Sequence[Passage], without: Sequence[Passage], answers: set[object]
) -> Iterator[tuple[Sequence[Passage], bool]]:
    """Passages to read, and whether they answer."""
    first = next((one for one in passages if one.document_id in answers), None)
    if first is not None:
        yield passages, True
        yield [first, *without][:SMALL], True
    if without:
        yield without, False
        yield without[:SMALL], False


# --- fitting --------------------------------------------------------------------------------------------------------------


def fit(asked: Sequence[Asked]) -> tuple[Floats, Floats]:
    """Weights of PRESENT and of RIGHT, the constant last; each family counts alike, and so do both answers in it."""
    here = [one for one in asked if one.answerable]
    return (
        fit_weights(list(PRESENT)[:-1], asked, [one.answerable for one in asked]),
        fit_weights(list(RIGHT)[:-1], here, [one.right for one in here]),
    )


def fit_weights(names: Sequence[str], asked: Sequence[Asked], labels: Sequence[bool]) -> Floats:
    sizes = {family: sum(one.family == family for one in asked) for family in {one.family for one in asked}}
    mass = np.array([sizes[one.family] ** -0.5 for one in asked])
    return fit_logistic(values_of(names, asked), np.array(labels, np.float64), weights=mass / mass.mean(), ridge=RIDGE)


def values_of(names: Sequence[str], asked: Sequence[Asked]) -> Floats:
    return np.array([[values[name] for name in names] for values in (features_of(one.features) for one in asked)])


def probabilities(weights: Floats, names: Sequence[str], asked: Sequence[Asked]) -> Floats:
    odds: Floats = values_of(names, asked) @ weights[:-1] + weights[-1]
    return 1 / (1 + np.exp(-odds))


def report(asked: Sequence[Asked]) -> None:
    for names, weights in zip((PRESENT, RIGHT), fit(asked), strict=True):
        print("{" + ", ".join(f'"{name}": {value:.2f}' for name, value in zip(names, weights, strict=True)) + "}")
    print(f"{'left out':14} {'n':>5} {'AUC':>6} {'ECE':>6} {'refused: rightly':>17} {'wrongly':>8}")
    pooled: list[tuple[Floats, Floats, list[Asked]]] = []
    for family in sorted({one.family for one in asked}):
        here = [one for one in asked if one.family == family]
        present, right = fit([one for one in asked if one.family != family])
        shown = probabilities(present, list(PRESENT)[:-1], here)
        pooled.append((shown, shown * probabilities(right, list(RIGHT)[:-1], here), here))
        _line(family, *pooled[-1])
    _line(
        "all",
        *(np.concatenate(column) for column in list(zip(*pooled, strict=True))[:2]),
        [one for _, _, here in pooled for one in here],
    )


def _line(name: str, present: Floats, confidence: Floats, asked: Sequence[Asked]) -> None:
    right = [one.right for one in asked]
    refused = present < PRESENT_ENOUGH
    answerable = np.array([one.answerable for one in asked])
    print(
        f"{name:14} {len(asked):5} {auc(right, list(confidence)):6.3f} {calibration_error(right, list(confidence)):6.3f} "
        f"{refused[~answerable].mean():17.3f} {refused[answerable].mean():8.3f}"
    )


if __name__ == "__main__":
    main()
