"""Computations over the rows of a column. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cairn.domain.computation import CellCondition, Computation, Operation
from cairn.language.cells import is_year, tokens_of, year_of
from cairn.language.tokens import same_word
from cairn.query.table_asked import BEST, find_asked, find_asked_position, find_naming, names_rows
from cairn.query.table_conditions import asks_for_several, is_where, read_conditions, read_stated, with_years_between
from cairn.query.table_groups import (
    best_group,
    best_on_average,
    count_groups,
    counts_all_rows,
    each_group,
    is_added,
    pair_of_groups,
    summed_instead,
)
from cairn.query.table_measure import choose_measure, find_counted_in
from cairn.query.table_reading import TableReading, Unsure
from cairn.query.table_words import (
    BESIDE,
    BOUND,
    COMPARISONS,
    COUNTED_IN,
    HOW_MANY,
    HUMANS,
    MOMENTS,
    MOSTS,
    ORDERS,
    PRICES,
    QUANTITIES,
    RANKS,
    RATIOS,
    STRETCHES,
    TIMES,
    TOTALS,
    UNITS,
    YEARS,
    WordSpan,
    besides_brackets,
    besides_date,
    columns_of_people,
    compares,
    header_words,
    is_currency,
    is_its_unit,
    is_money,
    is_other_currency,
    is_range,
    is_verb_of,
    is_year_column,
    may_mean,
    may_name,
    says_latest,
)


def over_rows(reading: TableReading, operation: Operation) -> Computation | None:
    """Raises Unsure."""
    conditions = read_conditions(reading)
    held = {one.position for one in conditions} | {one.position for one in reading.within}
    if groups := each_group(reading, operation, conditions):
        return groups
    if reading.averaged:
        return best_on_average(reading, operation)
    asked = find_asked(reading, operation)
    free = _take_compared(reading, operation, _free_headers(reading, asked, held))
    if asked is not None and reading.implied in asked.headers:
        asked = None
    position = find_asked_position(reading, operation, asked, held)
    if pair := pair_of_groups(reading, operation):
        return _pair_of_rows(reading, pair)
    if operation in ("highest", "lowest") and reading.counts_words(HOW_MANY):
        return None  # "how many teams had the most points"
    if group := best_group(reading, operation):
        return group
    if reading.summed:
        return None  # the highest of sums
    if operation not in ("difference", "growth"):
        conditions = [with_years_between(reading, one) for one in conditions]
        if any(is_range(one.keys) for one in conditions):
            return None
    if operation not in BEST or not asks_for_several(reading):
        read_stated(reading, conditions)
    measure = choose_measure(reading, operation, free, {*held, position}, limited=bool(conditions))
    if _limits_itself(reading, measure):
        reading.compared = measure
    made = _of_rows(reading, operation, measure, conditions, position, asked)
    return None if made is None else replace(made, instead=summed_instead(reading.table, made, reading.tokens))


def _free_headers(reading: TableReading, asked: WordSpan | None, held: set[int]) -> list[WordSpan]:
    """Those that may name the measure."""
    return [
        span for span in reading.spans
        if span.headers and not span.cells and span is not asked and span.headers != {reading.other}
        and not span.headers & held and span not in reading.spent
    ]  # fmt: skip


def _take_compared(reading: TableReading, operation: Operation, free: list[WordSpan]) -> list[WordSpan]:
    """Headers without those of another column that is compared with a number: "average price of parts with a stock above 45"."""
    beside = [span for span in free if span in reading.beside]
    if reading.bound is None or not beside or operation in ("count", "listing") or len(free) == len(beside):
        return free
    compared = reading.base(beside)
    if len(compared) != 1:
        raise Unsure
    [reading.compared] = compared
    if is_year_column(reading.table.header[reading.compared]) and not is_year(str(reading.bound)):
        raise Unsure  # "over 3 years"
    return [span for span in free if span not in beside]


def _limits_itself(reading: TableReading, measure: int | None) -> bool:
    """ "The average price of chairs under 200": of those whose price is. No other number is said, and none in another unit."""
    if measure is None or reading.bound is None or reading.compared is not None or reading.other is not None:
        return False
    units = {token for token in reading.tokens if token in UNITS}
    said = header_words(besides_brackets(reading.table.header[measure])) - UNITS
    return (
        bool(said & PRICES)
        and said.isdisjoint(BOUND)
        and all(is_currency(unit) and not is_other_currency(unit, reading.table, measure) for unit in units)
    )


def _of_rows(
    reading: TableReading,
    operation: Operation,
    measure: int | None,
    conditions: Sequence[CellCondition],
    asked: int | None,
    span: WordSpan | None,
) -> Computation | None:
    """`span`: where the question says what is asked for."""
    if operation in ("highest", "lowest") and measure is not None and _is_place(reading.table.header[measure]):
        return None  # "the highest rank", which may be 1
    if measure is not None and reading.implied is None and _counts_moments(reading, measure):
        return None  # "the most films in one year"
    made = Computation(
        operation, measure, conditions=tuple(conditions), asked=asked, comparison=reading.comparison, bound=reading.bound,
        bound_row=reading.bound_row, other=reading.other, compared=reading.compared, within=reading.within,
        minus=reading.minus, relative=reading.relative,
        counted_in=find_counted_in(reading, measure, conditions),
        one_row=operation in ("highest", "lowest") and asked not in (None, 0) and _says_one_row(reading, span),
        place=reading.place, turned=reading.turned, naming=find_naming(reading, measure, conditions), stated=reading.stated,
    )  # fmt: skip
    if operation == "count":
        counts = [reading.tokens[one.start : one.end] for one in reading.phrases("count")]
        return _count(reading, replace(made, written=all((HOW_MANY | TIMES).isdisjoint(words) for words in counts)))
    if operation == "listing":
        return _list(reading, made)
    if operation == "share" and measure is None:
        return _share_of_rows(reading, made)
    unread = reading.phrases(*COMPARISONS) and reading.comparison is None and not reading.within
    if unread and operation not in ("difference", "growth"):
        return None  # "due in less than one year", and nothing is called so
    if measure is None or (reading.comparison is not None and reading.compared is None):
        return None
    if operation in ("difference", "growth"):
        return _pair_of_rows(reading, made)
    header = reading.table.header[measure]
    if asked is None and year_of(header) and not _says_what(reading, measure) and not names_rows(reading):
        return None  # a statement: its rows are of different kinds
    if operation == "share":
        several = any(len(one.keys) > 1 for one in conditions)
        if not TOTALS.isdisjoint(reading.tokens) and _has_total(reading, measure):
            return None  # "of leases due in a year in all leases": in those of the year, or of any
        limited = made.comparison is not None  # "what share of rivers in Germany is longer than 1000 km"
        return made if made.target is not None and not several and asked is None and not limited else None
    if operation == "sum" and ("%" in f"{header}{reading.table.units[measure]}" or RATIOS & header_words(header)):
        return None  # shares of different wholes
    if operation == "sum" and _says_which(reading, measure):
        return None
    return made if asked is None or operation not in ("sum", "average") else None


def _says_which(reading: TableReading, at: int) -> bool:
    """Whether numbers say which one it is, and not how much: years, positions."""
    table, words = reading.table, tokens_of(besides_brackets(reading.table.header[at]))
    dated = table.dated[at] or table.yearly[at : at + 1] == (True,) or is_year_column(table.header[at])
    ordered = [word in ORDERS for word in words]
    return dated or (bool(words) and (all(ordered) or (ordered[-1] and words[-1] not in STRETCHES | MOMENTS)))


def _counts_moments(reading: TableReading, measure: int) -> bool:
    """Whether most or fewest of something is asked for, and the column holds years or dates."""
    most = any(tuple(reading.tokens[one.start : one.end]) in MOSTS for one in reading.phrases("highest", "lowest"))
    return most and (reading.table.dated[measure] or reading.table.yearly[measure : measure + 1] == (True,))


def _is_place(header: str) -> bool:
    return bool(RANKS.intersection(tokens_of(besides_brackets(header))[-1:]))


def _has_total(reading: TableReading, measure: int) -> bool:
    """Whether a column sums up others beside the one that is computed over."""
    words = [header_words(header.split(" / ")[-1]) for header in reading.table.header]
    return any(
        reading.table.numeric[at] and at != measure and bool(said) and said <= TOTALS for at, said in enumerate(words)
    )


def _share_of_rows(reading: TableReading, made: Computation) -> Computation | None:
    """ "What share of the invoices is overdue": of rows, which are named right behind."""
    shares = reading.phrases("share")
    after = reading.span_after(shares[0].end)
    behind = reading.after_stop_words(shares[0].end)
    named = behind < len(reading.tokens) and behind not in reading.explained and _names_row(reading, behind)
    rows = len(shares) == 1 and (named or (after is not None and after.headers == {0} and not after.cells))
    single = len(made.conditions) == 1 and len(made.conditions[0].keys) == 1 and made.conditions[0].position
    limited = made.comparison is not None or made.within or made.asked is not None
    return made if rows and single and not limited and reading.calls_rows else None


def _says_one_row(reading: TableReading, asked: WordSpan | None) -> bool:
    """Whether what each row is stands behind the superlative: "which district has the most expensive listing"."""
    for span in reading.phrases("highest", "lowest", "superlative"):
        after = reading.span_after(span.end)
        behind = span.end < len(reading.tokens) and not _is_plural(reading, span.end)
        if (
            behind
            and after is not None
            and after is not asked
            and after.headers == {0}
            and not after.cells
            and after.start == span.end
        ):
            return True
        if behind and span.end not in reading.explained and _names_row(reading, span.end):
            return True
    return False


def _is_plural(reading: TableReading, at: int) -> bool:
    """Whether rows are named and not one: "which country has the longest rivers" may ask for those that have it on average."""
    token = reading.tokens[at]
    rows = any(len(word) < len(token) and same_word(word, token) for word in header_words(reading.table.header[0]))
    humans = any(len(word) < len(token) and same_word(word, token) and token != f"{word}e" for word in HUMANS)
    return rows or humans  # "employée" is no plural


def _names_row(reading: TableReading, at: int) -> bool:
    token, people = reading.tokens[at], columns_of_people(reading.table)
    named = any(may_name(token, word) for word in header_words(reading.table.header[0]))
    return named or (token in HUMANS and people[:1] in ([0], [1]))


def _says_what(reading: TableReading, at: int) -> bool:
    """Whether a column is called by more than its year, be it what it is counted in."""
    header = reading.table.header[at]
    words = set(besides_date(header).split()) - BESIDE - YEARS - MOMENTS
    return any(token in UNITS and is_its_unit(token, reading.table, at) for token in reading.tokens) or any(
        may_mean(token, word) or is_verb_of(token, word) for token in reading.tokens for word in words
    )


def _count(reading: TableReading, made: Computation) -> Computation | None:
    if (groups := count_groups(reading, made)) or reading.distinct:
        return groups
    if made.measure is not None and made.comparison is None:
        return _sum_of_counts(reading, made)
    if made.measure is not None and made.other is None and made.compared not in (None, made.measure):
        return None  # "how many points have clubs with more than 3 wins"
    if any(set(tokens_of(reading.table.header[one.position])) & COUNTED_IN for one in made.conditions):
        return None  # "how many kilograms": not how many rows
    [counted, *_] = [*(reading.header_after(span.end) for span in reading.phrases("count")), None]
    if made.other is not None and counted is not None and reading.is_number(counted):
        return None  # "how many members more in 2023 than in 2022"
    limited = made.comparison or made.conditions or made.within
    if _counts_goods(reading, made) or (_names_one(reading, made) and not made.comparison and not made.within):
        return None
    if not limited and made.other is None and made.measure is None and counts_all_rows(reading):
        return replace(made, asked=None, naming=None)
    return made if (made.measure is None) == (made.comparison is None) and limited else None


def _names_one(reading: TableReading, made: Computation) -> bool:
    """Whether rows are counted that are called by what each of them is alone: "how many hinges were received"."""
    alone = not reading.table.repeats and all(one.position == 0 and len(one.keys) == 1 for one in made.conditions)
    return bool(made.conditions) and made.measure is None and alone


def _counts_goods(reading: TableReading, made: Computation) -> bool:
    """Whether "how many saddles" may be pieces of them, of a table that says how many each row is of."""
    [counted, *_] = [*reading.phrases("count"), None]
    after = None if counted is None else reading.span_after(counted.end)
    if after is None or not after.cells or any(one.position == 0 for one in after.cells):
        return False
    return any(
        reading.table.numeric[at] and not QUANTITIES.isdisjoint(header_words(header))
        for at, header in enumerate(reading.table.header)
    )


def _list(reading: TableReading, made: Computation) -> Computation | None:
    if made.comparison is not None:
        return made if made.measure is not None else None
    if made.within and made.measure is None:
        position = made.within[0].position
        return replace(made, measure=position, naming=find_naming(reading, position, made.conditions))
    limited = made.measure is None and bool(made.conditions)
    return made if limited and (is_where(reading, made.conditions) or _lists_rows(reading)) else None


def _lists_rows(reading: TableReading) -> bool:
    """Whether rows are asked for by what each is: "which wards are in the East building"; not "which ward", which is one."""
    for span in reading.phrases("listing"):
        at = span.end
        while (after := _span_from(reading, at)) is not None and after.cells and not after.headers:
            at = after.end  # "which open orders"
        if after is not None and after.headers == {0} and not after.cells and _is_plural(reading, after.end - 1):
            return True
    return False


def _span_from(reading: TableReading, at: int) -> WordSpan | None:
    """The span at a place, behind words that say nothing: "list all"."""
    return next((one for one in reading.spans if one.start == reading.after_idle(at)), None)


def share_of_total(reading: TableReading, operation: Operation) -> Computation | None:
    """ "What share of total revenue was membership fees": of one row in another one that sums up, in one column."""
    labels = [(span, one) for span in reading.spans for one in span.cells if one.position == 0]
    if operation != "share" or len(labels) != 2 or reading.within or any(one.cells > 1 for _, one in labels):
        return None
    [whole, part] = sorted(labels, key=lambda one: not one[1].total)
    heads = [span for span in reading.spans if span.headers - {0} and not span.cells]
    columns = [at for at in reading.base(heads) if reading.table.numeric[at]]
    others = any(span.cells for span in reading.spans if span not in (whole[0], part[0]))
    if not whole[1].total or part[1].total or part[1].row > whole[1].row or len(columns) != 1 or others:
        return None
    keys, texts = (part[1].key, whole[1].key), (part[1].text, whole[1].text)
    condition = CellCondition(0, keys, texts)
    return Computation("share", columns[0], conditions=(condition,), pair=texts, totals=True)


def _sum_of_counts(reading: TableReading, made: Computation) -> Computation | None:
    """ "How many votes were there in Ohio": the sum of a column that counts, unless each row is of another time: "how many
    inhabitants has Ohio"."""
    assert made.measure is not None
    held = {one.position for one in made.conditions}
    times = {
        at for at, header in enumerate(reading.table.header)
        if (reading.table.dated[at] and not says_latest(header)) or is_year_column(header)
    }  # fmt: skip
    header = reading.table.header[made.measure]
    if _says_which(reading, made.measure):
        return None
    counts = not compares(header) and RATIOS.isdisjoint(header_words(header)) and made.asked is None
    held |= {one.position for one in made.within}
    if reading.table.coded or reading.table.numbered:  # each row is one of its kind, and of it are so many hours
        times = set() if header_words(header) & (STRETCHES | QUANTITIES) else times
    single = all(len(one.texts) == 1 for one in made.conditions)  # of several: "together", or a difference
    limited = made.conditions or made.within
    return replace(made, operation="sum") if counts and limited and single and times <= held else None


def _pair_of_rows(reading: TableReading, made: Computation) -> Computation | None:
    several = [one for one in made.conditions if len(one.keys) > 1]
    if len(several) != 1 or len(several[0].keys) != 2 or made.asked is not None:
        return None
    first, second = several[0].keys
    dated = is_year(first) and is_year(second)
    if made.operation == "growth" and not dated:
        return None
    places = [min(span.start for span in reading.spans if _holds(span, key)) for key in (first, second)]
    [one, other] = [span for span in reading.spans if span.start in places]
    if reading.takes_second(one, other, made.operation, earlier=first < second if dated else None):
        first, second = second, first
    said = dict(zip(several[0].keys, several[0].keys if made.grouped and dated else several[0].texts, strict=True))
    ordered = CellCondition(several[0].position, (first, second), (said[first], said[second]))
    conditions = tuple(ordered if one is several[0] else one for one in made.conditions)
    grouped = made.grouped or _adds_groups(reading, made, several[0].position)
    return replace(made, conditions=conditions, pair=(said[first], said[second]), totals=not grouped, grouped=grouped)


def _adds_groups(reading: TableReading, made: Computation, position: int) -> bool:
    """ "How many more pupils are there in the East than in the South": of a column that is named."""
    phrases = reading.phrases("difference", "count")
    counted = any(not HOW_MANY.isdisjoint(reading.tokens[one.start : one.end]) for one in phrases)
    named = any(made.measure in one.headers and not one.cells for one in reading.spans)
    added = made.measure is not None and is_added(reading, made.measure) and not is_money(reading.table, made.measure)
    return made.operation == "difference" and position > 0 and counted and named and added


def _holds(span: WordSpan, key: str) -> bool:
    return any(cells.key == key for cells in span.cells)
