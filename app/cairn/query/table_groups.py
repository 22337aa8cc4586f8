"""Computations over groups of rows: "which doctor had the most visits", "how many more were paid by card than in cash", "the
average tip per day". Pure.

A group is the rows that have the same cell of one column: they are counted, a column that can be added is summed up, or one is
averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cairn.domain.computation import CellCondition, Computation, Operation
from cairn.domain.table import TableSketch
from cairn.language.cells import tokens_of
from cairn.language.title_scale import MEASURES
from cairn.query.table_asked import find_asked, find_asked_position
from cairn.query.table_conditions import read_conditions
from cairn.query.table_measure import adds_up, choose_measure, find_counted_in
from cairn.query.table_reading import TableReading, Unsure
from cairn.query.table_words import (
    BESIDE,
    BOUND,
    COUNTED,
    FLOWS,
    GOOD,
    HOW_MANY,
    HUMANS,
    INHABITANTS,
    MOSTS,
    PEOPLE,
    PERIODS,
    PRICES,
    QUALIFIERS,
    QUANTITIES,
    RATIOS,
    READINGS,
    SCALES,
    STRETCHES,
    TOTALS,
    UNITS,
    WORTH,
    WordSpan,
    columns_of_people,
    compares,
    happened,
    header_words,
    is_money,
    is_year_column,
    may_mean,
    may_name,
    says_latest,
)


def each_group(reading: TableReading, operation: Operation, conditions: Sequence[CellCondition]) -> Computation | None:
    """ "How many penguins are there of each species", "average tip by day": of all groups of the one column that is named behind
    "each", how many rows they have, or the sum or average of a column. Raises Unsure where that is asked for and not clear."""
    if operation not in ("count", "sum", "average") or adds_up(reading):
        return None
    held = {*(one.position for one in conditions), *(one.position for one in reading.within)}
    heads = [span for span in reading.spans if span.headers and not span.cells and not span.headers & held]
    said = [(span, at) for span in heads if (at := reading.behind_each(span)) is not None]
    if not said or (all(span.headers == {0} for span, _ in said) and not reading.table.repeats):
        return None  # "per state", of rows that are states
    [(span, at), *more] = said
    [position, *others] = span.headers
    if more or others or not _may_group(reading, position) or reading.comparison is not None:
        raise Unsure
    free = [one for one in heads if one is not span]
    if any(not reading.is_number(one) and (one.start > span.end or reading.table.repeats) for one in free):
        raise Unsure  # "per island and species"
    common = Computation(
        operation, conditions=tuple(conditions), asked=position, within=reading.within, grouped=True, each=True
    )
    reading.explained.add(at)
    if operation == "count" and not any(reading.is_number(one) for one in free):
        if not calls_rows_at(reading, reading.phrases("count")[0].end):
            raise Unsure
        return common
    measure = choose_measure(
        reading, "sum" if operation == "count" else operation, free, {*held, position}, limited=False
    )
    if measure is None or (
        operation == "count" and not (is_added(reading, measure) or _says_what_is_counted(reading, measure))
    ):
        raise Unsure
    shares = RATIOS & header_words(reading.table.header[measure]) or "%" in (reading.table.units[measure] or "")
    if shares and operation != "average":
        raise Unsure  # of different wholes
    counted = find_counted_in(reading, measure, conditions)
    return replace(
        common, operation="sum" if operation == "count" else operation, measure=measure, counted_in=counted,
        averaged=operation == "average",
    )  # fmt: skip


def _may_group(reading: TableReading, position: int) -> bool:
    return groups_by(reading.table, position)


def groups_by(table: TableSketch, position: int) -> bool:
    """Whether rows may have the same cell of a column: one of words, or of years."""
    years = is_year_column(table.header[position]) or table.yearly[position : position + 1] == (True,)
    return not table.dated[position] and (not table.numeric[position] or years)


def best_on_average(reading: TableReading, operation: Operation) -> Computation | None:
    """ "Which species has the longest flippers on average": the group whose average of a column is the highest. Raises Unsure."""
    if operation not in ("highest", "lowest") or reading.comparison is not None:
        return None
    conditions = read_conditions(reading)
    held = {*(one.position for one in conditions), *(one.position for one in reading.within)}
    asked = find_asked(reading, operation)
    position = find_asked_position(reading, operation, asked, held)
    if position is None or position in held or not _may_group(reading, position):
        return None
    free = [
        one for one in reading.spans
        if one.headers and not one.cells and one is not asked and not one.headers & held
    ]  # fmt: skip
    measure = choose_measure(reading, operation, free, {*held, position}, limited=False)
    if measure is None:
        return None
    return Computation(
        operation, measure, conditions=tuple(conditions), asked=position, within=reading.within, grouped=True, averaged=True,
        counted_in=find_counted_in(reading, measure, conditions),
    )  # fmt: skip


def count_groups(reading: TableReading, made: Computation) -> Computation | None:
    """ "How many islands are there": of a column whose cells come again, how many different ones there are; of some of the rows
    only where different ones are asked for, as else rows may be meant."""
    position, table = made.asked, reading.table
    if position is None or not (position or table.repeats) or not _may_group(reading, position):
        return None
    held = {*(one.position for one in made.conditions), *(one.position for one in made.within)}
    limited = made.comparison is not None or (held and not reading.distinct) or position in held
    if limited or made.measure is not None or table.flags[position : position + 1] not in ((), (None,)):
        return None
    return replace(made, naming=None, grouped=True)


def counts_all_rows(reading: TableReading) -> bool:
    """ "How many releases are there in total": of the one table that is called so, or, "in total", of one whose rows are. Not
    where a column says how many of something each row has, and not persons, of whom a row may be several."""
    table = reading.table
    counts = reading.phrases("count")
    at = reading.after_stop_words(counts[0].end) if len(counts) == 1 else len(reading.tokens)
    amounts = (one for one, numeric in enumerate(table.numeric) if numeric and one and not is_money(table, one))
    if (
        at >= len(reading.tokens)
        or reading.distinct
        or not table.header[0]
        or (table.repeats and table.numeric[0])
        or any(table.yearly[one : one + 1] != (True,) for one in amounts)
    ):
        return False
    if names_rows_at(reading, at):
        return (bool(reading.phrases("sum")) and not _is_part(reading, at)) or _says_name(reading)
    return at not in reading.explained and reading.tokens[at] not in HUMANS | PEOPLE and _says_name(reading, at)


def _is_part(reading: TableReading, at: int) -> bool:
    """Whether the title says that the table has some of what is counted: "Open orders by status"."""
    words = [word for word in tokens_of(reading.table.title) if word not in reading.stop_words]
    called = [word for word in words if may_mean(reading.tokens[at], word)]
    return bool(called) and any(not any(may_mean(token, word) for token in reading.tokens) for word in words)


def _says_name(reading: TableReading, at: int | None = None) -> bool:
    """Whether the question says all that the table, the heading above it or its file is called; the word at a place among it."""
    table = reading.table
    stem, _, ending = table.external_id.rpartition("/")[2].rpartition(".")
    for name in (table.title, *table.headings[-1:], *([stem] if ending.casefold() in _OF_TABLES else ())):
        words = [word for word in tokens_of(name) if word not in reading.stop_words]
        said = all(any(may_mean(token, word) for token in reading.tokens) for word in words)
        if words and said and (at is None or any(may_mean(reading.tokens[at], word) for word in words)):
            return True
    return False


_OF_TABLES: Final = frozenset({"csv", "tsv", "xls", "xlsx", "ods"})
"""Endings of files that are nothing but a table, or have one on each sheet."""


def best_group(reading: TableReading, operation: Operation) -> Computation | None:
    """The group with the most rows, where what is counted of it is what the rows are, or with the highest sum: of a column of
    which "the most" is asked for, if the highest number of all is of that group, too. Raises Unsure."""
    commonest = reading.phrases("commonest")
    if operation not in ("highest", "lowest", "rank", "top") or reading.implied is not None or reading.comparison:
        return None
    best = [span for span in reading.phrases("highest", "lowest") if _asks_most(reading, span)]
    if len(commonest) + len(best) != 1:
        return None
    conditions = read_conditions(reading)
    held = {*(one.position for one in conditions), *(one.position for one in reading.within)}
    asked = find_asked(reading, operation) or _behind(reading, commonest)
    position = find_asked_position(reading, operation, asked, held)
    if position is None or not (position or reading.table.repeats):
        return None
    if reading.table.numeric[position] or reading.table.dated[position] or position in held:
        return None
    named = [
        span for span in reading.spans
        if span.headers and not span.cells and span is not asked and not span.headers & held
    ]  # fmt: skip
    left = [span for span in named if span.headers != {0} or not reading.calls_rows]
    made = Computation(
        operation, conditions=tuple(conditions), asked=position, within=reading.within, place=reading.place,
        turned=reading.turned, grouped=True,
    )  # fmt: skip
    if operation != "highest" and (conditions or reading.within or reading.turned):
        return None  # a group without any such row is not there
    if commonest:
        return made if not left else None
    if not left:
        return made if calls_rows_at(reading, best[0].end) else None
    if not position and any(len(span.headers) != 1 or not reading.says_header(*span.headers) for span in left):
        return None  # "the most departures", of a column "Day of departure"
    return _highest_sum(reading, made, left, {*held, position})


def _highest_sum(
    reading: TableReading, made: Computation, free: Sequence[WordSpan], besides: set[int | None]
) -> Computation | None:
    measure = choose_measure(reading, made.operation, free, besides, limited=bool(made.conditions))
    if measure is None or made.operation not in ("highest", "lowest"):
        return None
    if not is_added(reading, measure) and not (reading.summed and _may_be_added(reading, measure)):
        return None
    counted = find_counted_in(reading, measure, made.conditions)
    common = {"conditions": made.conditions, "asked": made.asked, "within": made.within, "counted_in": counted}
    row = Computation(made.operation, measure, one_row=True, **common)  # type: ignore[arg-type]
    return Computation(made.operation, measure, grouped=True, also=None if reading.summed else row, **common)  # type: ignore[arg-type]


def summed_instead(table: TableSketch, made: Computation, said: Sequence[str]) -> Computation | None:
    """What is meant where several rows are of what is asked for, "which month had the highest revenue", of two rows a month: the
    sum of each, of what comes in or goes out and is called so; and of one number that several rows have their sum. `said`: the
    words of the question. A group without any row that meets the conditions is not there, and may be the lowest."""
    limited = made.comparison is not None or made.minus is not None or made.other is not None or made.one_row
    if made.measure is None or limited or made.grouped or not is_flow(table, made.measure, said):
        return None
    if may_be_read_otherwise(table, made):
        return None
    if made.operation == "value":
        held = {*(one.position for one in made.conditions), *(one.position for one in made.within)}
        once = all(len(one.keys) == 1 for one in made.conditions)
        return replace(made, operation="sum", totals=False) if once and _times_of(table) <= held else None
    if made.operation not in ("highest", "lowest", "top") or made.asked is None or not groups_by(table, made.asked):
        return None
    lowest = made.operation == "lowest" or made.turned
    return None if lowest and (made.conditions or made.within) else replace(made, grouped=True, naming=None)


def may_be_read_otherwise(table: TableSketch, made: Computation) -> bool:
    """Whether a column says how its row is to be read ("Scenario": plan and actual; "Type": of the month and since January), and
    no condition which of these is meant: then the numbers are no parts of one whole."""
    held = {made.asked, *(one.position for one in made.conditions), *(one.position for one in made.within)}
    return any(
        at not in held and not numeric and not READINGS.isdisjoint(header_words(header))
        for at, (header, numeric) in enumerate(zip(table.header, table.numeric, strict=True))
    )


def _times_of(table: TableSketch) -> set[int]:
    """Columns that say of which time a row is; beside one of years none that says when a branch opened."""
    times = {
        at for at, header in enumerate(table.header)
        if (table.dated[at] and not says_latest(header)) or is_year_column(header) or table.yearly[at : at + 1] == (True,)
        or not PERIODS.isdisjoint(header_words(header))
    }  # fmt: skip
    once = {at for at in times if table.dated[at] and happened(table.header[at])}
    return times - once or times


_THOUSANDS: Final = frozenset({"teur", "keur", "tusd", "kusd", "tchf", "kchf", "tgbp", "kgbp"})
"""Thousands of a currency, as headers write them."""


def is_flow(table: TableSketch, at: int, said: Sequence[str]) -> bool:
    """Whether a column holds what comes in or goes out, and says nothing besides: revenue, costs, no unit cost; and is called so:
    "the highest sale" is one."""
    words = header_words(table.header[at])
    called = {word for word in words if len(word) > 1 and not word.isdigit()} - FLOWS
    counted = UNITS | _THOUSANDS | SCALES.keys() | TOTALS | BESIDE | QUALIFIERS
    return (
        table.numeric[at]
        and called <= counted - RATIOS
        and not FLOWS.isdisjoint(words)
        and not FLOWS.isdisjoint(said)
        and not compares(table.header[at])
        and "%" not in f"{table.header[at]}{table.units[at] or ''}"
    )


def _asks_most(reading: TableReading, span: WordSpan) -> bool:
    """ "The most", "the highest number of", "the highest total"; "the highest salary" is of one row."""
    counted = any(one.start == span.end for one in reading.phrases("count", "sum"))
    return counted or tuple(reading.tokens[span.start : span.end]) in MOSTS


def _behind(reading: TableReading, phrases: Sequence[WordSpan]) -> WordSpan | None:
    """ "The most common reason"."""
    return reading.header_after(phrases[0].end) if phrases else None


def calls_rows_at(reading: TableReading, at: int) -> bool:
    """As `names_rows_at`; of a table whose first cells come again, and of which all numbers are what each row has for itself, a
    word for the document is one for the rows: "penguins", with their weights and lengths."""
    if names_rows_at(reading, at):
        return True
    numbers = [
        header_words(header) for numeric, header in zip(reading.table.numeric, reading.table.header, strict=True)
        if numeric and not is_year_column(header)
    ]  # fmt: skip
    at = reading.after_stop_words(at)
    each = bool(numbers) and all(words & MEASURES for words in numbers)
    return reading.table.repeats and each and _is_called_so(reading, at)


def names_rows_at(reading: TableReading, at: int) -> bool:
    """Whether what stands there says what each row is: "visits", of a column "Visit" at the beginning, "employees", and, where
    rows are numbered, what the document is called, "donations"; not what is added up as well as counted, such as sales."""
    for phrase in reading.phrases("count"):
        at = phrase.end if phrase.start == at else at
    at = reading.after_stop_words(at)
    if at >= len(reading.tokens):
        return False
    after = next((span for span in reading.spans if span.start <= at < span.end), None)
    if after is not None and after.headers:
        return after.headers == {0} and not after.cells and not _is_unit_of_more(reading, at)
    token, people = reading.tokens[at], columns_of_people(reading.table)
    if token in HUMANS | PEOPLE:
        return people[:1] in ([0], [1]) and (people[:1] == [0] or reading.table.coded or reading.table.numbered)
    if any(may_name(token, word) for word in header_words(reading.table.header[0])):
        return reading.is_around(token) and not _is_unit_of_more(reading, at)
    return False


def _is_unit_of_more(reading: TableReading, at: int) -> bool:
    """Whether each row may be of several: a column counts pieces, or it is a word for what is added up, such as "sales"."""
    return _counts_pieces(reading) or reading.tokens[at] in GOOD


def _counts_pieces(reading: TableReading) -> bool:
    return any(
        numeric and not QUANTITIES.isdisjoint(header_words(header))
        for numeric, header in zip(reading.table.numeric, reading.table.header, strict=True)
    )


def _says_what_is_counted(reading: TableReading, measure: int) -> bool:
    """ "How many patients were enrolled", of "Enrolled": a word that no column has, right behind "how many"."""
    behind = [reading.after_stop_words(span.end) for span in reading.phrases("count")]
    words = all(at < len(reading.tokens) and at not in reading.explained for at in behind)
    return bool(behind) and words and _may_be_added(reading, measure) and not is_money(reading.table, measure)


def is_added(reading: TableReading, at: int) -> bool:
    """Whether the sum over a group says how many of something it has: people, pieces, hours, points, passengers, or money; of
    what each thing has for itself, such as calories or pages, it may be the average that is meant. No price, rate or change."""
    table, header = reading.table, reading.table.header[at]
    words = header_words(header)
    several = HUMANS | PEOPLE | INHABITANTS | QUANTITIES | STRETCHES | GOOD | WORTH | COUNTED
    return (not words.isdisjoint(several) or is_money(table, at)) and _may_be_added(reading, at)


def _may_be_added(reading: TableReading, at: int) -> bool:
    """Whether nothing says that a sum of these numbers means nothing, where it is asked for as such: "the highest total"."""
    table, header = reading.table, reading.table.header[at]
    return (
        table.numeric[at]
        and header_words(header).isdisjoint(RATIOS | BOUND | PRICES | MEASURES)
        and not compares(header)
        and not is_year_column(header)
        and "%" not in (table.units[at] or "")
    )


def pair_of_groups(reading: TableReading, operation: Operation) -> Computation | None:
    """ "How many more visits were paid by card than in cash": of two cells of one column the numbers of their rows. Raises
    Unsure."""
    phrases = [
        span for span in reading.phrases("difference", "count")
        if not HOW_MANY.isdisjoint(reading.tokens[span.start : span.end])
    ]  # fmt: skip
    if operation != "difference" or len(phrases) != 1 or reading.comparison is not None:
        return None
    conditions = read_conditions(reading)
    pairs = [one for one in conditions if len(one.keys) > 1]
    if len(pairs) != 1 or len(pairs[0].keys) != 2 or pairs[0].position == 0:
        return None
    held = {*(one.position for one in conditions), *(one.position for one in reading.within)}
    heads = [span for span in reading.spans if span.headers and not span.cells]
    if any(not span.headers <= {0, *held} for span in heads) or not reading.calls_rows:
        return None
    at = reading.after_stop_words(phrases[0].end)
    events = reading.table.coded or reading.table.numbered
    called = events and _is_called_so(reading, at)
    if not called and not names_rows_at(reading, at) and not _begins_with(reading, phrases[0], pairs[0]):
        return None
    return Computation(operation, conditions=tuple(conditions), within=reading.within, grouped=True)


def _is_called_so(reading: TableReading, at: int) -> bool:
    """Whether rows that are numbered are called as the document is: "donations"."""
    free = at < len(reading.tokens) and at not in reading.explained
    return free and reading.is_around(reading.tokens[at]) and not _is_unit_of_more(reading, at)


def _begins_with(reading: TableReading, phrase: WordSpan, pair: CellCondition) -> bool:
    """Whether what is compared stands where the rows could: "how many more check-ups than injuries"."""
    after = reading.span_after(phrase.end)
    cells = after is not None and any(one.key in pair.keys and one.position == pair.position for one in after.cells)
    return cells and not _counts_pieces(reading)
