"""What has the words of a question, and is of something else: an entry that states no default where the default is asked for, a
limit of something else or the other limit, and the way to disable what is to be enabled. Pure.

Such a sentence may still be what comes nearest, so it makes a guess at best and says so; it is withheld by no rule of these.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cairn.answer.answer_type import Asked, denies
from cairn.answer.candidates import Candidate
from cairn.answer.evidence import Measured
from cairn.answer.other_sides import with_fitting_first
from cairn.domain.passage import Passage
from cairn.language.lexicon import any_of, every, languages
from cairn.language.linear import bounded
from cairn.language.text import fold_line
from cairn.language.tokens import ALL_STOP_WORDS, alike

LEADING: Final = 6  # measured: tests/unit/test_asked_side.py
"""Words of a sentence in which the one stands that says what it tells how to do: "To disable the limit, ..."."""
COUNTED: Final = 3  # measured: tests/unit/test_asked_side.py
"""Words behind a number in which what it counts stands: "100 public channels"."""
BRIEF: Final = 3  # measured: tests/unit/test_asked_side.py
"""Words behind a label up to which they are its value: "Default log level: very quiet"."""

_ASKS_DEFAULT: Final = bounded(rf"(?<!\w)(?:{any_of(lambda one: one.asked.asks_default)})(?!\w)", re.IGNORECASE)
_DEFAULT: Final = bounded(rf"(?<!\w)(?:{any_of(lambda one: one.asked.defaults)})(?!\w)", re.IGNORECASE)
_SWITCHED: Final = any_of(lambda one: one.asked.switched)
_VALUE: Final = bounded(rf"\d|[`\"“„«]|\*\*|(?<!\w)(?:{_SWITCHED})(?!\w)", re.IGNORECASE)
_SET_AS: Final = bounded(r"[-*+>\s]*`[^`\n]{1,80}`\s*[:=]\s*(?:\*\*|`)")
"""An entry that has its default right behind its name: "`RUN_MODE`: **prod**: how it runs"."""
_LABEL: Final = bounded(r"[-*+>\s]*[*_`]*([^\W\d_][^:*\n]{1,80})[*_`]*:[*_`]*(?=\s|\Z)")
_CAPITALS: Final = re.compile(r"\b[A-Z]{2,60}\b")
"""In a heading the name of something: "Overall (DEFAULT)"."""
_COUNTS: Final = bounded(rf"(?<!\w)(?:{any_of(lambda one: one.asked.counts)})\s*(.*)", re.IGNORECASE)
_LOOSE: Final = every(lambda one: one.asked.counted_loosely)
_SPELLED: Final = frozenset(word for one in languages() for word, number in one.numbers.words.items() if number > 1)
_WORD: Final = re.compile(r"\w+")
_HOW: Final = every(lambda one: one.questions.why)
_YES_NO: Final = every(lambda one: one.questions.yes_no)
_HEADING: Final = re.compile(r"^#{1,6} [^\n]*$", re.MULTILINE)
_ENTRY: Final = re.compile(r"\s{0,16}(?:[-*+]|\d{1,3}[.)])\s{1,4}[*_]{0,2}`")
SHORT: Final = 600  # bound: tests/unit/test_asked_side.py
"""Characters of a section of one thing, with its default in a paragraph of its own."""
_BREAK: Final = re.compile(r"\n\s*(?:\n|[-*+>|#]|\d{1,3}[.)])")


@dataclass(frozen=True, slots=True)
class _Side:
    """One of two opposites. `said`: what tells to do it; `any_form`: it in other forms, too, "enabled"; `anywhere`: it counts
    wherever it stands, and not in the beginning alone."""

    said: re.Pattern[str]
    any_form: re.Pattern[str]
    anywhere: bool

    def is_told(self, one: Candidate) -> bool:
        """Whether a text, the line above it or the label of its row says it."""
        text = fold_line(one.text)
        begins = text if self.anywhere else " ".join(text.split(" ")[:LEADING])
        return any(self.said.search(part) for part in (begins, *_above(one)))

    def is_named(self, one: Candidate) -> bool:
        """The same of any of its forms, anywhere in the text."""
        return any(self.any_form.search(part) for part in (fold_line(one.text), *_above(one)))


def _above(one: Candidate) -> Iterator[str]:
    yield fold_line(one.path.rpartition(". ")[2])
    if one.cells is not None:
        yield fold_line(f"{one.cells.row.group} {one.cells.row.label}")


def _pairs() -> Iterator[tuple[_Side, _Side]]:
    for spoken in languages():
        for written, anywhere in ((spoken.asked.limits, True), (spoken.asked.acts, False)):
            for pair in written:
                one, other = (
                    _Side(spoken.compiled(side), spoken.compiled(rf"(?:{side})\w{{0,4}}"), anywhere)
                    for side in pair.split("/")
                )
                yield one, other


_UNDO: Final = tuple(one.compiled(*one.asked.undo) for one in languages() if one.asked.undo)
_UNDOING: Final = tuple(one.compiled(*one.asked.undoing) for one in languages() if one.asked.undoing)
_OPPOSITES: Final = tuple(_pairs())
_LIMITS: Final = tuple(side for pair in _OPPOSITES for side in pair if side.anywhere)


def asks_default(question: str, asked: Asked) -> bool:
    """Whether it is asked which value something has that nobody has set, and not how to restore it, or why it is so."""
    return not (asked.way or asked.reason) and bool(_ASKS_DEFAULT.search(question))


def states_default(one: Candidate, content: str, asked: Asked, *, itself: bool = False) -> bool:
    """Whether a unit, its item or paragraph, or what stands above it has a word for a default, and not only as a label without a
    value: "Default number of calls: how many are allowed"; or the short section of one thing that it stands in, unless `itself`
    is asked for. `content`: of its passage."""
    if one.cells is not None:
        header, cells = one.cells.table.header, one.cells.row.cells
        columns = [at for at, name in enumerate(header) if at < len(cells) and _DEFAULT.search(name)]
        return any(_WORD.search(cells[at]) for at in columns) if columns else bool(_DEFAULT.search(one.text))
    if _DEFAULT.search(_CAPITALS.sub("", one.path)):
        return not asked.number or _has_number(one.text)
    if not itself and (section := _section(content, one.unit.start, one.unit.end)):
        return bool(_DEFAULT.search(section)) and bool(_VALUE.search(section))
    text = content[slice(*_around(content, one.unit.start, one.unit.end))]
    if _SET_AS.match(text):
        return True
    label = _LABEL.match(text)
    if label and _DEFAULT.search(label[1]):
        rest = text[label.end() :]
        return bool(_VALUE.search(rest)) or 0 < len(rest.split()) <= BRIEF
    return bool(_DEFAULT.search(text)) and (not asked.number or _has_number(text))


def with_default_first(
    order: Sequence[int], entries: NDArray[np.bool_], found: Sequence[Candidate], scores: Measured, question: str,
    asked: Asked, passages: Sequence[Passage], near: float,
) -> list[int]:  # fmt: skip
    """Where the default of something is asked for that has an entry, and the best place of it states none, the first one first of
    its entries that does, and is nearly as good; before all one that begins with it: "Defaults to 5", and not "what is not
    installed by default"."""
    best = found[order[0]]
    if not entries[order[0]] or not asks_default(question, asked):
        return list(order)
    opening = [bool(entries[at]) and _opens_with_default(found[at]) for at in order]
    if not opening[0] and (opened := with_fitting_first(order, scores, opening, near)) != list(order):
        return opened
    if states_default(best, passages[best.rank].content, asked, itself=True):
        return list(order)
    least = scores[order[0]] - near
    near_entries = (bool(entries[at]) and scores[at] >= least for at in order)
    fits = [
        is_near and states_default(found[at], passages[found[at].rank].content, asked, itself=True)
        for at, is_near in zip(order, near_entries, strict=True)
    ]
    return with_fitting_first(order, scores, fits, near)


def _opens_with_default(one: Candidate) -> bool:
    """Whether the first word of a sentence that says something is one for a default, with a value behind it."""
    word = _DEFAULT.search(one.text)
    if not word or not _VALUE.search(one.text, word.end()):
        return False
    return ALL_STOP_WORDS.issuperset(_WORD.findall(fold_line(one.text[: word.start()])))


def counts_something_else(question: str, best: Candidate, known: Collection[str]) -> bool:
    """Whether it is asked how many there are of a thing, and each number of a sentence counts another one that the question
    names, or counts something and the sentence has no word for what is asked: "at most 100 channels" for members. `known`: words
    of the question that stand in what was found; for what is called otherwise everywhere, a text may have its own word."""
    if best.cells is not None or not (match := _COUNTS.search(question)):
        return False
    wanted = _noun(match[1])
    if not wanted or not _LOOSE.isdisjoint(wanted):
        return False
    asked = {word for word in _WORD.findall(fold_line(question)) if word not in ALL_STOP_WORDS}
    others = [word for word in asked if not _among(word, wanted)]
    said = _WORD.findall(fold_line(best.text))
    told = {*said, *_WORD.findall(fold_line(best.path))}
    counted = [said[at + 1 : at + 1 + COUNTED] for at, word in enumerate(said) if word[0].isdigit() or word in _SPELLED]
    if not counted or any(_among(word, wanted) for words in counted for word in words):
        return False
    if any(_among(word, wanted) for word in told):
        return all(any(_among(word, others) for word in words) for words in counted)
    if not any(side.said.search(text) for side in _LIMITS for text in (fold_line(question), fold_line(best.text))):
        return False  # years may be told in months, and staff called employees
    counts = any(word.isalpha() and word not in ALL_STOP_WORDS for words in counted for word in words[:1])
    return counts and any(_among(word, known) for word in wanted)


def is_other_side(question: str, asked: Asked, one: Candidate) -> bool:
    """Whether the question has one word of two that are opposites, and a text only the other one: the minimum for the maximum,
    and how to disable for how to enable. What is on, or may not be done, may be told by either."""
    sides = _asked_sides(question, asked)
    # "maximum" is of several languages, and each of them says the other side in words of its own
    return any(theirs.is_told(one) for _, theirs in sides) and not any(ours.is_named(one) for ours, _ in sides)


def is_not_undone(question: str, asked: Asked, one: Candidate) -> bool:
    """Whether it is asked how something is undone, whatever it is, and neither a text nor a heading above it has a word for that:
    then it tells how it is done."""
    folded = fold_line(question)
    asks_way = asked.way or folded.lstrip("¿¡ ").split(" ")[0] in _HOW
    if not asks_way or asked.reason or not any(undo.search(folded) for undo in _UNDO):
        return False
    said = (fold_line(one.text), *_above(one), fold_line(one.path))
    return not any(undoing.search(text) for undoing in _UNDOING for text in said)


def with_asked_side_first(
    order: Sequence[int], found: Sequence[Candidate], scores: Measured, question: str, asked: Asked, near: float
) -> list[int]:
    """Where the best place is of the opposite of what is asked for, the first one first that has the word of the question alone,
    and is nearly as good; or one that says how something is undone, where that is asked."""
    if is_not_undone(question, asked, found[order[0]]):
        fits = [not is_not_undone(question, asked, found[at]) for at in order]
        return with_fitting_first(order, scores, fits, near)
    if not is_other_side(question, asked, found[order[0]]):
        return list(order)
    sides = _asked_sides(question, asked)
    fits = [any(ours.is_named(found[at]) and not theirs.is_told(found[at]) for ours, theirs in sides) for at in order]
    return with_fitting_first(order, scores, fits, near)


def _asked_sides(question: str, asked: Asked) -> list[tuple[_Side, _Side]]:
    """Of each pair of which the question has one word alone that one, and the other."""
    folded = fold_line(question)
    if asked.reason or denies(question) or folded.split(" ")[0] in _YES_NO:
        return []
    asks_way = asked.way or folded.lstrip("¿¡ ").split(" ")[0] in _HOW
    sides = list[tuple[_Side, _Side]]()
    for one, other in _OPPOSITES:
        if not (one.anywhere or asks_way):
            continue  # what tells to do the opposite is no answer to how something is done; of facts both words may speak
        has_one, has_other = bool(one.said.search(folded)), bool(other.said.search(folded))
        if has_one != has_other:
            sides.append((one, other) if has_one else (other, one))
    return sides


def _noun(behind: str) -> list[str]:
    """Folded words up to the first without content, of what stands behind "how many"."""
    words = list[str]()
    for word in _WORD.findall(fold_line(behind)):
        if word in ALL_STOP_WORDS:
            break
        words.append(word)
    return words[:2]


def _among(word: str, words: Collection[str]) -> bool:
    return bool(alike(word, words))


def _section(content: str, start: int, end: int) -> str:
    """All of a short section of one thing, of which the default stands in a line of its own; "" of an entry among others."""
    above = max((match.end() for match in _HEADING.finditer(content, 0, start)), default=0)
    below = next((match.start() for match in _HEADING.finditer(content, end)), len(content))
    among = _ENTRY.match(content, *_around(content, start, end))
    return content[above:below] if above and not among and below - above <= SHORT else ""


def _has_number(text: str) -> bool:
    return any(word[0].isdigit() or word in _SPELLED for word in _WORD.findall(fold_line(text)))


def _around(content: str, start: int, end: int) -> tuple[int, int]:
    """The item or paragraph that a unit stands in."""
    first = max((match.start() + 1 for match in _BREAK.finditer(content, 0, start)), default=0)
    behind = _BREAK.search(content, end)
    return first, behind.start() if behind else len(content)
