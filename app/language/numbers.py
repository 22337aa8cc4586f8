"""Numbers with their units as texts write them, made comparable: `1,500` is `1500`, `five` is `5`, `2.5 million` is
`2500000`, `12 km` is not `12 miles`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.language.lexicon import languages
from app.language.text import fold


@dataclass(frozen=True, slots=True)
class Quantity:
    """`value` in canonical spelling; `unit` is "" where none of the known ones follows."""

    value: str
    unit: str = ""


_SPELLED: Final = {word: number for one in languages() for word, number in one.numbers.words.items()}
"""One is left out: it is an article or a pronoun more often than a number."""
_SCALES: Final = {word: scale for one in languages() for word, scale in one.numbers.scales.items()}
_SYMBOLS: Final = "% € $ £ km m cm mm ft kg g mg l ml ms min h KB MB GB TB hz kw mw"
"""Units that are written so in all languages."""
_UNITS: Final = {symbol.lower(): symbol for symbol in _SYMBOLS.split()} | {
    name: unit for one in languages() for unit, names in one.numbers.units.items() for name in names
}

_NUMBER = re.compile(
    r"(?P<sign>[€$£])?[ \u00a0]?(?P<digits>(?<![\w.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d])|\d+(?:[.,]\d+)*)"
    r"(?P<ending>(?:st|nd|rd|th|er|ère|e|º|ª|s)\b)?"
    r"|(?P<word>[^\W\d_]+)"
)
_AFTER = re.compile(r"[ \u00a0\u202f-]?(%|[€$£]|[^\W\d_]+)")


def quantities(text: str) -> Iterator[Quantity]:
    """In order; a number word counts as its digits."""
    done = 0
    for found in _NUMBER.finditer(text):
        if found.start() < done:
            continue
        if found["word"]:
            value = _SPELLED.get(fold(found["word"]))
            if value is None:
                continue
            number = str(value)
        else:
            number = _canonical(found["digits"])
        number, done = _scaled(number, text, found.end())
        after = _AFTER.match(text, done)
        unit = _UNITS.get(fold(after[1]), "") if after else ""
        yield Quantity(number, unit or _UNITS.get(found["sign"] or "", ""))


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
    if not after or scale is None or number.count(".") > 1:
        return number, at
    value = float(number) * scale
    return (str(int(value)) if value.is_integer() else f"{value:g}"), after.end()


def agrees(said: Quantity, told: frozenset[Quantity]) -> bool:
    """Whether a number is told, with the same unit where both have one; years may be told as decades ("1990s")."""
    units = {q.unit for q in told if q.value == said.value}
    return bool(units) and (not said.unit or said.unit in units or "" in units)
