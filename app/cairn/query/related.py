"""What a question asks to be joined: "How are X and Y related?" (classify.py says that it is RELATIONAL). Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from cairn.language.lexicon import in_order, languages
from cairn.language.linear import bounded

LONGEST: Final = 300  # bound: tests/unit/test_edges_query.py
"""Code points of a question that is looked at; a longer one asks more than this."""
_QUOTES: Final = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "\u00a0": " ", "\u202f": " "})
_ENDS: Final = " \t\n?.!…\"'“”„«»"

Pair = tuple[str, str]


def ends_of(text: str, language: str) -> tuple[Pair, ...]:
    """The two things whose relation is asked for, as they are written; several readings where a joining word may be part of
    a name ("Johnson and Johnson and Pfizer"), none where the question asks for something else."""
    text = text.strip(_ENDS + "¿¡")
    if len(text) > LONGEST:
        return ()
    bare = _bare(text)
    for one in in_order(language):
        for pattern in _PATTERNS[one.code]:
            if match := pattern.search(bare):
                return tuple(_readings(text, match, _JOINS[one.code]))
    return ()


def _bare(text: str) -> str:
    """Without case and accents, character by character, so that places stay."""
    return "".join(_letter(character) for character in text.translate(_QUOTES))


def _letter(character: str) -> str:
    base = unicodedata.normalize("NFKD", character)[0].lower()
    return base if len(base) == 1 else character


def _readings(text: str, match: re.Match[str], joins: re.Pattern[str]) -> Iterator[Pair]:
    found = match.groupdict()
    if "a" in found:
        yield _clean(text[slice(*match.span("a"))]), _clean(text[slice(*match.span("b"))])
        return
    start, end = match.span("two")
    for join in joins.finditer(match.string, start, end):
        left, right = _clean(text[start : join.start()]), _clean(text[join.end() : end])
        if left and right:
            yield left, right


def _clean(name: str) -> str:
    return name.strip(_ENDS)


_PATTERNS: Final = {
    one.code: tuple(bounded(rf"(?<!\w)(?:{pattern})$") for pattern in (*one.related.two, *one.related.each))
    for one in languages()
}
_JOINS: Final = {one.code: bounded(rf"\s+(?:{'|'.join(map(re.escape, one.related.joined))})\s+") for one in languages()}
