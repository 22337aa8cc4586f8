"""Quotations in an answer, and whether they stand in the sources. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.language.sentences import Span
from app.language.text import normalise

_QUOTATION = re.compile(
    r"\"([^\"\n]{1,1200})\"|“([^“”\n]{1,1200})”|„([^„“”\n]{1,1200})[“”]|«([^«»\n]{1,1200})»|»([^«»\n]{1,1200})«"
)
FEWEST_WORDS: Final = 3
"""Shorter ones are mostly terms, titles or irony ("cloud", "The Hobbit"), which quote nobody."""
_WHITE = re.compile(r"\s+")
_SAME = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "–": "-", "—": "-", "…": "..."}
)
_OMISSION = re.compile(r"\s*(?:\[\s*(?:\.\.\.|…)\s*\]|\(\s*(?:\.\.\.|…)\s*\)|\.\.\.|…)\s*")
_EDGES: Final = " .,;:!?'\""


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words in quotation marks at `span` of the answer, marks included."""

    span: Span
    text: str


def quotations(answer: str) -> list[Quotation]:
    """Those of at least FEWEST_WORDS words, in order."""
    found = ((m.span(), next(g for g in m.groups() if g is not None)) for m in _QUOTATION.finditer(answer))
    return [Quotation(span, text) for span, text in found if len(text.split()) >= FEWEST_WORDS]


def stands_in(quotation: str, source: str) -> bool:
    """Whether the words stand in the source one after the other, white space and typography (kind of quotation marks,
    dashes) apart. A quotation with omissions ("a [...] b") needs its pieces, in order."""
    text, at = plain(source), 0
    for piece in _OMISSION.split(plain(quotation)):
        wanted = piece.strip(_EDGES)
        if (found := text.find(wanted, at)) < 0:
            return False
        at = found + len(wanted)
    return True


def plain(text: str) -> str:
    return _WHITE.sub(" ", normalise(text).translate(_SAME)).strip()


def missing_quotations(answer: str, sources: Sequence[str]) -> list[Quotation]:
    """Those that stand in no source."""
    return [found for found in quotations(answer) if not any(stands_in(found.text, source) for source in sources)]
