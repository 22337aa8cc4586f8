"""Refit what is made of the reader's word: READ of app/cairn/answer/quotation_choice.py, PRESENT_READ and RIGHT_READ of
app/cairn/answer/confidence.py; and print what each says, kind of question by kind of question, with that kind left out.

    python -m tests.benchmarks.fit_reading HOME KEPT --sets SET... --rows ROWS.jsonl.gz --manuals MANUALS

SETs are those of fit_selection; ROWS are in the form of scripts/train_reader.py, of documents that were not trained on: each is
asked of its own context and of the four of other documents that share most words with the question. MANUALS are those of
tests/benchmarks/asked.py, of which the questions that are for fits are asked. What is found and read is
kept in the file KEPT, so that fits can be made again.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import pickle
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray

import cairn
from cairn.answer.candidates import candidates
from cairn.answer.confidence import PRESENT_READ, RIGHT_READ, SURE, word_of
from cairn.answer.evidence import measure, question_terms
from cairn.answer.extract import extract
from cairn.answer.quotation_choice import score_quotations
from cairn.answer.reading import PROMISING, READ, ReadBy, cut_stretches, nearest_cosines, read_candidates
from cairn.domain.answer import Draft
from cairn.domain.passage import Passage
from cairn.evals.answers import calibration_error
from cairn.evals.groundedness import auc
from cairn.language.sentences import split_units
from cairn.language.tokens import terms
from cairn.providers.answer_reader import AnswerReader
from cairn.providers.e5 import E5
from cairn.providers.protocols import Embedder
from cairn.runs.library import Library
from cairn.settings import AnswerSettings
from cairn.strategies.document_names import without_names
from tests.benchmarks.asked import AskedOfManual, ManualFinder, find_words, index_manuals, read_asked
from tests.benchmarks.fit_confidence import Asked, fit_weights, probabilities, variants
from tests.benchmarks.fit_selection import holds_answer, index, read_questions

MOST: Final = 200
"""Questions of a set, spread over it, and of a source of rows."""
OTHERS: Final = 4
PART: Final = 25
"""Characters of a sentence that is told from others."""
RIDGE: Final = 1.0
STEPS, PACE = 400, 0.05
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """`gold`: wordings of the answer; a long one counts by its sentences. `other`: passages found without the document's name.
    `chunks`: of each passage its chunks, with the cosine of the question."""

    family: str
    group: str
    text: str
    gold: Sequence[str]
    passages: Sequence[Passage]
    other: Sequence[Passage]
    chunks: Mapping[UUID, Sequence[tuple[int, int, float]]]
    of_manual: AskedOfManual | None = None

    def is_answered_by(self, draft: Draft) -> bool:
        """By what is quoted first; of a manual, by what is shown."""
        if self.of_manual:
            return self.of_manual.is_said_by(draft.text)
        return holds(draft.citations[0].quote, self.gold)

    def by(self, reader: AnswerReader, passages: Sequence[Passage]) -> ReadBy:
        return ReadBy(reader, [self.chunks[passage.passage_id] for passage in passages])


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidates of a question: READ's columns of each, which hold the answer, and which were read."""

    family: str
    group: str
    table: Floats
    holds: NDArray[np.bool_]
    read: NDArray[np.bool_]

    def of_read(self) -> Choice:
        """With those alone that were read."""
        return replace(self, table=self.table[self.read], holds=self.holds[self.read], read=self.read[self.read])


# --- questions --------------------------------------------------------------------------------------------------------


async def found_for(rag: cairn.Cairn, folder: Path, embedder: E5) -> list[Question]:
    collection = "-".join(folder.parts[-2:])
    await index(rag, folder, collection)
    questions = list(read_questions(folder))
    found = []
    for group, text, document, gold in questions[:: max(1, len(questions) // MOST)]:
        query = f'{text} id:"{document}"' if document else text
        passages = (await rag.search(query, collection=collection, top_k=5)).passages
        other = (await rag.search(text, collection=collection, top_k=10)).passages if document else ()
        family = folder.parent.name if document else folder.name.split("_")[0]
        asked = without_names(text, ())
        chunks = await _stored(rag, asked, {one.passage_id: one for one in (*passages, *other)}, embedder)
        found.append(Question(family, group, asked, gold, passages, other, chunks))
    return found


async def _stored(
    rag: cairn.Cairn, asked: str, passages: Mapping[UUID, Passage], embedder: E5
) -> dict[UUID, list[tuple[int, int, float]]]:
    """As strategies.reading has them."""
    (question,) = await embedder.embed_questions([asked])
    found: dict[UUID, list[tuple[int, int, float]]] = {one: [] for one in passages}
    library = Library(rag._services.database, rag._services.principal)
    for chunk in await library.chunk_vectors(list(passages)):
        start = passages[chunk.passage_id].start
        cosine = float(chunk.vector.to_numpy().astype(np.float32) @ question)
        found[chunk.passage_id].append((chunk.start - start, chunk.end - start, cosine))
    return found


async def of_rows(file: Path, embedder: E5, seed: int = 3) -> list[Question]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rng, groups, made = random.Random(seed), defaultdict(list), []
    for row in rows:
        family = "docs" if row["source"].startswith("docs") else row["source"]
        groups[family, f"{family} {row['language']}"].append(row)
    for (family, group), here in groups.items():
        contexts = {row["context"]: (row, set(terms(row["context"]))) for row in here}
        asked = [row for row in here if row["kind"] in ("span", "sentence", "table", "heading")]
        unanswerable = [row for row in here if row["kind"] == "no_answer"]
        for row in rng.sample(asked, min(MOST // 2, len(asked))) + rng.sample(
            unanswerable, min(MOST // 4, len(unanswerable))
        ):
            words = set(terms(row["question"]))
            beside = sorted(
                (text for text, (one, _) in contexts.items() if one["doc"] != row["doc"]),
                key=lambda text: -len(words & contexts[text][1]),
            )[:OTHERS]
            texts = [(row["context"], row), *((text, contexts[text][0]) for text in beside)]
            passages = [_passage(text, _title(one), 1 - 0.1 * n) for n, (text, one) in enumerate(texts)]
            if rng.random() < 0.3:
                passages[:2] = passages[1::-1]
            chunks = await _made(row["question"], passages, embedder)
            gold = [answer["text"] for answer in row["answers"]]
            made.append(Question(family, group, row["question"], gold, passages, (), chunks))
    return made


async def of_manuals(rag: cairn.Cairn, manuals: Path, embedder: E5) -> list[Question]:
    await index_manuals(rag, manuals, ["fit"])
    finder, made = ManualFinder(rag, embedder), []
    for one in read_asked(manuals, ["fit"]):
        passages = await finder.find(one.question, one.shelf, 5)
        places = [(passage, find_words(passage.content, one.quote)) for passage in passages]
        gold = [passage.content[slice(*place)] for passage, place in places if place] or [one.key][: not one.is_absent]
        cosines = await finder.cosines(one.question, passages)
        chunks = {passage.passage_id: near for passage, near in zip(passages, cosines, strict=True)}
        group = f"{one.manual} {one.style}"
        made.append(Question(one.manual, group, one.question, gold, passages, (), chunks, one))
    return made


async def _made(asked: str, passages: Sequence[Passage], embedder: E5) -> dict[UUID, list[tuple[int, int, float]]]:
    """Stretches in place of chunks."""
    (question,) = await embedder.embed_questions([asked])
    found = {}
    for one in passages:
        spans = [(units[0].start, units[-1].end) for units in cut_stretches(one.content)]
        rows = await embedder.embed([f"{one.title}\n{one.content[start:end]}" for start, end in spans])
        found[one.passage_id] = [(*span, float(row @ question)) for span, row in zip(spans, rows, strict=True)]
    return found


def _title(row: dict[str, Any]) -> str:
    name = re.sub(r"\.\w+$", "", row["doc"].rsplit("/", 1)[-1])
    return "" if name[:1].isdigit() else name.replace("_", " ").replace("-", " ")


def _passage(text: str, title: str, score: float) -> Passage:
    return Passage(
        uuid4(), uuid4(), "row", title, text, 0, len(text), None, (), len(text) // 4, 1, "rows", "text/markdown", {}, score=score
    )  # fmt: skip


def holds(text: str, gold: Sequence[str]) -> bool:
    """Whether it has the answer, or a whole sentence of a long one, or is part of it."""
    if holds_answer(text, gold):
        return True
    plain = " ".join(text.split())
    for answer in gold:
        whole = " ".join(answer.split())
        parts = [" ".join(answer[unit.start : unit.end].split()) for unit in split_units(answer)]
        if (len(plain) >= PART and plain in whole) or any(len(part) >= PART and part in plain for part in parts):
            return True
    return False


# --- what the reader says of them ----------------------------------------------------------------------------------------


async def choose(question: Question, reader: AnswerReader) -> Choice | None:
    found = candidates(question.passages)
    words = question_terms(question.text, found)
    if not found or not words.words or not question.gold:
        return None
    scores = score_quotations(measure(words, found, question.passages))
    read = await read_candidates(
        question.text, found, scores, question.passages, question.by(reader, question.passages)
    )
    if read is None:
        return None
    table = np.column_stack([getattr(read, name) for name in READ])
    right = np.array([holds(candidate.text, question.gold) for candidate in found])
    return Choice(question.family, question.group, table, right, read.read)


def choices_of_words(questions: Sequence[Question]) -> list[Choice]:
    """What is known before anything is read, of all candidates."""
    made = []
    for one in questions:
        found = candidates(one.passages)
        words = question_terms(one.text, found)
        if found and words.words and one.gold:
            cosines = nearest_cosines(found, [one.chunks[passage.passage_id] for passage in one.passages])
            scores = score_quotations(measure(words, found, one.passages))
            table = np.column_stack([scores, cosines, [float(candidate.rank) for candidate in found]])
            right = np.array([holds(candidate.text, one.gold) for candidate in found])
            made.append(Choice(one.family, one.group, table, right, np.ones(len(found), np.bool_)))
    return made


async def ask(question: Question, reader: AnswerReader, embedder: Embedder) -> list[Asked]:
    answers = {one.document_id for one in question.passages if question.gold and holds(one.content, question.gold)}
    without = [one for one in (question.other or question.passages) if one.document_id not in answers][:5]
    asked = []
    for read, answerable in variants(question.passages, without, answers):
        draft = await extract(question.text, read, embedder, AnswerSettings(), enough=0.0, by=question.by(reader, read))
        if draft.evidence and draft.evidence.read is not None and draft.citations:
            right = answerable and question.is_answered_by(draft)
            asked.append(Asked(question.family, draft.evidence, answerable, right))
    return asked


# --- fitting ------------------------------------------------------------------------------------------------------------


def fit_choice(choices: Sequence[Choice], columns: int) -> Floats:
    """Weights of the first `columns`: conditional logit, each group counting by the root of its size; as in fit_selection."""
    used = [one for one in choices if one.holds.any() and not one.holds.all()]
    sizes = {group: sum(one.group == group for one in used) for group in {one.group for one in used}}
    mass = np.array([sizes[one.group] ** -0.5 for one in used])
    mass /= mass.mean()
    table, right = np.concatenate([one.table[:, :columns] for one in used]), np.concatenate([one.holds for one in used])
    starts = np.cumsum([0, *(len(one.holds) for one in used)])[:-1]
    of = np.repeat(np.arange(len(used)), [len(one.holds) for one in used])
    weights, first, second = (np.zeros(columns) for _ in range(3))
    for step in range(1, STEPS + 1):
        scores = table @ weights
        odds = np.exp(scores - np.maximum.reduceat(scores, starts)[of])
        share = odds / np.add.reduceat(odds, starts)[of]
        hit = odds * right / np.add.reduceat(odds * right, starts)[of]
        slope = (table.T @ ((share - hit) * mass[of]) + RIDGE * weights) / len(used)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        weights = weights - PACE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return weights


def report_choice(choices: Sequence[Choice]) -> None:
    promising, weights = fit_choice(choices, len(PROMISING)), _fit_read(choices)
    print("PROMISING", dict(zip(PROMISING, promising.round(2), strict=True)))
    print("READ", dict(zip(READ, weights.round(2), strict=True)))
    names = ("words", "promise", "reader", "all", "left out", "is read")
    print(f"{'group':24} {'n':>4} " + " ".join(f"{name:>8}" for name in names) + "   share whose best holds the answer")
    alone = np.array([float(name in ("stretch", "unit")) for name in READ])
    lines = []
    for group in sorted({one.group for one in choices}):
        here = [one for one in choices if one.group == group and one.holds.any()]
        if not here:
            continue
        seen = [one.of_read() for one in here]
        others = _fit_read([one for one in choices if one.family != here[0].family])
        first = [_best(here, np.eye(len(READ))[0]), _best(here, np.r_[promising, np.zeros(len(READ) - len(PROMISING))])]
        lines.append(
            [
                *first,
                *(_best(seen, way) for way in (alone, weights, others)),
                np.mean([one.holds.any() for one in seen]),
            ]
        )
        print(f"{group:24} {len(here):4} " + " ".join(f"{value:8.3f}" for value in lines[-1]))
    print(f"{'mean of groups':29} " + " ".join(f"{value:8.3f}" for value in np.mean(lines, axis=0)))


def _fit_read(choices: Sequence[Choice]) -> Floats:
    return fit_choice([one.of_read() for one in choices], len(READ))


def _best(choices: Sequence[Choice], weights: Floats) -> float:
    return float(np.mean([one.holds[int((one.table @ weights).argmax())] for one in choices]))


def fit_confidence(asked: Sequence[Asked]) -> tuple[Floats, Floats]:
    here = [one for one in asked if one.answerable]
    return (
        fit_weights(list(PRESENT_READ)[:-1], asked, [one.answerable for one in asked]),
        fit_weights(list(RIGHT_READ)[:-1], here, [one.right for one in here]),
    )


def report_confidence(asked: Sequence[Asked], enough: float) -> None:
    for name, names, weights in zip(
        ("PRESENT_READ", "RIGHT_READ"), (PRESENT_READ, RIGHT_READ), fit_confidence(asked), strict=True
    ):
        print(name, {one: round(float(value), 2) for one, value in zip(names, weights, strict=True)})
    print(
        f"{'left out':24} {'n':>5} {'AUC':>6} {'ECE':>6} {'absent refused':>15} {'there refused':>14} {'sure of those wrong':>20}"
    )
    whole: list[tuple[Floats, Floats, list[Asked]]] = []
    for family in sorted({one.family for one in asked}):
        here = [one for one in asked if one.family == family]
        present, right = fit_confidence([one for one in asked if one.family != family])
        shown = probabilities(present, list(PRESENT_READ)[:-1], here)
        whole.append((shown, shown * probabilities(right, list(RIGHT_READ)[:-1], here), here))
        _line(family, *whole[-1], enough)
    columns = list(zip(*whole, strict=True))
    everything = [one for _, _, here in whole for one in here]
    _line("all", np.concatenate(columns[0]), np.concatenate(columns[1]), everything, enough)
    report_words(np.concatenate(columns[0]) >= enough, np.concatenate(columns[1]), everything)


def report_words(shown: NDArray[np.bool_], confidence: Floats, asked: Sequence[Asked]) -> None:
    """What the words are worth on families left out: all together, where one question in five is about what is not there, and
    where none is; and the table of tests/unit/test_confidence.py."""
    right, there = np.array([one.right for one in asked]), np.array([one.answerable for one in asked])
    words = np.array([word_of(float(value), read=True, whole=True) for value in confidence])
    print(f"{'word':12} {'n':>5} {'right':>6} {'1 in 5 absent':>14} {'none absent':>12} {'wrong of 100 asked':>19}")
    for word in ("found", "likely", "not_sure"):
        here = shown & (words == word)
        shares = [
            float((mass * here * right).sum() / (mass * here).sum())
            for mass in (np.where(there, 1.0, weight) for weight in (1.0, there.sum() / (4 * (~there).sum()), 0.0))
        ]
        wrong = 100 * (here & ~right).mean()
        print(f"{word:12} {here.sum():5} {shares[0]:6.3f} {shares[1]:14.3f} {shares[2]:12.3f} {wrong:19.2f}")
    bins = [shown & (confidence >= low / 20) & (confidence < (low + 1) / 20) for low in range(20)]
    print([(int(one.sum()), int((one & right).sum())) for one in bins])


def _line(name: str, present: Floats, confidence: Floats, asked: Sequence[Asked], enough: float) -> None:
    right, there = [one.right for one in asked], np.array([one.answerable for one in asked])
    refused = present < enough
    wrong = confidence[~np.array(right)]
    print(
        f"{name:24} {len(asked):5} {auc(right, list(confidence)):6.3f} {calibration_error(right, list(confidence)):6.3f} "
        f"{refused[~there].mean():15.3f} {refused[there].mean():14.3f} {(wrong >= SURE).mean():20.3f}"
    )


# --- the command ----------------------------------------------------------------------------------------------------------


async def judge(
    home: str, folders: Sequence[Path], rows: Path | None, manuals: Path | None
) -> tuple[list[Choice], list[Asked]]:
    async with cairn.open(home) as rag:
        embedder = E5.open(rag._services.environment.home)
        questions = [one for folder in folders for one in await found_for(rag, folder, embedder)]
        questions += await of_rows(rows, embedder) if rows else []
        questions += await of_manuals(rag, manuals, embedder) if manuals else []
        return await read_all(questions, rag._services.search_deps.reader(), rag._services.search_deps.judge)


async def read_all(
    questions: Sequence[Question], reader: AnswerReader | None, embedder: Embedder
) -> tuple[list[Choice], list[Asked]]:
    if reader is None:
        raise SystemExit("there is no reader: make install builds it")
    PROMISING.update(zip(PROMISING, map(float, fit_choice(choices_of_words(questions), len(PROMISING))), strict=True))
    choices = [made for one in questions if (made := await choose(one, reader))]
    # confidence is that of what the fit chooses
    READ.update(zip(READ, map(float, _fit_read(choices)), strict=True))
    asked = [made for one in questions for made in await ask(one, reader, embedder)]
    return choices, asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home")
    parser.add_argument("kept", type=Path)
    parser.add_argument("--sets", type=Path, nargs="*", default=[])
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--manuals", type=Path)
    parser.add_argument("--enough", type=float, default=0.3)
    arguments = parser.parse_args()
    if not arguments.kept.is_file():
        found = asyncio.run(judge(arguments.home, arguments.sets, arguments.rows, arguments.manuals))
        arguments.kept.write_bytes(pickle.dumps(found))
    choices, asked = pickle.loads(arguments.kept.read_bytes())
    report_choice(choices)
    report_confidence(asked, arguments.enough)


if __name__ == "__main__":
    main()
