"""What the last or first row says of those that are meant: "Meyer's latest salary", "the last repair of van 3". Pure."""

from __future__ import annotations

from cairn.domain.computation import Computation, Operation
from cairn.query.table_conditions import read_conditions
from cairn.query.table_explained import explains
from cairn.query.table_groups import may_be_read_otherwise
from cairn.query.table_reading import TableReading
from cairn.query.table_words import BOUND, COMPUTED, WHEN, header_words, is_year_column, says_time


def number_of_latest(reading: TableReading) -> Computation | None:
    """By the one column of days that the table has, of rows that a cell chooses; none where a stretch of time is last ("last
    year"), or several rows are ("the last 3"). Raises Unsure."""
    table, dated = reading.table, reading.phrases("latest", "earliest")
    days = [at for at, is_day in enumerate(table.dated) if is_day]
    if len(dated) != 1 or len(days) != 1 or reading.comparison is not None or reading.other is not None:
        return None
    if reading.phrases(*COMPUTED, "superlative", "best", "worst", "commonest", "top", "bottom", "none"):
        return None
    conditions = tuple(read_conditions(reading))
    asked = _asked(reading, {one.position for one in conditions})
    if asked is None:
        return None
    [[span], [day]] = dated, days
    around = (span.end, reading.after_stop_words(span.end), span.start - 1)
    times = any(0 <= at < len(reading.tokens) and says_time(reading.tokens[at], table.header[day]) for at in around)
    several = any(token.isdigit() and at not in reading.explained for at, token in enumerate(reading.tokens))
    if times or several or is_year_column(table.header[asked]) or header_words(table.header[day]) & BOUND:
        return None
    operation: Operation = "highest" if span.phrases[0] == "latest" else "lowest"
    made = Computation(operation, day, conditions=conditions, asked=asked, within=reading.within)
    if not conditions or any(len(one.keys) > 1 for one in conditions) or may_be_read_otherwise(table, made):
        return None
    if _subject(reading) not in {one.position for one in conditions}:  # days of different things follow no one
        return None
    return made if explains(reading, made) else None


def _subject(reading: TableReading) -> int | None:
    """The column of what the rows are of: the first one of words."""
    table = reading.table
    words = (at for at in range(len(table.header)) if not (table.numeric[at] or table.dated[at]))
    return next((at for at in words if not (table.coded and at == 0)), None)


def _asked(reading: TableReading, held: set[int]) -> int | None:
    """The one column of numbers that is named; where none is, what each row is of: the only column of words that is left, or the
    first one of rows that are numbered."""
    table = reading.table
    heads = [one for one in reading.spans if one.headers - {0} and not one.cells]
    if heads:
        named = len(heads) == 1 and len(heads[0].headers) == 1 and reading.is_number(heads[0])
        return next(iter(heads[0].headers)) if named else None
    left = [at for at in range(len(table.header)) if at not in held and not (table.numeric[at] or table.dated[at])]
    if not WHEN.isdisjoint(reading.tokens):
        return None
    return left[0] if len(left) == 1 or (table.coded and left[:1] == [0]) else None
