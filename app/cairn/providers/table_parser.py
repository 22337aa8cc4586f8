"""A table parser of our own: what reads a question together with the headers and some cells of a table, and says how surely which
operation, columns and conditions are asked for (a semantic parser). It runs in the process and calls nobody.

It is the local embedder of prose with an adapter (table_parser_graph.py), trained by scripts/train_table_parser.py;
docs/models.md says on what, and what it is bad at. What its scores are taken for: query/table_parse.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from cairn.domain.table_parsing import AGGREGATES, ASKED, ROLES, Floats, Kind, Mention, ParserScores, TableView
from cairn.providers.e5 import SentencePieces, find_e5
from cairn.providers.e5_graph import read_adapter
from cairn.providers.onnx_model import Ids, ModelThread, open_session, padded
from cairn.providers.table_parser_graph import ADAPTER, table_parser_file

MOST_TOKENS: Final = 256
QUESTION_TOKENS, TITLE_TOKENS, DOCUMENT_TOKENS, HEADER_TOKENS, CELL_TOKENS = 48, 16, 12, 14, 8
"""Tokens of all together, of the question, of a title, of what a document is called, of a header and of a cell: as in training.
More are cut."""
MOST_MENTIONS: Final = 8
NOT_SHOWN: Final = -9.0
"""Log odds of a cell for which there was no room."""
_KINDS: Final[dict[Kind, str]] = {"text": "text:", "number": "number:", "date": "date:", "flag": "yes no:"}
_SCALE: Final = 8.0
"""Root of the width in which mentions and columns are compared."""


@dataclass(frozen=True, slots=True)
class TableTokens:
    """Of each token of `ids` to which column, shown cell (counted through all columns) and mention it belongs, -1 for others."""

    ids: Ids
    columns: list[int]
    cells: list[int]
    mentions: list[int]


def lay_out(
    question: str,
    view: TableView,
    mentions: Sequence[Mention],
    ids_of: Callable[[Sequence[str]], Sequence[Ids]],
    frames: Mapping[str, tuple[Ids, Ids]],
) -> TableTokens:
    """The tokens of `<s> query: question </s></s> passage: title (document); header kind: cell, cell,; header ...
    </s>`. Headers always stand there; room that is left is shared among the columns, and what one does not need goes to
    others."""
    (begin, end), (before, _) = frames["question"], frames["passage"]
    parts = _parts(question, mentions)
    texts = [text for text, _ in parts] + [view.title, f"({view.document})"]
    texts += [
        text
        for one in view.columns
        for text in (f"; {one.header}", _KINDS[one.kind], *(f"{cell}," for cell in one.values))
    ]
    read = iter(ids_of(texts))
    tokens = TableTokens([], [], [], [])

    def add(ids: Sequence[int], column: int = -1, cell: int = -1, mention: int = -1) -> None:
        tokens.ids.extend(ids)
        for owners, owner in ((tokens.columns, column), (tokens.cells, cell), (tokens.mentions, mention)):
            owners.extend([owner] * len(ids))

    add(begin)
    for _, number in parts:
        add(next(read)[: max(0, QUESTION_TOKENS + len(begin) - len(tokens.ids))], mention=number)
    title, document = next(read)[:TITLE_TOKENS], next(read)[:DOCUMENT_TOKENS]
    for ids in (end, end, before[1:], title if view.title else title[:0], document if view.document else document[:0]):
        add(ids)
    columns = [
        (next(read)[:HEADER_TOKENS], next(read), [next(read)[:CELL_TOKENS] for _ in one.values]) for one in view.columns
    ]
    room = MOST_TOKENS - 1 - len(tokens.ids) - sum(len(header) + len(kind) for header, kind, _ in columns)
    shown = _share([[len(cell) for cell in cells] for _, _, cells in columns], max(0, room))
    number = 0
    for at, (header, kind, cells) in enumerate(columns):
        add(header, column=at)
        add(kind)
        for place, cell in enumerate(cells):
            if place < shown[at]:
                add(cell, cell=number)
            number += 1
    for row in (tokens.ids, tokens.columns, tokens.cells, tokens.mentions):
        del row[MOST_TOKENS - 1 :]
    add(end)
    return tokens


def _parts(question: str, mentions: Sequence[Mention]) -> list[tuple[str, int]]:
    """The question cut around its mentions, and of each part which mention it is, -1 for none."""
    parts, at = [], 0
    for number, one in enumerate(mentions):
        if one.start > at:
            parts.append((question[at : one.start], -1))
        parts.append((question[one.start : one.end], number))
        at = one.end
    return [*parts, (question[at:], -1)] if at < len(question) else parts


def _share(lengths: Sequence[Sequence[int]], room: int) -> list[int]:
    """How many cells of each column are shown: first as many as fit into an equal share, then one more at a time."""
    each = room // max(1, len(lengths))
    shown = []
    for column in lengths:
        count = used = 0
        while count < len(column) and used + column[count] <= each:
            used += column[count]
            count += 1
        room -= used
        shown.append(count)
    more = True
    while more:
        more = False
        for at, column in enumerate(lengths):
            if shown[at] < len(column) and column[shown[at]] <= room:
                room -= column[shown[at]]
                shown[at] += 1
                more = True
    return shown


class TableParser(Protocol):
    async def score(self, question: str, view: TableView, mentions: Sequence[Mention]) -> ParserScores:
        """Of at most MOST_MENTIONS. Raises ProviderError."""
        ...

    async def close(self) -> None: ...


class ParserHeads:
    """What makes scores of the states of the tokens; `weights`: the heads of the adapter."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        self._weights = weights

    def score(self, states: Floats, tokens: TableTokens, view: TableView, mentions: int) -> ParserScores:
        """`states`: length x hidden."""
        first = states[0]
        columns = _means(states, tokens.columns, len(view.columns))
        whole = self._deep("op", first)
        asked, aggregate, nothing = np.split(whole, [len(ASKED), len(ASKED) + len(AGGREGATES)])
        of_columns = self._deep("col", np.concatenate([columns, np.broadcast_to(first, columns.shape)], 1))
        roles = np.concatenate([of_columns[:, : len(ROLES)].T, nothing[:, None]], 1)
        counts = [len(one.values) for one in view.columns]
        owners = np.repeat(np.arange(len(counts)), counts)
        cells = _means(states, tokens.cells, len(owners))
        scores = self._deep("val", np.concatenate([cells, columns[owners]], 1))[:, 0]
        there = np.isin(np.arange(len(owners)), tokens.cells)
        scores = np.where(there, scores, NOT_SHOWN)
        ends = np.cumsum([0, *counts])
        said = _means(states, tokens.mentions, mentions)
        beside = self._linear("ma", said) @ (columns @ self._weights["mb.w"].T).T / _SCALE
        return ParserScores(
            asked, aggregate, roles, of_columns[:, len(ROLES) :],
            tuple(tuple(map(float, scores[ends[at] : ends[at + 1]])) for at in range(len(counts))),
            np.concatenate([beside, self._linear("mn", said)], 1),
        )  # fmt: skip

    def _linear(self, key: str, x: Floats) -> Floats:
        made: Floats = x @ self._weights[f"{key}.w"].T + self._weights[f"{key}.b"]
        return made

    def _deep(self, key: str, x: Floats) -> Floats:
        return self._linear(f"{key}.out", np.tanh(self._linear(f"{key}.in", x)))


def _means(states: Floats, owners: Sequence[int], count: int) -> Floats:
    """The mean over the tokens of each owner; zeros of one that has none."""
    owned = np.asarray(owners)
    inside = owned >= 0
    sums = np.zeros((count, states.shape[1]), states.dtype)
    np.add.at(sums, owned[inside], states[inside])
    sizes = np.bincount(owned[inside], minlength=count)[:count]
    return sums / np.maximum(sizes, 1)[:, None]


def find_table_parser(home: Path, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The file of the model, in the folder of the embedder it is made of; None where it was not built."""
    folder = find_e5(home, "int8", environ)
    file = folder / table_parser_file() if folder else None
    return file if file and file.is_file() else None


class LocalTableParser:
    """A model file that was built at install, beside its tokeniser; loaded at first use."""

    name = "cairn-table-parser"

    def __init__(self, file: Path) -> None:
        self._file = file
        self._tokens = SentencePieces(self.name, file.with_name("sentencepiece.model"))
        self._thread = ModelThread("The table parser")

    @cached_property
    def _session(self) -> Any:
        return open_session(self._file)

    @cached_property
    def _heads(self) -> ParserHeads:
        return ParserHeads({name: one for name, one in read_adapter(ADAPTER).items() if "lora" not in name})

    async def score(self, question: str, view: TableView, mentions: Sequence[Mention]) -> ParserScores:
        return await self._thread.run(lambda asked: self._score(*asked), (question, view, mentions))

    def _score(self, question: str, view: TableView, mentions: Sequence[Mention]) -> ParserScores:
        frames = {side: self._tokens.frame(side) for side in ("question", "passage")}
        tokens = lay_out(question, view, mentions, self._tokens.ids, frames)
        inputs = {"input_ids": padded([tokens.ids]), "attention_mask": padded([[1] * len(tokens.ids)])}
        ((states,),) = self._session.run(["states"], inputs)
        return self._heads.score(states, tokens, view, len(mentions))

    async def close(self) -> None:
        self._thread.close()
