"""A list that a document has as headings: "There are four areas." and then a section for each. Pure. (docs/adr/0104)"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cairn.answer.answer_type import thing_asked
from cairn.answer.shown import ON_THE_WAY, announces, foretells
from cairn.domain.document import Landmark, landmark_at
from cairn.domain.passage import Passage
from cairn.language.blocks import blocks_in
from cairn.language.identify import by_words
from cairn.language.lexicon import languages
from cairn.language.sentences import Span
from cairn.language.text import fold
from cairn.language.tokens import WordIndex, terms

FEWEST: Final = 2  # measured: tests/unit/test_sections_below.py
MOST: Final = 12  # bound: tests/unit/test_sections_below.py
"""Sections that are a list."""
MOST_NAMED: Final = 40  # bound: tests/unit/test_sections_below.py
"""The same below a heading that the question names."""
BETWEEN: Final = 20  # bound: tests/unit/test_sections_below.py
"""Characters of marks and blanks between a heading and the one right below it."""
DEEP: Final = 2  # measured: tests/unit/test_sections_below.py
"""Headings above an introduction from which on the sections behind it are what it is about; those of a whole document are its
chapters, which must be announced right before them."""

MOST_MARKS: Final = 200  # bound: tests/unit/test_sections_below.py
"""Beginnings of sections that are read behind a sentence."""

_NUMBERS: Final = {
    one.code: {word: number for word, number in one.numbers.words.items() if number <= MOST} for one in languages()
}
_NUMBERING: Final = re.compile(r"\d{1,2}[.)]\s")
_WORD: Final = re.compile(r"\w+")
_TELLS: Final = re.compile(r":\s[^,;]{1,200}[,;]\s\S")
"""Of a sentence that lists things itself: "Keywords: today, yesterday"."""


@dataclass(frozen=True, slots=True)
class Section:
    """Where it begins in the document, and about where its heading ends: the marks of headings are not known here."""

    name: str
    start: int
    end: int


def sections_announced(
    passage: Passage, quoted: Span, behind: Sequence[Landmark], question: str = ""
) -> Sequence[Section]:
    """The sections right below the one that a sentence introduces; none where it is not sure that it means them, or lists things
    itself. `behind`: where sections begin, or go on, in the document behind the sentence. `question`: what it asks for stands in
    the sentence or its heading, unless the sentence says that several things follow."""
    start, end = passage.start + quoted[0], passage.start + quoted[1]
    path = landmark_at(passage.landmarks, start).headings if passage.landmarks else passage.headings
    below = _right_below(path, [mark for mark in behind if mark.start >= end])
    if not FEWEST <= len(below) <= MOST:
        return ()
    introduction = passage.content[: max(below[0].start - passage.start, quoted[1])]
    rest = introduction[quoted[1] :].rstrip()
    said = passage.content[quoted[0] : quoted[1]]
    words = [fold(word) for word in _WORD.findall(said)]
    language = by_words(said)  # "once" is eleven in another one
    known = [_NUMBERS[language]] if language else _NUMBERS.values()
    spelled = {numbers[word] for numbers in known for word in words if word in numbers}
    near = len(rest) <= ON_THE_WAY if len(path) >= DEEP else not rest and announces(passage.content, quoted)
    meant = len(below) in spelled or str(len(below)) in words or (near and not spelled)
    if not meant or _TELLS.search(said):
        return ()
    if not spelled and not foretells(passage.content, quoted) and not _speaks_of_asked(question, f"{said} {path[-1]}"):
        return ()
    listed = any(block.kind not in ("prose", "heading") for block in blocks_in(rest))
    return () if listed else below


def _speaks_of_asked(question: str, said: str) -> bool:
    """Whether a text has the word for the things that a question asks for, where that is known: a sentence on a backup does not
    introduce its advantages."""
    asked = terms(thing_asked(question))
    told = WordIndex(frozenset(terms(said)))
    return not asked or any(told.alike(word) for word in asked)


_STEP: Final = re.compile(r"(?:([^\W\d]{2,20}) )?(\d{1,2})(?:[.:)]?\s|[:.]?\Z)")
"""How a heading begins that is a step: "Step 2: ...", "2. ..."."""


def _step(heading: str) -> int:
    """Its number; 0 where it has none."""
    found = _STEP.match(heading)
    return int(found[2]) if found else 0


def may_lead_to_steps(passage: Passage, quoted: Span) -> bool:
    """Whether a quotation stands in a section that is a step, or announces what follows. A number alone may be a chapter's."""
    path = _path(passage, quoted)
    is_step = len(path) >= DEEP and _step(path[-1]) > 0 and path[-1][0].isalpha()
    return bool(path) and (is_step or foretells(passage.content, quoted))


def steps_behind(passage: Passage, quoted: Span, behind: Sequence[Landmark]) -> Sequence[Section]:
    """The sections that are the next steps behind the one of a quotation, or all steps below the section that announces them: who
    asks for the way wants to know how it goes on."""
    path, end = _path(passage, quoted), passage.start + quoted[1]
    own = _step(path[-1])
    above = path[:-1] if own else path
    found = list[Section]()
    for section in _right_below(above, [mark for mark in behind if mark.start >= end]):
        if own and section.name == path[-1]:
            continue
        if _step(section.name) != own + len(found) + 1:
            break
        found.append(section)
    return found if (own or len(found) >= FEWEST) and len(found) <= MOST else ()


def _path(passage: Passage, quoted: Span) -> tuple[str, ...]:
    start = passage.start + quoted[0]
    return landmark_at(passage.landmarks, start).headings if passage.landmarks else passage.headings


def sections_named(passage: Passage, quoted: Span, behind: Sequence[Landmark], question: str) -> Sequence[Section]:
    """The sections right below a heading that a question names with the title of the document, where nothing stands between them:
    the flags of "mise prune" below "Flags". Of a heading behind the quotation, in the same document."""
    asked = WordIndex(frozenset(terms(question)))
    if not _is_asked(passage.title, asked):
        return ()
    start, end = passage.start + quoted[0], passage.start + quoted[1]
    path = landmark_at(passage.landmarks, start).headings if passage.landmarks else passage.headings
    marks = [mark for mark in behind if mark.start >= end]
    for at, mark in enumerate(marks):
        if mark.headings[: len(path[:1])] != path[:1]:
            return ()
        above = mark.headings[: len(path[:1]) + 1]
        if len(above) < len(mark.headings) or len(above) == len(path[:1]) or not _is_asked(above[-1], asked):
            continue
        below = _right_below(above, marks[at + 1 :])
        directly = bool(below) and below[0].start - mark.start - len(above[-1]) <= BETWEEN
        return below if directly and FEWEST <= len(below) <= MOST_NAMED else ()
    return ()


def _is_asked(name: str, asked: WordIndex) -> bool:
    words = terms(name)
    return bool(words) and all(asked.alike(word) for word in words)


def _right_below(path: tuple[str, ...], behind: Sequence[Landmark]) -> Sequence[Section]:
    """Those up to the next section that is not below this one; none where that is not known."""
    found: dict[str, Section] = {}
    for mark in behind:
        if mark.headings[: len(path)] != path:
            return tuple(found.values())
        if len(mark.headings) > len(path):
            name = mark.headings[len(path)]
            found.setdefault(name, Section(name, mark.start, mark.start + len(name)))
    return tuple(found.values()) if len(behind) < MOST_MARKS else ()


def as_list(below: Sequence[Section]) -> str:
    """As a paragraph of an answer of its own; nothing where there are none."""
    return "\n" + "".join(f"\n- {_NUMBERING.sub('', section.name)}" for section in below) if below else ""
