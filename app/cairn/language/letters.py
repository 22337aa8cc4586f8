"""What words look like in English, French, Spanish and German: which letter follows which. Pure."""

from __future__ import annotations

import itertools
import re
from typing import Final

_ROWS: Final = (
    "332334443544344363335447669",
    "643365453652427472324567563",
    "256628762582772782453779584",
    "284628822944772774533999584",
    "377517662785563784463669582",
    "454345564763426562244565652",
    "276823682973762693543978673",
    "377628543874633793453869572",
    "267627772974542784533859483",
    "353434477763423553236487854",
    "277727973777762696672899684",
    "267726642954643694333859472",
    "266426572962563687444679473",
    "246817782986363397463879673",
    "363335363656644876325579662",
    "544465464753324472343446573",
    "286726733983772392443799694",
    "579879995997897678860777995",
    "254426462855443674334569562",
    "363726743955573467324769571",
    "276827742985673793344769562",
    "444425463663326472338575664",
    "289718982997782794685999694",
    "266626732865633794465769593",
    "363725752996674267734675582",
    "354536674874444495345768761",
    "266627642965663787743849552",
)
"""Row: letter before (none, a to z); column: letter after (a to z, none). Digit: 0.75 x -log2 of the probability, counted
over 50,000 distinct words of news, encyclopedia and administration in the four languages, with names."""
_COST: Final = {
    before + after: int(digit)
    for before, row in zip("^abcdefghijklmnopqrstuvwxyz", _ROWS, strict=True)
    for after, digit in zip("abcdefghijklmnopqrstuvwxyz$", row, strict=True)
}
_LETTERS: Final = re.compile(r"[a-z]+")
_KEYBOARDS: Final = (
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "azertyuiop",
    "qsdfghjklm",
    "wxcvbn",
    "qwertzuiop",
    "yxcvbnm",
)
_NEXT_KEYS: Final = frozenset(a + b for row in _KEYBOARDS for a, b in itertools.pairwise(row))
_WALK: Final = 4
"""Neighbouring keys in one direction from which on a run is no accident: "werty", not "prOPErty"."""
_WALKED: Final = 0.7
_LONG_WALK, _WALK_STRANGENESS = 5, 4.0
_MIN_LETTERS: Final = 5
_SHORT_LETTERS, _SHORT_MAY = 7, 0.3
"""Words up to so many letters may be that much stranger: mysql, httpx, plpgsql."""


def strangeness(word: str) -> float:
    """Mean cost of the letters of a folded word: 2.5 to 4 for words, 5 to 6 for random keys. 0 where it has others."""
    if not _LETTERS.fullmatch(word):
        return 0.0
    framed = f"^{word}$"
    return sum(_COST[a + b] for a, b in itertools.pairwise(framed)) / (len(word) + 1)


def is_keyboard_walk(word: str) -> bool:
    """Whether most of a folded word is a run along a row of keys, in either direction, or a short run again and again.

    Short runs that are words by their letters (wert, Hertz) are none.
    """
    run = max(_longest_run(word), _longest_run(word[::-1]))
    if run >= max(_WALK, _WALKED * len(word)):
        return run > _LONG_WALK or strangeness(word) >= _WALK_STRANGENESS
    unit = word[:3]
    return (
        len(word) >= 6 and word == (unit * len(word))[: len(word)] and max(map(_longest_run, (unit, unit[::-1]))) == 3
    )


def _longest_run(word: str) -> int:
    longest = run = 1
    for a, b in itertools.pairwise(word):
        run = run + 1 if a + b in _NEXT_KEYS else 1
        longest = max(longest, run)
    return longest


def looks_random(word: str, limit: float) -> bool:
    """Whether a folded word is keyboard play: `limit` is the strangeness from which on it is."""
    if len(word) <= _SHORT_LETTERS:
        limit += _SHORT_MAY
    return is_keyboard_walk(word) or (len(word) >= _MIN_LETTERS and strangeness(word) >= limit)
