"""Ruled tables of a page of a PDF: grids of crossing lines, whatever their cells hold. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from cairn.ingest.loaders.pdf_layout import Edge, PlacedTable, PlacedWord, Rulings, joined, places_of
from cairn.language.tables import COVERED, is_value

_SNAP: Final = 3.0
"""Points between ruled lines that are one, or that touch."""
_MOST_WORDS: Final = 40
"""Words of a cell from which on it is asked whether it holds most of the grid's text."""
_MOST_REPEATED: Final = 25
"""Words of a cell over several rows, in each of which it is repeated; a longer one is a picture beside a text."""

_Place = tuple[int, int]
"""Row and column of a grid."""


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
    """The words in the cells of the grid; nothing where it is no table. What no line parts is one cell: over columns COVERED
    stands for it, over rows it is repeated."""
    width, height = len(xs) - 1, len(ys) - 1
    held: dict[_Place, list[PlacedWord]] = defaultdict(list)
    for word in words:
        row = _slot(ys, (word.top + word.bottom) / 2)
        held[row, _slot(xs, (word.left + word.right) / 2)].append(word)
    owner = _merged(xs, ys, horizontal, vertical)
    texts: dict[_Place, list[PlacedWord]] = defaultdict(list)
    for cell, inside in held.items():
        texts[owner[cell]].extend(inside)
    if not _is_table(texts, owner):
        return ()
    rows = []
    for row in range(height):
        own = {column: words for (at, column), words in texts.items() if at == row}
        for line in _lines_of_values(own):
            cells = []
            for column in range(width):
                mine = owner[row, column]
                over = column and owner[row, column - 1] == mine
                inside = line.get(column, []) if mine[0] == row else texts.get(mine, [])
                cells.append(COVERED if over else joined(sorted(inside)))
            rows.append(tuple(cells))
    return tuple(rows)


def _is_table(texts: Mapping[_Place, Sequence[PlacedWord]], owner: Mapping[_Place, _Place]) -> bool:
    """Whether the cells of a grid hold a table: two rows with texts beside each other, most cells filled, and no cell with most
    of the text, as the frame of a page or a drawing has."""
    filled: dict[int, int] = Counter(row for row, _ in texts)
    if sum(count > 1 for count in filled.values()) < 2 or 2 * len(texts) < len({*owner.values()}):
        return False
    heights = Counter(place for (_, column), place in owner.items() if column == place[1])
    if any(heights[place] > 1 and len(words) > _MOST_REPEATED for place, words in texts.items()):
        return False
    longest = max(map(len, texts.values()))
    return longest <= _MOST_WORDS or 2 * longest <= sum(map(len, texts.values()))


def _lines_of_values(cells: Mapping[int, list[PlacedWord]]) -> list[Mapping[int, list[PlacedWord]]]:
    """The words of a ruled row by its rows: rulings often part groups of rows. Lines are rows where at least two columns
    have a value in each; else they are lines of cells."""
    lines: list[dict[int, list[PlacedWord]]] = []
    middle = -1000.0
    for place, column, word in sorted(
        (word.top + word.bottom, at, word) for at, words in cells.items() for word in words
    ):
        if place / 2 - middle > word.height / 2:
            lines.append(defaultdict(list))
            middle = place / 2
        lines[-1][column].append(word)
    columns = [at for at in cells if all(at in line and is_value(joined(sorted(line[at]))) for line in lines)]
    return [*lines] if len(columns) > 1 else [cells]


def _slot(edges: Sequence[float], place: float) -> int:
    """Index of the interval in which the place lies."""
    return max(0, min(sum(edge <= place for edge in edges) - 1, len(edges) - 2))


def _merged(
    xs: Sequence[float], ys: Sequence[float], horizontal: Sequence[Edge], vertical: Sequence[Edge]
) -> dict[_Place, _Place]:
    """For each (row, column) of the grid the upper left one of the cell that it is part of."""
    owner: dict[_Place, _Place] = {}
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
