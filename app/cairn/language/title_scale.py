"""What numbers of a table are counted in, by its title, "all prices in thousand EUR", or by the end of a header, "body_mass_g".
Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from cairn.language.cells import tokens_of
from cairn.language.lexicon import every, languages

_SAID: Final = re.compile(
    r"\b(?:in|en)\s(?:(?:(?:(?-i:[A-Z]{3})|[$€£¥])\s)?(?:thousands?|millions?|billions?|tausend|tsd\.?|mio\.?|mrd\.?|millionen"
    r"|milliarden|milliers|milliards|miles|millones|migliaia|milioni|miliardi)(?![^\W_])(?:\s(?:of|de|di)(?=\s))?(?:\s(?:euros?|dollars?|[A-Z]{3}\b|[$€£¥]))?"
    r"|[TK]EUR\b|k[$€£])",
    re.IGNORECASE,
)
_PRICES: Final = every(lambda one: one.arithmetic.prices)
_UNIT_AT_END: Final = re.compile(r"(?<=[^\W_])_(mm|cm|m|km|ft|mi|mg|g|kg|ml|l|ms|s|min|h|usd|eur|gbp)\Z", re.IGNORECASE)
MEASURES: Final = frozenset(word for one in languages() for entry in one.arithmetic.superlatives for word in entry.of)
"""Words of headers of what each thing has for itself: a weight, an age, a price."""


def unit_at_end(header: str) -> str:
    """The sign of a unit behind a header that is written as one word, "body_mass_g"; "" where there is none. A single letter is
    one only of a measure: "goals_h" are those at home."""
    found = _UNIT_AT_END.search(header)
    if found is None or (len(found[1]) == 1 and MEASURES.isdisjoint(tokens_of(header))):
        return ""
    return found[1]


def scale_in_title(title: str, header: str) -> str:
    """The words by which the title says it of a column; "" where it does not, where the column says itself in brackets what it is
    counted in, or where the title speaks of prices and the column of something else."""
    said = _SAID.search(title)
    if said is None or "(" in header or "%" in header:
        return ""
    named = _PRICES.intersection(tokens_of(title))
    return said[0] if not named or not _PRICES.isdisjoint(tokens_of(header)) else ""


def _currencies() -> Iterator[frozenset[str]]:
    """Of each currency, in each language, its sign and its names."""
    for one in languages():
        for sign, names in one.numbers.units.items():
            if unicodedata.category(sign[0]) == "Sc":
                yield frozenset({sign, *names})


def is_same_currency(note: str, unit: str) -> bool:
    """Whether what a header says its numbers are counted in is the sign that they have: "EUR" and "€"."""
    signs = {sign.casefold() for sign in unit if not sign.isalnum()} | {*tokens_of(unit)}
    words = tokens_of(note) or [note.casefold()]
    return len(words) == 1 and any(words[0] in group and not group.isdisjoint(signs) for group in _currencies())
