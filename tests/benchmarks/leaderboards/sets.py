"""Sets as those who publish them lay them out: a corpus to index, questions, and the documents or answers that are right.

Each reader takes the folder of one set, and raises InputError where a file is missing or is not what it should be.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

import cairn
from cairn.evals import datasets

Judgements = Mapping[str, Mapping[str, int]]
"""Question to the grades of documents, by their ids."""


@dataclass(frozen=True)
class Retrieval:
    """A corpus and questions about it. `unjudged`: questions of the file that are left out, since what answers them is not
    told."""

    documents: Sequence[cairn.Source]
    questions: Mapping[str, str]
    judgements: Judgements
    unjudged: int = 0


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question of TAT-QA about one report, with its answer, the scale that this is in, and how it comes about."""

    report: str
    text: str
    answer: tuple[str, ...]
    scale: str
    kind: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence, the sentences that it may rest on, and whether they support all of it."""

    text: str
    evidence: tuple[str, ...]
    supported: bool


# --- BEIR -----------------------------------------------------------------------------------------------------------


def read_beir(folder: Path) -> Retrieval:
    """corpus.jsonl, queries.jsonl, and qrels.tsv or qrels/test.tsv. Every question that has judgements is asked."""
    data = datasets.load(folder)
    return Retrieval(tuple(data.documents()), data.queries, data.judgements)


# --- multi-hop, as HippoRAG lays it out -----------------------------------------------------------------------------


def read_hops(folder: Path) -> Retrieval:
    """NAME_corpus.json {title, text}, and NAME.json with `supporting_facts` and `context`, or `paragraphs` of which some are
    supporting; or questions.json with `evidence` triples, whose first parts are names of what is supporting."""
    name = folder.name
    passages = _records(folder / f"{name}_corpus.json")
    documents = [_passage(number, str(one["title"]), str(one["text"])) for number, one in enumerate(passages)]
    whole = folder / f"{name}.json"
    if whole.is_file() or not (folder / "questions.json").is_file():
        asked = _records(whole)
        known = {_words(f"{one['title']}\n{one['text']}"): _id(number) for number, one in enumerate(passages)}
        gold = [_supporting(one, known, whole) for one in asked]
    else:
        asked = _records(folder / "questions.json")
        gold = _named(asked, [str(one["title"]) for one in passages])
    pairs = [(f"q{n}", str(one["question"]), right) for n, (one, right) in enumerate(zip(asked, gold, strict=True))]
    told = [(key, text, right) for key, text, right in pairs if right]
    return Retrieval(
        documents,
        {key: text for key, text, _ in told},
        {key: dict.fromkeys(right, 1) for key, _, right in told},
        unjudged=len(pairs) - len(told),
    )


def _id(number: int) -> str:
    return f"p{number}"


def _passage(number: int, title: str, text: str) -> cairn.Source:
    key = _id(number)
    return cairn.Source(key, key, (text or title).encode(), title=title or None, media_type="text/plain")


def _words(text: str) -> str:
    """Without spaces: the same passage has other ones in the corpus and beside a question."""
    return "".join(text.split())


def _supporting(question: Mapping[str, Any], known: Mapping[str, str], file: Path) -> list[str]:
    if "supporting_facts" in question:
        titles = {fact[0] for fact in question["supporting_facts"]}
        texts = [f"{title}\n{''.join(said)}" for title, said in question["context"] if title in titles]
    else:
        texts = [
            f"{one['title']}\n{one.get('text', one.get('paragraph_text', ''))}"
            for one in question["paragraphs"]
            if one.get("is_supporting", True)
        ]
    try:
        return list(dict.fromkeys(known[_words(text)] for text in texts))
    except KeyError as missing:
        raise cairn.InputError(f"{file}: the corpus lacks a passage that is needed: {str(missing)[:80]}") from None


def _named(asked: Iterable[Mapping[str, Any]], titles: Sequence[str]) -> list[list[str]]:
    """What the triples of each question begin with, as passages; none where one of them is not told by a title: the same but for
    capitals and what stands in brackets, or the only one that the question has itself."""
    exact = {title: _id(number) for number, title in enumerate(titles)}
    near: dict[str, set[str]] = defaultdict(set)
    for number, title in enumerate(titles):
        near[title.casefold()].add(_id(number))
        near[title.casefold().partition(" (")[0]].add(_id(number))

    def place(name: str, question: str) -> str | None:
        if name in exact:
            return exact[name]
        found = near.get(name.strip('" ').casefold(), set())
        if len(found) != 1:
            spoken = [(len(title), key) for title, key in exact.items() if _stands(title, question)]
            longest = [key for length, key in spoken if length == max(spoken)[0]]
            found = {key for key in longest if not found or key in found}
        return next(iter(found)) if len(found) == 1 else None

    def places(question: Mapping[str, Any]) -> list[str]:
        names = dict.fromkeys(str(triple[0]) for triple in question["evidence"])
        found = [place(name, str(question["question"])) for name in names]
        return [key for key in dict.fromkeys(found) if key] if all(found) and len(set(found)) == len(found) else []

    return [places(question) for question in asked]


def _stands(title: str, question: str) -> bool:
    return title.casefold() in question.casefold()


# --- tables and claims ----------------------------------------------------------------------------------------------


def read_tables(folder: Path) -> tuple[list[cairn.Source], list[TableQuestion]]:
    """tatqa_dataset_dev.json, each context as a page with its first paragraph, its table and the other paragraphs."""
    reports: list[cairn.Source] = []
    questions: list[TableQuestion] = []
    for number, context in enumerate(_records(folder / "tatqa_dataset_dev.json")):
        name = f"report{number:03}.html"
        reports.append(cairn.Source(name, name, _page(f"Report {number:03}", context).encode()))
        for one in context["questions"]:
            answer = one["answer"] if isinstance(one["answer"], list) else [one["answer"]]
            questions.append(
                TableQuestion(name, one["question"], tuple(map(str, answer)), one["scale"], one["answer_type"])
            )
    return reports, questions


def _page(title: str, context: Mapping[str, Any]) -> str:
    first, *others = [
        f"<p>{escape(one['text'])}</p>" for one in sorted(context["paragraphs"], key=lambda one: one["order"])
    ]
    rows = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in context["table"]["table"]]
    table = "\n".join(["<table>", *(f"<tr>{row}</tr>" for row in rows), "</table>"])
    body = "\n".join([f"<h1>{title}</h1>", first, table, *others])
    return f"<!doctype html><html><head><meta charset='utf-8'><title>{title}</title></head><body>{body}</body></html>"


SUPPORTED: Final = "supported"
"""The label of WiCE that counts; what is supported in part counts as not supported, as in its paper."""


def read_claims(folder: Path) -> tuple[str, list[Claim]]:
    """The split, test where it is there and dev else, and its claims: {claim, evidence, label} as WiCE has them, or {response,
    context_sentences, grounded}."""
    split = next((name for name in ("test", "dev") if (folder / f"{name}.jsonl").is_file()), "test")
    rows = _lines(folder / f"{split}.jsonl")
    return split, [
        Claim(one["claim"], tuple(one["evidence"]), one["label"] == SUPPORTED)
        if "claim" in one
        else Claim(one["response"], tuple(one["context_sentences"]), bool(one["grounded"]))
        for one in rows
    ]


# --- files ----------------------------------------------------------------------------------------------------------


def _records(path: Path) -> list[dict[str, Any]]:
    return _parsed(path, lambda text: json.loads(text))


def _lines(path: Path) -> list[dict[str, Any]]:
    return _parsed(path, lambda text: [json.loads(line) for line in text.splitlines() if line.strip()])


def _parsed(path: Path, parse: Any) -> list[dict[str, Any]]:
    try:
        found = parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise cairn.InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise cairn.InputError(f"{path}: not JSON ({error})") from None
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise cairn.InputError(f"{path}: no list of objects")
    return found
