"""Numbers and dates: which of a sentence no source holds, which are rounded or reckoned from what they hold. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from cairn.language.dates import Date, dates_in
from cairn.language.lexicon import every
from cairn.language.numbers import Quantity, agrees, quantities, rounds, same, scale_in, times, units_in

_COMPUTING: Final = every(lambda one: one.claims.computing)
MOST_TERMS: Final = 24  # bound: tests/unit/test_edges_ground.py
"""Numbers of the nearest places from which a sum or difference is made; of more, chance makes any number."""

Readings = tuple[Date, ...]
"""What a date may mean: "3/4/2019" is one of two."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Numbers, without those that are part of a date, and dates."""

    quantities: tuple[Quantity, ...]
    dates: tuple[Readings, ...]

    @property
    def years(self) -> tuple[Quantity, ...]:
        return tuple(Quantity(str(date.year)) for readings in self.dates for date in readings[:1] if date.year)

    @property
    def told(self) -> tuple[Quantity, ...]:
        """Numbers that may be repeated: also the years of dates."""
        return (*self.quantities, *self.years)


def read_facts(text: str) -> Facts:
    found, pieces, done = [], [], 0
    for (start, end), readings in dates_in(text):
        found.append(readings)
        pieces += [text[done:start], "\n" * (end - start)]
        done = end
    return Facts(tuple(quantities("".join((*pieces, text[done:])))), tuple(found))


def read_cell(header: str, value: str, scale: int) -> tuple[Quantity, ...]:
    """Numbers of a cell with the unit that its header names and the scale of its table ("Revenue (in millions)")."""
    units = units_in(header)
    held: list[Quantity] = []
    for one in read_facts(value).told:
        unit = one.unit or (units[0] if units and one.kind != "year" else "")
        held.append(Quantity(one.value, unit, one.noun))
        factor = max(scale, scale_in(header))
        if factor > 1 and one.amount is not None:
            held.append(Quantity(times(one.value, factor), unit, one.noun))
    return tuple(held)


@dataclass(frozen=True, slots=True)
class Unheld:
    """Of a sentence's numbers and dates: those that no source holds, as they are spelled, and those that follow from two that
    the nearest places hold."""

    missing: tuple[str, ...]
    computed: tuple[str, ...]


def check_facts(
    sentence: str, said: Facts, told: Iterable[Quantity], dates: Sequence[Readings], near: Sequence[Facts]
) -> Unheld:
    """`told`, `dates`: of all sources; `near`: of the places that are most like the sentence."""
    held, missing, computed = frozenset(told), list[str](), list[str]()
    terms = list(dict.fromkeys(one for facts in near for one in facts.quantities))[:MOST_TERMS]
    reckons = not _COMPUTING.isdisjoint(re.findall(r"[^\W\d_]+", sentence.casefold()))
    for quantity in said.quantities:
        if agrees(quantity, held) or any(rounds(quantity, one) for one in held):
            continue
        if reckons and not quantity.rough and (way := _reckoned(quantity, terms)):
            computed.append(way)
        else:
            missing.append(str(quantity))
    for readings in said.dates:
        if not holds_date(readings, dates, held):
            missing.append(readings[0].text)
    return Unheld(tuple(dict.fromkeys(missing)), tuple(computed))


def holds_date(said: Readings, dates: Iterable[Readings], told: Iterable[Quantity]) -> bool:
    """Whether a date is told: what both say is the same, and a year that is not said with it there stands elsewhere."""
    numbers = {one.value for one in told}
    return any(
        mine.fits(its) and (mine.year is None or its.year is not None or str(mine.year) in numbers)
        for readings in dates
        for its in readings
        for mine in said
    )


def _reckoned(wanted: Quantity, terms: Sequence[Quantity]) -> str:
    """How it is the sum or the difference of two numbers in its unit, or ""."""
    for one, other in _alike(wanted, terms):
        a, b = float(one.value), float(other.value)
        for sign, value in (("+", a + b), ("-", abs(a - b))):
            if same(wanted, Quantity(times(str(value), 1), wanted.unit)):
                first, second = (one, other) if sign == "+" or a >= b else (other, one)
                return f"{wanted} = {first} {sign} {second}"
    return ""


def _alike(wanted: Quantity, terms: Sequence[Quantity]) -> Iterator[tuple[Quantity, Quantity]]:
    fitting = [one for one in terms if one.amount is not None and one.unit in (wanted.unit, "") and one.kind != "year"]
    return combinations(fitting, 2)
