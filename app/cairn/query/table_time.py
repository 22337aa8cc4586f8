"""Points of time in a question about a table: "before 1 January 2027", "since 2015", "in March 2026". Pure."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from cairn.language.cells import is_year, read_day, tokens_of
from cairn.language.dates import months_in
from cairn.language.lexicon import Arithmetic, languages


@dataclass(frozen=True, slots=True)
class Period:
    """What the words from `start` to `end` say of dates: not before `first`, not after `last`; None: open, and both: what is said
    cannot be read ("in May 2025 or before"). `whole_years`: it says no more than years, and may hold of a column of years.
    `is_edge`: of the end or the beginning of a year or a month, by which statements call a column: "by the end of 2025"."""

    start: int
    end: int
    first: datetime.date | None
    last: datetime.date | None
    said: str
    whole_years: bool
    is_between: bool = False
    is_edge: bool = False

    def is_unread(self) -> bool:
        return self.first is None and self.last is None

    def bounds(self, *, in_years: bool) -> tuple[Decimal | None, Decimal | None]:
        """As numbers: years, or days as `datetime.date.toordinal` counts them."""
        first, last = (
            None if day is None else Decimal(day.year if in_years else day.toordinal())
            for day in (self.first, self.last)
        )
        return first, last


def periods_in(tokens: Sequence[str]) -> list[Period]:
    """From left to right; a year or two alone, without a word that says before or after, are no period but names of cells."""
    found: list[Period] = []
    at = 0
    while at < len(tokens):
        if (years := _years_between(tokens, at)) is not None:
            at = years
        elif (period := _between(tokens, at) or _beside(tokens, at) or _year_or(tokens, at)) is not None:
            goes_on = _goes_on(tokens, period.start, period.end)
            found.append(replace(period, first=None, last=None) if goes_on else period)
            at = period.end
        else:
            at += 1
    return found


def is_of_date(token: str) -> bool:
    return token[0].isdigit() or bool(months_in([token]))


# --- one date -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Moment:
    """A day, a month or a year, by its first and last day, and where its words end. `edge`: its "start" or "end" is meant."""

    first: datetime.date
    last: datetime.date
    end: int
    is_year: bool
    edge: str = ""


def _moment(tokens: Sequence[str], at: int) -> _Moment | None:
    for read in (_day, _month, _year, _edge):
        if (found := read(tokens, at)) is not None:
            return found
    return None


def _day(tokens: Sequence[str], at: int) -> _Moment | None:
    """ "2026-03-01" (three words), "01.03.2026" (one), "1 March 2026", "March 1, 2026", "1 de marzo de 2026"."""
    for end in range(at + 1, min(at + _MOST_WORDS, len(tokens)) + 1):
        words = tokens[at:end]
        if not any(map(str.isdigit, words[0] + words[-1])):
            continue
        bare = all(map(str.isdigit, words))
        day = read_day("-".join(words) if bare else " ".join(map(str.capitalize, words)))
        if day is not None:
            return _Moment(day, day, end, False)
    return None


_MOST_WORDS: Final = 5  # bound: tests/unit/test_table_time.py


def _month(tokens: Sequence[str], at: int) -> _Moment | None:
    months = months_in(tokens[at : at + 1])
    then = at + 1
    while then < len(tokens) and tokens[then] in _OF:
        then += 1
    if len(months) != 1 or then >= len(tokens) or not is_year(tokens[then]):
        return None
    [month], year = months, int(tokens[then])
    days = calendar.monthrange(year, month)[1]
    return _Moment(datetime.date(year, month, 1), datetime.date(year, month, days), then + 1, False)


def _year(tokens: Sequence[str], at: int) -> _Moment | None:
    if at >= len(tokens) or not is_year(tokens[at]):
        return None
    year = int(tokens[at])
    return _Moment(datetime.date(year, 1, 1), datetime.date(year, 12, 31), at + 1, True)


def _edge(tokens: Sequence[str], at: int) -> _Moment | None:
    """ "The end of 2026", "Anfang März 2026"."""
    if at >= len(tokens) or tokens[at] not in _ENDS | _STARTS:
        return None
    edge = "end" if tokens[at] in _ENDS else "start"
    then = at + 1
    while then < len(tokens) and tokens[then] in _OF:
        then += 1
    if (whole := _month(tokens, then) or _year(tokens, then)) is None:
        return None
    day = whole.last if edge == "end" else whole.first
    return _Moment(day, day, whole.end, False, edge)


# --- what is said of it -----------------------------------------------------------------------------------------------------


def _said(pick: Callable[[Arithmetic], Sequence[str]]) -> list[tuple[str, ...]]:
    found = {tuple(tokens_of(phrase)) for one in languages() for phrase in pick(one.arithmetic)}
    return sorted(found, key=len, reverse=True)


_OF: Final = frozenset(word for one in languages() for phrase in one.lists.dates_of for word in tokens_of(phrase))
_RANGES: Final = _said(lambda one: one.ranges)
_BEFORE: Final = _said(lambda one: one.before)
_AFTER: Final = _said(lambda one: one.after)
_SINCE: Final = _said(lambda one: one.since)
_UNTIL: Final = _said(lambda one: one.until)
_AT: Final = _said(lambda one: one.at)
_ENDS: Final = frozenset(word for one in languages() for word in one.arithmetic.ends)
_STARTS: Final = frozenset(word for one in languages() for word in one.arithmetic.starts)
SIDES: Final = frozenset(words[0] for words in (*_BEFORE, *_AFTER))
_OR: Final = frozenset(word for one in languages() for word in tokens_of(one.questions.alternative))
_JOINING: Final = _OR | {words[-1] for words in _RANGES}
ARTICLES: Final = frozenset(word for one in languages() for word in tokens_of(one.carry.articles))


def _two(tokens: Sequence[str], at: int) -> tuple[_Moment, _Moment] | None:
    for before, *between in _RANGES:
        if tokens[at] != before or (one := _moment(tokens, at + 1)) is None:
            continue
        if [*tokens[one.end : one.end + len(between)]] != between:
            continue
        if (other := _moment(tokens, one.end + len(between))) is not None and one.first <= other.last:
            return one, other
    return None


def _years_between(tokens: Sequence[str], at: int) -> int | None:
    """Where two years end that stand for those between them, which are read elsewhere (table_words.year_range)."""
    two = _two(tokens, at)
    return two[1].end if two and two[0].is_year and two[1].is_year else None


def _between(tokens: Sequence[str], at: int) -> Period | None:
    """ "between 1 March and 5 May 2026", "from March 2025 to June 2025"."""
    if (two := _two(tokens, at)) is None:
        return None
    one, other = two
    return Period(at, other.end, one.first, other.last, f"{one.first} – {other.last}", False, is_between=True)


def _year_or(tokens: Sequence[str], at: int) -> Period | None:
    """ "2025 or later" is more than the name of a cell."""
    year = _year(tokens, at)
    return _period(at, year, "=") if year and tokens[year.end : year.end + 1] and _turns(tokens, year.end) else None


def _turns(tokens: Sequence[str], at: int, behind: int = 1) -> bool:
    """Whether "or", "and" stand there, and a word such as "before" behind (or -1: in front of) it."""
    return tokens[at] in _JOINING and 0 <= at + behind < len(tokens) and tokens[at + behind] in SIDES


def _goes_on(tokens: Sequence[str], start: int, end: int) -> bool:
    """Whether what is said of a date is only a part: "on or before", "before and after"; what "or" joins may be anything."""
    before = start > 0 and (tokens[start - 1] in _OR or _turns(tokens, start - 1, -1))
    return before or (end < len(tokens) and (tokens[end] in _OR or _turns(tokens, end)))


def _beside(tokens: Sequence[str], at: int) -> Period | None:
    for phrases, sign in ((_BEFORE, "<"), (_AFTER, ">"), (_SINCE, "≥"), (_UNTIL, "≤"), (_AT, "=")):
        for words in phrases:
            then = at + len(words)
            if tuple(tokens[at:then]) != words:
                continue
            while (moment := _moment(tokens, then)) is None and then < len(tokens) and tokens[then] in ARTICLES:
                then += 1
            if moment is not None and not (sign == "=" and moment.is_year):
                return _period(at, moment, sign)
    return None


def _period(at: int, moment: _Moment, sign: str) -> Period:
    day = datetime.timedelta(days=1)
    if moment.edge and sign == "=":
        return Period(at, moment.end, None, None, "", False, is_edge=True)  # "im Ende 2026": some days
    if moment.edge == "end" and sign == "<":
        sign = "≤"  # its last day is before its end
    if moment.edge == "start" and sign == ">":
        sign = "≥"
    first = {">": moment.last + day, "≥": moment.first, "=": moment.first}.get(sign)
    last = {"<": moment.first - day, "≤": moment.last, "=": moment.last}.get(sign)
    named = moment.last if sign in (">", "≤") else moment.first
    if moment.is_year:
        said = f"{sign} {moment.first.year}"
    elif sign == "=" and moment.first != moment.last:
        said = f"{moment.first} – {moment.last}"
    else:
        said = f"{sign} {named}"
    return Period(at, moment.end, first, last, said, moment.is_year, is_edge=bool(moment.edge))
