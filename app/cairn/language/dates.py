"""Dates as they are written: a pattern for the database, and one reading for all spellings. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from cairn.language.lexicon import any_of, every, languages
from cairn.language.linear import bounded
from cairn.language.text import fold

_MONTHS: Final = {
    name: number
    for one in languages()
    for number, names in enumerate(one.lists.months.split(), 1)
    for name in names.split("|")
}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_OF: Final = any_of(lambda one: (*one.lists.dates_of,))
_DAY: Final = r"[0-3]?\d(?:st|nd|rd|th|er|º|ª|\.)?"
_YEAR: Final = r"(?:1\d|20)\d\d"
PATTERN: Final = (
    r"(?:^|[^[:alnum:]])("
    rf"{_DAY}\s+(?:{_OF}\s+)?(?:{_MONTH})\.?(?:,?\s+(?:{_OF}\s+)?{_YEAR})?"
    rf"|(?:{_MONTH})\.?\s+{_DAY}(?:,?\s+{_YEAR})?"
    rf"|(?:{_MONTH})\.?,?\s+(?:{_OF}\s+)?{_YEAR}"
    rf"|{_YEAR}-[01]\d-[0-3]\d"
    rf"|[0-3]?\d[./][01]?\d[./]{_YEAR}"
    r")(?![[:alnum:]])"
)
"""A regular expression of PostgreSQL; its one group is the date. A year alone is none."""

_NUMBERED: Final = re.compile(rf"({_YEAR})-(\d\d)-(\d\d)|(\d\d?)[./](\d\d?)[./]({_YEAR})")
_WORDS: Final = re.compile(r"[^\W\d_]+|\d+")


def months_in(words: Iterable[str]) -> frozenset[int]:
    """Numbers of the months among folded words, in any language."""
    return frozenset(_FOLDED[word] for word in words if word in _FOLDED)


def names_of_month(word: str) -> frozenset[str]:
    """What the month of a folded word is called besides, long or short, in any language; nothing of other words."""
    return _CALLED.get(_FOLDED.get(word, 0), frozenset()) - {word} - _NO_MONTHS


_FOLDED: Final = {fold(name): number for name, number in _MONTHS.items()}


_NO_MONTHS: Final = every(lambda one: one.lists.no_months)
_CALLED: Final = {
    number: frozenset(name for name, other in _FOLDED.items() if other == number) for number in {*_FOLDED.values()}
}


def read_date(said: str) -> str:
    """Year, month and day as far as they are said, in the form of ISO 8601: "2019-03-23", "2019-03", "--03-23".

    Of "3/4/2019" the first number is the day, unless it cannot be.
    """
    if match := _NUMBERED.fullmatch(said.strip()):
        if match[1]:
            return f"{match[1]}-{match[2]}-{match[3]}"
        day, month = int(match[4]), int(match[5])
        if month > 12:
            day, month = month, day
        return f"{match[6]}-{month:02}-{day:02}"
    year, month, day = "", 0, 0
    for word in _WORDS.findall(said):
        if word.isdecimal():
            year, day = (word, day) if len(word) == 4 else (year, int(word))
        else:
            month = _MONTHS.get(word.casefold(), month)
    stated = f"{year or '-'}-{month:02}"
    return f"{stated}-{day:02}" if day else stated


# --- dates in a text, to be compared ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Date:
    """What is said of a date; None where it is not. `text`: as it is written."""

    year: int | None
    month: int | None
    day: int | None
    text: str = field(default="", compare=False)

    def fits(self, other: Date) -> bool:
        """Whether both may be one: what both say is the same, and it is more than the year."""
        pairs = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        return (
            all(one == two for one, two in pairs if one is not None and two is not None)
            and self.month is not None
            and other.month is not None
        )


_WRITTEN: Final = bounded(
    rf"(?<![\w.,/-])(?:"
    rf"(?P<day>{_DAY})\s+(?:{_OF}\s+)?(?P<month>{_MONTH})\b\.?(?:,?\s+(?:{_OF}\s+)?(?P<year>{_YEAR}))?"
    rf"|(?P<month_first>{_MONTH})\b\.?\s+(?P<day_after>[0-3]?\d(?:st|nd|rd|th)?)(?!\d|[.,]\d)(?:,?\s+(?P<year_after>{_YEAR}))?"
    rf"|(?P<month_only>{_MONTH})\b\.?,?\s+(?:{_OF}\s+)?(?P<year_only>{_YEAR})"
    rf"|(?P<iso>{_YEAR}-[01]\d-[0-3]\d)"
    rf"|(?P<one>[0-3]?\d)[./-](?P<two>[0-3]?\d)[./-](?P<of>{_YEAR})"
    rf"|(?P<alone>{_MONTH})"
    rf")(?![^\W_]|[./-]\d)",
    re.IGNORECASE,
)


def dates_in(text: str) -> Iterator[tuple[tuple[int, int], tuple[Date, ...]]]:
    """Each date with its place and its readings, two of "3/4/2019". A month alone counts where it has a capital and stands
    inside a sentence ("in May"); so does a month before its day, for "may 5" is none."""
    for found in _WRITTEN.finditer(text):
        readings = tuple(_readings(found, text))
        if readings:
            yield found.span(), readings


def _readings(found: re.Match[str], text: str) -> Iterator[Date]:
    whole = found[0]
    if found["iso"]:
        year, month, day = map(int, found["iso"].split("-"))
        yield from _valid([(year, month, day)], whole)
    elif found["one"]:
        one, two, year = int(found["one"]), int(found["two"]), int(found["of"])
        yield from _valid(dict.fromkeys([(year, two, one), (year, one, two)]), whole)
    elif found["alone"]:
        inside = found.start() and text[: found.start()].rstrip()[-1:].isalnum()
        if whole[0].isupper() and inside:
            yield Date(None, _MONTHS[whole.casefold()], None, whole)
    elif found["month_first"] and not found["month_first"][0].isupper():
        return
    else:
        name = found["month"] or found["month_first"] or found["month_only"]
        said_day = found["day"] or found["day_after"]
        said_year = found["year"] or found["year_after"] or found["year_only"]
        in_month = int(re.sub(r"\D", "", said_day)) if said_day else None
        yield Date(int(said_year) if said_year else None, _MONTHS[name.casefold()], in_month, whole)


def _valid(readings: Iterable[tuple[int, int, int]], whole: str) -> Iterator[Date]:
    for year, month, day in readings:
        if 1 <= month <= 12 and 1 <= day <= 31:
            yield Date(year, month, day, whole)


def is_month(word: str) -> bool:
    return word.casefold() in _MONTHS
