"""How a question limits rows by dates and numbers: "before 2026", "below the reorder level", "with 4 cylinders". Pure."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from cairn.domain.computation import CellInterval
from cairn.domain.table import TableSketch
from cairn.language.cells import is_year, tokens_of
from cairn.query.table_reading import MOST_CONDITIONS, MOST_INTERVALS, TableReading, Unsure, how_many
from cairn.query.table_time import Period
from cairn.query.table_words import (
    AS_MANY,
    AS_THOSE,
    BEGUN,
    BOUND,
    COMPARATIVES,
    COMPARISONS,
    COMPUTED,
    COSTING,
    COUNTED_IN,
    DOING,
    EARLIEST,
    ENTERING,
    FALLING,
    HAVING,
    HIGH,
    HIGHER,
    HOW_MANY,
    HUMANS,
    LAST_PART,
    LATEST,
    LOWER,
    MEASURING,
    MOMENTS,
    NEGATIONS,
    OR,
    PEOPLE,
    PER,
    PERSON_NAMES,
    PERSONS,
    PRICES,
    QUALIFIERS,
    RISING,
    SCALES,
    SPELLED,
    STRETCHES,
    THAN,
    TOTALS,
    UNITS,
    WORTH,
    YEARS,
    YES_NO,
    WordSpan,
    besides_brackets,
    bracketed,
    happened,
    header_words,
    hides_number,
    is_its_unit,
    is_money,
    is_verb_of,
    is_word,
    is_year_column,
    may_mean,
    names_of,
    numbers_between,
    rivals_of,
    scale_of,
)


def is_all_said(reading: TableReading, header: str, dated: WordSpan | None = None) -> bool:
    """Whether a column of dates is no other than the one that is asked for: "delivered" is no "planned delivery". It may say
    that its dates are the last, unless the first are asked for."""
    idle = reading.stop_words | MOMENTS | {
        word for words in (LATEST, EARLIEST)
        if dated is None or tuple(reading.tokens[dated.start : dated.end]) in words
        for phrase in words for word in phrase
    }  # fmt: skip
    return all(
        word in idle or any(may_mean(token, word) or is_verb_of(token, word) for token in reading.tokens)
        for word in header_words(header)
    )


def find_dates(reading: TableReading, period: Period | None = None) -> int | None:
    """The column of dates that is asked for: named, called by a verb ("delivered": "Last delivery"), or, where a period is
    said, the only one. One of years where the period says no more."""
    days = [at for at, dated in enumerate(reading.table.dated) if dated]
    years = [
        at for at, header in enumerate(reading.table.header) if is_year_column(header) and reading.table.numeric[at]
    ]
    # numbers that may be years count only where their column is named, and by what happened then: "opened", not "guests"
    yearly = [
        at for at, may_be in enumerate(reading.table.yearly)
        if may_be and at not in years and happened(reading.table.header[at])
    ]  # fmt: skip
    alone = days + (years if period is not None and period.whole_years else [])
    columns = alone + (yearly if period is not None and period.whole_years else [])
    named = [at for at in columns if any(at in span.headers and not span.cells for span in reading.spans)]
    called = {
        at: places
        for at in columns
        if is_all_said(reading, reading.table.header[at]) and (places := {
            place for place, token in enumerate(reading.tokens)
            if place not in reading.explained and any(is_verb_of(token, word) for word in header_words(reading.table.header[at]))
        })
    }  # fmt: skip
    found = named or [*called] or (alone if period is not None else [])
    if period is not None and len(found) > 1 and not called:
        found = _dates_of_rows(reading, found)
    if len(found) != 1:
        return None
    reading.explained |= called.get(found[0], set())
    return found[0]


def find_days_of_rows(reading: TableReading, begun: frozenset[str] = frozenset()) -> int | None:
    """The one column of dates, where it is called by no more than that, or by a word for what rows begin with, `begun`: the
    latest and the oldest go by "Date", the latest also by "Published". Of persons it may be anything."""
    table = reading.table
    days = [at for at, dated in enumerate(table.dated) if dated and at]
    idle = reading.stop_words | MOMENTS | begun
    if len(days) != 1 or not header_words(table.header[days[0]]) <= idle or not _names_things(reading):
        return None
    return days[0]


def _names_things(reading: TableReading) -> bool:
    """Whether the question says what the rows are, and no other column of them; and that is no person."""
    headers = {at for span in reading.spans if span.headers and not span.cells for at in span.headers}
    if headers - {0} or header_words(reading.table.header[0]) & (PERSONS | HUMANS | PERSON_NAMES):
        return False
    around = (
        token
        for at, token in enumerate(reading.tokens)
        if at not in reading.explained and token not in reading.stop_words
    )
    return bool(headers) or any(token not in HUMANS | PEOPLE and reading.is_around(token) for token in around)


def _happened_then(reading: TableReading, period: Period, position: int) -> bool:
    """Whether what stands before a date may say what happened then, of which the column of dates says nothing: "cancelled after 1
    March", of the status of an order, and "paid after 1 March"; not "placed after", and not "from Kiel after 1 March"."""
    at = period.start - 1
    verb = reading.tokens[at]
    if at not in reading.explained:
        words = header_words(reading.table.header[position])
        if verb in ENTERING:  # "placed", of an "Order date", and not of a "Due date"
            idle = reading.stop_words | MOMENTS | BEGUN | ENTERING
            return not all(word in idle or reading.is_around(word) for word in words)
        return verb in DOING - reading.stop_words and not any(is_verb_of(verb, word) for word in words)
    state = next((span for span in reading.spans if span.cells and span.end == period.start), None)
    if state is None:
        return False
    before = reading.tokens[state.start - 1] if state.start else ""
    return before not in reading.stop_words - YES_NO


def _dates_of_rows(reading: TableReading, columns: Sequence[int]) -> list[int]:
    """Of several columns of dates the one whose header the question has but for the date: "orders", of "Order date". None where
    it may mean another one as well: "delivered", of "Delivered on"."""
    said = [
        at for at in columns
        if any(
            word not in reading.stop_words | MOMENTS and (may_mean(token, word) or is_verb_of(token, word))
            for word in header_words(reading.table.header[at]) for token in reading.tokens
        )
    ]  # fmt: skip
    return said if len(said) == 1 and is_all_said(reading, reading.table.header[said[0]]) else []


def read_periods(reading: TableReading) -> None:
    """Raises Unsure where that may be several columns, or cannot be read."""
    if not reading.periods:
        return
    if any(one.is_unread() for one in reading.periods):
        raise Unsure
    said = [
        word
        for one in reading.periods
        for word in reading.tokens[one.start : one.end]
        if word not in reading.stop_words
    ]
    if (
        not any(reading.table.dated)
        and all(one.said[0] not in "<>≥≤" for one in reading.periods)
        and all(map(reading.is_around, said))
    ):
        return  # "in October 2026", of a table of that month
    if len(reading.periods) > 1 or (position := find_dates(reading, reading.periods[0])) is None:
        raise Unsure
    [period] = reading.periods
    if _happened_then(reading, period, position):
        raise Unsure
    first, last = period.bounds(in_years=not reading.table.dated[position])
    reading.within = (CellInterval(position, first, last, period.said),)
    reading.explained |= set(range(period.start, period.end))


def read_comparison(reading: TableReading) -> None:
    """Of a column with a number or with another column. Raises Unsure where there is one that cannot be read."""
    bounds = {span.end for span in reading.phrases(*COMPARISONS)}
    for span in reading.phrases("none"):
        if span.start in bounds and reading.tokens[span.start] in SPELLED:
            continue  # "more than zero"
        if reading.comparison is not None or reading.header_after(span.end) is None:
            raise Unsure
        reading.bound, reading.comparison = Decimal(), "equal"
    if _compares_columns(reading):
        if _says_how_far(reading):
            raise Unsure
        return
    _read_comparatives(reading)
    for span in reading.phrases(*COMPARISONS):
        if reading.tokens[span.end : span.end + 1] and reading.tokens[span.end] in AS_MANY:
            _read_as_many(reading, span)
        elif _is_stretch(reading, span):
            span.phrases = ()
        elif _stands_between_names(reading, span):
            reading.spans.remove(span)
        elif number := reading.number_after(span.end):
            value, end = number
            if end < len(reading.tokens) and reading.tokens[end] in SCALES:
                scale = scale_of(reading.table)
                if scale is None:
                    raise Unsure
                value = value * SCALES[reading.tokens[end]] / scale
                reading.explained.add(end)
            if reading.comparison is not None or hides_number(reading.spans, end - 1):
                raise Unsure
            reading.bound, reading.comparison = value, span.phrases[0]  # type: ignore[assignment]
            reading.counted = _counted_so(reading, end)
            reading.beside = _headers_beside(reading, reading.header_after(end) or reading.header_before(span.start))
            if reading.compared is None and all(one.headers == {0} for one in reading.beside):
                of = HIGH.get(tuple(reading.tokens[span.start : span.end]))
                height = of is not None and reading.header_before(span.start) is not None
                reading.compared = only_thing(reading, of) if of and height else _counted_alone(reading, span, end)
        elif header := reading.header_after(span.end):
            if reading.comparison is not None or len(header.headers) != 1:
                raise Unsure
            [reading.other] = header.headers
            reading.comparison = span.phrases[0]  # type: ignore[assignment]
        elif _is_computed(reading, span.end):
            raise Unsure  # "below the average"


def _read_as_many(reading: TableReading, span: WordSpan) -> None:
    """ "Sold at least as many nights as their target": of each row one column beside another. Raises Unsure where these are not
    two."""
    ends = [at for at in range(span.end + 1, len(reading.tokens)) if reading.tokens[at] in AS_THOSE]
    heads = reading.heads()
    if reading.comparison is not None or len(ends) != 1 or reading.number_after(span.end) is not None:
        raise Unsure
    before = [one for one in heads if one.end <= ends[0]]
    behind = [one for one in heads if one.start > ends[0]]
    column, other = reading.base(before), reading.base(behind)
    if not before or not behind or len(column) != 1 or len(other) != 1 or column == other:
        raise Unsure
    [reading.compared], [reading.other] = column, other
    reading.comparison = span.phrases[0]  # type: ignore[assignment]
    reading.spend([*before, *behind])
    many = {at for at in range(span.end + 1, ends[0]) if reading.tokens[at] in HOW_MANY}
    reading.explained |= {span.end, ends[0], *many}


def _stands_between_names(reading: TableReading, span: WordSpan) -> bool:
    """ "¿Cuántos hoteles de Madrid más que de Málaga?": of two that are named, and of no number."""
    at = reading.after_stop_words(span.end)
    after = next((one for one in reading.spans if one.start == at), None)
    before = any(one.cells and one.end <= span.start for one in reading.spans)
    return bool(reading.phrases("count")) and before and after is not None and bool(after.cells) and not after.headers


def _is_stretch(reading: TableReading, span: WordSpan) -> bool:
    """ "Over the three years": of columns, and no comparison; not where a column is called by that word."""
    at = reading.after_stop_words(span.end)
    behind = reading.tokens[at + 1 : at + 2]
    return (
        bool(behind) and behind[0] in YEARS and how_many(reading.tokens[at]) is not None
        and not any(span.start == at + 1 and span.headers for span in reading.spans)
    )  # fmt: skip


def _read_comparatives(reading: TableReading) -> None:
    """ "Cheaper than 20", of the one column that is a price; and "cost more than 20"."""
    for span in reading.phrases("comparative"):
        comparison, of = COMPARATIVES[tuple(reading.tokens[span.start : span.end])]
        number = reading.number_after(span.end)
        if number is None or reading.comparison is not None or hides_number(reading.spans, number[1] - 1):
            raise Unsure
        reading.bound, reading.comparison = number[0], comparison  # type: ignore[assignment]
        reading.counted = _counted_so(reading, number[1])
        reading.compared = only_thing(reading, of, _unit_at(reading, number[1]))
    for span in reading.phrases(*COMPARISONS):
        at = span.start - 1
        before = reading.header_before(at)
        noun = before is not None and before.headers != {0}  # "a repair cost above 5"
        other = any(one.start <= at < one.end and not _is_head(one) for one in reading.spans)
        if at < 0 or reading.tokens[at] not in COSTING or noun or other:
            continue
        if reading.header_after(span.end) is None and (number := reading.number_after(span.end)) is not None:
            reading.compared = only_thing(reading, PRICES, _unit_at(reading, number[1]))
            reading.explained.add(at)


def _is_head(span: WordSpan) -> bool:
    """Whether it is one word, of names of columns of values: "cost", of "Repair cost"; not of what the rows are: "Cost item"."""
    return span.end - span.start == 1 and bool(span.headers - {0}) and not span.cells


def _unit_at(reading: TableReading, at: int) -> str:
    return reading.tokens[at] if at < len(reading.tokens) else ""


def only_thing(reading: TableReading, of: frozenset[str], unit: str = "") -> int:
    """The one column of numbers whose header has one of these words, and says nothing besides that the question does not say.
    Raises Unsure, also where another column may be meant, unless the `unit` that is said is not its."""
    table = reading.table
    numbers = [at for at, numeric in enumerate(table.numeric) if numeric]
    some = [at for at in numbers if _apart({*header_words(table.header[at])}, of) & of]
    if len(some) != 1 or not is_thing(reading, table.header[some[0]], of):
        raise Unsure
    others = [at for at in numbers if at != some[0] and is_rival(table, at, of)]
    said_unit = is_its_unit(unit, table, some[0]) and not any(is_its_unit(unit, table, at) for at in others)
    if others and not said_unit:
        raise Unsure  # "trips longer than 10"
    return some[0]


def is_rival(table: TableSketch, at: int, of: frozenset[str]) -> bool:
    """Whether what is said of columns with one of these words may be said of another one: of a distance, beside a duration; of
    the total of an order, beside the price of a unit."""
    said = header_words(besides_brackets(table.header[at]))
    whole = TOTALS | WORTH | header_words(table.header[0])
    paid = not said.isdisjoint(TOTALS | WORTH) and (is_money(table, at) or said <= whole)
    return not said.isdisjoint(rivals_of(of)) or (paid and not of.isdisjoint(PRICES))


def is_thing(reading: TableReading, header: str, of: frozenset[str]) -> bool:
    """Whether a header says one of the words and nothing besides: "Unit price (EUR)", and no "Price change"; or what the question
    says, too: "cheapest by sale price"."""
    said = {word for word in header_words(besides_brackets(header)) if not word.isdigit()}
    said = _apart(said, of)
    besides = said - of - reading.stop_words - QUALIFIERS - UNITS - TOTALS - COUNTED_IN - STRETCHES
    if not said.isdisjoint(STRETCHES):
        besides -= PER  # "Price per night"
    asked = besides.isdisjoint(BOUND) and all(
        any(may_mean(token, word) for token in reading.tokens) for word in besides
    )
    return bool(said & of) and asked


def _apart(words: set[str], of: frozenset[str]) -> set[str]:
    """Words that end with such a word are two: "Einkaufspreis"."""
    ends = {word: end for word in words - of for end in of if word.endswith(end) and len(end) >= LAST_PART}
    return (words - ends.keys()) | {*ends.values()} | {word.removesuffix(end) for word, end in ends.items()}


def read_between(reading: TableReading) -> None:
    """ "With a humidity between 40 and 60": of the one column of numbers that is named beside. Raises Unsure where it is not sure
    which that is."""
    found = numbers_between(reading.tokens)
    if found is None or reading.phrases("difference", "growth"):
        return
    first, last, start = found
    ends = [reading.number_after(at) for at in (first, last)]
    if None in ends or any(hides_number(reading.spans, at) for at in (first, last)):
        raise Unsure
    [low, high] = [end[0] for end in ends if end is not None]
    beside = reading.header_before(start) or reading.header_after(last + 1)
    if beside is None and last + 1 < len(reading.tokens):
        beside = reading.header_after(last + 2)  # "between 60 and 100 m² of floor area"
    heads = [span.headers for span in _headers_beside(reading, beside)]
    columns = frozenset.intersection(*heads) if heads else frozenset()
    numeric = [at for at in columns if at and reading.table.numeric[at]]
    if len(columns) != 1 or not numeric or low > high or reading.signed or reading.within:
        raise Unsure
    reading.within = (CellInterval(numeric[0], low, high, f"{low}–{high}"),)
    reading.explained |= {*range(start, last + 1)}
    for span in reading.spans:
        if start <= span.start and span.end <= last + 1:
            span.phrases = ()


def _compares_columns(reading: TableReading) -> bool:
    """ "A lower revenue in 2025 than in 2024": of each row."""
    heads = reading.heads()
    if (joined := _joined_with_than(reading, heads)) is not None:
        return _compare(reading, heads, joined.start, joined.end - 1)
    thans = [at for at, token in enumerate(reading.tokens) if token in THAN]
    taken = {
        at for span in reading.spans
        if span.phrases and not span.named and (span.phrases[0] in COMPARISONS or span.end - span.start > 1)
        for at in range(span.start, span.end)
    }  # fmt: skip
    if reading.phrases("difference") or len(thans) != 1 or thans[0] in taken:
        return False
    [than] = thans
    signs = [at for at, token in enumerate(reading.tokens[: than - 1]) if token in HIGHER | LOWER]
    return bool(signs) and _compare(reading, heads, signs[-1], than)


def _joined_with_than(reading: TableReading, heads: Sequence[WordSpan]) -> WordSpan | None:
    """ "Was lower than 2024", where a year before it has a column, too: else it is a number."""
    spans = reading.phrases("more", "less")
    if len(spans) != 1 or reading.tokens[spans[0].end - 1] not in THAN:
        return None
    [span] = spans
    years = [one for one in heads if reading.is_year_name(one)]
    behind = any(one.start == span.end for one in years)
    return span if behind and any(one.end <= span.start for one in years) else None


def _compare(reading: TableReading, heads: Sequence[WordSpan], sign: int, than: int) -> bool:
    """Whether what stands before and behind "than" are two columns, which are compared from then on."""
    before = [span for span in heads if span.end <= than]
    behind = [span for span in heads if span.start > than]
    if not before or not behind or reading.tokens[sign] in HIGHER & LOWER or reading.tokens[sign] not in HIGHER | LOWER:
        return False
    column = reading.base(before)
    shared = [span for span in before if not reading.is_year_name(span)]
    other = reading.base([*shared, *behind]) or reading.base(behind)
    if len(column) != 1 or len(other) != 1 or column == other:
        return False
    [reading.compared], [reading.other] = column, other
    reading.comparison = "more" if reading.tokens[sign] in HIGHER else "less"
    reading.spend([*before, *behind])
    reading.explained |= {sign, than}
    for span in reading.spans:
        if span.start in (sign, than) and not span.named:
            span.phrases = ()  # "menos" is the lowest elsewhere, "plus d" more than a number, and "que" asks
    return True


def _says_how_far(reading: TableReading) -> bool:
    """Whether a comparison of columns is of a number, too, or denied: "at least 5 more than", "no more than"."""
    numbers = [at for at, token in enumerate(reading.tokens) if token[0].isdigit() or token in SPELLED]
    return bool(
        reading.phrases(*COMPARISONS, "none") or not NEGATIONS.isdisjoint(reading.tokens)
        or any(at not in reading.explained for at in numbers)
    )  # fmt: skip


def read_equal(reading: TableReading) -> None:
    """ "Cars with 4 cylinders", "of the model year 82": a number beside the name of a column that it may be in. None is read
    where something may say that it is another one: "4 or more", "2 to 4"."""
    found: dict[int, CellInterval] = {}
    for span in reading.spans:
        if not span.headers or span.cells or len(span.headers) > 1 or not reading.is_number(span):
            continue
        [position] = span.headers
        of_years = is_year_column(reading.table.header[position])
        held = {one.position for one in (*reading.within, *found.values())} | {reading.other, reading.compared}
        before = HAVING | DOING if _is_named(reading, span) else HAVING
        behind = span.end + (span.end < len(reading.tokens) and reading.tokens[span.end] in HAVING)
        kind = span.start - 1 if _tells_rows_apart(reading, span) else None
        spelled = span.start - 1 if _is_whole_name(reading, span) else None
        for at in (span.start - 1, behind):
            if not 0 <= at < len(reading.tokens) or at in reading.explained:
                continue
            if not reading.tokens[at].isdigit() and not (at in (kind, spelled) and reading.tokens[at] in SPELLED):
                continue
            if (
                position in held
                or (at == 0 and at != kind)
                or (at < span.start and at != kind and reading.tokens[at - 1] not in before)
                or (is_year(reading.tokens[at]) and not of_years)
            ):
                continue
            number = Decimal(SPELLED.get(reading.tokens[at], reading.tokens[at]))
            found[at] = CellInterval(position, number, number, f"= {number}")
            break
    if (
        found
        and not reading.signed
        and len(found) + len(reading.within) <= MOST_INTERVALS
        and not _is_qualified(reading, {*found})
    ):
        reading.within = (*reading.within, *found.values())
        reading.explained |= {*found}


def _tells_rows_apart(reading: TableReading, span: WordSpan) -> bool:
    """ "Three-star hotels": between a number and what the rows are."""
    after = next((one for one in reading.spans if one.start == span.end), None)
    rows = after is not None and after.headers == {0} and not after.cells
    called = after is None and span.end < len(reading.tokens) and reading.is_around(reading.tokens[span.end])
    return _is_whole_name(reading, span) and (rows or called)


def _is_whole_name(reading: TableReading, span: WordSpan) -> bool:
    """Whether it is one word, and all of a header, in any number."""
    token = reading.tokens[span.start]
    whole = all(
        len(words := header_words(reading.table.header[at])) == 1 and is_word(token, *words) for at in span.headers
    )
    return span.end - span.start == 1 and whole


def _is_named(reading: TableReading, span: WordSpan) -> bool:
    """Whether it is all of a header: "40 hours a week"."""
    return any(
        tuple(reading.tokens[span.start : span.end]) in names_of(reading.table.header[at]) for at in span.headers
    )


def _is_qualified(reading: TableReading, numbers: set[int]) -> bool:
    """Whether something is said that belongs to no other number than these."""
    left = {at: token for at, token in enumerate(reading.tokens) if at not in reading.explained | numbers}
    compared = reading.comparison is not None and not reading.spent
    return len(reading.phrases(*COMPARISONS)) > compared or any(
        token[0].isdigit() or token in HIGHER | LOWER | RISING | FALLING | OR | SPELLED.keys()
        for token in left.values()
    )


def _is_computed(reading: TableReading, at: int) -> bool:
    """Whether a computation is said there."""
    after = reading.span_after(at)
    return after is not None and bool(after.phrases) and after.phrases[0] in COMPUTED


def _counted_so(reading: TableReading, at: int) -> frozenset[int]:
    """Columns whose header has the word behind a number in brackets, or a unit anywhere: "150 ha", of "Area (ha)"."""
    said = reading.tokens[at : at + 1]
    return frozenset(
        place for place, header in enumerate(reading.table.header)
        if said and (
            said[0] in {word for part in bracketed(header) for word in tokens_of(part)}
            or (said[0] in UNITS and said[0] in header_words(header))
        )
    )  # fmt: skip


def _counted_alone(reading: TableReading, span: WordSpan, at: int) -> int | None:
    """The one column that is counted in the unit behind a number: "more than 20 minutes", of "Delay (min)"; None behind a verb
    that may say of what they are: "took more than 20 minutes"."""
    before = reading.tokens[span.start - 1] if span.start else ""
    if before in DOING and before not in MEASURING:
        return None
    found = [
        place for place, numeric in enumerate(reading.table.numeric)
        if numeric and place and reading.tokens[at : at + 1] and is_its_unit(reading.tokens[at], reading.table, place)
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def _headers_beside(reading: TableReading, one: WordSpan | None) -> list[WordSpan]:
    """With those that stand right beside it and name the same column: "flipper", "length"."""
    found = [one] if one is not None else []
    for _ in range(MOST_CONDITIONS):
        for span in reading.spans:
            near = any(span.end == other.start or span.start == other.end for other in found)
            if near and span not in found and not span.cells and reading.base([span, *found]):
                found.append(span)
    return found
