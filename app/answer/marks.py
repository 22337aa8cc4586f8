"""How models cite: `[1]`, `[Source 2]`, `[1, 3]`, `[Source 1: notes.md (page 3)]`, `【1†source】`, `(Source 2)`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MOST_IN_RANGE: Final = 20
"""`[1-3]` means three sources; `[1-400]` is no list of sources."""

_WORD = r"(?:sources?|src|quellen?|fuentes?|documents?|docs?)"
_NUMBER = r"\d{1,4}(?:\s*[-–]\s*\d{1,4})?"
_AND = r"\s*(?:[,;&]|and|et|y|und)\s*"
_LIST = rf"{_WORD}?\s*\^?#?{_NUMBER}(?:{_AND}{_WORD}?\s*#?{_NUMBER})*"
_NAMED = rf"{_WORD}\s*#?{_NUMBER}(?:{_AND}{_WORD}?\s*#?{_NUMBER})*"
_LABEL = r"(?:\s*[:†,]\s*[^\[\]【】\n]{1,200}|\s*\(page\s+\d+\))?"
_MARK = re.compile(
    rf"[ \t\u00a0]{{0,4}}(?:[\[【［]\s*(?P<numbers>{_LIST})\s*[\]】］]"
    rf"|[\[【［]\s*(?P<labelled>{_NAMED}|{_LIST}(?=†)){_LABEL}\s*[\]】］]"
    rf"|\(\s*(?P<named>{_NAMED})\s*\))(?!\()",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def marks(text: str) -> Iterator[re.Match[str]]:
    """Marks outside code, with the white space before them, in order."""
    code = [found.span() for found in _CODE.finditer(text)]
    for mark in _MARK.finditer(text):
        if not any(start <= mark.start() < end for start, end in code):
            yield mark


def named_sources(mark: re.Match[str]) -> list[int]:
    """The numbers in a mark, in order; a range stands for all in it."""
    numbers = mark["numbers"] or mark["labelled"] or mark["named"]
    return [n for found in _RANGE.finditer(numbers) for n in _listed(found)]


def _listed(found: re.Match[str]) -> list[int]:
    first, last = int(found[1]), int(found[2] or found[1])
    return list(range(first, last + 1)) if first <= last < first + MOST_IN_RANGE else [first]


_JOINER: Final = "\u2060"
"""Neither white space nor part of a word."""


def without_marks(text: str) -> str:
    """Marks blanked, not removed, so that everything else keeps its offset. Before a full stop they are blanked by
    joiners: after white space it would end no sentence."""
    bare = list(text)
    for mark in reversed(list(marks(text))):
        after = bare[mark.end()] if mark.end() < len(bare) else ""
        blank = _JOINER if after and after in f".!?…,;:){_JOINER}" else " "
        bare[mark.start() : mark.end()] = blank * (mark.end() - mark.start())
    return "".join(bare)


def unmarked(text: str) -> str:
    """Without marks: their numbers mean the sources of another answer."""
    pieces, done = [], 0
    for mark in marks(text):
        pieces.append(text[done : mark.start()])
        done = mark.end()
    return "".join((*pieces, text[done:]))
