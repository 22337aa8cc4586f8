"""Numbers with their units as texts write them, made comparable: `1,500` is `1500`, `five` is `5`, `2.5 million` is
`2500000`, `12 km` is not `12 miles`. English, French, Spanish and German. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.language.text import fold


@dataclass(frozen=True, slots=True)
class Quantity:
    """`value` in canonical spelling; `unit` is "" where none of the known ones follows."""

    value: str
    unit: str = ""


_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve",
    "zero un deux trois quatre cinq six sept huit neuf dix onze douze",
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "null ein zwei drei vier funf sechs sieben acht neun zehn elf zwolf",
)
_SPELLED: Final = {
    word: number for line in _ONES for number, word in enumerate(line.split()) if number > 1 or word == "zero"
} | {
    word: number
    for number, names in {
        13: "thirteen treize trece dreizehn", 14: "fourteen quatorze catorce vierzehn", 15: "fifteen quinze quince funfzehn",
        16: "sixteen seize sechzehn", 17: "seventeen siebzehn", 18: "eighteen achtzehn", 19: "nineteen neunzehn",
        20: "twenty vingt veinte zwanzig", 30: "thirty trente treinta dreissig", 40: "forty quarante cuarenta vierzig",
        50: "fifty cinquante cincuenta funfzig", 60: "sixty soixante sesenta sechzig", 70: "seventy setenta siebzig",
        80: "eighty ochenta achtzig", 90: "ninety noventa neunzig", 100: "hundred cent cien ciento hundert",
        1000: "thousand mille mil tausend",
    }.items()
    for word in names.split()
}  # fmt: skip
"""One is left out: it is an article or a pronoun more often than a number."""
_SCALES: Final = {
    **dict.fromkeys(["thousand", "mille", "mil", "tausend", "k"], 10**3),
    **dict.fromkeys(["million", "millions", "millon", "millones", "millionen", "mio"], 10**6),
    **dict.fromkeys(["billion", "billions", "bn", "milliard", "milliards", "milliarde", "milliarden", "mrd"], 10**9),
    **dict.fromkeys(["trillion", "trillions"], 10**12),
}
_UNITS: Final = {
    name: unit
    for unit, names in {
        "%": "% percent pc prozent", "€": "€ euro euros eur", "$": "$ dollar dollars usd dolares", "£": "£ pound pounds gbp",
        "km": "km kilometre kilometres kilometer kilometers kilometros", "mi": "mile miles meile meilen milla millas",
        "m": "m metre metres meter meters metros", "cm": "cm centimetre centimetres centimeter centimeters",
        "mm": "mm millimetre millimetres millimeter millimeters", "ft": "ft foot feet", "in": "inch inches",
        "kg": "kg kilogram kilograms kilo kilos kilogramm", "g": "g gram grams gramm", "mg": "mg milligram milligrams",
        "t": "tonne tonnes tonnen toneladas", "l": "l litre litres liter liters litros", "ml": "ml millilitre millilitres",
        "s": "second seconds sekunde sekunden seconde secondes segundos", "ms": "ms milliseconds",
        "min": "min minute minutes minuten minutos", "h": "h hour hours stunde stunden heure heures hora horas",
        "d": "day days tag tage tagen jour jours dia dias", "w": "week weeks woche wochen semaine semaines semana semanas",
        "mo": "month months monat monate monaten mois mes meses", "y": "year years jahr jahre jahren an ans annees anos",
        "KB": "kb", "MB": "mb", "GB": "gb", "TB": "tb", "hz": "hz", "kw": "kw", "mw": "mw", "w.": "watt watts",
    }.items()
    for name in names.split()
}  # fmt: skip

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
