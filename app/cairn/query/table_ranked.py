"""All of what a question names in the order of a number: "rank the regions by revenue". Pure."""

from __future__ import annotations

from cairn.domain.computation import Computation
from cairn.query.table_explained import explains
from cairn.query.table_groups import calls_rows_at, groups_by, is_flow, may_be_read_otherwise
from cairn.query.table_measure import find_counted_in
from cairn.query.table_reading import TableReading
from cairn.query.table_words import BY, WordSpan, begins_ranking, columns_of_people, order_in


def ranked(reading: TableReading) -> Computation | None:
    """Of groups the sums, where they have what comes in or goes out; else each row by its number, and none where several rows are
    of one thing. None where the question says anything besides."""
    begun, order = begins_ranking(reading.tokens), order_in(reading.tokens)
    taken = {*range(begun), *(range(order[0], order[1]) if order is not None else ())}
    spans = [span for span in reading.spans if taken.isdisjoint(range(span.start, span.end))]
    heads = [span for span in spans if span.headers and not span.cells and not span.phrases]
    by = [at for at, token in enumerate(reading.tokens) if token in BY and at not in taken | reading.explained]
    if not begun or len(heads) < len(spans) or len(by) != 1 or reading.periods:
        return None
    asked = _asked(reading, begun, [span for span in heads if span.end <= by[0]])
    base = reading.base([span for span in heads if span.start > by[0]])
    measures = {at for at in base if at and reading.table.numeric[at]}
    if asked is None or len(measures) != 1 or measures == {asked} or all(span.end <= by[0] for span in heads):
        return None
    [measure] = measures
    flows = is_flow(reading.table, measure, reading.tokens)
    found = Computation(
        "sum" if flows else "average", measure, asked=asked, grouped=True, each=True, ranked=True, averaged=not flows,
        turned=order is not None and order[2], one_row=not flows, counted_in=find_counted_in(reading, measure, ()),
    )  # fmt: skip
    if flows and may_be_read_otherwise(reading.table, found):
        return None
    reading.spans = spans
    reading.explained |= {*taken, *by}
    return found if explains(reading, found) else None


def _asked(reading: TableReading, begun: int, heads: list[WordSpan]) -> int | None:
    """The column of what is ranked: that of a header, or what the rows are called by."""
    if heads:
        named = frozenset.intersection(*(span.headers for span in heads))
        [position, *others] = [*named, None]
        return position if len(others) == 1 and position is not None and groups_by(reading.table, position) else None
    at = reading.after_stop_words(begun)
    if not calls_rows_at(reading, at):
        return None
    reading.explained.add(at)
    return 0 if not reading.table.numeric[0] else next(iter(columns_of_people(reading.table)), None)
