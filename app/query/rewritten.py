"""A rewritten question, and how terms come into it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

MAX_TEXT: Final = 600
"""Characters of a rewritten question."""

Names = Callable[[str, str], Sequence[str]]
"""Entities of a text in a language."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """`carried`: what came from the conversation; empty where the message stands alone. `reason` for the trace."""

    text: str
    carried: tuple[str, ...] = ()
    reason: str = "stands alone"


def distinct(terms: Sequence[str], text: str) -> tuple[str, ...]:
    """Terms that the text does not have yet, each once."""
    have = text.casefold()
    return tuple(dict.fromkeys(term for term in terms if term and term.casefold() not in have))


def inside(word: str, names: Sequence[str]) -> bool:
    return any(word.casefold() in name.casefold() for name in names)


def appended(text: str, terms: Sequence[str], reason: str, carried: Sequence[str] | None = None) -> Rewritten:
    """The terms stand before the question mark."""
    said = carried if carried is not None else terms
    if not terms:
        return Rewritten(text[:MAX_TEXT], tuple(said), reason if said else "nothing to carry")
    body = text.strip()
    mark = re.search(r"[\s?!.]*$", body)
    end = mark.start() if mark else len(body)
    return Rewritten(f"{body[:end]} {' '.join(terms)}{body[end:]}"[:MAX_TEXT].strip(), tuple(said), reason)
