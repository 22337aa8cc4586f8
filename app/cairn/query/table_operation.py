"""Which computation a question asks for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from cairn.domain.computation import MOST_LISTED, Computation, Operation
from cairn.language.cells import is_year
from cairn.query.table_columns import begins_range, pair_of_columns
from cairn.query.table_groups import counts_all_rows, names_rows_at
from cairn.query.table_limits import find_dates, find_days_of_rows, is_all_said, is_rival, is_thing, only_thing
from cairn.query.table_reading import TableReading, how_many
from cairn.query.table_time import ARTICLES
from cairn.query.table_words import (
    BEGUN,
    BEING,
    BESIDE,
    BORN,
    BOUND,
    COMPARED_BY,
    COMPUTED,
    CONTESTS,
    COSTING,
    FALLING,
    GOOD,
    HIGH,
    HIGHER,
    HOW,
    HOW_MUCH,
    LOSING,
    LOWER,
    MOSTS,
    MOVED,
    NAMED_BY,
    ONE_OF,
    OR,
    ORDINALS,
    PERCENTS,
    PRICES,
    RATIOS,
    RISING,
    SUPERLATIVES,
    THAN,
    TIMES,
    WAGES,
    WHO,
    WINNING,
    WordSpan,
    adjectives_in,
    asks_how_much,
    besides_brackets,
    compares,
    header_words,
    is_money,
    may_mean,
    places_of,
    says_beyond,
    says_time,
)


def read_operation(reading: TableReading) -> Operation | None:
    """None where there is none, or it may be several."""
    said = {span.phrases[0] for span in reading.phrases(*COMPUTED)}
    if adjectives_in(reading.tokens) and said <= {"difference"}:
        return _read_how_much(reading)
    if "difference" in said and _tells_what_fell(reading):
        return None
    if judging := {span.phrases[0] for span in reading.phrases("best", "worst")}:
        reading.judged = not said and len(judging) == 1
        return ("highest" if "best" in judging else "lowest") if reading.judged else None
    if reading.phrases("commonest"):
        return "highest" if not said else None
    tops = reading.phrases("top", "bottom")
    if (adjectives := reading.phrases("superlative")) and tops:
        return _read_top_of(reading, tops, adjectives) if not said else None
    if adjectives:
        reading.averaged = said == {"average"}
        return _read_superlative(reading, adjectives) if said <= {"count"} or reading.averaged else None
    if dated := reading.phrases("latest", "earliest"):
        return _read_dated(reading, dated) if not said else None
    if tops:
        return _read_top(reading, tops) if not said else None
    if reading.comparison is None and "count" in said and said <= {"count", *_ORDERED} and _names_several(reading):
        return "difference" if says_beyond(reading.tokens, reading.spans) else "count" if said == {"count"} else None
    said = _without_idle(reading, said)
    if len(said & _ORDERED) == 1 and len(said) > 1 and said <= _ORDERED | _MOVES:
        return _read_change(reading, said)
    if moved := _read_moved_rows(reading, said):
        return moved
    if _asks_how_far(reading, said):
        return "difference"
    if "difference" in said and said <= _MOVES and _is_in_percent(reading, said):
        return "growth"
    if not said and (chosen := _read_choice(reading)) is not None:
        return chosen
    if not said and _asks_amount(reading):
        return "sum"
    if not said:
        asks = reading.phrases("listing") or _begins_with_rows(reading) or reading.tokens[0] in WHO
        return "listing" if asks else None
    if len(said) > 1:
        return None
    operation: Any = said.pop()
    if operation == "average":
        _read_how(reading)
    return _read_place(reading, operation) if operation in _ORDERED else operation


def _read_choice(reading: TableReading) -> Operation | None:
    """ "Which country has more medals, Colombia or Venezuela", "which is longer, the Rhine or the Elbe": of two rows the one with
    the higher number of a column that is named, or that the adjective names."""
    cells = [span for span in reading.spans if span.cells and not span.headers]
    columns = {frozenset(one.position for one in span.cells) for span in cells}
    if len(cells) != 2 or len(columns) != 1 or reading.comparison is not None or reading.within:
        return None
    if OR.isdisjoint(reading.tokens[cells[0].end : cells[1].start]) or not THAN.isdisjoint(reading.tokens):
        return None
    named = any(one.headers and not one.cells and reading.is_number(one) for one in reading.spans)
    said = [at for at, token in enumerate(reading.tokens) if at not in reading.explained and token in HIGHER | LOWER]
    if named and len(said) == 1:
        reading.explained.add(said[0])
        return "highest" if reading.tokens[said[0]] in HIGHER else "lowest"
    compared = [
        (at, words)
        for words in COMPARED_BY
        for at in places_of(reading.tokens, words)
        if reading.explained.isdisjoint(range(at, at + len(words)))
    ]
    if named or len(compared) != 1:
        return None
    [(at, words)] = compared
    comparison, of = COMPARED_BY[words]
    reading.implied = only_thing(reading, of)
    reading.explained |= {*range(at, at + len(words))}
    return "highest" if comparison == "more" else "lowest"


def _asks_amount(reading: TableReading) -> bool:
    """ "How much overtime was paid to the deck department", "for each vineyard": of a column that is named, and of rows that are
    several; not of one of them, "how much does a cook earn", and of nothing that each has for itself: prices, wages."""
    length = asks_how_much(reading.tokens)
    numbers = [one for one in reading.spans if one.headers and not one.cells and reading.is_number(one)]
    each = {word for one in numbers for at in one.headers for word in header_words(reading.table.header[at])}
    named = bool(numbers) and each.isdisjoint(PRICES | WAGES | RATIOS)
    cells = [one for one in reading.spans if one.cells and not one.headers]
    grouped = any(one.headers and reading.behind_each(one) is not None for one in reading.spans)
    one = any(reading.tokens[span.start - 1] in ONE_OF for span in cells)
    several = any(cell.position and cell.cells > 1 for span in cells for cell in span.cells)
    if not length or not named or one or not (several or grouped):
        return False
    reading.explained |= {*range(length)}
    return True


_ORDERED: Final = frozenset({"highest", "lowest"})
_MOVES: Final = frozenset({"difference", "growth"})


def _without_idle(reading: TableReading, said: set[str]) -> set[str]:
    """Phrases without those that say no more than the others."""
    for best in ("highest", "lowest"):
        if said - {"count"} == {best, "sum"} and reading.phrases(best)[0].end == reading.phrases("sum")[0].start:
            reading.summed = True
            return {best}
        if said - {"count"} == {best, "average"}:
            reading.averaged = True
            return {best}
    if "count" in said and any(reading.tokens[one.end - 1] in TIMES for one in reading.phrases("count")):
        said = said - {"sum"}  # "the total number of times"
    numbers = any(one.headers and not one.cells and reading.is_number(one) for one in reading.spans)
    if said == {"count", "sum"} and not numbers and (reading.counts_words() or counts_all_rows(reading)):
        return {"count"}  # "the total number of candidates"
    counted = said - {"count"}
    if "count" in said and counted in ({"highest"}, {"lowest"}):
        return counted  # "the highest number of"
    if "count" in said and counted in ({"sum"}, {"average"}) and reading.comparison is None:
        return counted  # "how many units in total", "the average number of"
    if "count" in said and said & _MOVES and reading.phrases("count")[0].start:
        said = counted  # "by how much did the number of ... grow"
    nouns = [one for one in reading.phrases("sum") if one.end - one.start > 1 and reading.header_after(one.end)]
    if said == {"difference", "sum"} and len(nouns) == len(reading.phrases("sum")):
        return {"difference"}  # "la somme demandée"
    return {"share"} if said == {"share", "sum"} else said  # "what share of the total"


def _names_several(reading: TableReading) -> bool:
    return len({cells.key for span in reading.spans for cells in span.cells}) > 1


def _is_in_percent(reading: TableReading, said: set[str]) -> bool:
    """ "How much did it grow in percent"."""
    percents = {
        at for at, token in enumerate(reading.tokens)
        if token in PERCENTS and at not in reading.explained and not _counts_in_percent(reading, at)
    }  # fmt: skip
    moved = all(tuple(reading.tokens[one.start : one.end]) in MOVED for one in reading.phrases("difference"))
    if not percents and not ("growth" in said and moved):
        return False
    reading.explained |= percents
    return True


def _counts_in_percent(reading: TableReading, at: int) -> bool:
    """ "The difference in vote percent", of a column "Vote %"."""
    beside = (reading.header_before(at), reading.header_after(at + 1))
    return any(one is not None and all("%" in reading.table.header[of] for of in one.headers) for one in beside)


def _read_top(reading: TableReading, tops: Sequence[WordSpan]) -> Operation | None:
    number = reading.number_after(tops[0].end)
    if len(tops) > 1 or number is None:
        return None
    reading.place, reading.turned = int(number[0]), tops[0].phrases[0] == "bottom"
    return "top" if 0 < reading.place <= MOST_LISTED else None


def _read_top_of(reading: TableReading, tops: Sequence[WordSpan], adjectives: Sequence[WordSpan]) -> Operation | None:
    """ "Top 3 heaviest", "top 5 cheapest"."""
    if adjectives[0].start < tops[0].end or _read_top(reading, tops) is None or reading.turned:
        return None
    direction = _read_direction(reading, adjectives)
    reading.turned = direction == "lowest"
    return "top" if direction is not None else None


def _read_place(reading: TableReading, operation: Operation) -> Operation | None:
    """Of the highest or lowest: "the second highest", "which two states have the highest"."""
    [first, *more] = reading.phrases(operation)
    if (at := _costs_before(reading, first)) is not None:
        reading.implied = only_thing(reading, PRICES)
        reading.explained.add(at)
        for span in reading.spans:
            if span.start == at:
                span.headers = frozenset()
    elif (value := _height_of(reading, first)) is not None or (value := _amount_of(reading, first)) is not None:
        reading.implied = value
    return None if more else _place(reading, operation, first)


def _costs_before(reading: TableReading, first: WordSpan) -> int | None:
    """The place of a verb that names what things cost, "cost the most"; not of "the repair cost the most"."""
    at = first.start - 1
    while at > 0 and reading.tokens[at] in reading.stop_words:
        at -= 1
    named = any(span.start < at <= span.end and span.headers - {0} for span in reading.spans)
    return at if at > 0 and reading.tokens[at] in COSTING and not named else None


def _height_of(reading: TableReading, first: WordSpan) -> int | None:
    """ "The highest peak": where what is highest are the rows, and one column has their height."""
    after = reading.header_after(first.end)
    of = HIGH.get(tuple(reading.tokens[first.start : first.end]))
    if of is None or after is None or after.headers != {0} or not reading.calls_rows:
        return None
    return None if _names_number(reading) else only_thing(reading, of)


def _names_number(reading: TableReading) -> bool:
    """Whether a column of numbers is named, but what the rows are called."""
    return any(one.headers - {0} and not one.cells and reading.is_number(one) for one in reading.spans)


def _amount_of(reading: TableReading, first: WordSpan) -> int | None:
    """ "The biggest invoice": of rows that are numbered, and of which one column says an amount of money."""
    table, rows = reading.table, reading.after_stop_words(first.end)
    money = [at for at, numeric in enumerate(table.numeric) if at and numeric and is_money(table, at)]
    said = tuple(reading.tokens[first.start : first.end])
    numbers = not (BESIDE | RATIOS).isdisjoint(reading.tokens[rows + 1 : rows + 2])  # "the largest invoice number"
    if _names_number(reading) or numbers or len(money) != 1 or not (table.coded or table.numbered) or said in MOSTS:
        return None
    return (
        money[0] if names_rows_at(reading, rows) and PRICES.isdisjoint(header_words(table.header[money[0]])) else None
    )


def _place(reading: TableReading, operation: Operation, first: WordSpan) -> Operation | None:
    place = _ordinal_before(reading, first)
    ordinal = ORDINALS[reading.tokens[place]] if place is not None else None
    reading.turned = operation == "lowest"
    if rows := _number_of_rows(reading, first):
        reading.place = rows
        return "top" if ordinal is None and rows <= MOST_LISTED else None
    if place is not None and ordinal is not None and ordinal > 1:
        reading.place = ordinal
        reading.explained.add(place)
        return "rank"
    reading.turned = False
    return operation


def _ordinal_before(reading: TableReading, first: WordSpan) -> int | None:
    """The place of "second", right before "highest", or before the column that it is the highest of: "le deuxième tarif le plus
    élevé"."""
    at = first.start - 1
    measures = [span for span in reading.spans if span.headers and not span.cells and reading.is_number(span)]
    named = measures[0] if len(measures) == 1 else None  # of two one may be numbered: "second quarter highest revenue"
    while at >= 0 and (
        reading.tokens[at] in reading.stop_words or (named is not None and named.start <= at < named.end)
    ):
        if ORDINALS.get(reading.tokens[at]) and at not in reading.explained:
            break
        at -= 1
    return at if at >= 0 and reading.tokens[at] in ORDINALS and at not in reading.explained else None


def _read_superlative(reading: TableReading, adjectives: Sequence[WordSpan]) -> Operation | None:
    direction = _read_direction(reading, adjectives)
    return None if direction is None else _place(reading, direction, adjectives[0])


def _read_direction(reading: TableReading, adjectives: Sequence[WordSpan]) -> Operation | None:
    """ "The cheapest": the lowest of the one column that is a price and nothing besides, or of the one that is named."""
    if len(adjectives) > 1:
        return None
    [span] = adjectives
    if (said_of := _read_said_of(reading, span)) is not None:
        return said_of
    readings = {
        (direction, at)
        for direction, of in SUPERLATIVES[tuple(reading.tokens[span.start : span.end])]
        for at, header in enumerate(reading.table.header)
        if reading.table.numeric[at] and is_thing(reading, header, of)
    }
    if not readings and (born := _find_birth(reading, span) or _find_beginning(reading, span)) is not None:
        directions = {direction for direction, _ in SUPERLATIVES[tuple(reading.tokens[span.start : span.end])]}
        reading.implied = born
        return "lowest" if directions == {"highest"} else "highest"
    if not readings and (named_whole := _read_named_whole(reading, span)) is not None:
        return named_whole
    columns = {at for _, at in readings}
    heads = [one.headers for one in reading.spans if not one.cells and one.headers & columns]
    named = frozenset.intersection(*heads) if heads else frozenset()
    said = {one for one in readings if one[1] in named}
    if len(said or readings) != 1 or (not said and _has_rivals(reading, span, columns)):
        return None
    [(direction, reading.implied)] = said or readings
    return "highest" if direction == "highest" else "lowest"


def _read_named_whole(reading: TableReading, span: WordSpan) -> Operation | None:
    """ "In which ward is the average stay longest": of the one column of numbers that is named with all of its words, whatever
    the adjective is said of; not of prices and ages, which it would name."""
    words = tuple(reading.tokens[span.start : span.end])
    of = frozenset[str]().union(*(of for _, of in SUPERLATIVES[words]))
    directions = {direction for direction, _ in SUPERLATIVES[words]}
    named = {
        at for one in reading.spans if len(one.headers) == 1 and not one.cells and reading.is_number(one)
        for at in one.headers if _is_said_whole(reading, besides_brackets(reading.table.header[at]))
    }  # fmt: skip
    if len(named) != 1 or len(directions) != 1 or of & PRICES or BORN.get(words):
        return None
    [reading.implied] = named
    return "highest" if directions == {"highest"} else "lowest"


def _is_said_whole(reading: TableReading, header: str) -> bool:
    """Whether the question has all words of a header that is more than one."""
    words = header_words(header)
    return len(words) > 1 and all(any(may_mean(token, word) for token in reading.tokens) for word in words)


def _find_birth(reading: TableReading, span: WordSpan) -> int | None:
    """The one column of dates by which an adjective counts the other way: "oldest", of dates of birth."""
    words = BORN.get(tuple(reading.tokens[span.start : span.end]), frozenset())
    dated = [
        at for at, header in enumerate(reading.table.header)
        if (reading.table.dated[at] or reading.table.yearly[at : at + 1] == (True,)) and header_words(header) & words
    ]  # fmt: skip
    return dated[0] if len(dated) == 1 else None


def _find_beginning(reading: TableReading, span: WordSpan) -> int | None:
    """The one column of dates by which things are old: "the oldest version", of a column "Date"."""
    days = find_days_of_rows(reading) if BORN.get(tuple(reading.tokens[span.start : span.end])) else None
    reading.by_days = days is not None
    return days


def _read_said_of(reading: TableReading, span: WordSpan) -> Operation | None:
    """ "The longest delay": of the column that is named right behind."""
    words = tuple(reading.tokens[span.start : span.end])
    after = reading.header_after(span.end)
    if after is None or len(after.headers) != 1 or not reading.is_number(after):
        return None
    [position] = after.headers
    said = header_words(besides_brackets(reading.table.header[position]))
    directions = {direction for direction, _ in SUPERLATIVES[words]}
    if said.isdisjoint(NAMED_BY.get(words, frozenset())) or not said.isdisjoint(BOUND) or len(directions) > 1:
        return None
    reading.implied = position
    return "highest" if directions == {"highest"} else "lowest"


def _has_rivals(reading: TableReading, span: WordSpan, columns: set[int]) -> bool:
    """Whether another column is of such a thing, too, and of the same time: "Rental price", beside "Price"."""
    of = frozenset[str]().union(*(of for _, of in SUPERLATIVES[tuple(reading.tokens[span.start : span.end])]))
    table = reading.table
    others = {
        at: header_words(besides_brackets(header)) for at, header in enumerate(table.header)
        if at not in columns and table.numeric[at]
    }  # fmt: skip
    return any(said.isdisjoint(BOUND) and (said & of or is_rival(table, at, of)) for at, said in others.items())


def _read_dated(reading: TableReading, phrases: Sequence[WordSpan]) -> Operation | None:
    if len(phrases) > 1:
        return None
    [span] = phrases
    named, days = find_dates(reading), find_days_of_rows(reading, BEGUN)
    if (position := days if named is None else named) is None:
        return None
    header = reading.table.header[position]
    behind = reading.after_stop_words(span.end)
    around = (span.end, behind, span.start - 1)
    several = any(token.isdigit() and at not in reading.explained for at, token in enumerate(reading.tokens))
    times = any(0 <= at < len(reading.tokens) and says_time(reading.tokens[at], header) for at in around)
    if several or times or (named is not None and not is_all_said(reading, header, span)):
        return None
    reading.implied, reading.by_days = position, named is None
    return "highest" if span.phrases[0] == "latest" else "lowest"


def _read_change(reading: TableReading, said: set[str]) -> Operation | None:
    """ "The largest increase from 2024 to 2025": of each row the difference of two columns. "Growth" may be in percent."""
    words = {
        token for span in reading.phrases("difference", "growth") for token in reading.tokens[span.start : span.end]
    }
    percents = {at for at, token in enumerate(reading.tokens) if token in PERCENTS and at not in reading.explained}
    reading.relative = bool(percents or words & PERCENTS)
    if "growth" in said and not reading.relative:
        return None
    reading.explained |= percents
    rising, falling = bool(words & RISING), bool(words & FALLING)
    if rising == falling or reading.comparison is not None:
        return None
    if (years := _take_two_years(reading)) is None:
        return None
    reading.minus, reading.implied = years
    reading.comparison, reading.compared, reading.other = "more" if rising else "less", reading.implied, reading.minus
    return "highest" if rising == ("highest" in said) else "lowest"


def _read_how(reading: TableReading) -> None:
    """ "How old are they on average": of the one column of ages, where no other number is named."""
    places = {(at, at + len(words)): of for words, of in HOW.items() for at in places_of(reading.tokens, words)}
    if len(places) == 1 and not _names_number(reading):
        [((start, end), of)] = places.items()
        reading.implied = only_thing(reading, of)
        reading.explained |= {*range(start, end)}


def _read_how_much(reading: TableReading) -> Operation | None:
    """ "How much longer is A than B": the difference of the one column that the adjective names."""
    [place, *more] = adjectives_in(reading.tokens)
    words = max((one for one in COMPARED_BY if tuple(reading.tokens[place : place + len(one)]) == one), key=len)
    if more or THAN.isdisjoint(reading.tokens) or reading.comparison is not None or reading.within:
        return None
    comparison, of = COMPARED_BY[words]
    reading.implied = only_thing(reading, of)
    reading.more, reading.less = comparison == "more", comparison == "less"
    start = place - max(len(one) for one in HOW_MUCH if tuple(reading.tokens[place - len(one) : place]) == one)
    reading.explained |= {*range(start, place + len(words))}
    for span in reading.spans:
        if start <= span.start < place + len(words) and not span.named:
            span.phrases = ()
    return "difference"


def _read_moved_rows(reading: TableReading, said: set[str]) -> Operation | None:
    """ "Which items fell from 2024 to 2025", "how many rose": rows whose number in one column is above or below another's."""
    asks = [*reading.phrases("listing", "count")]
    if said not in ({"difference"}, {"difference", "count"}) or len(asks) != 1 or reading.comparison is not None:
        return None
    after = reading.span_after(asks[0].end)
    moves = reading.phrases("difference")
    words = {token for span in moves for token in reading.tokens[span.start : span.end]}
    rising, falling = bool(words & RISING), bool(words & FALLING)
    if after is None or after.headers != {0} or after.cells or rising == falling or len(moves) != 1:
        return None
    if (years := _take_two_years(reading)) is None:
        return None
    reading.other, reading.compared = years
    reading.comparison = "more" if rising else "less"
    return "count" if asks[0].phrases[0] == "count" else "listing"


def _tells_what_fell(reading: TableReading) -> bool:
    """ "How much rain fell from June to August": a verb of what is measured, right behind it, and no change."""
    length = asks_how_much(reading.tokens)
    named = reading.header_after(length) if length else None
    return (
        named is not None
        and named.start == length
        and any(  # not "how much did it fall"
            span.start == named.end and tuple(reading.tokens[span.start : span.end]) in MOVED
            for span in reading.phrases("difference")
        )
    )


def _asks_how_far(reading: TableReading, said: set[str]) -> bool:
    """ "How many passengers did L3 lose between 2024 and 2025": of one row, and the number that is named, from one year to
    another; not "in 2024 and 2025", when it may be what was lost in each of them."""
    counts, moves = reading.phrases("count"), reading.phrases("difference")
    if said not in ({"count"}, {"count", "difference"}) or len(counts) != 1 or counts[0].start:
        return False
    named = reading.header_after(counts[0].end)
    moved = {at for one in moves for at in range(one.start, one.end)}
    losing = {at for at, token in enumerate(reading.tokens) if token in LOSING and at not in reading.explained}
    words = {reading.tokens[at] for at in moved} - WINNING
    rising, falling = bool(words & RISING), bool(words & FALLING or losing)
    if len(moves) + len(losing) != 1 or rising == falling or reading.comparison is not None:
        return False
    if named is None or named.headers & {0} or not CONTESTS.isdisjoint(reading.tokens[named.start : named.end]):
        return False
    if not any(begins_range(reading, one) for one in reading.heads()):
        return False
    reading.falls = falling
    reading.explained |= losing
    return True


def _take_two_years(reading: TableReading) -> Sequence[int] | None:
    """The columns of the two years that the question names, the earlier one first; what names them is spent."""
    heads = reading.heads()
    pair = pair_of_columns(reading, Computation("difference"), heads)
    if pair is None or pair.pair is None or not all(map(is_year, pair.pair)):
        return None
    reading.spend([span for span in heads if not span.headers.isdisjoint(pair.columns)])
    return pair.columns


def _number_of_rows(reading: TableReading, best: WordSpan) -> int | None:
    """How many of the highest are asked for: "which two states", of what the rows are called in words, and "five cheapest"."""
    begun = how_many(reading.tokens[0])
    if begun is not None and begun > 1 and 0 not in reading.explained:
        after = reading.span_after(1)
        rows = after if after is not best else reading.span_after(best.end)
        if rows is not None and rows.headers == {0} and not rows.cells:
            reading.explained.add(0)
            return int(begun)
    before = best.start - 1
    number = how_many(reading.tokens[before]) if before >= 0 and before not in reading.explained else None
    numbered = any(span.end == before and span.headers for span in reading.spans)  # "quarter 3 highest revenue"
    if number is not None and number > 1 and not numbered:
        reading.explained.add(before)
        return int(number)
    for at, token in enumerate(reading.tokens[:-1]):
        number = how_many(token) if at not in reading.explained else None
        of_all = at > 0 and any(one.start <= at - 1 < one.end for one in reading.phrases("sum", "average"))
        if number is not None and number > 1 and not of_all and _stands_before_rows(reading, at):
            reading.explained.add(at)
            return int(number)
    for span in reading.phrases("listing"):
        at = span.end
        after = reading.span_after(at + 1)
        number = how_many(reading.tokens[at]) if at < len(reading.tokens) else None
        if after is None or after.start > at + 1 or not after.headers or after.cells or reading.is_number(after):
            continue
        if number is not None and number > 1:
            reading.explained.add(at)
            return int(number)
    return None


def _stands_before_rows(reading: TableReading, at: int) -> bool:
    """ "The two schools with the fewest teachers", "what are the two schools", "youngest three members"; not "which of the three
    schools"."""
    before = at - 1
    while before >= 0 and reading.tokens[before] in ARTICLES:
        before -= 1
    if before >= 0 and reading.tokens[before] in BEING and any(one.end == before for one in reading.phrases("listing")):
        before = -1
    best = any(one.end == at for one in reading.phrases("highest", "lowest", "superlative"))
    after = next((one for one in reading.spans if one.start == at + 1), None)
    rows = after is not None and after.headers == {0} and not after.cells and reading.calls_rows
    called = after is None and at + 1 not in reading.explained and reading.is_around(reading.tokens[at + 1])
    return (before < 0 or best) and (rows or called)


def _begins_with_rows(reading: TableReading) -> bool:
    """Whether the question begins with what the rows are, and says which: "countries with more than 300 servings"."""
    first = any(span.start == 0 and span.headers == {0} for span in reading.spans)
    limited = reading.comparison is not None or reading.within
    return bool(limited) and (first or reading.is_around(reading.tokens[0]))


def is_good(reading: TableReading, found: Computation) -> bool:
    """Whether more of what is compared is better: its header or label says so, and no more than that is meant by it."""
    named = found.label if found.measure is None else reading.table.header[found.measure]
    said = {
        token
        for span in reading.spans
        if found.measure in span.headers
        for token in reading.tokens[span.start : span.end]
    }
    return not GOOD.isdisjoint(header_words(named) | said) and not compares(named)
