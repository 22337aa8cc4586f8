"""From what the table parser takes a question to ask to the computation that is run. Pure.

The parser chooses among columns, operations and cells; numbers and dates are read here, and what cannot be said in one statement,
or leaves a number of the question over, is no computation.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from cairn.domain.computation import MOST_LISTED, CellCondition, CellInterval, Comparison, Computation, Operation
from cairn.domain.table import TableCells, TableSketch
from cairn.domain.table_parsing import Asked, Kind, Mention, TableView
from cairn.language.cells import YES_SIGNS, is_year, read_cell, tokens_of
from cairn.language.dates import months_in
from cairn.language.text import fold
from cairn.language.tokens import ALL_STOP_WORDS, same_word
from cairn.query.table_groups import summed_instead
from cairn.query.table_parse import ParsedCondition, ParsedQuestion
from cairn.query.table_periods import period_columns
from cairn.query.table_units import number_in
from cairn.query.table_view import closeness
from cairn.query.table_words import (
    CHANGES,
    COUNTED_IN,
    EARLIEST,
    FALLING,
    LATEST,
    MOMENTS,
    RANKS,
    RATIOS,
    RISING,
    STRETCHES,
    THAN,
    UNMADE,
    WAGES,
    WINNING,
    YEARS,
    begins_ranking,
    begins_with_computation,
    header_words,
    order_in,
    places_of,
    says_comparison,
    says_sum,
)

_YES: Final = frozenset(
    ["yes", "y", "true", "x", "ja", "j", "wahr", "oui", "o", "vrai", "si", "s", "verdadero", "vero", *YES_SIGNS]
)
_COMPARISONS: Final[dict[str, Comparison]] = {">": "more", ">=": "at_least", "<": "less", "<=": "at_most", "=": "equal"}
_MOST_CONDITIONS: Final = 3  # bound: tests/unit/test_table_program.py
"""Columns of words, and intervals, that the statement can limit (sql/queries/tables.sql)."""
_MOST_INTERVALS: Final = 2  # bound: tests/unit/test_table_program.py
_FIRST_YEAR, _LAST_YEAR = 1500, 2100  # bound: tests/unit/test_table_program.py


class Unsayable(Exception):
    """What was parsed cannot be said in one statement, or something of the question is left over."""


def kinds_of(table: TableSketch) -> tuple[Kind, ...]:
    """What stands in each column."""
    return tuple(
        "date" if table.dated[at]
        else "flag" if at < len(table.flags) and table.flags[at] is not None
        else "number" if table.numeric[at]
        else "text"
        for at in range(len(table.header))
    )  # fmt: skip


def title_of(table: TableSketch) -> str:
    """What the table is of: the line above it, the heading that it stands under, or its document."""
    return table.title or (table.headings[-1] if table.headings else "") or table.document_title


def names_table(question: str, table: TableSketch) -> int:
    """How many words of the question the title, the headings, the document and the header of a table have, in any inflection."""
    names = {word for text in (*_names(table), *table.header) for word in tokens_of(text)}
    said = {word for word in tokens_of(question) if word.isalpha() and word not in ALL_STOP_WORDS}
    return sum(any(word == name or same_word(word, name) for name in names) for word in said)


def computation_of(
    question: str, parsed: ParsedQuestion, table: TableSketch, cells: TableCells, view: TableView
) -> Computation | None:
    """None where it cannot be said in one statement, or something of the question is left over. `view`: what was parsed."""
    if is_one_word(question) and not parsed.conditions:
        return None
    try:
        _check_words(question, parsed, table, cells)
        _check_left(question, parsed, table)
        limits = _limits(question, parsed, table, cells, view)
        made = _meant(tokens_of(question), _made(question, parsed, table, limits, cells), table, cells)
        if made.each and begins_ranking(said := tokens_of(question)):
            order = order_in(said)
            return replace(made, ranked=True, turned=order is not None and order[2])
        return replace(made, instead=summed_instead(table, made, tokens_of(question)))
    except Unsayable:
        return None


def _meant(said: Sequence[str], made: Computation, table: TableSketch, cells: TableCells) -> Computation:
    """What the parser has no word for: the latest of something is no highest number of it, a change is neither one number nor the
    same one twice, and numbers of metres and of boxes are not added up. Raises Unsayable."""
    known = [word for text in (*_names(table), *table.header) for word in tokens_of(text)]
    if any(places_of(said, words) for words in UNMADE if not _is_said_there(words, known)):
        raise Unsayable  # "the median salary"
    if made.operation == "value" and _says_change(said, known):
        raise Unsayable
    if made.operation in ("difference", "growth") and len(made.columns) > 1 and len({*made.columns}) == 1:
        raise Unsayable
    if made.operation in ("difference", "growth"):
        moved = {word for word in said if word in CHANGES and not _is_one_of(word, known)} - WINNING
        if moved and made.pair is not None:
            raise Unsayable  # which of two rows is the later one
        made = replace(made, falls=bool(moved & FALLING) and moved.isdisjoint(RISING) and THAN.isdisjoint(said))
    alone = not table.repeats and all(one.position == 0 and len(one.keys) == 1 for one in made.conditions)
    limited = made.within or made.comparison is not None
    if made.operation == "count" and made.conditions and alone and not limited and not made.grouped:
        raise Unsayable  # "how many complaints came from Scotland": one row is called so
    paid = made.measure is not None and header_words(table.header[made.measure]) & WAGES
    if made.operation == "sum" and paid and made.conditions and any(table.dated) and not says_sum(said):
        raise Unsayable  # "the salary of Meyer", who had several in turn
    if made.operation in ("sum", "average") and made.measure is not None:
        made = replace(made, counted_in=_counted_in(table, made))
    whole = (header_words(one) for one in table.header)  # "last visit", of a column that is called so
    return _latest(
        said, made, table, {word for words in whole if all(_is_one_of(one, said) for one in words) for word in words}
    )


def _is_said_there(words: Collection[str], known: Collection[str]) -> bool:
    return all(_is_one_of(word, known) for word in words)


def _says_change(said: Sequence[str], known: Sequence[str]) -> bool:
    return any(word in CHANGES and not _is_one_of(word, known) for word in said)


def _counted_in(table: TableSketch, made: Computation) -> int | None:
    """The column of words that says what each row is counted in, where nothing else does."""
    assert made.measure is not None
    if table.units[made.measure]:
        return None
    held = {made.asked, *(one.position for one in made.conditions if len(one.keys) == 1)}
    found = [
        at for at, header in enumerate(table.header)
        if at and at not in held and not table.numeric[at] and header_words(header) & COUNTED_IN
    ]  # fmt: skip
    return found[0] if found else None


def _latest(said: Sequence[str], made: Computation, table: TableSketch, known: Collection[str]) -> Computation:
    """The latest or earliest number of something is that of the row with the last or first day, where one column has days; the
    highest and the lowest are said otherwise. Raises Unsayable where it is not sure."""
    asked = [
        (words, way) for phrases, way in ((LATEST, "highest"), (EARLIEST, "lowest")) for words in phrases
        if places_of(said, words) and not _is_said_there(words, known)
    ]  # fmt: skip
    days = [at for at, dated in enumerate(table.dated) if dated]
    if not asked or not days or made.measure in days or made.grouped:
        return made
    if made.operation in ("sum", "average") and made.conditions:
        raise Unsayable  # "the current salary of Okafor" is none of all that he had
    if made.operation == "value":
        made = replace(made, operation="highest" if asked[0][1] == "highest" else "lowest")
    if made.operation not in ("highest", "lowest"):
        return made
    way, at = asked[0][1], made.measure
    behind = {word for words, _ in asked for place in places_of(said, words) for word in said[place + len(words) :][:1]}
    named = at is not None and any(_is_one_of(word, header_words(table.header[at])) for word in said)
    if len({way for _, way in asked}) > 1 or behind & (STRETCHES | MOMENTS | YEARS) or len(days) != 1 or not named:
        raise Unsayable
    if way != made.operation or made.row is not None or made.columns or not made.conditions:
        raise Unsayable
    return replace(made, measure=days[0], asked=at, naming=None)


def is_one_word(question: str) -> bool:
    """Whether it is one word alone, which asks for nothing: "salary"; of two that are written as one the first may:
    "Gesamtkosten"."""
    words = tokens_of(question)
    return len(words) == 1 and not begins_with_computation(words[0])


def _check_words(question: str, parsed: ParsedQuestion, table: TableSketch, cells: TableCells) -> None:
    """The parser leaves nothing out unless it says so, and may miss a condition: a word that cells of a column of words have, and
    neither a condition nor what the table is called by, limits rows in a way that was not understood."""
    words = [word for word in tokens_of(question) if word not in ALL_STOP_WORDS]
    said = {word for word in words if word.isalpha() and len(word) > 1}
    if {*tokens_of(question)} & _EXCLUDING and not any(one.compared in ("not", "empty") for one in parsed.conditions):
        raise Unsayable
    known = {word for text in (*_names(table), *table.header) for word in tokens_of(text)}
    known |= {word for one in parsed.conditions for value in one.values for word in tokens_of(value)}
    for kind, column in zip(kinds_of(table), cells.columns, strict=True):
        held = {word for key in {*column.keys} for word in key.split()} if kind == "text" else set()
        if any(_is_one_of(word, held) and not _is_one_of(word, known) for word in said):
            raise Unsayable
    if parsed.asked in ("list", "value") and any(
        _is_of_another(tokens_of(question), one, table, known) for one in parsed.conditions if one.compared == "="
    ):
        raise Unsayable


def _is_of_another(said: Sequence[str], one: ParsedCondition, table: TableSketch, known: Collection[str]) -> bool:
    """Whether a cell is a part of what is called by the name of its own column: "workflow trigger types", "types of workflow
    triggers", where the type "Workflow" is one of permissions, and nothing of the table is called a trigger."""
    cells = {word for value in one.values for word in tokens_of(value)}
    kind = header_words(table.header[one.column])
    if not cells.isdisjoint(kind):
        return False
    read = "".join(
        "h" if _is_one_of(word, kind) else "c" if _is_one_of(word, cells) else "s" if word in ALL_STOP_WORDS
        else "k" if _is_one_of(word, known) or not word.isalpha() else "x"
        for word in said
    )  # fmt: skip
    return _OF_ANOTHER.search(read) is not None


_OF_ANOTHER: Final = re.compile(r"cx+h|hs+(?:x+s*c|c+x)")
"""Of words: one of the name of a column, of a cell in it, one that says nothing, and one that nothing of the table is called."""


def _is_one_of(word: str, others: Collection[str]) -> bool:
    """In any inflection."""
    return word in others or any(word[:1] == other[:1] and same_word(word, other) for other in others)


_EXCLUDING: Final = frozenset(
    (
        "but", "except", "excluding", "excepting", "besides", "apart", "ausser", "ausgenommen", "abgesehen", "sauf", "hors",
        "excepte", "hormis", "excepto", "salvo", "tranne", "eccetto", "escluso", "esclusi",
    )
)  # fmt: skip


def _names(table: TableSketch) -> tuple[str, ...]:
    return (table.title, *table.headings, table.document_title, table.external_id)


def _check_left(question: str, parsed: ParsedQuestion, table: TableSketch) -> None:
    """A number that limits nothing must stand in what the table or a column that is used is called by ("sales in 2024"), or in a
    name that is meant ("H1"), be how many rows there are, or a one in words; a month in one of these names. Raises Unsayable."""
    used = {parsed.measure, parsed.named, parsed.group, parsed.second, *(one.column for one in parsed.conditions)}
    headers = (table.header[at] for at in used if at is not None)
    meant = (value for one in parsed.conditions for value in one.values)
    around = {word for text in (*_names(table), *headers, *meant) for word in tokens_of(text)}
    numbers = {*around, *(part for word in around for part in re.findall(r"\d+", word)), str(table.rows)}
    months = months_in(around)
    for one in parsed.left:
        said = {int(value) for value in one.values if value == int(value)}
        said_as = question[one.start : one.end]
        spelled = not said_as[:1].isdecimal()
        if one.ordinal:
            first = spelled and said == {1} and not counts_off(question, one, table)
            if fold(said_as) not in around and not first:
                raise Unsayable
            continue
        if one.unit:
            raise Unsayable  # an amount that limits nothing
        known = not months.isdisjoint(said) if one.month else not numbers.isdisjoint(map(str, one.values))
        if not known and not (spelled and not one.month and said == {1}):
            raise Unsayable


def counts_off(question: str, one: Mention, table: TableSketch) -> bool:
    """Whether an ordinal says which floor, class or half is meant, and no place among the rows."""
    headers = {word for text in table.header for word in tokens_of(text)}
    behind = tokens_of(question[one.end :])[:1]
    return any(word in _COUNTED_OFF or _is_one_of(word, headers) for word in behind)


_COUNTED_OFF: Final = frozenset(
    (
        "half", "quarter", "third", "term", "semester", "trimester", "floor", "class", "division", "grade", "league", "lap",
        "leg", "round", "shift", "week", "month", "year", "day", "street", "avenue", "hand", "person", "time", "stage",
        "generation", "halbjahr", "quartal", "klasse", "stock", "etage", "liga", "runde", "schicht", "woche", "monat", "jahr",
        "tag", "mal", "semestre", "trimestre", "classe", "ligue", "tour", "semaine", "mois", "annee", "jour", "fois", "main",
        "piso", "planta", "clase", "vuelta", "ronda", "turno", "semana", "mes", "ano", "dia", "vez", "mano", "piano", "lega",
        "giro", "settimana", "mese", "anno", "giorno", "volta", "fascia",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Limits:
    conditions: tuple[CellCondition, ...] = ()
    within: tuple[CellInterval, ...] = ()
    comparison: Comparison | None = None
    bound: Decimal | None = None
    compared: int | None = None
    other: int | None = None


def _limits(question: str, parsed: ParsedQuestion, table: TableSketch, cells: TableCells, view: TableView) -> _Limits:
    kinds = kinds_of(table)
    found = _Limits()
    for one in parsed.conditions:
        kind = kinds[one.column]
        if any(not mention.values and mention.day is None for mention in one.mentions):
            raise Unsayable  # what could not be read
        if one.compared.startswith("col"):
            found = _with_columns(found, one)
        elif kind == "flag" and one.compared in ("empty", "filled") and "" not in cells.columns[one.column].keys:
            found = _with_keys(found, one.column, cells, one.compared == "filled", lambda key: key in _YES)
        elif one.compared in ("empty", "filled"):
            found = _with_keys(found, one.column, cells, one.compared == "empty", lambda key: key == "")
        elif kind == "flag":
            unknown = any(key and key not in _YES for key in cells.columns[one.column].keys)  # beside a no
            either = _YES | ({""} if unknown else set())
            yes = one.compared == "="
            found = _with_keys(found, one.column, cells, yes, (_YES if yes else either).__contains__)
        elif kind == "text":
            found = _with_texts(found, question, one, table, cells, view.columns[one.column].values)
        elif kind == "date":
            found = _with_interval(found, one, _period(_to_its_end(question, one), cells.columns[one.column].dates))
        else:
            compares = says_comparison(question)  # "more than one", "above average": no number that was read
            found = _with_number(found, one, table, spare=bool(parsed.left) or compares)
    if len(found.conditions) > _MOST_CONDITIONS or len(found.within) > _MOST_INTERVALS:
        raise Unsayable
    return found


def _with_columns(found: _Limits, one: ParsedCondition) -> _Limits:
    if found.comparison is not None or one.other is None or one.other == one.column:
        raise Unsayable
    comparison = _COMPARISONS[one.compared.removeprefix("col")]
    return replace(found, comparison=comparison, compared=one.column, other=one.other)


def _with_keys(found: _Limits, column: int, cells: TableCells, wanted: bool, is_so: Callable[[str], bool]) -> _Limits:
    """With the cells of a column for which `is_so` comes out as wanted. Not where a cell says something and has no key: signs,
    long texts and most numbers."""
    pairs = {
        (key, text.strip()) for key, text in zip(cells.columns[column].keys, cells.columns[column].texts, strict=True)
    }
    if any(not key and re.search(r"\w", text) for key, text in pairs):
        raise Unsayable
    kept = {key: text for key, text in pairs if is_so(key) == wanted}
    if not kept:
        raise Unsayable
    texts = tuple(text or "–" for text in kept.values())
    return replace(found, conditions=(*found.conditions, CellCondition(column, tuple(kept), texts[:MOST_TOLD])))


MOST_TOLD: Final = 5  # bound: tests/unit/test_table_program.py
"""Cells that an answer names of a condition which leaves few out."""


def _with_texts(
    found: _Limits, question: str, one: ParsedCondition, table: TableSketch, cells: TableCells, shown: Sequence[str]
) -> _Limits:
    column = cells.columns[one.column]
    pairs = {(key, text.strip()) for key, text in zip(column.keys, column.texts, strict=True)}
    meant = {key: text for key, text in pairs if text in one.values}
    alike = {key for key, text in pairs if key in meant and text.casefold() != meant[key].casefold()}
    if not meant or "" in meant or alike or one.compared not in ("=", "not"):
        raise Unsayable  # "A-" and "A+" have one key
    words = {word for value in one.values for word in tokens_of(value)}
    if any(words.isdisjoint(map(str, mention.values)) for mention in one.mentions if not mention.month):
        raise Unsayable  # "size 38 or M"
    asked = tokens_of(question)
    names = {word for text in _names(table) for word in tokens_of(text)}
    for text in meant.values():
        said = {word for word in tokens_of(text) if word in asked}
        if said and len(said) < len(tokens_of(text)) and said <= names:
            raise Unsayable  # "of the Valdora", in a document of that name, is not the row "CAI Valdora"
    if names_one_too_many(question, [*meant.values()]):
        raise Unsayable
    least = min(closeness(asked, text) for text in meant.values())
    if any(closeness(asked, text) >= least > 0 for _, text in pairs if text and text not in shown):
        raise Unsayable  # what was not shown may be meant as well
    if one.compared == "not":
        return _with_keys(found, one.column, cells, False, lambda key: key in meant or key == "")
    ordered = sorted(meant, key=lambda key: _place_in(question, key, meant))
    condition = CellCondition(one.column, tuple(ordered), tuple(meant[key] for key in ordered))
    return replace(found, conditions=(*found.conditions, condition))


def names_one_too_many(question: str, names: Sequence[str]) -> bool:
    """Whether the question has all words of one name, and of another only some of these: "of Lübeck warehouse" is not of "Lübeck
    office" as well."""
    asked = {*tokens_of(question)}
    words = [{*tokens_of(name)} for name in names]
    whole = [one for one in words if one <= asked]
    return any(
        said and not one <= asked and any(said <= other for other in whole) for one in words for said in [one & asked]
    )


def _place_in(question: str, key: str, others: Iterable[str]) -> int:
    """Where the question says a name first, by a word that the others have not; behind all names where it says none."""
    words = tokens_of(question)
    shared = {word for other in others if other != key for word in other.split()}
    places = [words.index(word) for word in key.split() if word in words and word not in shared]
    return min(places, default=len(words))


def _with_number(found: _Limits, one: ParsedCondition, table: TableSketch, *, spare: bool) -> _Limits:
    """`spare`: the question has numbers that limit nothing, or says that something is compared."""
    if any(mention.month or mention.day for mention in one.mentions):
        raise Unsayable
    units = {mention.unit for mention in one.mentions} - {""}
    shared = units.pop() if one.compared == "between" and len(units) == 1 else ""  # "between 500 and 800 grams"
    mentions = [replace(mention, unit=mention.unit or shared) for mention in one.mentions]
    if one.compared != "=" and any(mention.ordinal for mention in mentions):
        raise Unsayable
    said = [_number_of(mention, table, one.column) for mention in mentions]
    if one.compared == "between":
        if len(said) != 2:
            raise Unsayable
        first, last = sorted(said)
        interval = CellInterval(one.column, first, last, f"{first}–{last}")
        return replace(found, within=(*found.within, interval))
    if len(said) > 1 or one.compared not in _COMPARISONS or (not said and (spare or one.compared not in ("=", ">"))):
        raise Unsayable
    bound = said[0] if said else Decimal()  # "without downtime", "with a waiting list"
    if found.comparison is None:
        return replace(found, comparison=_COMPARISONS[one.compared], bound=bound, compared=one.column)
    if one.compared in (">", "<"):
        raise Unsayable  # intervals hold their ends
    least, most = (bound if one.compared in signs else None for signs in ((">=", "="), ("<=", "=")))
    said_so = {">=": "≥", "<=": "≤", "=": "="}[one.compared]
    return replace(found, within=(*found.within, CellInterval(one.column, least, most, f"{said_so} {bound}")))


def _number_of(mention: Mention, table: TableSketch, column: int) -> Decimal:
    """As the table writes numbers, "2.500" is 2500 where it has decimals behind a comma, in the unit of the column. Raises
    Unsayable where it is open."""
    if len(mention.values) > 1 and (table.mark is None or mention.mark == table.mark):
        raise Unsayable
    if (number := number_in(mention, table, column)) is None:
        raise Unsayable  # "2 kg" of what is in centimetres
    return number


# --- dates ------------------------------------------------------------------------------------------------------------------


def _with_interval(
    found: _Limits, one: ParsedCondition, days: tuple[datetime.date | None, datetime.date | None]
) -> _Limits:
    first, last = days
    if first is not None and last is not None:
        said = first.isoformat() if first == last else f"{first.isoformat()} – {last.isoformat()}"
    else:
        said = f"≥ {first.isoformat()}" if first is not None else f"≤ {last.isoformat() if last else ''}"
    bounds = [None if day is None else Decimal(day.toordinal()) for day in days]
    return replace(found, within=(*found.within, CellInterval(one.column, bounds[0], bounds[1], said)))


def _to_its_end(question: str, one: ParsedCondition) -> ParsedCondition:
    """ "Before the end of March": until then."""
    ends = any(_END_OF.search(question[: mention.start]) for mention in one.mentions)
    return replace(one, compared="<=") if ends and one.compared == "<" else one


_END_OF: Final = re.compile(
    r"\b(?:end of|ende|fin (?:de |du mois de )?|fin(?:al)?(?:es)? de|fine (?:di |del )?)(?: ?the month of)? *\Z",
    re.IGNORECASE,
)
_DAY: Final = datetime.timedelta(days=1)  # bound: tests/unit/test_table_program.py


def _period(
    one: ParsedCondition, dates: Iterable[datetime.date | None]
) -> tuple[datetime.date | None, datetime.date | None]:
    """First and last day of what a condition says of a column with these dates; None: open."""
    spans = _spans(one.mentions, sorted({day for day in dates if day is not None}))
    if one.compared == "between" or (one.compared == "=" and len(spans) == 2):
        if len(spans) != 2:
            raise Unsayable
        (first, end), (begin, last) = sorted(spans)
        if one.compared == "=" and begin != end + _DAY:
            raise Unsayable  # "in 2019 and 2021"
        return first, last
    if len(spans) != 1:
        raise Unsayable
    [(first, last)] = spans
    match one.compared:
        case "=":
            return first, last
        case "<":
            return None, first - _DAY
        case "<=":
            return None, last
        case ">":
            return last + _DAY, None
        case ">=":
            return first, None
    raise Unsayable


def _spans(said: Sequence[Mention], dates: Sequence[datetime.date]) -> list[tuple[datetime.date, datetime.date]]:
    """What the numbers and months of a condition are of dates. A year that is not said is that of the only dates there are
    in such a month."""
    if days := [mention.day for mention in said if mention.day is not None]:
        if len(days) < len(said):
            raise Unsayable
        return [(day, day) for day in days]
    months = [int(value) for mention in said if mention.month for value in mention.values]
    numbers = [int(mention.values[0]) for mention in said if not mention.month]
    if any(value != int(value) for mention in said for value in mention.values):
        raise Unsayable
    years = [number for number in numbers if _FIRST_YEAR <= number <= _LAST_YEAR]
    in_month = [number for number in numbers if 0 < number <= 31]  # bound: tests/unit/test_table_program.py
    if len(years) + len(in_month) != len(numbers) or len(years) > 2 or (not months and in_month):
        raise Unsayable
    if not months:
        return [_whole(year) for year in years]
    if not years:
        years = sorted({day.year for day in dates if day.month in months} or {day.year for day in dates})
    if len(years) != 1:
        raise Unsayable
    try:
        if in_month:
            if len(months) != 1:
                raise Unsayable
            return [(day, day) for day in (datetime.date(years[0], months[0], number) for number in in_month)]
        return [_whole(years[0], month) for month in months]
    except ValueError as error:
        raise Unsayable from error


def _whole(year: int, month: int | None = None) -> tuple[datetime.date, datetime.date]:
    if month is None:
        return datetime.date(year, 1, 1), datetime.date(year, 12, 31)
    return datetime.date(year, month, 1), datetime.date(year, month, calendar.monthrange(year, month)[1])


# --- what is computed -------------------------------------------------------------------------------------------------------


def _made(question: str, parsed: ParsedQuestion, table: TableSketch, limits: _Limits, cells: TableCells) -> Computation:
    made = Computation(
        "count", conditions=limits.conditions, within=limits.within, comparison=limits.comparison, bound=limits.bound,
        compared=limits.compared, other=limits.other,
    )  # fmt: skip
    if parsed.asked in _OF_PERIODS:
        return _over_periods(parsed, made, table, cells)
    if parsed.group is not None:
        return _grouped(parsed, made, table)
    match parsed.asked:
        case "rank" | "rank_from_below":
            ranked = parsed.measure is None or header_words(table.header[parsed.measure]) & RANKS
            if ranked or parsed.many is None or counts_off(question, parsed.many, table):
                raise Unsayable  # "who came second", of a column of places
            turned = parsed.asked == "rank_from_below"
            return replace(
                made, operation="rank", measure=parsed.measure, asked=parsed.named, place=_many(parsed), turned=turned
            )
        case "highest" | "lowest":
            return replace(made, operation=parsed.asked, measure=parsed.measure, asked=parsed.named)
        case "top" | "bottom":
            many = _many(parsed)
            turned = parsed.asked == "bottom"
            return replace(made, operation="top", measure=parsed.measure, asked=parsed.named, place=many, turned=turned)
        case "value" if parsed.measure is not None and limits.conditions and not table.numeric[parsed.measure]:
            if _is_one_of_flags(question, parsed.measure, table):
                raise Unsayable
            return replace(made, operation="listing", asked=parsed.measure)
        case "sum" | "average" | "value":
            if parsed.measure is None or not table.numeric[parsed.measure]:
                raise Unsayable
            if parsed.asked == "sum" and says_no_amount(table, parsed.measure):
                raise Unsayable
            if parsed.asked == "value" and not limits.conditions:
                raise Unsayable
            return replace(made, operation=parsed.asked, measure=parsed.measure)
        case "count":
            if not (made.conditions or made.within or made.comparison):
                raise Unsayable  # of all rows: mostly a condition that was not understood
            return made
        case "count_distinct":
            if parsed.named is None:
                raise Unsayable
            return replace(made, asked=parsed.named, grouped=True)
        case "list":
            return _listing(parsed, made)
        case "share":
            if parsed.measure is not None and says_no_amount(table, parsed.measure):
                raise Unsayable
            return _share(parsed, made)
        case "difference" | "growth":
            return _of_two(parsed, made, table, cells)
    raise Unsayable


def _is_one_of_flags(question: str, at: int, table: TableSketch) -> bool:
    """Whether a column says yes or no, another one does too, and the question names none: "Does Roku support Quick Connect?", of
    what can log in, and what can authorize others."""
    said, kinds = tokens_of(question), kinds_of(table)
    named = any(_is_one_of(word, said) for word in header_words(table.header[at]) - ALL_STOP_WORDS)
    return kinds[at] == "flag" and kinds.count("flag") > 1 and not named


def says_no_amount(table: TableSketch, at: int) -> bool:
    """Whether numbers of a column are of no use added up: years, places, shares, ages."""
    header = table.header[at]
    words = header_words(header)
    return (
        not table.numeric[at]
        or table.yearly[at : at + 1] == (True,)
        or "%" in f"{header}{table.units[at]}"
        or bool(words & (RATIOS | RANKS | _AGES))
    )


_AGES: Final = frozenset(("age", "alter", "edad", "eta"))


_OF_PERIODS: Final[dict[Asked, Operation]] = {
    "highest_period": "highest", "lowest_period": "lowest", "sum_of_periods": "sum", "average_of_periods": "average",
}  # fmt: skip


def _over_periods(parsed: ParsedQuestion, made: Computation, table: TableSketch, cells: TableCells) -> Computation:
    """Over the years, months or quarters of one row."""
    operation, columns = _OF_PERIODS[parsed.asked], period_columns(table.header, table.numeric)
    limited = made.within or made.comparison is not None or not made.conditions
    rows = [] if limited else rows_that(cells, made.conditions)
    if len(rows) != 1 or not columns:
        raise Unsayable
    [row], label = rows, cells.columns[0].texts[rows[0] - 1]
    headers = {word for at in columns for word in tokens_of(table.header[at])}
    of_some = headers & {str(value) for one in parsed.left for value in one.values}
    if of_some or months_in(headers) & {int(value) for one in parsed.left if one.month for value in one.values}:
        raise Unsayable  # "in 2024"
    texts = [cells.columns[at].texts[row - 1] for at in columns]
    if any(read_cell(text, "," if table.mark == "," else ".").kind == "text" for text in texts):
        raise Unsayable  # "900 (r)" may be the highest
    if operation == "sum" and ("%" in label or header_words(label) & (RATIOS | RANKS | _AGES)):
        raise Unsayable
    return Computation(operation, row=row, columns=columns, label=label)


def _many(parsed: ParsedQuestion) -> int:
    if parsed.many is None or not parsed.many.values or not 0 < parsed.many.values[0] <= MOST_LISTED:
        raise Unsayable
    return int(parsed.many.values[0])


def _grouped(parsed: ParsedQuestion, made: Computation, table: TableSketch) -> Computation:
    grouped = replace(made, grouped=True, asked=parsed.group)
    counts = parsed.asked == "count" or parsed.aggregate == "count"
    if not counts and (parsed.measure is None or not table.numeric[parsed.measure]):
        raise Unsayable
    if "sum" in (parsed.asked, parsed.aggregate) and says_no_amount(table, parsed.measure or 0):
        raise Unsayable
    match parsed.asked:
        case "count":
            return replace(grouped, each=True)
        case "sum" | "average":
            return replace(
                grouped, operation=parsed.asked, measure=parsed.measure, averaged=parsed.asked == "average", each=True
            )
        case "highest" | "lowest" if parsed.aggregate != "none":
            return replace(
                grouped, operation=parsed.asked, measure=None if parsed.aggregate == "count" else parsed.measure,
                averaged=parsed.aggregate == "average",
            )  # fmt: skip
    raise Unsayable


def _listing(parsed: ParsedQuestion, made: Computation) -> Computation:
    if not (made.conditions or made.within or made.comparison):
        raise Unsayable
    measure = made.compared if made.comparison is not None else made.within[0].position if made.within else None
    return replace(made, operation="listing", asked=parsed.named, measure=measure)


def _share(parsed: ParsedQuestion, made: Computation) -> Computation:
    alone = len(made.conditions) == 1 and len(made.conditions[0].keys) == 1
    if not alone or made.within or made.comparison is not None:
        raise Unsayable
    return replace(made, operation="share", measure=parsed.measure)


def _of_two(parsed: ParsedQuestion, made: Computation, table: TableSketch, cells: TableCells) -> Computation:
    """Of two rows, or of two columns of one row."""
    assert parsed.asked in ("difference", "growth")
    pairs = [one for one in made.conditions if len(one.keys) == 2]
    if parsed.second is None and len(pairs) == 1 and parsed.measure is not None:
        [pair] = pairs
        if not table.numeric[parsed.measure] or (parsed.asked == "growth" and all(map(is_year, pair.keys))):
            raise Unsayable  # "from 2020 to 2023" is the other way round than "than"
        turned = CellCondition(pair.position, pair.keys[::-1], pair.texts[::-1])
        conditions = tuple(turned if one is pair else one for one in made.conditions)
        names = (turned.texts[0], turned.texts[1])
        return replace(
            made, operation=parsed.asked, measure=parsed.measure, conditions=conditions, pair=names, totals=True,
            apart=parsed.asked == "difference",
        )  # fmt: skip
    if parsed.second is None or parsed.measure is None or pairs or made.within or made.comparison is not None:
        raise Unsayable
    rows = rows_that(cells, made.conditions)
    if len(rows) != 1:
        raise Unsayable
    label = cells.columns[0].texts[rows[0] - 1]
    columns = (parsed.second, parsed.measure)
    if not all(table.numeric[at] for at in columns):
        raise Unsayable
    return Computation(parsed.asked, row=rows[0], columns=columns, label=label)


def rows_that(cells: TableCells, conditions: Sequence[CellCondition]) -> list[int]:
    """Numbers, from 1, of the rows whose cells are called so."""
    wanted = [(cells.columns[one.position].keys, frozenset(one.keys)) for one in conditions]
    return [row for row in range(1, len(cells.totals) + 1) if all(held[row - 1] in keys for held, keys in wanted)]
