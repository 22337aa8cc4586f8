"""Questions that people would ask of manuals (training/asked), with the places that answer them; and rows to train the reader and
the encoder of questions with.

    python -m tests.benchmarks.asked HOME MANUALS ROWS.jsonl.gz --use train

MANUALS has a folder for each manual, named as in training/asked/manuals.json, with its files at the commit given there; manuals
of one shelf are a collection in HOME, and are added to it where they are not. A row has the stretch that answers and those that
the product would read beside it: see scripts/train_reader.py.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import cairn
from cairn.answer.candidates import candidates
from cairn.answer.evidence import measure, question_terms
from cairn.answer.quotation_choice import score_quotations
from cairn.answer.reading import PROMISING, Chunks, as_stretch, choose_places, nearest_cosines
from cairn.domain.passage import Passage
from cairn.providers.e5 import E5
from cairn.runs.library import Library

FOLDER: Final = Path(__file__).parents[2] / "training" / "asked"
FOUND: Final = 7
"""Passages that stretches are taken from;"""
READ: Final = 10
"""stretches that the one that answers is looked for in;"""
BESIDE: Final = 4
"""and those of them that are put beside it."""
SHORT_KEY: Final = 2
"""Characters of a key that may stand in any text."""
MOST: Final = 100
"""Stretches of a passage, when the one that answers was not among those."""
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class AskedOfManual:
    """`quote`: what answers, as the file has it, with `key`, the part of it without which an answer is wrong; `also` are others
    that are as good. All are empty where the manual does not answer."""

    manual: str
    shelf: str
    use: str
    language: str
    style: str
    question: str
    path: str = ""
    quote: str = ""
    key: str = ""
    also: tuple[str, ...] = ()

    @property
    def is_absent(self) -> bool:
        return not self.quote

    def is_said_by(self, text: str) -> bool:
        """Whether a text says it, by its words; what is short stands anywhere, so there it has to stand as it is quoted."""
        said = f" {plain(text)} "
        telling = [plain(one) if len(plain(one)) > SHORT_KEY else plain(self.quote) for one in (self.key, *self.also)]
        return any(f" {one} " in said for one in telling if one)


def read_manuals() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / "manuals.json").read_text(encoding="utf-8"))
    return found


def read_asked(manuals: Path, uses: Sequence[str]) -> Iterator[AskedOfManual]:
    """Raises OSError where a file of a manual is not there."""
    about, texts = read_manuals(), dict[Path, str]()
    with gzip.open(FOLDER / "questions.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            told = about[row["manual"]]
            if told["use"] not in uses:
                continue
            made = AskedOfManual(
                row["manual"], told["shelf"], told["use"], row["language"], row["style"], row["question"]
            )
            if "path" not in row:
                yield made
                continue
            file = manuals / row["manual"] / told["folder"] / row["path"]
            if file not in texts:
                texts[file] = file.read_text(encoding="utf-8", errors="replace")
            text = texts[file]
            also = tuple(text[slice(*one)] for one in row.get("also", ()))
            yield AskedOfManual(
                made.manual, made.shelf, made.use, made.language, made.style, made.question, row["path"],
                text[row["start"] : row["end"]], text[slice(*row["key"])], also,
            )  # fmt: skip


def plain(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def find_words(text: str, part: str) -> tuple[int, int] | None:
    """Where a text has the words of a part, whatever stands between them: a loader takes marks away."""
    wanted = _WORD.findall(part.lower())
    found = [(match.group().lower(), match.span()) for match in _WORD.finditer(text)]
    words = [word for word, _ in found]
    for at in range(len(words) - len(wanted) + 1):
        if wanted and words[at : at + len(wanted)] == wanted:
            return found[at][1][0], found[at + len(wanted) - 1][1][1]
    return None


async def index_manuals(rag: cairn.Cairn, manuals: Path, uses: Sequence[str]) -> None:
    for name, told in read_manuals().items():
        if told["use"] in uses:
            files: list[str | Path | cairn.Source] = [manuals / name / told["folder"] / one for one in told["files"]]
            report = await rag.ingest(files, collection=told["shelf"], prefix=name)
            print(f"{name}: {len(report.indexed)} documents, {len(report.failed)} failed", flush=True)


@dataclass(frozen=True, slots=True)
class StretchRow:
    path: str
    text: str


class ManualFinder:
    """What the product finds for a question, and which stretches of it it would read."""

    def __init__(self, rag: cairn.Cairn, embedder: E5) -> None:
        self._rag, self._embedder = rag, embedder
        self._library = Library(rag._services.database, rag._services.principal)

    async def find(self, text: str, shelf: str, count: int = FOUND) -> list[Passage]:
        return list((await self._rag.search(text, collection=shelf, top_k=count)).passages)

    async def cosines(self, question: str, passages: Sequence[Passage]) -> Chunks:
        """As strategies.reading has them."""
        (asked,) = await self._embedder.embed_questions([question])
        place = {passage.passage_id: at for at, passage in enumerate(passages)}
        found: list[list[tuple[int, int, float]]] = [[] for _ in passages]
        for chunk in await self._library.chunk_vectors(list(place)):
            at = place[chunk.passage_id]
            start, cosine = passages[at].start, float(chunk.vector.to_numpy().astype(np.float32) @ asked)
            found[at].append((chunk.start - start, chunk.end - start, cosine))
        return found

    async def stretches(self, question: str, passages: Sequence[Passage], most: int = READ) -> list[StretchRow]:
        """The most promising ones, best first."""
        found = candidates(passages)
        terms = question_terms(question, found)
        if not found or not terms.words:
            return []
        scores = score_quotations(measure(terms, found, passages))
        cosines = nearest_cosines(found, await self.cosines(question, passages))
        ranks = np.array([float(one.rank) for one in found])
        promise = PROMISING["words"] * scores + PROMISING["cosine"] * cosines + PROMISING["rank"] * ranks
        places = choose_places(found, promise, passages, most)
        spans = [(one.rank, one.units[0].start, one.units[-1].end) for one in places]
        paths = [as_stretch(one, found, passages).path for one in places]
        texts = [passages[rank].content[start:end] for rank, start, end in spans]
        return [StretchRow(path, text) for path, text in zip(paths, texts, strict=True)]


async def make_rows(finder: ManualFinder, questions: Sequence[AskedOfManual]) -> AsyncIterator[Mapping[str, Any]]:
    for one in questions:
        passages = await finder.find(one.question, one.shelf)
        near = await finder.stretches(one.question, passages)
        if not near:
            continue
        row = {
            "question": one.question, "source": "asked", "language": one.language, "doc": f"{one.manual}/{one.path}",
        }  # fmt: skip
        if one.is_absent:
            others = [{"path": other.path, "context": other.text} for other in near[1 : BESIDE + 1]]
            yield row | {
                "kind": "no_answer", "answerable": False, "answers": [], "path": near[0].path, "context": near[0].text,
                "others": others,
            }  # fmt: skip
            continue
        right = await _answering(finder, one, passages, near)
        if right is None:
            continue
        stretch, (start, end) = right
        others = [
            {"path": other.path, "context": other.text}
            for other in near
            if other.text != stretch.text and not one.is_said_by(other.text)
        ]
        yield row | {
            "kind": "sentence", "answerable": True, "answers": [{"text": stretch.text[start:end], "start": start}],
            "path": stretch.path, "context": stretch.text, "others": others[:BESIDE],
        }  # fmt: skip


async def _answering(
    finder: ManualFinder, one: AskedOfManual, passages: Sequence[Passage], near: Sequence[StretchRow]
) -> tuple[StretchRow, tuple[int, int]] | None:
    """The stretch that answers, and where; looked for by its own words where the question does not find it."""
    for stretch in near:
        if place := find_words(stretch.text, one.quote):
            return stretch, place
    for passage in (*passages, *await finder.find(one.quote, one.shelf)):
        if find_words(passage.content, one.quote):
            for stretch in await finder.stretches(one.question, [passage], MOST):
                if place := find_words(stretch.text, one.quote):
                    return stretch, place
    return None


async def write_rows(home: str, manuals: Path, out: Path, uses: Sequence[str]) -> None:
    questions, written = list(read_asked(manuals, uses)), 0
    async with cairn.open(home) as rag:
        await index_manuals(rag, manuals, uses)
        finder = ManualFinder(rag, E5.open(rag._services.environment.home))
        with gzip.open(out, "wt", encoding="utf-8") as lines:
            async for row in make_rows(finder, questions):
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
                written += 1
    print(f"{written} rows of {len(questions)} questions")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home")
    parser.add_argument("manuals", type=Path)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--use", nargs="+", default=["train"], choices=("train", "fit", "exam"))
    arguments = parser.parse_args()
    asyncio.run(write_rows(arguments.home, arguments.manuals, arguments.rows, arguments.use))


if __name__ == "__main__":
    main()
