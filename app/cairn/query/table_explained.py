"""Whether each word of a question is accounted for by the computation or by where the table stands. Pure."""

from __future__ import annotations

from typing import Final

from cairn.domain.computation import Computation
from cairn.language.cells import is_year, tokens_of
from cairn.query.table_asked import BEST, asks_by_another_word
from cairn.query.table_reading import TableReading, how_many
from cairn.query.table_time import SIDES
from cairn.query.table_words import (
    BESIDE,
    BOUND,
    BY,
    COMPUTED,
    COSTING,
    DOING,
    EACH,
    GOODS,
    HIGHER,
    HUMANS,
    INHABITANTS,
    ITEMS,
    LIVING,
    LOWER,
    MOMENTS,
    MONEY,
    NEGATIONS,
    OUTCOMES,
    OWING,
    PEOPLE,
    PER,
    PERCENTS,
    PERSON_NAMES,
    PERSONS,
    PIECES,
    RATIOS,
    SAME,
    SETTLING,
    SOME_PEOPLE,
    SOURCES,
    SPENDING,
    STATES,
    STATING,
    STRETCHES,
    THAN,
    UNITS,
    YEARS,
    bracketed,
    callable_words,
    header_words,
    is_currency,
    is_deed_of,
    is_its_unit,
    is_kin_of,
    is_money,
    is_opposite,
    is_other_currency,
    is_other_unit,
    is_priced,
    is_verb_of,
    may_mean,
    may_name,
    names_moment,
    names_persons,
)


def explains(reading: TableReading, found: Computation) -> bool:
    """Counts words that only title, headings or document have as `support`: the more, the likelier is the table the one meant."""
    ends = {span.end for span in reading.phrases(*COMPUTED, "superlative", "latest", "earliest")}
    if any(span.start in ends for span in reading.phrases("listing")):
        return False  # "the longest name"
    last = len(reading.tokens) - 1
    if last and reading.tokens[last] in PERSON_NAMES and any(span.start == last for span in reading.phrases("listing")):
        return False  # "the longest river name"
    if found.asked is None and found.row is None and not names_moment(reading.table) and reading.loose() & MOMENTS:
        return False
    if any(_is_of_another(reading, at, found) for at in range(1, len(reading.tokens))):
        return False
    if found.operation == "count" and found.row is None and _counts_stretches(reading):
        return False
    left = [token for at, token in enumerate(reading.tokens) if not _is_accounted_for(reading, at, found)]
    reading.support += len(left)
    return reading.kinds.isdisjoint(left) and all(map(reading.is_around, left))


def _is_accounted_for(reading: TableReading, at: int, found: Computation) -> bool:
    """Whether it is explained, says nothing by itself, or belongs to what is computed."""
    token = reading.tokens[at]
    if at not in reading.explained and token in reading.kinds:
        return False
    return (
        at in reading.explained
        or (
            token in reading.stop_words
            and at not in reading.acronyms
            and token not in BY | NEGATIONS | EACH | BOUND | SIDES | SAME
        )
        or token in BESIDE | MOMENTS | YEARS
        or (len(token) == 1 and token.isalpha())
        or (token in COSTING and found.measure is not None and _is_price(reading, found.measure))
        or (token in COSTING | SPENDING and _is_named_money(reading, found))
        or (token in BY and found.operation == "share" and _stands_before_part(reading, at))
        or (token in BY and (found.operation == "top" or _names_measure(reading, at + 1, found)))
        or _is_unit(reading, at, found)
        or _names_source(reading, at)
        or (token in MONEY and found.measure is not None and is_priced(reading.table, found.measure))
        or (token in PERCENTS and found.measure is not None and "%" in _counted(reading, found.measure))
        or _tells_difference(reading, token, found)
        or _says_how_many(reading, at, found)
        or _belongs_to_measure(reading, token, found)
        or _belongs_to_persons(reading, token, found)
        or _belongs_to_rows(reading, token, found)
        or _is_done_by(reading, at, found)
        or _is_derived(reading, at, found)
        or _is_passive(reading, at)
        or _says_how_often(reading, at, found)
        or _is_owing(reading, at)
        or _is_counted_noun(reading, at, found)
        or (found.asked == 0 and found.operation in BEST and at == asks_by_another_word(reading))
    )


def _counts_stretches(reading: TableReading) -> bool:
    """ "How many years did she serve", of rows that are no years."""
    first = reading.table.header[0]
    for span in reading.phrases("count"):
        at = reading.after_stop_words(span.end)
        token = reading.tokens[at] if at < len(reading.tokens) else ""
        if token in STRETCHES and at not in reading.explained:
            return not any(may_name(token, word) for word in header_words(first)) and not reading.table.dated[0]
    return False


def _is_of_another(reading: TableReading, at: int, found: Computation) -> bool:
    """Whether numbers are of another stretch of time than their column says, or of each of what it does not say: "90 euros a
    week" and "per person", of a "Price per night"."""
    token, before = reading.tokens[at], reading.tokens[at - 1]
    columns = {found.measure, found.compared, *(one.position for one in found.within)} - {None}
    if found.columns or _is_named_or_counted(reading, at, columns):
        return False
    said = frozenset[str]().union(*(header_words(reading.table.header[one]) for one in columns if one is not None))
    if any(may_name(token, word) for word in said):
        return False
    if token in STRETCHES:
        return before in PER or _limits_stretch(reading, at, found)
    if any(may_name(token, word) for word in header_words(reading.table.header[0])):
        return False
    persons = token in PEOPLE | HUMANS
    each = before in EACH & RATIOS or (persons and before in PER)
    return each and not (persons and _are_persons(reading))


def _limits_stretch(reading: TableReading, at: int, found: Computation) -> bool:
    """Whether a stretch stands behind a number that limits the rows: "more than 5000 in the month". Not years of an age, or of a
    date."""
    limited = found.measure if found.compared is None else found.compared
    aged = reading.tokens[at - 1][0].isdigit() and (limited is None or not bracketed(reading.table.header[limited]))
    if reading.table.dated[0] or (reading.tokens[at] in YEARS and (aged or _is_beside_year(reading, at))):
        return False
    numbers = [one for one in range(at) if one in reading.explained and reading.tokens[one][0].isdigit()]
    return bool(numbers) and (reading.bound is not None or bool(found.within))


def _is_beside_year(reading: TableReading, at: int) -> bool:
    return any(map(is_year, reading.tokens[at - 1 : at + 2]))


def _is_named_or_counted(reading: TableReading, at: int, columns: set[int | None]) -> bool:
    """Whether a column, a cell or a date is called by a word, or the numbers are counted in it."""
    return (
        any(span.start <= at < span.end and span.named for span in reading.spans)
        or any(one.start <= at < one.end for one in reading.periods)
        or any(is_its_unit(reading.tokens[at], reading.table, one) for one in columns if one is not None)
    )


def _is_named_money(reading: TableReading, found: Computation) -> bool:
    """Whether what is computed over are sums of money, of columns that the question names: the only column of numbers may be one
    of fines."""
    columns = found.columns or tuple(one for one in (found.measure,) if one is not None)
    named = frozenset[int]().union(*(span.headers for span in reading.spans if not span.cells))
    return bool(columns) and all(at in named and is_money(reading.table, at) for at in columns)


def _is_price(reading: TableReading, at: int) -> bool:
    return reading.implied == at and is_priced(reading.table, at)


def _stands_before_part(reading: TableReading, at: int) -> bool:
    """ "What share of all visits was by members in gold": no verb says what they did."""
    after = reading.span_after(at + 1)
    return after is not None and bool(after.cells) and reading.tokens[at - 1] in reading.stop_words


def _names_measure(reading: TableReading, at: int, found: Computation) -> bool:
    """Whether the column that is computed over is named there: "the cheapest by sale price"."""
    after = reading.header_after(at)
    return found.order is not None and after is not None and after.headers == {found.measure}


def _is_unit(reading: TableReading, at: int, found: Computation) -> bool:
    """Whether it is what the numbers are counted in: "in kWh", "more than 20 minutes"; no other unit than the column says. Behind
    a number it is what the limited column is counted in: "average price of those with rooms over 100 euros" is of neither."""
    token, table = reading.tokens[at], reading.table
    compared = found.measure if found.compared is None else found.compared
    limited = {compared, *(one.position for one in found.within)} - {None}
    bound = (reading.bound is not None or bool(found.within)) and at > 0 and reading.tokens[at - 1][0].isdigit()
    columns = [one for one in (limited if bound else {found.measure, *limited}) if one is not None]
    if any(is_its_unit(token, table, one) for one in columns):
        return True
    if token not in UNITS or (reading.bound is None and not found.within):
        return False
    if any(is_other_currency(token, table, one) or is_other_unit(token, table, one) for one in columns):
        return False
    if not is_currency(token) and any(_says_other(token, table.header[one]) for one in columns):
        return False
    if token in PERCENTS and not any(header_words(table.header[one]) & RATIOS for one in columns):
        return False
    elsewhere = [one for one, numeric in enumerate(table.numeric) if numeric and one not in columns]
    if is_currency(token) and any(is_priced(table, one) for one in elsewhere):
        return any(is_priced(table, one) for one in columns)  # "rooms over 80 dollars", beside a price
    return not any(is_its_unit(token, table, one) for one in elsewhere)


def _counted(reading: TableReading, at: int) -> str:
    return f"{reading.table.header[at]}{reading.table.units[at] or ''}"


def _says_other(token: str, header: str) -> bool:
    """Whether a header says in brackets something else that it is counted in, also such a unit as nobody knows: "km³"."""
    said = {word for part in bracketed(header) for word in tokens_of(part)}
    return bool(said) and not any(may_mean(token, word) for word in said)


def _names_source(reading: TableReading, at: int) -> bool:
    """Whether it says what the document is: "in the turnout data"."""
    return reading.tokens[at] in SOURCES and at > 0 and reading.is_around(reading.tokens[at - 1])


def _tells_difference(reading: TableReading, token: str, found: Computation) -> bool:
    """ "By how much higher was it in May than in June", "percentage growth"."""
    return (found.operation == "difference" and found.pair is not None and token in HIGHER | LOWER | THAN) or (
        found.operation == "growth" and token in PERCENTS
    )


def _belongs_to_rows(reading: TableReading, token: str, found: Computation) -> bool:
    """Whether it says that rows are counted ("how many items are below"), or what numbers count ("how many units")."""
    if token in PIECES:
        return found.operation == "sum"
    if found.one_row and token in HUMANS and _are_persons(reading):
        return True
    if found.operation not in ("count", "listing"):
        return False
    limited = found.comparison is not None or bool(found.within)
    return (token in ITEMS and limited and _are_goods(reading)) or (token in PEOPLE and _are_persons(reading))


def _are_goods(reading: TableReading) -> bool:
    """Whether each row is a thing: "Part", "Article no."; not a shop."""
    return not GOODS.isdisjoint(header_words(reading.table.header[0]))


def _are_persons(reading: TableReading) -> bool:
    """Whether each row is a person: of the first column, or of the one behind a number, the header is "Name"."""
    at = 1 if reading.table.numeric[0] and len(reading.table.header) > 1 else 0
    said = header_words(reading.table.header[at])
    return names_persons(said) or not said.isdisjoint(HUMANS)


def _is_done_by(reading: TableReading, at: int, found: Computation) -> bool:
    """Whether it says what those do of whom the rows are: "how many does Ortmann supply", "supplied by Ortmann"; not "supplied
    to Ortmann"."""
    if reading.tokens[at] in BY and at:
        return reading.span_after(at + 1) is not None and _is_done_by(reading, at - 1, found)
    token, header = reading.tokens[at], reading.table.header
    positions = {one.position for one in found.conditions if is_deed_of(token, header[one.position])}
    if found.grouped and found.asked is not None and is_deed_of(token, header[found.asked]):
        return True  # "which supplier supplies the most"
    return any(
        span.end <= at or span.start == at + 1 or (span.start == at + 2 and reading.tokens[at + 1] in BY)
        for span in reading.spans
        for cells in span.cells
        if cells.position in positions
    )


def _is_derived(reading: TableReading, at: int, found: Computation) -> bool:
    """Whether a verb says what title or headings name, or the column of a condition: "heated by gas", of "Heating"; not what
    persons do, which has a direction."""
    token = reading.tokens[at]
    if token in PERSONS | BOUND | NEGATIONS:
        return False
    names = (reading.table.title, *reading.table.headings, reading.table.document_title)
    words = {word for text in names for word in tokens_of(text)}
    for one in found.conditions:
        if not reading.table.dated[one.position]:
            words |= header_words(reading.table.header[one.position]) - PERSONS
    return any(is_verb_of(token, word) for word in words - BOUND)


def _is_passive(reading: TableReading, at: int) -> bool:
    """ "Paid by credit card", where both say no more than that a row has this cell."""
    if reading.tokens[at] not in BY or not at or reading.tokens[at - 1] not in DOING:
        return False
    after = reading.span_after(at + 1)
    return after is not None and bool(after.cells) and not after.headers


def _is_owing(reading: TableReading, at: int) -> bool:
    """ "Due to", before the name of a row."""
    return any(
        start <= at < start + len(words)
        for words in OWING
        for start in range(len(reading.tokens) - len(words))
        if reading.tokens[start : start + len(words)] == words
        and (after := reading.span_after(start + len(words))) is not None
        and after.cells
    )


def _is_counted_noun(reading: TableReading, at: int, found: Computation) -> bool:
    """Whether it says what the numbers of a column that is named count: "how many patients were enrolled", of "Enrolled"; not a
    part of them, "women", and no unit."""
    token, measure = reading.tokens[at], found.measure if found.compared is None else found.compared
    behind_number = reading.bound is not None and at > 0 and reading.tokens[at - 1][0].isdigit()
    if measure is None or at in reading.acronyms or not token.isalpha():
        return False
    if found.operation not in _OF_NUMBERS and not behind_number:
        return False
    if token in SOME_PEOPLE | UNITS | STRETCHES | MONEY | BOUND | NEGATIONS | SAME | OUTCOMES | DOING:
        return False
    if behind_number:  # "did the Lib Dems get more than 500 votes", and no "500 seat km"
        alone = all(word in reading.stop_words for word in reading.tokens[at + 1 : at + 2])
        return alone and any(measure in one.headers and not one.cells for one in reading.spans)
    named = any(measure in one.headers and not one.cells and one.start > at for one in reading.spans)
    return named and any(reading.after_stop_words(span.end) == at for span in reading.phrases("count"))


_OF_NUMBERS: Final = frozenset({"sum", "average", "highest", "lowest", "difference", "growth"})


def _belongs_to_measure(reading: TableReading, token: str, found: Computation) -> bool:
    if token in SETTLING and any(header_words(header) & STATES for header in reading.table.header):
        return False  # some were paid, and some are still to be
    said = frozenset[str]().union(*(header_words(reading.table.header[one]) for one in found.columns))
    if found.measure is None and is_kin_of(token, said) and token not in STRETCHES:
        return True  # "sales grew", of columns "Sold 2024" and "Sold 2025"
    if found.measure is None:
        limited = (
            found.conditions or found.within or found.comparison is not None or found.row is not None or found.each
        )
        return token in (DOING - OUTCOMES if limited else STATING)  # "how many ships sank"
    header = reading.table.header[found.measure]
    words = callable_words(header, reading.tokens)
    verb = not reading.table.dated[found.measure] and any(is_verb_of(token, word) for word in words)
    done = token in DOING and not (token in OUTCOMES and reading.table.dated[found.measure])
    if token in LIVING and header_words(header) & INHABITANTS:
        return True
    kin = is_kin_of(token, words) and token not in STRETCHES
    return token in words or verb or kin or (done and not is_opposite(token, header))


def _says_how_often(reading: TableReading, at: int, found: Computation) -> bool:
    """ "Per month", of a "Monthly salary": both words."""
    if found.measure is None or reading.table.dated[found.measure]:
        return False
    here, said = reading.tokens[at], header_words(reading.table.header[found.measure])
    if here in EACH and here not in said:
        return at + 1 < len(reading.tokens) and is_kin_of(reading.tokens[at + 1], said)
    return at > 0 and reading.tokens[at - 1] in EACH and is_kin_of(here, said)


def _belongs_to_persons(reading: TableReading, token: str, found: Computation) -> bool:
    """Whether it says who is asked for, or who is counted."""
    if token in PEOPLE and (
        found.measure is not None
        or not INHABITANTS.isdisjoint(reading.around)
        or (found.columns and _tells_of_persons(reading))
    ):
        return True
    kinds = PERSONS | PERSON_NAMES
    if token not in kinds or found.asked is None:
        return False
    said, called = header_words(reading.table.header[found.asked]), reading.around & HUMANS
    if names_persons(said) and token in HUMANS - PEOPLE and called and not any(may_name(token, one) for one in called):
        return False  # employees, of a list of members
    return bool(said & kinds)


def _tells_of_persons(reading: TableReading) -> bool:
    """Whether the title of the table, or the heading right above it, says that persons are counted: "Employees by region"."""
    names = (reading.table.title, *reading.table.headings[-1:])
    return any(not HUMANS.isdisjoint(tokens_of(name)) for name in names)


def _says_how_many(reading: TableReading, at: int, found: Computation) -> bool:
    """Whether a number is how many rows or columns are named: "the 2 branches North and West", "over the 3 years"."""
    numbers = {str(len(some)) for some in (found.columns, *(one.keys for one in found.conditions)) if len(some) > 1}
    behind = reading.span_after(at + 1)
    number = how_many(reading.tokens[at])
    return (reading.tokens[at] in numbers or str(number) in numbers) and (
        not YEARS.isdisjoint(reading.tokens[at + 1 : at + 2]) or (behind is not None and bool(behind.headers))
    )
