"""A reader of our own: what reads a question and a stretch of a passage together, and says how surely the one answers the other,
and which of its sentences, items, rows or lines of code does. It runs in the process and calls nobody.

An embedder compares two meanings; this tells an answer from what only speaks of the same. It is the local embedder of prose with
an adapter (answer_reader_graph.py), trained by scripts/train_reader.py; docs/models.md says on what, and what it is bad at.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from cairn.providers.answer_reader_graph import reader_file
from cairn.providers.e5 import SentencePieces, find_e5
from cairn.providers.onnx_model import Ids, ModelThread, batches, open_session, padded

QUESTION_TOKENS: Final = 48
PATH_TOKENS: Final = 24
MOST_TOKENS: Final = 176
"""Tokens of the question, of what stands above a stretch, and of all together: as in training. More are cut."""
NOT_READ: Final = -10.0
"""Log odds of a unit that was cut off."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is read at once: neighbouring units of a passage, under its title and headings (`path`)."""

    path: str
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StretchReading:
    """`score`: log odds that the stretch answers; `units`: of each of its units, log odds to be compared with one another."""

    score: float
    units: tuple[float, ...]


class AnswerReader(Protocol):
    @property
    def name(self) -> str: ...

    async def read(self, question: str, stretches: Sequence[Stretch]) -> list[StretchReading]:
        """Of each stretch, in order. Raises ProviderError."""
        ...

    async def close(self) -> None: ...


def framed(
    question: Ids, path: Ids, units: Sequence[Ids], frames: Mapping[str, tuple[Ids, Ids]]
) -> tuple[Ids, list[int]]:
    """The tokens of `<s> query: question </s></s> passage: path: units </s>`, and of each of them to which unit it belongs, -1
    for others. `frames`: what the embedder wants before and after either side."""
    (begin, end), (before, _) = frames["question"], frames["passage"]
    ids = [*begin, *question[:QUESTION_TOKENS], *end, *end, *before[1:], *path[-PATH_TOKENS:]]
    owners = [-1] * len(ids)
    for number, unit in enumerate(units):
        ids += unit
        owners += [number] * len(unit)
    return [*ids[: MOST_TOKENS - 1], *end], [*owners[: MOST_TOKENS - 1], -1]


def find_answer_reader(home: Path, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The folder that holds it, that of the embedder it is made of; None where it was not built."""
    folder = find_e5(home, "int8", environ)
    return folder if folder and (folder / reader_file()).is_file() else None


class LocalReader:
    """AnswerReader of a folder that was built at install; loaded at first use."""

    name = "cairn-reader"

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        self._file = folder / reader_file()
        self._tokens = SentencePieces(self.name, folder / "sentencepiece.model")
        self._threads = threads
        self._thread = ModelThread("The reader")

    @cached_property
    def _session(self) -> Any:
        return open_session(self._file, self._threads)

    async def warm(self) -> None:
        """Load the model now instead of at the first question. Raises ProviderError."""
        await self._thread.run(lambda _: self._session, None)
        await self._thread.run(lambda _: self._tokens.load(), None)

    async def read(self, question: str, stretches: Sequence[Stretch]) -> list[StretchReading]:
        return await self._thread.run(lambda pair: self._read(*pair), (question, tuple(stretches))) if stretches else []

    def _read(self, question: str, stretches: Sequence[Stretch]) -> list[StretchReading]:
        texts = [question]
        for one in stretches:
            texts += [f"{one.path}:" if one.path else "", *one.units]
        asked, *rest = self._tokens.ids(texts)
        frames = {side: self._tokens.frame(side) for side in ("question", "passage")}
        pairs: list[tuple[Ids, list[int]]] = []
        at = 0
        for one in stretches:
            path, units = rest[at], rest[at + 1 : at + 1 + len(one.units)]
            pairs.append(framed(asked, path, units, frames))
            at += 1 + len(one.units)
        found: list[StretchReading | None] = [None] * len(pairs)
        for rows in batches([len(ids) for ids, _ in pairs]):
            ids = [pairs[row][0] for row in rows]
            inputs = {"input_ids": padded(ids, 1), "attention_mask": padded([[1] * len(one) for one in ids])}
            scores, tags = self._session.run(["score", "tags"], inputs)
            for row, score, tag in zip(rows, scores, tags, strict=True):
                found[row] = StretchReading(float(score), _of_units(pairs[row][1], tag, len(stretches[row].units)))
        return [one for one in found if one is not None]

    async def close(self) -> None:
        self._thread.close()


def _of_units(owners: Sequence[int], tags: Any, count: int) -> tuple[float, ...]:
    """The mean over the tokens of each unit."""
    owned = np.asarray(owners)
    inside = owned >= 0
    sizes = np.bincount(owned[inside], minlength=count)
    sums = np.bincount(owned[inside], np.asarray(tags)[: len(owned)][inside], minlength=count)
    return tuple(float(total / size) if size else NOT_READ for total, size in zip(sums, sizes, strict=True))
