"""Which column of a table is computed over, and what its numbers are counted in. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cairn.domain.computation import CellCondition, Operation
from cairn.language.cells import tokens_of
from cairn.language.title_scale import scale_in_title
from cairn.language.tokens import same_word
from cairn.query.table_reading import TableReading, Unsure
from cairn.query.table_words import (
    ADDING,
    ALL_OF,
    BESIDE,
    COUNTED_IN,
    CURRENCIES,
    EACH,
    PRICES,
    QUANTITIES,
    RATIOS,
    SCALES,
    TOTALS,
    UNITS,
    WORTH,
    WordSpan,
    besides_brackets,
    bracketed,
    header_words,
    is_its_unit,
    is_money,
    is_year_column,
)


def choose_measure(
    reading: TableReading, operation: Operation, free: Sequence[WordSpan], besides: set[int | None], *, limited: bool
) -> int | None:
    """`free`: headers that are not taken by a condition or by what is asked for; `besides`: columns that are; `limited`: some
    rows are meant. None: rows are counted or listed. Raises Unsure."""
    measure = _named_measure(reading, operation, free)
    if measure == 0 and operation in ("count", "listing", "share") and reading.calls_rows:
        measure = None  # what the rows are: "sensors with a humidity between 40 and 60"
    if measure is None and reading.other is not None:
        if reading.compared is None:
            measure = _only_number(reading, besides, reading.other)
        elif operation in ("count", "listing"):
            measure, reading.compared = reading.compared, None
    if measure is None and reading.other is None and operation in ("count", "listing"):
        measure, reading.compared = reading.compared, None
    unnamed = operation == "difference" or (operation == "sum" and not _counts_something(reading))
    if measure is None and unnamed and limited:
        measure = _only_one(
            at
            for at, numeric in enumerate(reading.table.numeric)
            if numeric and not is_year_column(reading.table.header[at])
        )
    _check_numbers(reading, operation, measure)
    if measure is not None and _is_called_by_another(reading, measure, free):
        raise Unsure
    return measure


def _counts_something(reading: TableReading) -> bool:
    """Whether a word that no column has says what is counted: "how many issues in total", of a column of pages."""
    behind = [reading.after_stop_words(span.end) for span in reading.phrases("count")]
    return any(at < len(reading.tokens) and at not in reading.explained for at in behind)


def _is_called_by_another(reading: TableReading, measure: int, free: Sequence[WordSpan]) -> bool:
    """Whether a word by which the column is named stands in another header, and in its own only another one for it: "leave", of
    "Vacation days" beside "Sick leave"."""
    said = {token for span in free if measure in span.headers for token in reading.tokens[span.start : span.end]}
    own = header_words(reading.table.header[measure])
    others = [
        header_words(header) for at, header in enumerate(reading.table.header)
        if at != measure and reading.table.numeric[at]
    ]  # fmt: skip
    return any(not _is_in(token, own) and any(_is_in(token, other) for other in others) for token in said)


def _is_in(token: str, words: frozenset[str]) -> bool:
    return token in words or any(same_word(token, word) for word in words)


def _check_numbers(reading: TableReading, operation: Operation, measure: int | None) -> None:
    """Raises Unsure where a column that is computed with holds no numbers, is compared with itself, or counts something else."""
    numeric = reading.table.numeric
    ordered = operation in ("highest", "lowest")
    if measure is not None and not (numeric[measure] or (ordered and reading.table.dated[measure])):
        raise Unsure
    if reading.table.serial and numeric[0] and 0 in (measure, reading.other, reading.compared, reading.minus):
        raise Unsure  # "the average trip", of those that are numbered
    if any(at is not None and not numeric[at] for at in (reading.other, reading.compared, reading.minus)):
        raise Unsure
    if reading.other is not None and reading.other == measure:
        raise Unsure
    if reading.counted and (measure if reading.compared is None else reading.compared) not in reading.counted:
        raise Unsure  # "more than 150 ha", and the column counts members
    if measure is not None and _is_worth_of_pieces(reading, measure):
        raise Unsure
    limited = measure if reading.compared is None else reading.compared
    said = limited is not None and scale_in_title(reading.table.title, reading.table.header[limited])
    if said and reading.bound is not None and SCALES.keys().isdisjoint(reading.tokens):
        raise Unsure  # "under 5000", of prices in thousands


def _is_worth_of_pieces(reading: TableReading, measure: int) -> bool:
    """Whether the value of things is asked for, and the column counts them: it says so, or another one has what they cost."""
    computed = {at for span in reading.spans if span.phrases for at in range(span.start, span.end)}
    said = {token for at, token in enumerate(reading.tokens) if token in WORTH and at not in computed}
    header = reading.table.header[measure]
    if not said or is_money(reading.table, measure) or header_words(header) & (said | PRICES):
        return False
    priced = any(
        reading.table.numeric[at] and (is_money(reading.table, at) or header_words(other) & PRICES)
        for at, other in enumerate(reading.table.header)
    )
    return priced or not QUANTITIES.isdisjoint(header_words(header))


def _named_measure(reading: TableReading, operation: Operation, free: Sequence[WordSpan]) -> int | None:
    """The column that is named; words for what the rows or the table are need not name it."""
    if reading.implied is not None:
        if not all(_says_where(reading, span) for span in free if reading.implied not in span.headers):
            raise Unsure
        return reading.implied
    measure = _find_measure(reading, free)
    if measure is not None or not free:
        return measure
    rows_of = [span for span in free if _says_where(reading, span) or _says_all(reading, span, operation)]
    left = [span for span in free if span not in rows_of]
    eaches = {at for span in rows_of if (at := reading.before(span)) is not None and reading.tokens[at] in EACH}
    averaged = operation == "average" and all(span.headers == {0} for span in rows_of)
    if eaches and not averaged and not adds_up(reading):
        raise Unsure  # "per state": a value of each, of which the average is that of the rows
    reading.explained |= eaches
    measure = _find_measure(reading, left)
    if measure is None:
        measure = _find_measure(reading, [span for span in left if not _is_unit_of_others(reading, span, left)])
    if measure is None:
        measure = _find_measure(reading, [span for span in left if not _says_of_what(reading, span, left)])
    if measure is None:
        raise Unsure
    return measure


def _find_measure(reading: TableReading, free: Sequence[WordSpan]) -> int | None:
    """The one column that all headers which are left name together."""
    if not free:
        return None
    positions = frozenset.intersection(*(span.headers for span in free))
    if len(positions) > 1:  # "delays" are no "bad delays"
        positions = frozenset(at for at in positions if reading.says_header(at))
    return next(iter(positions)) if len(positions) == 1 else None


def _is_unit_of_others(reading: TableReading, span: WordSpan, spans: Sequence[WordSpan]) -> bool:
    """Whether it names columns only as what they are counted in, "Entitlement (days)", and another span names one by all that it
    is called, which says nothing of its unit: "how many days were taken"."""
    table, tokens = reading.table, reading.tokens[span.start : span.end]
    if not all(is_its_unit(token, table, at) for token in tokens for at in span.headers):
        return False
    if any(header_words(besides_brackets(table.header[at])) & {*tokens} for at in span.headers):
        return False
    whole = {at for one in spans if one is not span for at in one.headers - span.headers if reading.says_header(at)}
    return len(whole) == 1 and not any(table.units[at] or bracketed(table.header[at]) for at in whole)


def _says_where(reading: TableReading, span: WordSpan) -> bool:
    """Whether a header of words is named for what the table or its rows are: "seattle-weather.csv" with a column "weather",
    "the travel of all members". One of numbers never is: it may be what is asked for."""
    if span.headers == {0} and reading.calls_rows:
        return True
    if any(reading.table.numeric[at] for at in span.headers):
        return False
    return reading.around.issuperset(reading.tokens[span.start : span.end])


def _says_all(reading: TableReading, span: WordSpan, operation: Operation) -> bool:
    """Whether it says that all rows are added: "of all states". Behind "the number of" they may be counted."""
    at = reading.before(span)
    return (
        operation in ("sum", "average") and not reading.phrases("count") and at is not None
        and reading.tokens[at] in (ALL_OF | EACH if operation == "sum" else ALL_OF)
        and not any(reading.table.numeric[at] for at in span.headers)
    )  # fmt: skip


def adds_up(reading: TableReading) -> bool:
    """Whether one number is wanted of every row."""
    return any(tuple(reading.tokens[span.start : span.end]) in ADDING for span in reading.phrases("sum"))


def _says_of_what(reading: TableReading, span: WordSpan, free: Sequence[WordSpan]) -> bool:
    """Whether a word says what all columns of numbers are of: title and header of their total have it, and another column
    is named besides ("wheat exports", of "Wheat" and "Total exports")."""
    return (
        all(TOTALS & header_words(reading.table.header[at]) for at in span.headers)
        and all(reading.is_around(token) for token in reading.tokens[span.start : span.end])
        and any(reading.says_header(at) for one in free if one is not span for at in one.headers)
    )


def _only_number(reading: TableReading, besides: set[int | None], other: int) -> int:
    """The one column of numbers that can be compared with another: counted in the same. Raises Unsure where it is not one."""
    counted = (reading.table.units[other], bracketed(reading.table.header[other]))
    found = _only_one(
        at for at, numeric in enumerate(reading.table.numeric)
        if numeric and at not in besides and at != other and not is_year_column(reading.table.header[at])
        and (reading.table.units[at], bracketed(reading.table.header[at])) == counted
    )  # fmt: skip
    if found is None:
        raise Unsure
    return found


def _only_one(columns: Iterable[int]) -> int | None:
    found = [*columns]
    return found[0] if len(found) == 1 else None


def find_counted_in(reading: TableReading, measure: int | None, conditions: Sequence[CellCondition]) -> int | None:
    """A column that says what each row is counted in, unless the question says which, or the numbers themselves. The first
    one is what the rows are."""
    held = {one.position for one in conditions if len(one.keys) == 1}
    if measure is None or all(
        _is_counted(reading, at) for at in (measure, reading.compared, reading.other) if at is not None
    ):
        return None
    kinds = COUNTED_IN | BESIDE | RATIOS | reading.stop_words
    found = [
        at for at, words in enumerate(map(header_words, reading.table.header))
        if at and at not in held and not reading.table.numeric[at]
        and (words & CURRENCIES or (words & COUNTED_IN and words <= kinds))
    ]  # fmt: skip
    return found[0] if found else None


def _is_counted(reading: TableReading, at: int) -> bool:
    """Whether a column is one of dates, or its cells or its header say what its numbers are counted in."""
    said = {word for part in bracketed(reading.table.header[at]) for word in tokens_of(part)}
    return reading.table.dated[at] or bool(reading.table.units[at]) or not said.isdisjoint(UNITS)
