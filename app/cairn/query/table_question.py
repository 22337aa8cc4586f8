"""What a question asks to compute over one table, read against the names that the table has. Pure.

Right or silent: each word of the question must be explained by the computation, by a name in the table, or by where the table
stands; and everything must be the one thing that it can be. Else there is None, and the question is answered as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from cairn.domain.computation import Computation, Operation
from cairn.domain.table import NamedCells, TableSketch
from cairn.query.table_columns import over_columns
from cairn.query.table_conditions import is_either, leaves_between, leaves_unjoined
from cairn.query.table_explained import explains
from cairn.query.table_latest import number_of_latest
from cairn.query.table_limits import read_between, read_comparison, read_equal, read_periods
from cairn.query.table_look_up import look_up
from cairn.query.table_missing import read_missing
from cairn.query.table_operation import is_good, read_operation
from cairn.query.table_ranked import ranked
from cairn.query.table_reading import TableReading, Unsure
from cairn.query.table_row_bound import read_row_bound
from cairn.query.table_rows import over_rows, share_of_total
from cairn.query.table_words import ComputedQuestion, begins_ranking, header_words, spans_of, split_compounds


def may_bind(question: ComputedQuestion, table: TableSketch) -> bool:
    """Whether its cells need be looked at: one of them is only asked for by the name of its column."""
    return question.computes or any(span.headers - {0} for span in spans_of(question, table, ()))


def bind(question: ComputedQuestion, table: TableSketch, named: Sequence[NamedCells]) -> Computation | None:
    """`named`: the cells of the table that are called by one of the question's names."""
    if not table.complete:
        return None
    if (found := _bind(question, table, named)) is not None:
        return found
    headed = {word for header in table.header for word in header_words(header)}
    others = [
        _bind(question, table, [one for one in named if one.name != name])
        for name in headed & {one.name for one in named}
    ]
    read = [one for one in others if one is not None]
    if read:
        return read[0] if len(read) == 1 else None  # "gas", of a heating by gas, is a column of kilowatt-hours as well
    return _bind(question, table, named, look_up)


def _bind(
    question: ComputedQuestion, table: TableSketch, named: Sequence[NamedCells], way: _Way | None = None
) -> Computation | None:
    if way is None and not question.computes:
        return None
    reading = TableReading(split_compounds(question, table, named), table, named)
    with suppress(Unsure):
        return (way or _read)(reading)
    return None


def _read(reading: TableReading) -> Computation | None:
    if begins_ranking(reading.tokens) and (in_order := ranked(reading)) is not None:
        return replace(in_order, support=reading.support)
    read_missing(reading)
    read_periods(reading)
    read_row_bound(reading)
    read_comparison(reading)
    read_between(reading)
    if reading.signed and reading.bound is not None:
        return None
    read_equal(reading)
    if (latest := number_of_latest(reading)) is not None:
        return replace(latest, support=reading.support)
    operation = read_operation(reading)
    if operation is None or is_either(reading) or (operation not in _OF_TWO and leaves_between(reading)):
        return None
    if operation not in (*_OF_TWO, "share") and leaves_unjoined(reading):
        return None
    found = _first_sure(reading, operation)
    if found is not None and reading.phrases("commonest") and not found.grouped:
        return None  # "the most common price"
    if found is None or not explains(reading, found) or (reading.judged and not is_good(reading, found)):
        return None
    falls = operation in _OF_TWO and reading.asks_for_fall(operation)
    return replace(found, support=reading.support, directed=reading.directed, apart=reading.apart, falls=falls)


_Way = Callable[[TableReading], Computation | None]
_OF_TWO: Final = ("difference", "growth")


def _first_sure(reading: TableReading, operation: Operation) -> Computation | None:
    for way in (share_of_total, over_rows, over_columns):
        with suppress(Unsure):
            if (found := way(reading, operation)) is not None:
                return found
    return None
