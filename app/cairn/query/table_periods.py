"""Which columns of a table are its years, months, quarters, weeks or days: "in which year did Lund sell most" is asked over them.
Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from cairn.language.cells import tokens_of, year_of
from cairn.language.dates import months_in
from cairn.query.table_words import besides_date, short_year_of

PeriodKind = Literal["year", "half", "quarter", "month", "week", "day"]

FEWEST_PERIODS: Final = 3  # bound: tests/unit/test_table_periods.py
"""Columns that make the question over all of them one: of two it is the difference that is asked for."""
_HALF: Final = re.compile(r"(?:h|s|hj|hy|sem|half|semestre|halbjahr)(\d)?")
_QUARTER: Final = re.compile(r"(?:q|t|trim|quarter|quartal|trimestre|term)(\d)?")
_PARTS: Final[tuple[tuple[PeriodKind, re.Pattern[str]], ...]] = (("half", _HALF), ("quarter", _QUARTER))
_PLACE: Final = re.compile(r"(\d)(?:st|nd|rd|th|e|er|eme|o)?|(i{1,3}|iv)")
_WEEK: Final = re.compile(r"(?:kw|w|wk|week|woche|sem|semaine|semana|settimana)(\d{1,2})?")
_NAMED: Final[tuple[tuple[PeriodKind, re.Pattern[str]], ...]] = (*_PARTS, ("week", _WEEK))
_MONTHS: Final = {
    short: number
    for number, shorts in enumerate(
        ("gen ene", "fev febr", "mrz mar mars", "avr abr", "mag mai may", "giu", "lug", "ago aou", "set", "ott", "", "dic"), 1
    )
    for short in shorts.split()
}  # fmt: skip
"""Short names that are no months in a sentence."""
_DAYS: Final = {
    name: number
    for number, names in enumerate(
        (
            "mon monday mo montag lun lundi lunes lunedi", "tue tues tuesday di dienstag mar mardi martes martedi",
            "wed wednesday mi mittwoch mer mercredi mie miercoles mercoledi",
            "thu thur thurs thursday do donnerstag jeu jeudi jue jueves gio giovedi",
            "fri friday fr freitag ven vendredi vie viernes venerdi", "sat saturday sa samstag sam samedi sab sabado sabato",
            "sun sunday so sonntag dim dimanche dom domingo domenica",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip


def period_columns(header: Sequence[str], numeric: Sequence[bool]) -> tuple[int, ...]:
    """The columns that are periods of one kind and of one thing, each another one; none where it is open which: plans beside what
    came, an estimate, a part of a year, one with words among the numbers."""
    found: dict[tuple[PeriodKind, str], list[tuple[int, tuple[int, ...]]]] = {}
    for at, text in enumerate(header):
        for kind, period in _readings(_FOOTNOTE.sub("", text)).items():
            found.setdefault(kind, []).append((at, period))
    most = max(map(len, found.values()), default=0)
    longest = [kind for kind, columns in found.items() if len(columns) == most]
    chosen = found[longest[0]] if longest else []
    if most < FEWEST_PERIODS or len({tuple(found[kind]) for kind in longest}) > 1:
        return ()
    columns = tuple(at for at, _ in chosen)
    alike = {at for (kind, _), others in found.items() if kind == longest[0][0] for at, _ in others}
    if alike != {*columns} or len({period for _, period in chosen}) < most or not all(numeric[at] for at in columns):
        return ()
    others = [text for at, text in enumerate(header) if at not in columns]
    if longest[0][0] == "year" and any(map(_YEAR.search, others)):
        return ()
    return () if any(map(_UNLIKE.search, header)) else columns


_FOOTNOTE: Final = re.compile(r"(?<=.)[¹²³⁰⁴-⁹*†‡]{1,3}\Z")
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_UNLIKE: Final = re.compile(r"\b(?:YTD|LTM|TTM|\d{1,2}\s?(?:M|months?|Monate|mois|meses|mesi))\b", re.IGNORECASE)
"""A year that is not whole, or is another one."""


def _readings(header: str) -> dict[tuple[PeriodKind, str], tuple[int, ...]]:
    """What period a header may be, each with what else it says: "mar" is a month and a day."""
    words = tokens_of(header)
    year = year_of(header) or short_year_of(header)
    years = (int(year),) if year else ()
    if not words:
        return {}
    first, rest = words[0], words[1:]
    found: dict[tuple[PeriodKind, str], tuple[int, ...]] = {}
    months = months_in([first]) or frozenset(filter(None, [_MONTHS.get(first)]))
    if len(months) == 1:
        found["month", _besides(rest)] = (*years, *months)
    if first in _DAYS:
        found["day", _besides(rest)] = (_DAYS[first],)
    for kind, pattern in _NAMED:
        named = pattern.fullmatch(first)
        if named is not None and named[1]:
            found[kind, _besides(rest)] = (*years, int(named[1]))
        elif named is not None and rest and rest[0].isdigit() and len(rest[0]) < len("2024"):
            found[kind, _besides(rest[1:])] = (*years, int(rest[0]))
    place = _PLACE.fullmatch(first)
    for kind, pattern in _PARTS:
        if place is not None and rest and pattern.fullmatch(rest[0]):
            number = int(place[1]) if place[1] else len(place[2]) if place[2] != "iv" else len("1234")
            found[kind, _besides(rest[1:])] = (*years, number)
    if not found and years:
        found["year", re.sub(r"\d+", "", besides_date(header))] = years
    return found


def _besides(words: Sequence[str]) -> str:
    return " ".join(word for word in words if not word.isdigit())
