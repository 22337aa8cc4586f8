"""A reader of our own: what reads a question and a stretch of a passage together, and says how surely the one answers the other,
and which of its sentences, items, rows or lines of code does. It runs in the process and calls nobody.

An embedder compares two meanings; this tells an answer from what only speaks of the same. It is the local embedder of prose with
an adapter (answer_reader_graph.py), trained by scripts/train_reader.py; docs/models.md says on what, and what it is bad at.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from cairn.providers.answer_reader_graph import reader_file, uneven_reader_file
from cairn.providers.e5 import SentencePieces, find_e5
from cairn.providers.onnx_model import Ids, ModelThread, open_session, padded, thread_count

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
    """The file of the model, in the folder of the embedder it is made of; None where it was not built."""
    folder = find_e5(home, "int8", environ)
    files = (folder / name for name in (reader_file(), uneven_reader_file())) if folder else ()
    return next((file for file in files if file.is_file()), None)


class LocalReader:
    """AnswerReader of a file that was built at install, beside its tokeniser; loaded at first use.

    Each stretch is computed alone, as many at once as there are cores: nothing is padded, no core waits for another within one
    stretch, and what is said of a stretch does not depend on what is read beside it (activations are quantised for a batch).
    """

    name = "cairn-reader"

    def __init__(self, file: Path) -> None:
        self._file = file
        self._tokens = SentencePieces(self.name, file.with_name("sentencepiece.model"))
        self._thread = ModelThread("The reader", thread_count())

    @cached_property
    def _session(self) -> Any:
        return open_session(self._file, 1)

    async def warm(self) -> None:
        """Load the model now instead of at the first question. Raises ProviderError."""
        await self._thread.run(lambda _: self._session, None)
        await self._thread.run(lambda _: self._tokens.load(), None)

    async def read(self, question: str, stretches: Sequence[Stretch]) -> list[StretchReading]:
        if not stretches:
            return []
        pairs = await self._thread.run(lambda pair: self._encode(*pair), (question, tuple(stretches)))
        longest_first = sorted(range(len(pairs)), key=lambda row: -len(pairs[row][0]))
        reading = [self._thread.run(self._read, (*pairs[row], len(stretches[row].units))) for row in longest_first]
        found = dict(zip(longest_first, await asyncio.gather(*reading), strict=True))
        return [found[row] for row in range(len(pairs))]

    def _encode(self, question: str, stretches: Sequence[Stretch]) -> list[tuple[Ids, list[int]]]:
        """See `framed`."""
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
        return pairs

    def _read(self, stretch: tuple[Ids, list[int], int]) -> StretchReading:
        ids, owners, units = stretch
        inputs = {"input_ids": padded([ids]), "attention_mask": padded([[1] * len(ids)])}
        (score,), (tags,) = self._session.run(["score", "tags"], inputs)
        return StretchReading(float(score), _of_units(owners, tags, units))

    async def close(self) -> None:
        self._thread.close()


def _of_units(owners: Sequence[int], tags: Any, count: int) -> tuple[float, ...]:
    """The mean over the tokens of each unit."""
    owned = np.asarray(owners)
    inside = owned >= 0
    sizes = np.bincount(owned[inside], minlength=count)
    sums = np.bincount(owned[inside], np.asarray(tags)[: len(owned)][inside], minlength=count)
    return tuple(float(total / size) if size else NOT_READ for total, size in zip(sums, sizes, strict=True))
