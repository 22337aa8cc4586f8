"""Asks a set of the product through what its users have, `import cairn` and `cairn eval`, with the settings as they come."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import cairn
from cairn.domain.evaluation import Estimate
from cairn.evals.groundedness import auc_estimate
from cairn.evals.metrics import estimate, ndcg, recall
from cairn.interfaces.cli.main import run as run_command
from tests.benchmarks.leaderboards.scores import (
    balanced_accuracy,
    estimate_verdicts,
    score_table_answer,
    verdict_f1,
)
from tests.benchmarks.leaderboards.sets import Retrieval, TableQuestion, read_claims, read_tables

RANKINGS: Final = {
    "recall@2": partial(recall, k=2),
    "recall@5": partial(recall, k=5),
    "ndcg@10": partial(ndcg, k=10),
}
FOUND: Final = 10
"""Documents that are asked for: as many as a search gives that says nothing of it."""
AT_ONCE: Final = 4
LEGS: Final = {"as it comes": None, "without the graph": "text"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where it is done: a home with a PostgreSQL of its own, or the database that is named. `commit`: of the product, which the
    names of collections tell, since another one may read or cut documents otherwise. `models`: values of
    rag.embeddingModel, the first of which is what comes. `limit`: only so many questions of a set."""

    home: Path
    commit: str
    database_url: str | None = None
    models: Sequence[str] = ("auto",)
    limit: int | None = None

    def collection(self, name: str) -> str:
        return f"{name}-{self.commit}"


@dataclass(frozen=True, slots=True)
class Measured:
    """What one way of asking came to, over so many questions. `notes`: what a reader must know of it."""

    system: str
    questions: int
    figures: Mapping[str, Estimate]
    notes: tuple[str, ...] = field(default=())


Say = Callable[[str], None]
Came = TypeVar("Came")


# --- retrieval ------------------------------------------------------------------------------------------------------


async def measure_retrieval(
    place: Place, name: str, data: Retrieval, metrics: Sequence[str], say: Say
) -> list[Measured]:
    """Documents by their best passage, found with and without the graph, by each of the models."""
    asked = dict(list(data.questions.items())[: place.limit])
    measured = []
    for model in place.models:
        collection = place.collection(f"{name}-{model}")
        async with opened(place, model) as rag:
            notes = await index(rag, collection, data.documents, say)
            if data.unjudged:
                notes = (*notes, f"{data.unjudged} questions left out: the set does not tell what answers them")
            for way, mode in LEGS.items():
                say(f"asking {len(asked)} questions, {model}, {way}")
                ask = partial(rag.search, collection=collection, top_k=FOUND, mode=mode, group_by="document")
                found = dict(zip(asked, await several(ask, asked.values()), strict=True))
                rankings = {key: [one.external_id for one in result.passages] for key, result in found.items()}
                figures = {
                    metric: estimate([RANKINGS[metric](rankings[key], data.judgements[key]) for key in asked])
                    for metric in metrics
                }
                worse = Counter(problem for result in found.values() for problem in result.degraded)
                lost = tuple(f"{count} searches: {problem}" for problem, count in worse.items())
                measured.append(Measured(system(model, way, place), len(asked), figures, (*notes, *lost)))
    return measured


def system(model: str, way: str, place: Place) -> str:
    if model == place.models[0]:
        return f"Cairn {way}"
    return f"Cairn with {model}" + ("" if way == "as it comes" else f", {way}")


def opened(place: Place, model: str) -> Any:
    return cairn.open(place.home, database_url=place.database_url, settings={"rag": {"embeddingModel": model}})


async def index(rag: cairn.Cairn, collection: str, what: Sequence[Any], say: Say) -> tuple[str, ...]:
    """What is there already costs nothing. Tells which documents could not be read."""
    say(f"indexing {collection}")

    def step(done: int, total: int, _: str) -> None:
        if not done % 500:
            say(f"{collection}: {done} of {total}")

    report = await rag.ingest(what, collection=collection, on_progress=step)
    return tuple(f"not indexed: {one.external_id} ({one.error})" for one in report.failed)


async def several(ask: Callable[[str], Awaitable[Came]], texts: Iterable[str]) -> list[Came]:
    """What comes of each, in their order, some at a time."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def take(text: str) -> Came:
        async with turns:
            return await ask(text)

    return list(await asyncio.gather(*(take(text) for text in texts)))


# --- answers --------------------------------------------------------------------------------------------------------


async def measure_tables(place: Place, name: str, folder: Path, say: Say) -> list[Measured]:
    """Questions about the tables and paragraphs of a report, which each names. What is said is the first quotation, or the value
    that was computed."""
    reports, questions = read_tables(folder)
    asked = questions[: place.limit]
    async with opened(place, place.models[0]) as rag:
        notes = await index(rag, place.collection(name), reports, say)
        say(f"asking {len(asked)} questions")
        texts = [f"In {one.report}: {one.text}" for one in asked]
        said = [
            words_of(answer) for answer in await several(partial(rag.ask, collection=place.collection(name)), texts)
        ]
    ways: dict[str, Callable[[TableQuestion], bool]] = {
        "Cairn as it comes": lambda _: True,
        "· only spans": lambda one: one.kind == "span",
        "· only what is computed or counted": lambda one: one.kind in ("arithmetic", "count"),
    }
    measured = []
    for way, counts in ways.items():
        scored = [score_table_answer(words, one.answer, one.scale, one.kind)
                  for words, one in zip(said, asked, strict=True) if counts(one)]  # fmt: skip
        if scored:
            exact, f1 = (estimate(values) for values in zip(*scored, strict=True))
            measured.append(Measured(way, len(scored), {"exact match": exact, "F1": f1}, notes))
    return measured


COMPUTED: Final = re.compile(r"\s*([+\-−]?[$€£]?\s?[\d,.]+(?:\s?(?:%|hundred|thousand|million|billion))?)")


def words_of(answer: cairn.Answer) -> list[str]:
    """The value that was computed, or the first quotation; nothing of a refusal."""
    if answer.answered == "no":
        return []
    if answer.confidence_word == "computed" and (value := computed_value(answer.answer)):
        return [value]
    return [answer.citations[0].quote] if answer.citations else []


def computed_value(text: str) -> str | None:
    """The number that an answer begins with, with its currency and scale; None where it begins with none."""
    found = COMPUTED.match(text)
    return found[1].replace("−", "-").strip(" .") if found else None


# --- claims ---------------------------------------------------------------------------------------------------------


async def measure_claims(place: Place, name: str, folder: Path, say: Say) -> list[Measured]:
    """By `cairn eval groundedness`, which needs no database. Raises InputError where it fails."""
    split, claims = read_claims(folder)
    asked = claims[: place.limit]
    say(f"judging {len(asked)} claims of {name}, {split}")
    with tempfile.TemporaryDirectory() as there:
        file, out = Path(there) / f"{name}.jsonl", Path(there) / "judged.json"
        rows = [{"_id": str(n), "response": one.text, "context_sentences": list(one.evidence), "grounded": one.supported}
                for n, one in enumerate(asked)]  # fmt: skip
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        if await asyncio.to_thread(run_command, ["eval", "groundedness", str(file), "--json", str(out)]):
            raise cairn.InputError(f"cairn eval groundedness failed on {folder}")
        (judged,) = json.loads(out.read_text(encoding="utf-8"))["sets"]
    labels = [one["grounded"] for one in judged["items"]]
    verdicts = [bool(one["verdict"]) for one in judged["items"]]
    figures = {
        "balanced accuracy": estimate_verdicts(balanced_accuracy, labels, verdicts),
        "F1": estimate_verdicts(verdict_f1, labels, verdicts),
        "AUC": auc_estimate(labels, [one["detector"] for one in judged["items"]]),
    }
    return [Measured(f"Cairn as it comes ({split})", len(labels), figures)]
