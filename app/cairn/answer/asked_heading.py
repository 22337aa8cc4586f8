"""Which sections have the question as their heading: a manual that asks it in the same words answers it from there on. Pure.

Quotes, backticks, end marks, case and what a heading has in brackets say nothing; what it has in angle brackets ("no tasks <name>
found") stands for any one word of the question, before which such a question may say more ("error: ...").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cairn.answer.candidates import Candidate
from cairn.domain.passage import Passage
from cairn.language.sentences import is_rule
from cairn.language.text import fold

FEWEST: Final = 3  # bound: tests/unit/test_asked_heading.py
"""Words of a question that is a heading: one of fewer is the name of something, of which more than one section may speak."""
FEWEST_LITERAL: Final = 2  # bound: tests/unit/test_asked_heading.py
"""Words of a heading beside the one that is to be replaced."""

_NO_WORDS: Final = re.compile(r"[`\"“”„«»*]|\{#[^{}\s]{1,80}\}|(?<!\w)['‘’]|['‘’](?!\w)")
_IN_BRACKETS: Final = re.compile(r"(?<=\s)\([^()]{0,200}\)")
_PLACEHOLDER: Final = re.compile(r"<[^<>\s]{1,60}>")
_NUMBERING: Final = re.compile(r"\A\d{1,3}(?:\.\d{1,3}){0,4}[.)]?\s+")
_QUOTED: Final = re.compile(r"[\"“”„«»]([^\"“”„«»]{3,200})[\"“”„«»]")
_AT_EDGES: Final = ".,:;?!¿¡…()[]"


def is_below_asked(question: str, found: Sequence[Candidate]) -> NDArray[np.bool_]:
    """For each candidate whether it stands below a heading that is the question."""
    asked = _askings(question)
    told: dict[str, bool] = {}
    for one in found:
        if one.path not in told:
            told[one.path] = any(_is_asked(asked, heading) for heading in one.path.split(". "))
    return np.array([told[one.path] for one in found], np.bool_)


def with_section_first(
    order: Sequence[int], below: NDArray[np.bool_], found: Sequence[Candidate], passages: Sequence[Passage]
) -> list[int]:
    """Of the best place in such a section the first of that section first, however good another place is."""
    best = next((at for at in order if below[at]), None)
    if best is None:
        return list(order)
    document = passages[found[best].rank].document_id
    same = [at for at in order if below[at] and passages[found[at].rank].document_id == document]
    first = min(same, key=lambda at: passages[found[at].rank].start + found[at].unit.start)
    return [first, *(at for at in order if at != first)]


def ends_with_asked(question: str, before: str) -> bool:
    """Whether the last line of a text is the heading, perhaps underlined, so that what stands behind it begins the section."""
    lines = [line for line in before.splitlines() if line.strip() and not is_rule(line)]
    return bool(lines) and _is_asked(_askings(question), lines[-1].lstrip("#>-+* \t"))


def _askings(question: str) -> list[list[str]]:
    """The words of a question, and of what stands behind a colon in it or in quotes: a message that is asked about."""
    return [_words(part) for part in (question, question.partition(": ")[2], *_QUOTED.findall(question)) if part]


def _is_asked(askings: Sequence[Sequence[str]], heading: str) -> bool:
    heading = _NUMBERING.sub("", heading)
    if _PLACEHOLDER.search(heading):
        return any(_stands_for(_words(heading), asked) for asked in askings)
    asked = askings[0]
    return len(asked) >= FEWEST and asked in (_words(heading), _words(_IN_BRACKETS.sub("", heading)))


def _stands_for(pattern: Sequence[str], asked: Sequence[str]) -> bool:
    """Whether words of which some are to be replaced are all that is asked."""
    if sum(_PLACEHOLDER.search(word) is None for word in pattern) < FEWEST_LITERAL:
        return False
    return len(pattern) == len(asked) and all(map(_fits, pattern, asked))


def _fits(word: str, said: str) -> bool:
    """`<tool>@<version>` fits `node@20`: what stays is there, in order, with something in the place of the rest."""
    head, *rest = _PLACEHOLDER.split(word)
    if not rest:
        return word == said
    if not said.startswith(head):
        return False
    at = len(head)
    for part in rest[:-1]:
        at = said.find(part, at + 1) + len(part)
        if at < len(part):
            return False
    return said.endswith(rest[-1]) and len(said) - len(rest[-1]) > at


def _words(text: str) -> list[str]:
    return [word for part in fold(_NO_WORDS.sub("", text)).split() if (word := part.strip(_AT_EDGES))]
