"""Ruled tables of a page of a PDF: grids of crossing lines, whatever their cells hold. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from app.ingest.loaders.pdf_layout import Edge, PlacedTable, PlacedWord, Rulings, joined, places_of
from app.language.tables import COVERED

_SNAP: Final = 3.0
"""Points between ruled lines that are one, or that touch."""


def ruled_tables(words: Sequence[PlacedWord], rulings: Rulings) -> Iterator[PlacedTable]:
    for horizontal, vertical in _grids(rulings):
        ys, xs = _snapped(edge.at for edge in horizontal), _snapped(edge.at for edge in vertical)
        if len(xs) < 3 or len(ys) < 3:
            continue
        inside = [
            word
            for word in words
            if xs[0] - _SNAP <= (word.left + word.right) / 2 <= xs[-1] + _SNAP
            and ys[0] - _SNAP <= (word.top + word.bottom) / 2 <= ys[-1] + _SNAP
        ]
        if rows := _fill_grid(inside, xs, ys, horizontal, vertical):
            yield PlacedTable(rows, places_of(inside), tuple(pairwise(xs)), ys[0], ys[-1])


def _grids(rulings: Rulings) -> list[tuple[list[Edge], list[Edge]]]:
    """Horizontal and vertical lines that touch each other, directly or through others."""
    lines = [*rulings.horizontal, *rulings.vertical]
    split = len(rulings.horizontal)
    parent = list(range(len(lines)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for v, vertical in enumerate(rulings.vertical, split):
        for h, horizontal in enumerate(rulings.horizontal):
            if (
                horizontal.start - _SNAP <= vertical.at <= horizontal.end + _SNAP
                and vertical.start - _SNAP <= horizontal.at <= vertical.end + _SNAP
            ):
                parent[root(h)] = root(v)
    groups: dict[int, tuple[list[Edge], list[Edge]]] = defaultdict(lambda: ([], []))
    for at, line in enumerate(lines):
        groups[root(at)][at >= split].append(line)
    return list(groups.values())


def _snapped(places: Iterable[float]) -> list[float]:
    """Places, those that are one merged."""
    kept: list[float] = []
    for place in sorted(places):
        if not kept or place - kept[-1] > _SNAP:
            kept.append(place)
    return kept


def _fill_grid(
    words: Sequence[PlacedWord],
    xs: Sequence[float],
    ys: Sequence[float],
    horizontal: Sequence[Edge],
    vertical: Sequence[Edge],
) -> tuple[tuple[str, ...], ...]:
    """The words in the cells of the grid; nothing where it is no table: fewer than two rows or columns with text, or mostly
    empty. What no line parts is one cell: over columns COVERED stands for it, over rows it is repeated."""
    width, height = len(xs) - 1, len(ys) - 1
    held: dict[tuple[int, int], list[PlacedWord]] = defaultdict(list)
    for word in words:
        row = _slot(ys, (word.top + word.bottom) / 2)
        held[row, _slot(xs, (word.left + word.right) / 2)].append(word)
    owner = _merged(xs, ys, horizontal, vertical)
    texts: dict[tuple[int, int], list[PlacedWord]] = defaultdict(list)
    for cell, inside in held.items():
        texts[owner[cell]].extend(inside)
    said = {cell: joined(sorted(inside)) for cell, inside in texts.items()}
    if len({row for row, _ in said}) < 2 or len({column for _, column in said}) < 2:
        return ()
    if 2 * len(said) < len({*owner.values()}):
        return ()
    rows = []
    for row in range(height):
        cells = []
        for column in range(width):
            mine = owner[row, column]
            over = column and owner[row, column - 1] == mine
            cells.append(COVERED if over else said.get(mine, ""))
        rows.append(tuple(cells))
    return tuple(rows)


def _slot(edges: Sequence[float], place: float) -> int:
    """Index of the interval in which the place lies."""
    return max(0, min(sum(edge <= place for edge in edges) - 1, len(edges) - 2))


def _merged(
    xs: Sequence[float], ys: Sequence[float], horizontal: Sequence[Edge], vertical: Sequence[Edge]
) -> dict[tuple[int, int], tuple[int, int]]:
    """For each (row, column) of the grid the upper left one of the cell that it is part of."""
    owner: dict[tuple[int, int], tuple[int, int]] = {}
    for row in range(len(ys) - 1):
        y = (ys[row] + ys[row + 1]) / 2
        for column in range(len(xs) - 1):
            x = (xs[column] + xs[column + 1]) / 2
            if column and not _is_ruled(vertical, xs[column], y):
                owner[row, column] = owner[row, column - 1]
            elif row and not _is_ruled(horizontal, ys[row], x):
                owner[row, column] = owner[row - 1, column]
            else:
                owner[row, column] = (row, column)
    return owner


def _is_ruled(edges: Sequence[Edge], at: float, across: float) -> bool:
    return any(abs(edge.at - at) <= _SNAP and edge.start <= across <= edge.end for edge in edges)
