"""Numbers with their units as texts write them, made comparable: `1,500` is `1500`, `five` is `5`, `thirty-five` is `35`,
`2.5 million` is `2500000`, `12 km` is not `12 miles`, `two weeks` are `14 days`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Final

from cairn.language.lexicon import every, languages
from cairn.language.linear import bounded
from cairn.language.text import fold


@dataclass(frozen=True, slots=True)
class Quantity:
    """`value` in canonical spelling; `unit` is "" where none of the known ones follows. `noun`: the word after a number without a
    unit, folded. `rough`: it is said to be about, over or under so much; `scaled`: it is written with a "million". `joined`:
    nothing but the unit of the number before it, and an "and", stands between them ("2 hours and 10 minutes")."""

    value: str
    unit: str = ""
    noun: str = field(default="", compare=False)
    rough: bool = field(default=False, compare=False)
    scaled: bool = field(default=False, compare=False)
    joined: bool = field(default=False, compare=False)

    @property
    def amount(self) -> float | None:
        """As a number in the smallest unit of its dimension; None for a version or the like."""
        if not _PLAIN.fullmatch(self.value):
            return None
        return float(self.value) * _FACTORS.get(self.unit, ("", 1.0))[1]

    @property
    def measures(self) -> str:
        """What it is an amount of: units of the same can stand for each other ("14 days", "2 weeks"); "" without a unit."""
        return _FACTORS[self.unit][0] if self.unit in _FACTORS else self.unit

    @property
    def kind(self) -> str:
        """What can be meant instead: any length for a length, a year for a year; "" where nothing is known."""
        if self.unit:
            return _KINDS.get(self.measures, self.measures)
        return "year" if _YEAR.fullmatch(self.value) else self.noun

    def __str__(self) -> str:
        return f"{self.value} {self.unit}".strip()


_FACTORS: Final[dict[str, tuple[str, float]]] = {
    "ms": ("time", 1), "s": ("time", 1e3), "min": ("time", 6e4), "h": ("time", 3.6e6), "d": ("time", 8.64e7),
    "w": ("time", 6.048e8), "mo": ("months", 1), "y": ("months", 12), "mm": ("length", 1), "cm": ("length", 10),
    "m": ("length", 1e3), "km": ("length", 1e6), "mg": ("mass", 1), "g": ("mass", 1e3), "kg": ("mass", 1e6),
    "t": ("mass", 1e9), "ml": ("volume", 1), "l": ("volume", 1e3),
}  # fmt: skip
"""What a unit measures, and how many of the smallest of its kind it is."""
_KINDS: Final = {
    "months": "time", "mi": "length", "ft": "length", "in": "length", "€": "money", "$": "money", "£": "money",
    "%": "share", "pp": "share",
}  # fmt: skip
_PLAIN: Final = re.compile(r"\d{1,30}(?:\.\d{1,30})?")
_YEAR: Final = re.compile(r"1\d{3}|20\d{2}")
_SPELLED: Final = {word: number for one in languages() for word, number in one.numbers.words.items()}
"""One is left out: it is an article or a pronoun more often than a number."""
_ONES: Final = every(lambda one: one.numbers.ones)
_JOINS: Final = every(lambda one: one.numbers.joins)
_SCALES: Final = {word: scale for one in languages() for word, scale in one.numbers.scales.items()}
_APPROXIMATE: Final = every(lambda one: one.numbers.approximate)
_SYMBOLS: Final = "% € $ £ km m cm mm ft kg g mg l ml ms min h KB MB GB TB hz kw mw"
"""Units that are written so in all languages."""
_UNITS: Final = {symbol.lower(): symbol for symbol in _SYMBOLS.split()} | {
    name: unit for one in languages() for unit, names in one.numbers.units.items() for name in names
}
_PHRASES: Final = {fold(words): unit for one in languages() for words, unit in one.numbers.phrases.items()}
_COMPOUND: Final = re.compile(
    rf"(?<=...)(?:{'|'.join(sorted((name for name in _UNITS if len(name) > 3 and name.isalpha()), key=lambda n: (-len(n), n)))})$"
)
"""Of German "Urlaubstage" the end is the unit."""
SHORTEST_COMPOUND: Final = 7
"""Letters."""

_NUMBER = re.compile(
    r"(?P<sign>[€$£])?[ \u00a0]?(?P<digits>(?<![\w.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d])|\d+(?:[.,]\d+)*)"
    r"(?P<ending>(?:st|nd|rd|th|er|ère|e|º|ª|s)\b)?"
    r"|(?P<word>[^\W\d_]+)"
)
_AFTER = re.compile(r"[ \n\u00a0\u202f-]?(%|[€$£]|[^\W\d_]+)")
_OF_THE_NEXT = re.compile(r"[€$£][ \u00a0\u202f]?\d")
_LATER = bounded(r"[ \n\u00a0\u202f-]?[^\W\d_]+[ \n\u00a0\u202f-]([^\W\d_]+)")
_PHRASE = re.compile(r"[ \n\u00a0\u202f]([^\W\d_]+[ \n\u00a0\u202f][^\W\d_]+(?:[ \n\u00a0\u202f][^\W\d_]+)?)")
_NEXT_WORD = re.compile(r"[ \n\u00a0\u202f-]([^\W\d_]+)")
_SHORT_YEAR = re.compile(r"\d\d(?!\d)")
BEFORE: Final = 3
"""Words before a number among which an "about" makes it rough."""


def quantities(text: str) -> Iterator[Quantity]:
    """In order; a number in words counts as its digits."""
    done, words = 0, list[str]()
    last: int | None = None
    for found in _NUMBER.finditer(text):
        if found.start() < done:
            continue
        if found["word"]:
            word = fold(found["word"])
            spelled = read_spelled(word, text, found.end())
            if spelled is None:
                words.append(word)
                continue
            value, done = spelled
            number = str(value)
        else:
            if _ends_a_span_of_years(text, found.start()):
                continue
            number, done = _canonical(found["digits"]), found.end()
        joined = last is not None and _is_unit_alone(text[last : found.start()])
        unscaled = done
        number, done = _scaled(number, text, done)
        unit, noun, done = _unit(text, done)
        yield Quantity(
            number,
            unit or _UNITS.get(found["sign"] or "", ""),
            noun,
            rough=not _APPROXIMATE.isdisjoint(words[-BEFORE:])
            or text[max(0, found.start() - 1) : found.start()] in ("~", "≈"),
            scaled=done > unscaled and "." not in number and number.endswith("000"),
            joined=joined,
        )
        last, words = done, []


def _is_unit_alone(between: str) -> bool:
    """Whether what stands between two numbers is only the unit of the first, and perhaps an "and"."""
    unit, *rest = fold(between).split() or [""]
    return bool(_unit_name(unit)) and _JOINS.issuperset(rest)


def read_spelled(word: str, text: str, at: int) -> tuple[int, int] | None:
    """A number in words that begins with `word`, folded, which ends at `at`, and where it ends; None where it is none."""
    first = _word_value(word)
    if first is None:
        return None
    thousands, below, last, end = (first, 0, first, at) if first >= 1000 else (0, first, first, at)
    while after := _NEXT_WORD.match(text, end):
        nxt, stop = fold(after[1]), after.end()
        joined = nxt in _JOINS
        if joined and (further := _NEXT_WORD.match(text, stop)):
            nxt, stop = fold(further[1]), further.end()
        value = 1 if nxt in _ONES and 20 <= last <= 90 else _word_value(nxt)
        if value is None or (joined and (value >= 100 or _is_multiplied(text, stop))):
            break  # "between one hundred and two hundred"
        if (last, value) == (4, 20) and not joined:
            below, value = below - 4 + 80, 80
        elif value == 1000 and not thousands and below:
            thousands, below = 1000 * below, 0
        elif value == 100 and 0 < below < 100 and last < 100:
            below *= 100
        elif (20 <= last <= 90 and value < 20) or (last == 10 and 7 <= value <= 9) or (last >= 100 and value < last):
            below += value
        else:
            break
        last, end = value, stop
    return thousands + below, end


def _is_multiplied(text: str, at: int) -> bool:
    after = _NEXT_WORD.match(text, at)
    return after is not None and ((_word_value(fold(after[1])) or 0) >= 100 or fold(after[1]) in _SCALES)


def _word_value(word: str) -> int | None:
    value = _SPELLED.get(word)
    if value is None:
        for join in _JOINS:  # fünfundvierzig
            ones, found, tens = word.partition(join)
            if found and _SPELLED.get(ones, 10) < 10 and 20 <= _SPELLED.get(tens, 0) <= 90:
                return _SPELLED[ones] + _SPELLED[tens]
    return value


def _ends_a_span_of_years(text: str, at: int) -> bool:
    """Of "2018-19" the second number."""
    return bool(
        at >= 5 and text[at - 1] in "-–/" and _YEAR.fullmatch(text[at - 5 : at - 1]) and _SHORT_YEAR.match(text, at)
    )


def _unit(text: str, at: int) -> tuple[str, str, int]:
    """The unit after a number, else the word that it counts; a word may stand between ("30 paid days")."""
    if (phrase := _PHRASE.match(text, at)) is not None:
        words = fold(phrase[1]).split()
        for n in (3, 2):
            if unit := _PHRASES.get(" ".join(words[:n])):
                return unit, "", phrase.start(1) + len(" ".join(phrase[1].split()[:n]))
    after = _AFTER.match(text, at)
    if not after or _OF_THE_NEXT.match(text, after.start(1)):
        return "", "", at
    word = fold(after[1])
    if unit := _unit_name(word):
        return unit, "", at
    later = _LATER.match(text, at)
    if later and word not in _JOINS and len(word) > 3 and (unit := _unit_name(fold(later[1]))):
        return unit, "", at
    return "", word, at


def unit_behind(text: str, at: int) -> str:
    """The unit of a number that ends there; "" where none of the known ones follows."""
    return _unit(text, at)[0]


def unit_named(text: str) -> str:
    """The unit that a sign or a word says, whole; "" where it is none of the known ones."""
    return _UNITS.get(fold(text.strip()), "")


def amount_in(value: Decimal, unit: str, other: str) -> Decimal | None:
    """An amount in another unit of the same kind; None where they measure different things."""
    if unit == other:
        return value
    one, two = _FACTORS.get(unit), _FACTORS.get(other)
    if one is None or two is None or one[0] != two[0]:
        return None
    return value * Decimal(one[1]) / Decimal(two[1])


def _unit_name(word: str) -> str:
    if unit := _UNITS.get(word):
        return unit
    compound = _COMPOUND.search(word) if len(word) > SHORTEST_COMPOUND else None
    return _UNITS[compound[0]] if compound else ""


def units_in(text: str) -> list[str]:
    """Units that a header names: "Leave (days)", "in %"."""
    return [unit for word in re.findall(r"[^\W\d_]{2,}|[%€$£]", text) if (unit := _UNITS.get(fold(word), ""))]


def scale_in(text: str) -> int:
    """What a header multiplies by: "(in millions)", "TEUR" is not read; 1 where it does not."""
    words = [fold(word) for word in re.findall(r"[^\W\d_]+", text)]
    return max(
        (_SCALES.get(word, 1) for before, word in pairwise(words) if before in ("in", "en")),
        default=1,
    )


def is_measure_word(word: str) -> bool:
    """Whether a folded word is a number, a scale or a unit."""
    return word in _SPELLED or word in _SCALES or word in _UNITS or word in _ONES


def _canonical(digits: str) -> str:
    """`1,500.50`, `1.500,50` and `1 500,5` alike; a single separator before three digits separates thousands."""
    bare = re.sub(r"[ \u00a0\u202f]", "", digits)
    marks = [c for c in bare if c in ".,"]
    if not marks:
        return bare.lstrip("0") or "0"
    last = max(bare.rfind("."), bare.rfind(","))
    thousands = len(set(marks)) == 1 and (len(marks) > 1 or len(bare) - last == 4) and not bare.startswith("0")
    if thousands and all(len(part) == 3 for part in re.split("[.,]", bare)[1:]):
        return re.sub("[.,]", "", bare)
    if len(set(marks)) == 1 and len(marks) > 1:
        return bare  # a date or a version: 24.12.2024, 3.11.2
    whole, part = re.sub("[.,]", "", bare[:last]), bare[last + 1 :].rstrip("0")
    return f"{whole.lstrip('0') or '0'}.{part}" if part else whole.lstrip("0") or "0"


def _scaled(number: str, text: str, at: int) -> tuple[str, int]:
    """Multiplied by a "million" that follows, and where reading goes on."""
    after = _AFTER.match(text, at)
    scale = _SCALES.get(fold(after[1])) if after else None
    if not after or scale is None or not _PLAIN.fullmatch(number):
        return number, at
    end = after.end()
    return times(number, scale), end + (text[end : end + 2] == ". ")  # "5 Mio. Euro"


def times(number: str, scale: float) -> str:
    value = round(float(number) * scale, 6)
    return str(int(value)) if value.is_integer() else f"{value:.10g}"


# --- comparing ----------------------------------------------------------------------------------------------------------


def agrees(said: Quantity, told: Iterable[Quantity]) -> bool:
    """Whether a number is told, with the same unit where both have one ("14 days" are two weeks); years may be told as decades
    ("1990s")."""
    return any(same(said, one) for one in told)


def same(said: Quantity, told: Quantity) -> bool:
    if said.value == told.value and (said.unit == told.unit or not said.unit or not told.unit):
        return True
    if not said.unit or not told.unit or said.measures != told.measures:
        return False
    mine, its = said.amount, told.amount
    return mine is not None and its is not None and abs(mine - its) <= 1e-9 * max(abs(mine), abs(its))


FEWEST_DIGITS: Final = 2
"""Of a rounded number that does not say that it is one."""
ROUGHLY: Final = 0.1
"""How far off a number may be that says it is rounded."""


def rounds(said: Quantity, told: Quantity) -> bool:
    """Whether `said` is `told`, rounded honestly: "about 1.5 million" of 1,496,500, "1.5 million", "45" of 45.3; a bound may
    be cut off ("over 1.4 million"). A year is not rounded unless it says so."""
    if said.unit and told.unit and said.measures != told.measures:
        return False
    mine, its = said.amount, told.amount
    if mine is None or its is None or not mine or not its:
        return False
    if said.unit and told.unit and said.unit != told.unit:
        its /= _FACTORS.get(said.unit, ("", 1.0))[1] / 1.0
        mine = float(said.value)
    else:
        mine, its = float(said.value), float(told.value)
    step, digits = _last_digit(said.value)
    down = its // step * step
    nearest = round(its / step) * step
    if _near(down, its):  # it has no more digits than that: nothing was rounded
        return False
    if said.rough:
        return abs(mine - its) <= ROUGHLY * its and any(_near(mine, one) for one in (down, nearest, down + step))
    plainly = said.scaled or ("." in told.value and told.value.count(".") == 1 and step >= 1)
    return plainly and digits >= FEWEST_DIGITS and _near(mine, nearest)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other), 1.0)


def _last_digit(value: str) -> tuple[float, int]:
    """What the last digit that is not zero counts, and how many digits lead to it."""
    whole, _, part = value.partition(".")
    if part:
        return 10.0 ** -len(part), len((whole + part).lstrip("0"))
    bare = whole.rstrip("0")
    return 10.0 ** (len(whole) - len(bare)), len(bare)
