"""Measures what of a conversation is carried into a follow-up, and into questions that follow nothing
(docs/quality.md, "Follow-ups and new subjects"; docs/adr/0033-follow-ups.md). No chat model.

    python scripts/follow_ups.py ~/sets/musique100 ~/sets/xquad_en ~/sets/xquad_de:de
    python scripts/follow_ups.py ~/questions_fr.jsonl:fr

A folder is a data set as BEIR lays it out, with `answers.jsonl` {_id, answer, decomposition} where there are answers. It is
indexed into a database of its own, in a folder that is deleted at the end, and searched as the product does, with the
default settings. A file {text} is a list of questions of which only the share that is taken for follow-ups is counted.

Conversations are made by script: a question about a paragraph, then another one about it in which a name that both share
is replaced by a pronoun, or left out, or which says "this" by itself; or the next step of a chain of facts with "it" for
the answer before. Questions that follow nothing are asked after the question and answer half a data set away.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import numpy as np

from cairn.domain.question import Turn
from cairn.evals.datasets import RetrievalSet, load
from cairn.evals.metrics import ndcg, recall
from cairn.evals.retrieval import Bench, index_corpus, search_all
from cairn.language import lexicon
from cairn.language.identify import by_words, detect
from cairn.language.sentences import split_sentences
from cairn.language.tokens import ALL_STOP_WORDS, message_words
from cairn.query.entities import entities
from cairn.query.followup import Carried, carry
from cairn.retrieve.plan import legs_of
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import Services, open_services

MOST_PAIRS: Final = 150
MOST_UNRELATED: Final = 200
DEPTH: Final = 20

PRONOUNS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {"": "it", "the": "it"},
    "es": {"": "él", "el": "él", "la": "ella", "los": "ellos", "las": "ellas", "del": "de él", "al": "a él"},
    "de": {
        "": "er", "der": "er", "die": "sie", "das": "es", "den": "ihn", "dem": "ihm",
        "beim": "bei ihm", "vom": "von ihm", "zum": "zu ihm", "zur": "zu ihr", "im": "in ihm", "am": "an ihm",
        "von": "von ihm", "in": "in ihm", "aus": "aus ihm", "mit": "mit ihm", "in der": "in ihr", "von der": "von ihr",
    },
}  # fmt: skip
"""What stands for a name, by the words before it."""
DETERMINERS: Final = {
    *("a", "an", "this", "that", "these"), *("un", "una", "este", "esta"),
    *("des", "ein", "eine", "einen", "einem", "einer", "eines"),
}  # fmt: skip
"""No pronoun can follow these."""
PREPOSITIONS: Final[Mapping[str, str]] = {
    "en": "of|in|at|on|by|for|from|to|with|within|under",
    "es": "de|en|por|para|con|a|desde",
    "de": "bei|zu|für|nach|an|auf",
}
"""Are left out together with the name, beside those above."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """`message` was asked after `question` and `answer`; `full` says the same without them."""

    question: str
    answer: str
    message: str
    full: str
    judgements: Mapping[str, int]


# --- conversations -------------------------------------------------------------------------------------------------------


def names(text: str, language: str) -> tuple[str, ...]:
    return entities(text, language, None)


def carried(one: FollowUp, language: str) -> Carried:
    """As the product reads a conversation."""
    now = datetime.now(UTC)
    history = [Turn(uuid4(), "user", one.question, now), Turn(uuid4(), "assistant", one.answer, now)]
    spoken = by_words(one.message) or detect(one.message, by_words(one.question) or language)
    return carry(one.message, history, spoken, names)


def neighbours(data: RetrievalSet, answers: Mapping[str, Any]) -> Iterator[FollowUp]:
    """Questions with one and the same document, each after the one before it and as it is."""
    together = defaultdict[str, list[str]](list)
    for key, grades in data.judgements.items():
        if len(grades) == 1:
            together[next(iter(grades))].append(key)
    for keys in together.values():
        for first, second in pairwise(keys):
            if first in answers:
                said, text = str(answers[first]["answer"]), data.queries[second]
                yield FollowUp(data.queries[first], said, text, text, data.judgements[second])


def pointing_back(pairs: Iterable[FollowUp], language: str) -> Iterator[FollowUp]:
    """Those whose author wrote "this" or the like."""
    words = lexicon.language(language).carry.demonstratives
    return (one for one in pairs if {word.folded for word in message_words(one.message)} & words)


def without_the_name(pairs: Iterable[FollowUp], language: str, *, leave_out: bool) -> Iterator[FollowUp]:
    """Those that lose the longest name of the question before."""
    for one in pairs:
        shared = sorted(names(one.question, language), key=len, reverse=True)
        made = (without(one.full, name, language, leave_out) for name in shared if name[0].isupper())
        if message := next((text for text in made if text), None):
            yield replace(one, message=message)


def without(text: str, name: str, language: str, leave_out: bool) -> str | None:
    """The question with a pronoun in the place of a name, or without the name and a preposition before it. None where it
    does not say the name, where the name is part of a longer one, or where no pronoun can stand there."""
    leading = "|".join(sorted(filter(None, PRONOUNS[language]), key=len, reverse=True))
    pattern = rf"(?:\b(?i:(?P<leading>{leading}))\s+)?\b{re.escape(name)}(?P<owner>['’]s)?(?![\w-])"
    match = re.search(pattern, text)
    if match is None:
        return None
    before, after = text[: match.start()].split(), text[match.end() :].split()
    longer = bool(after and after[0][0].isupper())
    longer |= language != "de" and len(before) > 1 and before[-1][0].isupper()
    compound = (
        match["leading"] and after and after[0].isalpha() and after[0] not in ALL_STOP_WORDS
    )  # the Amazon rainforest
    determined = before and before[-1].casefold() in DETERMINERS
    if longer or determined or (language == "en" and compound):
        return None
    if leave_out:
        return re.sub(rf"(?:\b(?:{PREPOSITIONS[language]})\s+)?{pattern}\s*", "", text, count=1)
    pronoun = "its" if match["owner"] else PRONOUNS[language][(match["leading"] or "").lower()]
    if not before:
        pronoun = pronoun.capitalize()
    return text[: match.start()] + pronoun + text[match.end() :]


def next_step(data: RetrievalSet, answers: Mapping[str, Any]) -> Iterator[FollowUp]:
    """Steps of a chain of facts that need the answer of the step before; relevant is what holds their own answer."""
    texts = {source.external_id: source.content.decode().casefold() for source in data.documents()}
    seen = set[tuple[str, str]]()
    for key, record in answers.items():
        steps = record.get("decomposition") or ()
        filled = [fill(step["question"], [one["answer"] for one in steps]) for step in steps]
        for place in range(1, len(steps)):
            asked, answer = steps[place]["question"], steps[place - 1]["answer"]
            if asked.count("#") != 1 or f"#{place}" not in asked or ">>" in asked or ">>" in filled[place - 1]:
                continue
            message = re.sub(r"#\d", "it", re.sub(r"#\d ?['’]s\b", "its", asked))
            sought = steps[place]["answer"].casefold()
            grades = {one: grade for one, grade in data.judgements[key].items() if sought in texts.get(one, "")}
            if grades and (filled[place - 1], message) not in seen:
                seen.add((filled[place - 1], message))
                yield FollowUp(filled[place - 1], answer, message, filled[place], grades)


def fill(question: str, answers: Sequence[str]) -> str:
    """The step with the answers that its numbers stand for."""
    return re.sub(r"#(\d)", lambda match: answers[int(match[1]) - 1], question)


def unrelated(data: RetrievalSet, answers: Mapping[str, Any]) -> Iterator[FollowUp]:
    """Every question after one half a data set away; without an answer, that says the first sentence of its document."""
    texts = {source.external_id: source.content.decode() for source in data.documents()}
    keys = [*data.queries]
    for place, key in enumerate(keys):
        other = keys[(place + len(keys) // 2) % len(keys)]
        if data.judgements[key].keys() & data.judgements[other].keys():
            continue
        opening = next((texts[one] for one in data.judgements[other] if one in texts), "")
        said = answers[other]["answer"] if other in answers else next(iter(split_sentences(opening[:1000])), "Yes.")
        text = data.queries[key]
        yield FollowUp(data.queries[other], str(said), text, text, data.judgements[key])


T = TypeVar("T")


def spread(made: Iterable[T], most: int) -> list[T]:
    """At most so many, evenly out of all."""
    every = list(made)
    return [every[place * len(every) // most] for place in range(most)] if len(every) > most else every


# --- measuring -----------------------------------------------------------------------------------------------------------


async def measure(services: Services, folder: Path, language: str) -> None:
    data, collection = load(folder), uuid4().hex
    answers = read_lines(folder / "answers.jsonl")
    bench = Bench(services.search_deps, services.principal, services.settings.current, "follow_ups")
    began = time.perf_counter()
    corpus = await index_corpus(bench, data, collection, lambda _: None)
    print(f"{data.name}: {corpus.fresh} documents indexed in {time.perf_counter() - began:.0f} s", flush=True)
    pairs = [*neighbours(data, answers)]
    kinds = {"next step of a chain": next_step(data, answers)}
    if language in PRONOUNS:
        kinds |= {
            "a pronoun for a shared name": without_the_name(pairs, language, leave_out=False),
            "a shared name left out": without_the_name(pairs, language, leave_out=True),
            "this, as it was written": pointing_back(pairs, language),
        }
    for label, made in kinds.items():
        if chosen := spread(made, MOST_PAIRS):
            await _follow_ups(bench, collection, label, chosen, language)
    await _unrelated(bench, collection, spread(unrelated(data, answers), MOST_UNRELATED), language)


async def _follow_ups(bench: Bench, collection: str, label: str, pairs: list[FollowUp], language: str) -> None:
    made = [carried(one, language) for one in pairs]
    ways = {
        "alone": [one.message for one in pairs],
        "joined": [f"{one.question} {one.message}" for one in pairs],
        "carried": [one.text for one in made],
        "in full": [one.full for one in pairs],
    }
    found = await rankings(bench, collection, (text for texts in ways.values() for text in texts))
    line = "  ".join(f"{way} {mean(pairs, texts, found, recall, 5):.3f}" for way, texts in ways.items())
    print(f"  {label}, {len(pairs)}: recall@5  {line}  seen as follow-ups {share(made)}", flush=True)


async def _unrelated(bench: Bench, collection: str, asked: list[FollowUp], language: str) -> None:
    made = [carried(one, language) for one in asked]
    ways = {"alone": [one.message for one in asked], "carried": [one.text for one in made]}
    found = await rankings(bench, collection, (text for texts in ways.values() for text in texts))
    line = "  ".join(f"{way} {mean(asked, texts, found, ndcg, 10):.4f}" for way, texts in ways.items())
    print(f"  unrelated, {len(asked)}: nDCG@10  {line}  taken for follow-ups {share(made)}", flush=True)


async def rankings(bench: Bench, collection: str, texts: Iterable[str]) -> dict[str, list[str]]:
    """Documents by what was searched for, best first."""
    legs = legs_of("hybrid", bench.settings)
    found = await search_all(bench, {text: text for text in texts}, collection, legs, DEPTH, lambda _: None)
    problems = {note for result in found.values() for note in result.degraded}
    if problems:
        print(f"  not whole: {'; '.join(sorted(problems))}")
    return {text: [passage.external_id for passage in result.passages] for text, result in found.items()}


def mean(
    asked: Sequence[FollowUp], texts: Sequence[str], found: Mapping[str, list[str]], metric: Any, depth: int
) -> float:
    values = (metric(found[text], one.judgements, depth) for one, text in zip(asked, texts, strict=True))
    return float(np.mean([*values]))


def share(made: Sequence[Carried]) -> str:
    return f"{sum(bool(one.terms) for one in made) / len(made):.1%}"


def read_lines(path: Path) -> dict[str, Any]:
    """Records of a file of JSON lines by their id; none where there is no file."""
    if not path.is_file():
        return {}
    records = map(json.loads, path.read_text("utf-8").splitlines())
    return {record["_id"]: record for record in records}


def count(path: Path, language: str) -> None:
    """The share of a list of questions that is taken for follow-ups of the one before it."""
    texts = [record["text"] for record in read_lines(path).values()]
    said = pairwise(texts)
    made = [carried(FollowUp(first, "Yes.", second, second, {}), language) for first, second in said]
    print(f"{path.name}: {len(made)} questions, taken for follow-ups {share(made)}", flush=True)


async def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER[:LANGUAGE] | FILE.jsonl[:LANGUAGE] ...")
    named = [(Path(path), language or "en") for path, _, language in (one.partition(":") for one in sys.argv[1:])]
    for path, language in named:
        if path.is_file():
            count(path, language)
    folders = [one for one in named if one[0].is_dir()]
    if folders:
        with tempfile.TemporaryDirectory() as home:
            os.chmod(home, 0o755)  # PostgreSQL may run as another user
            async with open_services(read_environment({"CAIRN_HOME": home}), SettingsStore()) as services:
                for path, language in folders:
                    await measure(services, path, language)


if __name__ == "__main__":
    asyncio.run(main())
