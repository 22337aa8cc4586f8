"""Dates as they are written: a pattern for the database, and one reading for all spellings. Pure."""

from __future__ import annotations

import re
from typing import Final

from app.language.lexicon import any_of, languages

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
        if word.isdigit():
            year, day = (word, day) if len(word) == 4 else (year, int(word))
        else:
            month = _MONTHS.get(word.casefold(), month)
    stated = f"{year or '-'}-{month:02}"
    return f"{stated}-{day:02}" if day else stated
