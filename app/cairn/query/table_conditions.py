"""Which rows of a table a question names by their cells: "in France", "the three Baltic countries". Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from cairn.domain.computation import CellCondition
from cairn.language.cells import is_year, tokens_of
from cairn.query.table_reading import MOST_CONDITIONS, TableReading, Unsure, how_many
from cairn.query.table_words import COMPARISONS, JOINS, OR, RANGES, WordSpan, happened


def read_conditions(reading: TableReading) -> list[CellCondition]:
    """By column, in the order of the question. Raises Unsure where a name may mean several columns, or a header
    as well."""
    wanted: dict[int, dict[str, str]] = {}
    headed = {position for span in reading.spans if not span.cells for position in span.headers}
    for span in reading.spans:
        if not span.cells:
            continue
        positions = {one.position for one in span.cells}
        if span.headers:
            raise Unsure
        if len(positions) > 1:
            positions &= headed
        if len(positions) != 1:
            raise Unsure
        [position] = positions
        cells = [one for one in span.cells if one.position == position]
        if all(one.total for one in cells) or len({one.key for one in cells}) > 1:
            raise Unsure
        if position not in headed and _names_document(reading, span) and cells[0].cells < reading.table.rows:
            raise Unsure
        if position not in headed and is_year(cells[0].key) and happened(reading.table.header[position]):
            raise Unsure  # "worked in 2019", of those who "Joined" then; "ships that cost 5 million in 2012", "Built" then
        wanted.setdefault(position, {}).setdefault(cells[0].key, cells[0].text)
    missing = [] if reading.missing is None else [reading.missing]
    if len(wanted) + len(missing) > MOST_CONDITIONS or any(one.position in wanted for one in missing):
        raise Unsure
    return [
        *(CellCondition(position, tuple(keys), tuple(keys.values())) for position, keys in wanted.items()), *missing
    ]  # fmt: skip


def with_years_between(reading: TableReading, condition: CellCondition) -> CellCondition:
    """ "From 1998 to 2006" are the years between, too."""
    if reading.range is None or set(condition.keys) != set(reading.range):
        return condition
    first, last = reading.range
    years = tuple(map(str, range(int(first), int(last) + 1)))
    return CellCondition(condition.position, years, (f"{first}–{last}",))


def is_either(reading: TableReading) -> bool:
    """Whether it says that one condition or another one is enough: "in France or open"."""
    limits = [
        *((span.start, {one.position for one in span.cells}) for span in reading.spans if span.cells),
        *((span.start, {-1}) for span in reading.phrases(*COMPARISONS, "none")),
        *((one.start, {-2}) for one in reading.periods),
    ]
    for at, token in enumerate(reading.tokens):
        if token in OR and not any(span.start <= at < span.end for span in reading.spans):
            before = max((one for one in limits if one[0] < at), key=lambda one: one[0], default=None)
            behind = min((one for one in limits if one[0] > at), key=lambda one: one[0], default=None)
            if before and behind and before[1].isdisjoint(behind[1]):
                return True
    return False


def leaves_between(reading: TableReading) -> bool:
    """Whether what stands between two that are named may be meant, too: "from January to March". Of years it is read."""
    for one, other in pairwise(span for span in reading.spans if span.named):
        before, between = reading.tokens[one.start - 1 : one.start], reading.tokens[one.end : other.start]
        if (
            not before
            or (*before, *between) not in RANGES
            or (reading.is_year_name(one) and reading.is_year_name(other))
        ):
            continue
        columns = any(abs(first - last) == 1 for first in one.headers for last in other.headers)
        places = [
            (first, last) for first in one.cells for last in other.cells if first.position == last.position
        ]  # fmt: skip
        rows = any(abs(first.row - last.row) == 1 for first, last in places)
        if (one.headers and other.headers and not columns) or (places and not rows):
            return True
    return False


def leaves_unjoined(reading: TableReading) -> bool:
    """Whether two cells of one column are named, and something else than "and" stands between all of them: "how many deaths were
    shootings", of a column that has both."""
    named: dict[int, list[WordSpan]] = {}
    for span in reading.spans:
        for position in {one.position for one in span.cells}:
            named.setdefault(position, []).append(span)
    for spans in named.values():
        between = [reading.tokens[one.end : other.start] for one, other in pairwise(spans)]
        if any(between) and all(words and JOINS.isdisjoint(words) for words in between):
            return True
    return False


def _names_document(reading: TableReading, span: WordSpan) -> bool:
    """Whether the document is called so, too: "the DETR models", of which some are a "DETR" and some a "DETR-DC5"."""
    names = {*tokens_of(reading.table.document_title), *tokens_of(reading.table.external_id.rpartition("/")[2])}
    return names.issuperset(reading.tokens[span.start : span.end])


def asks_for_several(reading: TableReading) -> bool:
    """Whether a number stands behind "which": "which two countries"."""
    return any(how_many(token) for one in reading.phrases("listing") for token in reading.tokens[one.end : one.end + 1])


def read_stated(reading: TableReading, conditions: Sequence[CellCondition]) -> None:
    """How many rows it says there are: "the three Baltic countries"."""
    for span in reading.spans:
        at = span.start - 1
        number = how_many(reading.tokens[at]) if at >= 0 and at not in reading.explained else None
        where = any({one.position for one in span.cells} == {held.position} for held in conditions)
        after = reading.span_after(span.end)
        if number is not None and number > 1 and where and after is not None and after.headers and not after.cells:
            reading.stated = int(number)
            reading.explained.add(at)
    for at, token in enumerate(reading.tokens[:-1]):
        number = how_many(token) if at not in reading.explained and not conditions else None
        rows = any(span.start == at + 1 and span.headers == {0} for span in reading.spans)
        if number is not None and number > 1 and (rows or reading.is_around(reading.tokens[at + 1])):
            reading.stated = int(number)
            reading.explained.add(at)


def is_where(reading: TableReading, conditions: Sequence[CellCondition]) -> bool:
    """Whether each condition is said with the name of its column before it: "status is open"."""
    for condition in conditions:
        heads = [span for span in reading.spans if condition.position in span.headers]
        follows = [reading.span_after(reading.after_idle(span.end)) for span in heads]
        if not any(span and any(one.position == condition.position for one in span.cells) for span in follows):
            return False
    return bool(conditions)
