"""By which headings a place is told: `delay` says nothing where both `enable` and `disable` have one. Pure.

What a heading says of a statement is often half of it: in which version something was removed, for which one it is required.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from cairn.answer.candidates import Candidate
from cairn.answer.change_log import release_in
from cairn.answer.evidence import Measured
from cairn.answer.other_sides import with_fitting_first
from cairn.answer.quotation import without_markup
from cairn.domain.document import BETWEEN_HEADINGS, is_code_type, landmark_at, section_label
from cairn.domain.passage import Passage
from cairn.language.blocks import blocks_in
from cairn.language.sentences import Span
from cairn.language.tokens import terms

TWIN_NEAR: Final = 3.0  # measured: tests/unit/test_section_label.py
"""By how much less than the best a place may score and still come first, where it stands in the section that the question names
and the best in another one of the same kind."""
ALONE: Final = 300  # bound: tests/unit/test_section_label.py
"""Characters of a section that says one thing."""

_ORDINAL: Final = re.compile(r"\A\W{0,3}\d{1,3}[.)]?\s")
_NUMBERING: Final = re.compile(r"\A\W{0,3}(?:\d{1,3}[.)]\s|\d{1,3}(?:\.\d{1,3}){1,5}\.?\s(?=[^\W\d_]))")
_DIGIT: Final = re.compile(r"\d")


def headings_at(passage: Passage, place: int) -> tuple[str, ...]:
    """Those above a place of the passage's content."""
    if not passage.landmarks:
        return passage.headings
    return landmark_at(passage.landmarks, passage.start + place).headings


def label_above(passage: Passage, quoted: Span, passages: Sequence[Passage]) -> str:
    """What has to stand above a quotation, for it says nothing without it or says it of something else: a release, or the heading
    of a section that has a number in it, that says one thing alone, or that is called as another one of the document.
    `passages`: all that were read. "" where none has to."""
    path = headings_at(passage, quoted[0])
    label = section_label(path, passage.title)
    if not label or is_code_type(passage.media_type):
        return ""
    released = next((at for at, one in enumerate(path) if release_in(one)), None)
    if released is not None:
        return BETWEEN_HEADINGS.join(map(_as_read, path[released:]))
    limits = bool(_DIGIT.search(_NUMBERING.sub("", path[-1])))
    if limits or _is_alone(passage.content, quoted) or _has_twin(passage, path, passages):
        return _as_read(label)
    return ""


def _as_read(heading: str) -> str:
    return without_markup(heading.strip("# "))


def _is_alone(content: str, quoted: Span) -> bool:
    """Whether a section is one paragraph or item, between two headings."""
    blocks = [block for block in blocks_in(content) if block.kind != "other"]
    at = next((n for n, block in enumerate(blocks) if block.start <= quoted[0] < block.end), None)
    if at is None or at == 0 or at + 1 == len(blocks):
        return False
    block = blocks[at]
    alone = blocks[at - 1].kind == blocks[at + 1].kind == "heading"
    one = block.kind == "list" and len(block.items) == 1
    return alone and one and block.end - block.start <= ALONE


def _has_twin(passage: Passage, path: Sequence[str], passages: Sequence[Passage]) -> bool:
    """Whether another section of the document has the same title, as far as is known."""
    same = [one for one in passages if one.document_id == passage.document_id]
    known = {path for one in same for path in (one.headings, *(mark.headings for mark in one.landmarks))}
    return any(other[-1:] == tuple(path[-1:]) and other != tuple(path) for other in known)


def with_named_twin_first(
    order: Sequence[int], found: Sequence[Candidate], scores: Measured, passages: Sequence[Passage], question: str
) -> list[int]:
    """Where the best place stands in one of several sections of a kind, and the question names another of them, the first one
    first that stands there: `disable` › `delay` and not `enable` › `delay`, "5.5 and later" and not "5.7 and later"."""
    said = frozenset(terms(question))
    best = passages[found[order[0]].rank]
    path = headings_at(best, found[order[0]].unit.start)
    if not path:
        return list(order)
    fits = [
        (other := passages[found[at].rank]).document_id == best.document_id
        and _is_named_instead(headings_at(other, found[at].unit.start), path, said)
        for at in order
    ]
    return with_fitting_first(order, scores, fits, TWIN_NEAR)


def _is_named_instead(path: Sequence[str], of_best: Sequence[str], said: frozenset[str]) -> bool:
    """Whether two paths differ in one heading, and the question has words of the one and not of the other; where that is the last
    one, numbers, for there sections of all kinds stand side by side."""
    if len(path) != len(of_best):
        return False
    differ = [at for at, (one, other) in enumerate(zip(path, of_best, strict=True)) if one != other]
    if len(differ) != 1:
        return False
    own, others = (frozenset(terms(_ORDINAL.sub("", one[differ[0]]))) for one in (path, of_best))
    if differ[0] == len(path) - 1:
        own, others = (frozenset(word for word in words if word[0].isdigit()) for words in (own, others))
        if not others:
            return False
    return bool((own - others) & said) and not (others - own) & said
