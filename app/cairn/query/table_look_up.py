"""The one number that a question names by its row and its column: "what were total liabilities in 2018". Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cairn.domain.computation import CellCondition, Computation
from cairn.language.cells import year_of
from cairn.query.table_asked import find_naming
from cairn.query.table_columns import find_label
from cairn.query.table_conditions import read_conditions
from cairn.query.table_explained import explains
from cairn.query.table_groups import summed_instead
from cairn.query.table_measure import choose_measure, find_counted_in
from cairn.query.table_reading import TableReading, Unsure
from cairn.query.table_words import COMPARISONS, COMPUTED, HIGHER, LOWER, SUPERLATIVES_SAID, THAN, WordSpan


def look_up(reading: TableReading) -> Computation | None:
    """None where something is to be computed or compared, or row or column may be another one. Raises Unsure."""
    computed = (one for one in COMPUTED if one != "count")
    if (
        reading.phrases(*computed, *COMPARISONS, *SUPERLATIVES_SAID, "commonest", "top", "bottom", "none")
        or reading.periods
        or not (THAN | HIGHER | LOWER).isdisjoint(reading.loose())
    ):
        return None
    heads = [one for one in reading.spans if one.headers - {0} and not one.cells]
    if not heads or not _counts_what_is_named(reading, heads):
        return None
    found = _of_label(reading, heads) or _of_conditions(reading)
    return found if found is not None and explains(reading, found) else None


def _counts_what_is_named(reading: TableReading, heads: Sequence[WordSpan]) -> bool:
    """ "How many fatalities did Air France have", of a column of fatalities."""
    return all(reading.header_after(one.end) in heads for one in reading.phrases("count"))


def _of_label(reading: TableReading, heads: Sequence[WordSpan]) -> Computation | None:
    """In the row of a label, which no other row has, the column of a year that all headers name together."""
    label = find_label(reading)
    if label is None or any(one.cells for one in reading.spans if one is not label[0]):
        return None
    columns = [at for at in reading.base(heads) if reading.table.numeric[at]]
    if len(columns) != 1 or not year_of(reading.table.header[columns[0]]):
        return None
    return Computation("value", row=label[1].row, label=label[1].text, columns=tuple(columns))


def _of_conditions(reading: TableReading) -> Computation | None:
    conditions = read_conditions(reading)
    held = {one.position for one in conditions}
    free = [one for one in reading.spans if one.headers and not one.cells and not one.headers & held]
    if not conditions or not free or any(len(one.keys) > 1 for one in conditions):
        return None
    measure = choose_measure(reading, "value", free, {*held}, limited=True)
    if measure is None:
        raise Unsure
    counted = find_counted_in(reading, measure, conditions)
    made = Computation("value", measure, conditions=tuple(conditions), totals=True, counted_in=counted)
    instead = summed_instead(reading.table, made, reading.tokens)
    if instead is None and len(conditions) == 1 and _are_several(reading, conditions[0]):
        raise Unsure
    if instead is not None:
        instead = replace(instead, naming=find_naming(reading, measure, conditions))
    return replace(made, instead=instead)


def _are_several(reading: TableReading, condition: CellCondition) -> bool:
    """Whether more than one cell is called so: of several conditions the rows are counted when they are read."""
    named = {one for span in reading.spans for one in span.cells if one.position == condition.position}
    return sum(one.cells for one in named if one.key in condition.keys) > 1
