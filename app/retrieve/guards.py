"""What two queries must share before one may answer for the other. Pure.

Embeddings hardly see a changed number, a "not", another name or a swapped order: "from 3 to 5" and "from 5 to 3" are
nearly one vector. The guards of a query are those words in their order, and must be equal. Too many of them cost a
hit, too few a wrong answer, so in doubt a word is a guard: a capitalised word is a name unless it is a common first one.
"""

from __future__ import annotations

import re
from typing import Final

from app.language.lexicon import every

NEGATIONS: Final = every(lambda one: one.guards.negations)
NUMBERS: Final = every(lambda one: one.guards.numbers)
DIRECTIONS: Final = every(lambda one: one.guards.directions)
COMMON_FIRST: Final = every(lambda one: one.guards.first)

_WORD = re.compile(r"[^\W_](?:[\w'’.:/@+#-]*[\w+#])?", re.UNICODE)
_QUOTED = re.compile(r"[\"“„«‹`]([^\"“”„«»‹›`]+)[\"”“»›`]|(?<!\w)'([^']+)'(?!\w)")
_ENGLISH_NOT = re.compile(r"\w+n['’]t")


def guards(query: str) -> tuple[str, ...]:
    """Numbers, negations, directions, names, identifiers and quoted terms of a query, in their order."""
    found: list[str] = ["quote:" + " ".join((a or b).lower().split()) for a, b in _QUOTED.findall(query)]
    for place, match in enumerate(_WORD.finditer(query)):
        word = match.group()
        if (kind := _kind(word, first=place == 0)) is not None:
            found.append(f"{kind}:{word.lower()}")
    return tuple(found)


def _kind(word: str, *, first: bool) -> str | None:
    lower = word.lower()
    if lower in NEGATIONS or _ENGLISH_NOT.fullmatch(lower):
        return "not"
    if lower in NUMBERS or any(map(str.isdigit, word)):
        return "number"
    if lower in DIRECTIONS:
        return "direction"
    if any(sign in word for sign in "_./:@+#") or any(map(str.isupper, word[1:])):
        return "identifier"
    if word[0].isupper() and not (first and lower in COMMON_FIRST) and lower != "i":
        return "name"
    return None


def is_reordered(one: str, other: str) -> bool:
    """The same words in another order: "does the dog bite the man" is not "does the man bite the dog"."""
    first, second = _WORD.findall(one.lower()), _WORD.findall(other.lower())
    return first != second and sorted(first) == sorted(second)
