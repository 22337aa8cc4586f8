"""Refit the weights of app/cairn/answer/across.py, and print how well they choose and how well they tell when to refuse.

    python -m tests.benchmarks.fit_across FOLDER [QUESTIONS]

FOLDER has xquad_en, xquad_es and xquad_de, in which paragraphs and questions have the same ids in each language. Each question is
asked of the five nearest paragraphs in another language, by the vectors alone, of these without the one that answers, and of
paragraphs about something else. A pair of languages is left out for its figures, and so is every second question of the others.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

import numpy as np

from cairn.answer import across
from cairn.answer.across import PRESENT, RIGHT, SELECTION, Floats, evidence_of, selection_table
from cairn.answer.candidates import Candidate, candidates
from cairn.answer.confidence import fit_logistic
from cairn.answer.evidence import Measured, measure, question_terms
from cairn.domain.passage import Passage
from cairn.evals.groundedness import auc
from cairn.providers.e5 import E5, find_e5
from tests.benchmarks.fit_selection import holds_answer

PAIRS: Final = (("es", "en"), ("de", "en"), ("en", "es"), ("en", "de"), ("de", "es"))
THRESHOLDS: Final = (0.2, 0.25, 0.3, 0.35)
SPACE: Final = UUID(int=7)


@dataclass(frozen=True)
class Case:
    """A question of some passages: its places with what speaks for them, which hold the answer, and whether any passage does."""

    pair: tuple[str, str]
    number: int
    words: int
    """Of content, of the question."""
    kind: str
    """there, near (without the paragraph that answers) or far (about something else)."""
    found: list[Candidate]
    cosines: Floats
    measured: Measured
    table: Floats
    right: list[bool]
    answerable: bool


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def passage(row: dict[str, Any], score: float) -> Passage:
    key, text = uuid5(SPACE, str(row["_id"]) + row["text"][:50]), row["text"]
    return Passage(
        key, key, str(row["_id"]), row["title"], text, 0, len(text), None, (), len(text) // 4, 1, "", "text/plain", {},
        score=score,
    )  # fmt: skip


async def cases(folder: Path, limit: int) -> list[Case]:
    home = find_e5(Path.home())
    assert home, "make install builds the model"
    model, made = E5(home), list[Case]()
    known: dict[str, Any] = {}

    async def embedded(texts: list[str]) -> Any:
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known.update(zip(missing, await model.embed(missing), strict=True))
        return np.stack([known[text] for text in texts])

    for asked, told in PAIRS:
        corpus = rows(folder / f"xquad_{told}" / "corpus.jsonl")
        whole = await embedded([f"{row['title']}\n{row['text']}" for row in corpus])
        gold = {row["_id"]: row for row in rows(folder / f"xquad_{told}" / "answers.jsonl")}
        questions = [row for row in rows(folder / f"xquad_{asked}" / "queries.jsonl") if row["_id"] in gold]
        chosen = questions[:: max(1, len(questions) // limit)]
        vectors = await model.embed_questions_as_published([row["text"] for row in chosen])
        for number, (row, vector) in enumerate(zip(chosen, vectors, strict=True)):
            near = whole @ vector
            order = [int(at) for at in np.argsort(-near)]
            supporting, answer = set(gold[row["_id"]]["supporting"]), [gold[row["_id"]]["answer"]]
            titles = {one["title"] for one in corpus if one["_id"] in supporting}
            about = {one["_id"] for one in corpus if one["title"] in titles}
            for kind, without in (("there", set[str]()), ("near", supporting), ("far", about)):
                answerable = not without
                kept = [at for at in order if corpus[at]["_id"] not in without][:5]
                read = [passage(corpus[at], float(near[at])) for at in kept]
                found = candidates(read)[: across.MOST_EMBEDDED]
                terms = question_terms(row["text"], found)
                if not found or not terms.words:
                    continue
                cosines = ((await embedded([one.in_context for one in found])) @ vector).astype(np.float64)
                measured = measure(terms, found, read)
                right = [
                    answerable and read[one.rank].external_id in supporting and holds_answer(one.text, answer)
                    for one in found
                ]
                here = answerable and any(corpus[at]["_id"] in supporting for at in kept)
                made.append(
                    Case(
                        (asked, told),
                        number,
                        len(terms.words),
                        kind,
                        found,
                        cosines,
                        measured,
                        selection_table(cosines, measured),
                        right,
                        here,
                    )
                )
        print(asked, told, len(made), flush=True)
    await model.close()
    return made


def fit_selection(judged: list[Case]) -> Floats:
    """Conditional logit, by gradient descent with a small penalty."""
    weights = np.zeros(len(SELECTION))
    usable = [case for case in judged if any(case.right) and not all(case.right)]
    for _ in range(400):
        gradient = 0.002 * weights
        for case in usable:
            scores = case.table @ weights
            p = np.exp(scores - scores.max())
            p /= p.sum()
            q = p * np.array(case.right)
            gradient -= (case.table.T @ (q / max(q.sum(), 1e-9)) - case.table.T @ p) / len(usable)
        weights -= 3.0 * gradient
    return weights


def seen(case: Case, weights: Floats) -> tuple[dict[str, float], bool]:
    scores = case.table @ weights
    order = [int(at) for at in np.argsort(-scores, kind="stable")]
    return evidence_of(case.cosines, case.measured, order, case.found, scores, case.words), case.right[order[0]]


def fit(judged: list[Case]) -> tuple[Floats, Floats, Floats]:
    weights = fit_selection(judged)
    read = [(case, *seen(case, weights)) for case in judged]
    names, more = [name for name in PRESENT if name], [name for name in RIGHT if name]
    present = fit_logistic(
        np.array([[values[name] for name in names] for _, values, _ in read]),
        np.array([float(case.answerable) for case, _, _ in read]),
        weights=np.array([2.0 if case.answerable else 1.0 for case, _, _ in read]),
    )
    here = [(values, right) for case, values, right in read if case.answerable]
    right = fit_logistic(
        np.array([[values[name] for name in more] for values, _ in here]), np.array([float(right) for _, right in here])
    )
    return weights, present, right


def chance(weights: Floats, values: dict[str, float], names: list[str]) -> float:
    return float(1 / (1 + np.exp(-(np.array([values[name] for name in names]) @ weights[:-1] + weights[-1]))))


def main() -> None:
    folder, limit = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    judged = asyncio.run(cases(folder, limit))
    names, more = [name for name in PRESENT if name], [name for name in RIGHT if name]
    for pair in PAIRS:
        weights, present, right = fit([case for case in judged if case.pair != pair and case.number % 2 == 0])
        out = [(case, *seen(case, weights)) for case in judged if case.pair == pair and case.number % 2]
        chances = [chance(present, values, names) for _, values, _ in out]
        asked = [case.answerable for case, _, _ in out]
        here = [hit for case, _, hit in out if case.answerable]
        shown = [
            "/".join(
                f"{np.mean([c >= enough for c, (case, _, _) in zip(chances, out, strict=True) if case.kind == kind]):.2f}"
                for kind in ("there", "near", "far")
            )
            for enough in THRESHOLDS
        ]
        both = [c * chance(right, values, more) for c, (_, values, _) in zip(chances, out, strict=True)]
        hits = [hit and case.answerable for case, _, hit in out]
        print(
            pair, f"quoted {np.mean(here):.3f} of {len(here)}", f"AUC {auc(asked, chances):.3f}",
            f"shown of what is there/near/far, from {THRESHOLDS}: {' '.join(shown)};",
            f"confidence {np.mean(both):.2f}, right {np.mean(hits):.2f}",
        )  # fmt: skip
    weights, present, right = fit(judged)
    print("SELECTION", dict(zip(SELECTION, np.round(weights, 2).tolist(), strict=True)))
    print("PRESENT", dict(zip([*names, ""], np.round(present, 2).tolist(), strict=True)))
    print("RIGHT", dict(zip([*more, ""], np.round(right, 2).tolist(), strict=True)))


if __name__ == "__main__":
    main()
