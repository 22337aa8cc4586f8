"""Computations over the columns of one row: "how much did revenue grow from 2024 to 2025". Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from cairn.domain.computation import Computation, Operation
from cairn.domain.table import NamedCells
from cairn.language.cells import is_year, tokens_of, year_of
from cairn.language.tokens import same_word
from cairn.query.table_reading import TableReading
from cairn.query.table_words import RANGES, WordSpan, besides_date, short_year_of


def over_columns(reading: TableReading, operation: Operation) -> Computation | None:
    if (
        operation in ("share", "listing", "top")
        or reading.other is not None
        or reading.within
        or reading.implied is not None
    ):
        return None
    label = find_label(reading)
    if label is None:
        return None
    span, cells = label
    reading.group_said = {*reading.tokens}.issuperset(tokens_of(cells.group))
    heads = [one for one in reading.spans if one.headers - {0} and one is not span and not one.cells]
    if any(one.cells for one in reading.spans if one is not span):
        return None
    made = Computation(
        operation, row=cells.row, label=cells.text, comparison=reading.comparison, bound=reading.bound, place=reading.place,
        turned=reading.turned,
    )  # fmt: skip
    if operation in ("difference", "growth"):
        return pair_of_columns(reading, made, heads)
    columns = _columns(reading, heads)
    if operation == "count" and reading.comparison is None and reading.range is not None:
        return replace(made, operation="sum", columns=columns) if len(columns) > 1 else None
    if len(columns) < 2 or (operation == "count") != (reading.comparison is not None):
        return None
    return replace(made, columns=columns)


def find_label(reading: TableReading) -> tuple[WordSpan, NamedCells] | None:
    """The one row that is called so; of rows called alike the one under a label that the question has."""
    names = {0} if not reading.table.coded else {0, *names_of_coded(reading)}
    spans = [span for span in reading.spans if any(one.position in names for one in span.cells)]
    if len(spans) != 1 or spans[0].headers:
        return None
    rows = [one for one in spans[0].cells if one.position in names]
    if len(rows) > 1:
        said = set(reading.tokens)
        rows = [one for one in rows if one.group and said.issuperset(tokens_of(one.group))]
    if len(rows) != 1 or rows[0].cells != 1:
        return None
    for at, token in enumerate(reading.tokens):
        if at not in reading.explained and any(
            same_word(token, word) or token == word for word in tokens_of(rows[0].group)
        ):
            reading.explained.add(at)
    return spans[0], rows[0]


def names_of_coded(reading: TableReading) -> list[int]:
    """The column behind the numbers of rows that says what each is."""
    table = reading.table
    words = [at for at in range(1, len(table.header)) if not (table.numeric[at] or table.dated[at])]
    return words[:1]


def pair_of_columns(reading: TableReading, made: Computation, heads: Sequence[WordSpan]) -> Computation | None:
    """Two of the headers choose a column each, the others say of which kind both are."""
    found: dict[tuple[int, int], tuple[WordSpan, WordSpan] | None] = {}
    for one, other in combinations(heads, 2):
        base = reading.base([head for head in heads if head is not one and head is not other])
        left, right = _alike(reading, one.headers & base, other.headers & base)
        if len(left) == len(right) == 1 and left != right:
            found[next(iter(left)), next(iter(right))] = one, other
    if not found and made.row is not None and reading.group_said:
        base = reading.base(heads)
        dated = [(at, year) for at, year in reading.years() if at in base]
        alike = len({besides_date(reading.table.header[at]) for at, _ in dated}) == 1
        if len(dated) == 2 and alike and len({year for _, year in dated}) == 2 and not _names_year(reading):
            found = {(dated[0][0], dated[1][0]): None}  # "how much did it increase", of the two years that there are
    if len(found) != 1:
        return None
    [((first, second), said)] = found.items()
    years = [year_of(reading.table.header[at]) or short_year_of(reading.table.header[at]) for at in (first, second)]
    earlier = None if None in years or years[0] == years[1] else str(years[0]) < str(years[1])
    if earlier is None and made.operation == "growth":
        return None
    if earlier is False and said is not None and begins_range(reading, said[0]):
        return None  # "from 2025 to 2024"
    if not earlier if said is None else reading.takes_second(*said, made.operation, earlier=earlier):
        first, second = second, first
    pair = (_column_name(reading, first), _column_name(reading, second))
    return replace(made, columns=(first, second), pair=pair)


def begins_range(reading: TableReading, one: WordSpan) -> bool:
    """Whether it is the first of two: "from 2024 to 2025", "between March and May"; not "in 2024 and 2025"."""
    return any(
        (*reading.tokens[one.start - 1 : one.start], *reading.tokens[one.end : one.end + len(words) - 1]) == words
        for words in RANGES
    )


def _names_year(reading: TableReading) -> bool:
    return any(map(is_year, reading.tokens))


def _alike(reading: TableReading, left: frozenset[int], right: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Where one is named by all of its header and the other by its date, the other is that under the same first line."""

    def under(known: frozenset[int], several: frozenset[int]) -> frozenset[int]:
        [one] = known
        lines = set(reading.table.header[one].split(" / ")[:-1])
        return frozenset(at for at in several if lines and lines == set(reading.table.header[at].split(" / ")[:-1]))

    if len(left) == 1 < len(right):
        return left, under(left, right)
    return (under(right, left), right) if len(right) == 1 < len(left) else (left, right)


def _columns(reading: TableReading, heads: Sequence[WordSpan]) -> tuple[int, ...]:
    """Those that the question names one by one, or all that are named by a year and alike besides."""
    singles = [head for head in heads if len(head.headers & reading.plain()) == 1]
    if len(singles) > 1 and len(singles) == len(heads):
        columns = sorted({next(iter(head.headers & reading.plain())) for head in singles})
        years = [year_of(reading.table.header[at]) for at in columns]
        between = [
            at for at, year in reading.years()
            if all(years) and min(map(str, years)) < year < max(map(str, years)) and at not in columns
        ]  # fmt: skip
        if not between:
            return tuple(columns)
        if reading.range is None or {*reading.range} != {*years}:
            return ()  # "2017 and 2019" may mean 2018 too
        columns = sorted([*columns, *between])
        alike = {besides_date(reading.table.header[at]) for at in columns}
        return tuple(columns) if len(alike) == 1 else ()
    base = reading.base(heads)
    dated = [(at, year) for at, year in reading.years() if at in base]
    kinds = {besides_date(reading.table.header[at]) for at, _ in dated}
    years = [year for _, year in dated]
    return tuple(at for at, _ in dated) if len(kinds) == 1 and len(set(years)) == len(years) else ()


def _column_name(reading: TableReading, position: int) -> str:
    header = reading.table.header[position]
    return year_of(header) or header.split(" / ")[0]
