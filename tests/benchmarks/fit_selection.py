"""Refit the weights of app/cairn/answer/quotation_choice.py and print how often the first quotation holds the answer, set by set.

    python -m tests.benchmarks.fit_selection HOME SET...

A SET is a folder with corpus.jsonl, queries.jsonl and answers.jsonl (BEIR), or one of files with a questions.jsonl beside it
({doc, question, answer, answer_type}; "tatqa/html"). They are indexed into collections of HOME where they are not there
yet, each question is searched once, and all fits and figures are made from what was found: first the ten-line alternative
(share of the question's words by idf), then the fit to all sets, then for each set the fit to the others.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import cairn
from cairn.answer.candidates import Candidate, candidates
from cairn.answer.evidence import COLUMN, FEATURES, QuestionTerms, measure, question_terms
from cairn.answer.quotation import MOST_CHARS, quote
from cairn.domain.passage import Passage
from cairn.strategies.document_names import without_names

PRIOR: Final[Mapping[str, float]] = {"defines": 2.0, "code": -3.0}
"""Weights set by hand and kept: the sets hardly ask for definitions, and have no code among their prose."""
RIDGE: Final = 2.0
KEPT: Final = 50.0
STEPS, PACE = 400, 0.1
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question with its candidates: what speaks for each, and which hold the answer."""

    group: str
    gold: Sequence[str]
    passages: Sequence[Passage]
    found: Sequence[Candidate]
    terms: QuestionTerms
    measured: Floats
    holds: NDArray[np.bool_]


def main() -> None:
    home, *folders = sys.argv[1:]
    judged = asyncio.run(_judge(home, [Path(folder) for folder in folders]))
    weights = fit(judged)
    print("{" + ", ".join(f'"{name}": {value:.2f}' for name, value in zip(FEATURES, weights, strict=True)) + "}")
    overlap = np.array([float(name == "idf_direct") for name in FEATURES])
    print(f"{'set':24} {'n':>5} {'overlap':>8} {'fit':>6} {'left out':>9}")
    for group in sorted({one.group for one in judged}):
        here = [one for one in judged if one.group == group]
        others = fit([one for one in judged if one.group.split("/")[0] != group.split("/")[0]])
        shares = " ".join(f"{quoted(here, each):8.3f}" for each in (overlap, weights, others))
        print(f"{group:24} {len(here):5} {shares}")


# --- questions --------------------------------------------------------------------------------------------------------


async def _judge(home: str, folders: Sequence[Path]) -> list[JudgedQuestion]:
    judged: list[JudgedQuestion] = []
    async with cairn.open(home) as rag:
        for folder in folders:
            collection = "-".join(folder.parts[-2:])
            await index(rag, folder, collection)
            for group, text, document, gold in read_questions(folder):
                query = f'{text} id:"{document}"' if document else text
                result = await rag.search(query, collection=collection, top_k=5)
                if one := _judged(group, without_names(text, ()), gold, result.passages):
                    judged.append(one)
    return judged


async def index(rag: cairn.Cairn, folder: Path, collection: str) -> None:
    if not (folder / "corpus.jsonl").is_file():
        await rag.ingest(folder, collection=collection)
        return
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines()]
    sources = [
        cairn.Source(
            row["_id"], f"{row['_id']}.txt", row["text"].encode(), row.get("title") or row["_id"], is_text=True
        )
        for row in rows
    ]
    await rag.ingest(sources, collection=collection)


def read_questions(folder: Path) -> Iterator[tuple[str, str, str, Sequence[str]]]:
    """Group, text, the document it is about ("" for any), answers."""
    beside = folder.parent / "questions.jsonl"
    if beside.is_file():
        for row in map(json.loads, beside.read_text("utf-8").splitlines()):
            if row["answer_type"] == "span":
                kind = "text" if row["answer_from"] == "text" else "table"
                name = f"{folder.name}/{row['doc']}.{folder.name}"
                yield f"{folder.name}/{kind}", row["question"], name, row["answer"]
        return
    answers = {
        row["_id"]: row["answer"] for row in map(json.loads, (folder / "answers.jsonl").read_text("utf-8").splitlines())
    }
    for row in map(json.loads, (folder / "queries.jsonl").read_text("utf-8").splitlines()):
        if (gold := answers.get(row["_id"])) and gold.lower() not in ("yes", "no"):
            yield folder.name, row["text"], "", [gold]


def _judged(group: str, text: str, gold: Sequence[str], passages: Sequence[Passage]) -> JudgedQuestion | None:
    found = candidates(passages)
    terms = question_terms(text, found)
    if not found or not terms.words:
        return None
    holds = np.array([holds_answer(candidate.text, gold) for candidate in found])
    return JudgedQuestion(group, gold, passages, found, terms, measure(terms, found, passages), holds)


def holds_answer(text: str, gold: Sequence[Any]) -> bool:
    """Whether an answer stands in the text as whole words, white space and bars of tables apart."""
    plain = re.sub(r"[\s|]+", " ", text).casefold()
    wanted = (re.sub(r"\s+", " ", str(answer)).casefold() for answer in gold)
    return any(
        re.search(rf"(?<![\w.,]){re.escape(one)}(?!\w|[.,]\d)", plain)
        or (len(one) > 4 and one.replace(" ", "") in plain.replace(" ", ""))
        for one in wanted
    )


# --- fitting ------------------------------------------------------------------------------------------------------------


def fit(judged: Sequence[JudgedQuestion]) -> Floats:
    """Conditional logit: the log probability that a candidate chosen by softmax of the scores holds the answer, each set
    counting by the root of its size, with a ridge around PRIOR; by Adam (Kingma and Ba 2015)."""
    used = [one for one in judged if one.holds.any() and not one.holds.all()]
    sizes = {group: sum(one.group == group for one in used) for group in {one.group for one in used}}
    mass = np.array([sizes[one.group] ** -0.5 for one in used])
    mass /= mass.mean()
    table, right = np.concatenate([one.measured for one in used]), np.concatenate([one.holds for one in used])
    starts = np.cumsum([0, *(len(one.holds) for one in used)])[:-1]
    of = np.repeat(np.arange(len(used)), [len(one.holds) for one in used])
    prior = np.array([PRIOR.get(name, 0.0) for name in FEATURES])
    ridge = np.array([KEPT if name in PRIOR else RIDGE for name in FEATURES])
    weights, first, second = prior.copy(), np.zeros(len(prior)), np.zeros(len(prior))
    for step in range(1, STEPS + 1):
        scores = table @ weights
        odds = np.exp(scores - np.maximum.reduceat(scores, starts)[of])
        share = odds / np.add.reduceat(odds, starts)[of]
        hit = odds * right / np.add.reduceat(odds * right, starts)[of]
        slope = (table.T @ ((share - hit) * mass[of]) + ridge * (weights - prior)) / len(used)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        weights = weights - PACE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return weights


def quoted(judged: Sequence[JudgedQuestion], weights: Floats) -> float:
    """Share of questions whose first quotation has at most MOST_CHARS and holds the answer."""
    hits = 0
    for one in judged:
        scores = one.measured @ weights
        made = quote(int(scores.argmax()), one.found, scores, one.terms, one.passages)
        text = one.passages[made.rank].content[slice(*made.spans[0])]
        hits += len(text) <= MOST_CHARS and holds_answer(text, one.gold)
    return hits / len(judged)


if __name__ == "__main__":
    assert set(PRIOR) <= set(COLUMN)
    main()
