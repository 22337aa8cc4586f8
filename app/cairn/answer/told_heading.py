"""Which sections tell by their heading how to do what a question asks how to do. Pure.

"How do I disable the default stylesheet?" is told below "Disable the stylesheet": what is to be done, and to what, are all that
the heading says. A model often prefers a sentence elsewhere that has more of the words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from cairn.answer.candidates import Candidate
from cairn.answer.section_label import headings_at
from cairn.domain.passage import Passage
from cairn.language.lexicon import languages
from cairn.language.tokens import likeness, terms

FEWEST: Final = 2  # bound: tests/unit/test_told_heading.py
"""Words of content of a heading that says what is done, and to what."""
MOST_LACKING: Final = 1  # bound: tests/unit/test_told_heading.py
"""Words of content of a question that neither such a heading nor those above it have, but the section below it."""
SHORTEST: Final = 3  # bound: tests/unit/test_told_heading.py
"""Letters of a word before its ending: "add" and "adding"."""
INFLECTED: Final = 0.9  # bound: tests/unit/test_told_heading.py
"""Likeness (tokens.py) of forms of one word."""

_ENDINGS: Final = tuple(one.arithmetic.endings | {""} for one in languages())

_Section = tuple[UUID, tuple[str, ...]]
"""Of a document, with the headings down to its own."""


@dataclass(frozen=True, slots=True)
class Told:
    """For each candidate whether it stands below a heading that tells the way, right below it or also below one beneath."""

    right_below: NDArray[np.bool_]
    below: NDArray[np.bool_]


def find_told(question: str, found: Sequence[Candidate], passages: Sequence[Passage]) -> Told:
    """Of several such headings those that lack the fewest words of the question, then the ones that have the most."""
    none = np.zeros(len(found), np.bool_)
    asked = [*dict.fromkeys(terms(question))]
    if len(asked) < FEWEST:
        return Told(none, none)
    paths = [_section_of(one, passages) for one in found]
    words: dict[_Section, set[str]] = {}
    for one, (document, path) in zip(found, paths, strict=True):
        words.setdefault((document, path), set()).update(one.words)
    commands = {one.document_id for one in passages if "`" in one.title}
    ranked: dict[_Section, tuple[int, int]] = {}
    for document, path in words:
        for at in range(len(path)):
            section = document, path[: at + 1]
            if section not in ranked and (rank := _rank(section, asked, words, commands)) is not None:
                ranked[section] = rank
    best = min(ranked.values(), default=None)
    told = {section for section, rank in ranked.items() if rank == best}
    below = [any((document, path[: at + 1]) in told for at in range(len(path))) for document, path in paths]
    return (
        Told(np.array([path in told for path in paths], np.bool_), np.array(below, np.bool_))
        if told
        else Told(none, none)
    )


def with_told_first(
    order: Sequence[int], told: Told, found: Sequence[Candidate], scores: NDArray[np.float64], near: float
) -> list[int]:
    """Where the best place is not below such a heading, the best one first that is, right below it if any, and no more than
    `near` behind; a sentence before code, which is shown with what announces it."""
    best = order[0]
    if told.below[best]:
        return list(order)
    below = [at for at in order if told.below[at] and scores[at] >= scores[best] - near]
    first = min(below, key=lambda at: (not told.right_below[at], found[at].unit.kind == "code"), default=best)
    return [first, *(at for at in order if at != first)]


def _section_of(one: Candidate, passages: Sequence[Passage]) -> _Section:
    passage = passages[one.rank]
    return passage.document_id, headings_at(passage, one.unit.start) or tuple(one.path.split(". "))


def _rank(
    section: _Section, asked: Sequence[str], words: Mapping[_Section, set[str]], commands: Collection[UUID]
) -> tuple[int, int] | None:
    """How many words of the question neither a heading nor those above it have, and less than none how many the heading has; None
    of one that says something else, too, or below which nothing has the ones that it lacks. `commands`: documents whose title is
    code: the page of "mise uninstall" does not tell how to uninstall it."""
    document, path = section
    said = [*dict.fromkeys(terms(path[-1]))]
    if len(said) < FEWEST or not all(_among(word, asked) for word in said):
        return None
    known = (*said, *terms(" ".join(path[:-1])))
    lacking = [word for word in asked if not _among(word, known)]
    if len(lacking) > MOST_LACKING:
        return None
    if not path[1:] and (lacking or document in commands):
        return None  # a title is what all of the document is about, or a command
    inside = (told for (other, below), told in words.items() if other == document and below[: len(path)] == path)
    held = set[str]().union(*inside) if lacking else set[str]()
    return (len(lacking), -len(said)) if all(_among(word, held) for word in lacking) else None


def _among(word: str, words: Collection[str]) -> bool:
    return word in words or any(_is_form_of(word, other) for other in words)


def _is_form_of(one: str, other: str) -> bool:
    """Whether two words are one but for known endings of one language: "customize" and "customizing"."""
    if likeness(one, other) >= INFLECTED:
        return True
    if not one.isalpha() or not other.isalpha():
        return False
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return any({one[at:], other[at:]} <= ends for at in range(SHORTEST, shared + 1) for ends in _ENDINGS)
