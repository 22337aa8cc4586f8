"""Which column the answer is looked up in: "which region", "who", "when". Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cairn.domain.computation import CellCondition, Operation
from cairn.query.table_reading import TableReading, Unsure, how_many
from cairn.query.table_words import (
    BOUND,
    MOMENTS,
    PERSON_NAMES,
    PERSONS,
    SAME,
    SOME_PEOPLE,
    STRETCHES,
    WHEN,
    WHO,
    YEARS,
    WordSpan,
    header_words,
    is_year_column,
    may_mean,
    names_of,
    names_persons,
)

BEST: Final = ("highest", "lowest", "rank")
_OF_ONE_COLUMN: Final = frozenset({*BEST, "sum", "average"})


def find_asked(reading: TableReading, operation: Operation) -> WordSpan | None:
    """The header behind "which", or "top 3"."""
    for span in reading.phrases("top", "listing", "count", "superlative", "latest", "earliest"):
        numbered = (
            span.end < len(reading.tokens)
            and span.end in reading.explained
            and how_many(reading.tokens[span.end]) is not None
        )
        after = reading.span_after(span.end + (span.phrases[0] == "top" or numbered))
        if after is not None and after.cells and not after.headers and after.start == span.end:
            named = reading.span_after(after.end)
            after = named if named is not None and named.start == after.end else after  # "which northern country"
        if after is None or not after.headers or after.cells:
            continue
        behind = span.phrases[0] in ("superlative", "latest", "earliest") and 0 not in after.headers
        if behind and (reading.is_number(after) or any(reading.table.dated[at] for at in after.headers)):
            continue
        counted = span.phrases[0] == "count" and reading.is_number(after)
        if not counted and not _is_measure(reading, span, after, operation):
            _check_alone(reading, after)
            return after
    return None


def _check_alone(reading: TableReading, asked: WordSpan) -> None:
    """Raises Unsure where another column is named right behind, be it by a word that says little: of "which plant type" there may
    be several plants."""
    behind = tuple(reading.tokens[asked.end : asked.end + 1])
    for at, header in enumerate(reading.table.header):
        if at in asked.headers or reading.table.numeric[at] or reading.table.dated[at]:
            continue
        if behind in names_of(header):
            raise Unsure


def _is_measure(reading: TableReading, which: WordSpan, after: WordSpan, operation: Operation) -> bool:
    """Whether it says of which column the highest is wanted ("le salaire le plus élevé"); not right behind "which"."""
    others = [
        span for span in reading.spans
        if span.headers and not span.cells and span is not after and (operation in BEST or span.headers != {0})
        and not reading.is_year_name(span)
    ]  # fmt: skip
    years = any(is_year_column(reading.table.header[at]) for at in after.headers)
    apart = after.start > which.end and which.phrases[0] == "listing"
    return apart and operation in _OF_ONE_COLUMN and reading.is_number(after) and not (others or years)


def find_asked_position(
    reading: TableReading, operation: Operation, asked: WordSpan | None, held: set[int]
) -> int | None:
    """The column whose value comes first in the answer; of the best one also what the rows are, where the question says that.
    Raises Unsure where one is asked for that the table does not have once."""
    position = _asked_position(reading, operation, asked, held)
    if position is None and asked is None and WHO.isdisjoint(reading.tokens):
        [position, *others] = [*_columns_to_choose_from(reading, operation), None]
        position = None if len(others) > 1 else position
    if position is None and (asked is not None or _asks_time(reading) or not WHO.isdisjoint(reading.tokens)):
        raise Unsure
    if position is not None or operation not in BEST:
        return position
    if reading.by_days and 0 not in held:
        return 0
    if not reading.table.numeric[0] and 0 not in held and _asks_which_of(reading):
        return 0
    if reading.table.numeric[0] and not (PERSONS | PERSON_NAMES).isdisjoint(reading.tokens):
        return _find_persons(reading)
    if not reading.calls_rows:
        return None
    return 0 if 0 not in held and (names_rows(reading) or asks_by_another_word(reading) is not None) else None


def _asks_which_of(reading: TableReading) -> bool:
    """Whether rows are asked for by a cell that they have: "which tool is the cheapest"."""
    after = [reading.span_after(span.end) for span in reading.phrases("listing") if span.start == 0]
    return any(one is not None and bool(one.cells) and not one.headers for one in after)


def _chosen_from(reading: TableReading, asked: WordSpan, operation: Operation) -> frozenset[int]:
    """The column of which some cells are named to choose from: "which club of A and B had the most points"."""
    return asked.headers & _columns_to_choose_from(reading, operation)


def _columns_to_choose_from(reading: TableReading, operation: Operation) -> frozenset[int]:
    named = [{one.position for one in span.cells} for span in reading.spans if span.cells]
    several = [at for at in range(len(reading.table.header)) if named.count({at}) > 1]
    return frozenset(several) if operation in BEST else frozenset()


def _asked_position(reading: TableReading, operation: Operation, asked: WordSpan | None, held: set[int]) -> int | None:
    if not WHO.isdisjoint(reading.tokens):
        return _find_persons(reading)
    if asked is not None:
        left = asked.headers - held or _chosen_from(reading, asked, operation)
        return next(iter(left)) if len(left) == 1 and (left == asked.headers or 0 in left) else None
    if _asks_time(reading):
        days = [position for position, dated in enumerate(reading.table.dated) if dated]
        return days[0] if len(days) == 1 else None
    return None


def names_rows(reading: TableReading) -> bool:
    """Whether it says what each row is: by the header of the first column, by a word that all rows have, or by what the table
    is of, behind "which" or at the beginning."""
    if any(span.headers == {0} for span in reading.spans):
        return True
    asked = [0, *(span.end for span in reading.phrases("listing"))]
    if any(
        at < len(reading.tokens) and at not in reading.explained and reading.is_around(reading.tokens[at])
        for at in asked
    ):
        return True
    return any(may_mean(token, word) for token in reading.tokens for word in reading.table.shared)


def asks_by_another_word(reading: TableReading) -> int | None:
    """The place of a word behind "which" that no column has, where each row has a name of its own: "which company had the most
    employees", of a column "Name"."""
    table = reading.table
    if table.numeric[0] or table.coded or table.repeats:
        return None
    places = (reading.after_stop_words(span.end) for span in reading.phrases("listing"))
    others = MOMENTS | YEARS | STRETCHES | SOME_PEOPLE | SAME | BOUND
    return next(
        (
            at for at in places
            if at < len(reading.tokens) and at not in reading.explained | reading.acronyms and reading.tokens[at].isalpha()
            and reading.tokens[at] not in others and how_many(reading.tokens[at]) is None
        ),
        None,
    )  # fmt: skip


def _find_persons(reading: TableReading) -> int | None:
    """The first column of persons, or of those who act as such."""
    words = enumerate(map(header_words, reading.table.header))
    return next(
        (
            at for at, said in words
            if (said & PERSONS or names_persons(said)) and not reading.table.numeric[at]
        ),
        None,
    )  # fmt: skip


def _asks_time(reading: TableReading) -> bool:
    """Whether the answer is a point of time that no header is called by: "when", "which year"."""
    if reading.loose() & WHEN:
        return True
    for span in reading.phrases("listing"):
        at = reading.after_stop_words(span.end)
        if at < len(reading.tokens) and at not in reading.explained and reading.tokens[at] in MOMENTS | YEARS:
            return True
    return False


def find_naming(reading: TableReading, measure: int | None, conditions: Sequence[CellCondition]) -> int | None:
    """The first one of words where rows are called by numbers ("P-101"), or a column of dates or years; where all rows begin
    with the same cell, else
    the next one."""
    held = {one.position for one in conditions}
    left = [at for at in range(1, len(reading.table.header)) if at not in held | {measure, reading.other}]
    times = [at for at in left if reading.table.dated[at] or is_year_column(reading.table.header[at])]
    words = [at for at in left if not reading.table.numeric[at]]
    called = [at for at in words if at not in times][:1] if reading.table.coded else []
    return next(iter((*called, *times, *(words if 0 in held else ()))), None)
