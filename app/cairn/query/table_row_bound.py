"""A comparison with another row: "which rivers are longer than the Seine", "who has more points than Ann". Pure."""

from __future__ import annotations

from cairn.domain.computation import CellCondition, Comparison
from cairn.query.table_limits import only_thing
from cairn.query.table_reading import TableReading
from cairn.query.table_words import COMPARATIVES, COSTING, HIGHER, LOWER, PRICES, THAN, WordSpan


def read_row_bound(reading: TableReading) -> None:
    """Of one row that is named behind "than"; none where several are called so, where a difference is asked for, or of what the
    numbers are is not said. Raises Unsure where an adjective may be of several columns."""
    found = [
        (at, row) for at, token in enumerate(reading.tokens) if token in THAN and (row := _row_at(reading, at + 1))
    ]
    if len(found) != 1 or reading.periods or reading.phrases("difference", "growth", "sum", "average", "share"):
        return
    [(at, row)] = found
    if any(
        one is not row and any(cell.position == row.cells[0].position for cell in one.cells) for one in reading.spans
    ):
        return  # "how many days more did Ann take than Bo" is a difference
    said = _comparison_before(reading, at)
    if said is None:
        return
    comparison, places = said
    [cell] = row.cells
    reading.comparison = comparison
    reading.bound_row = CellCondition(cell.position, (cell.key,), (cell.text,))
    reading.explained |= {*places, at}
    reading.spans = [
        one for one in reading.spans
        if one is not row and places.isdisjoint(range(one.start, one.end))
    ]  # fmt: skip


def _row_at(reading: TableReading, at: int) -> WordSpan | None:
    """The span behind a place that calls one row, by its first cell or by what it is called beside its number."""
    span = reading.span_after(at)
    names = {0} if not reading.table.coded else {0, 1}
    if span is None or span.headers or len(span.cells) != 1:
        return None
    [cell] = span.cells
    return span if cell.position in names and cell.cells == 1 and not cell.total else None


def _comparison_before(reading: TableReading, than: int) -> tuple[Comparison, set[int]] | None:
    """How it is compared, and the places of the words that say so: an adjective right before "than", or "more" with the name of
    a column between."""
    for words, (comparison, of) in COMPARATIVES.items():
        start = than + 1 - len(words)
        if start >= 0 and tuple(reading.tokens[start : than + 1]) == words:
            reading.compared = only_thing(reading, of)
            return comparison, {*range(start, than + 1)}  # type: ignore[return-value]
    named = [one for one in reading.spans if one.headers and not one.cells and reading.is_number(one)]
    said = [at for at in range(than) if reading.tokens[at] in HIGHER | LOWER]
    if len(said) != 1:
        return None
    [at] = said
    way: Comparison = "more" if reading.tokens[at] in HIGHER else "less"
    costs = {place for place in range(max(at - 2, 0), at) if reading.tokens[place] in COSTING}
    if costs and not named:
        reading.compared = only_thing(reading, PRICES)
        return way, {at, *costs}
    return (way, {at}) if named else None
