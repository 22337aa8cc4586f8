"""What has the words of a question and does not answer it: what is so, where what is not so is asked for, and examples. Pure.

A list of what is supported has all words of "What is not supported?", and says the opposite (docs/adr/0140).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from cairn.answer.answer_type import Asked, denies
from cairn.answer.candidates import Candidate
from cairn.answer.evidence import Measured
from cairn.answer.foreign import is_foreign
from cairn.answer.missing import mentioned, named_identifiers
from cairn.domain.passage import Passage
from cairn.language.identify import by_words
from cairn.language.lexicon import any_of, language, languages
from cairn.language.linear import bounded
from cairn.language.text import fold, fold_line

_WORD: Final = re.compile(r"\w+")
_ASKING: Final = {
    one.code: one.questions.words - one.questions.first_only - one.questions.yes_no for one in languages()
}
_CONDITIONS: Final = frozenset(word for one in languages() for word in one.asked.conditions)
_NO_NEGATION: Final = frozenset(pair for one in languages() for pair in one.claims.no_negation)
_LEAVES_OUT: Final = bounded(rf"(?<!\w)(?:{any_of(lambda one: one.asked.leaves_out)})(?!\w)", re.IGNORECASE)
_SUPPOSES: Final = bounded(rf"(?<!\w){any_of(lambda one: one.asked.supposes)}(?!\w)", re.IGNORECASE)
_LEADS_ELSEWHERE: Final = bounded(
    rf"\A(?!\W{{0,9}}\*\*)\W{{0,9}}(?:{any_of(lambda one: one.asked.leads_elsewhere)})", re.IGNORECASE
)
_READ_AT: Final = bounded(rf"(?<!\w)(?:{any_of(lambda one: one.asked.read_at)})", re.IGNORECASE)
_LINK: Final = re.compile(r"\[([^\[\]\n]{1,200})\]\([^()\s]{0,500}\)")
_NAMED: Final = re.compile(
    r"[\"\u201c\u201e\u00ab*_]{1,3}\s?([^\"\u201c\u201d\u00bb*_\n]{3,80}?)\s?[\"\u201d\u201c\u00bb*_]{1,3}"
)
"""What a sentence sets in quotation marks or emphasis."""
LONGEST_LEAD: Final = 200  # bound: tests/unit/test_other_sides.py
"""Of a sentence, as it reads, that only leads elsewhere: a longer one says something itself."""
_BESIDE: Final = bounded(rf"(?<!\w)(?:{any_of(lambda one: one.asked.beside)})(?!\w)", re.IGNORECASE)
_BESIDE_NAME: Final = bounded(
    rf"(?<!\w)(?:{any_of(lambda one: one.asked.beside)})\s+(\w+(?:\s+\w+){{0,2}})", re.IGNORECASE
)
"""With the three words after it."""
_SYSTEMS: Final = {
    name: group[0] for group in (
        ("windows",), ("linux", "ubuntu", "debian", "fedora", "arch"), ("macos", "mac", "osx", "macs"), ("android",),
        ("ios", "iphone", "ipad"), ("freebsd",),
    )
    for name in group
}  # fmt: skip
"""Names of operating systems, each with the first one of its kind."""
OPENING: Final = 3  # measured: tests/unit/test_other_sides.py
"""Words in which one stands that asks for things: "in which cases may I not ..."."""


def asks_what_is_not(question: str, asked: Asked) -> bool:
    """Whether things are asked for of which something is denied; neither a way nor a reason ("Why can I not ...?"), and not what
    is so where something else is not: "which port, if I set nothing"."""
    words = _WORD.findall(fold_line(question))
    if asked.reason or asked.way or _NO_NEGATION & {*pairwise(words)}:
        return False
    code = by_words(question)
    asking = any(not one.isdisjoint(words[:OPENING]) for spoken, one in _ASKING.items() if code in (None, spoken))
    return asking and denies(_before_condition(question, code), code)


def _before_condition(question: str, code: str | None) -> str:
    """Without the clause that begins with "if", wherever it does not begin the question, up to a comma."""
    conditions = _CONDITIONS if code is None else language(code).asked.conditions
    for word in _WORD.finditer(question):
        if word.start() and fold(word[0]) in conditions:
            return question[: word.start()] + question[word.end() :].partition(",")[2]
    return question


def may_deny(text: str) -> bool:
    """Whether words of a text may say that something is not so, or left out."""
    return denies(text) or bool(_LEAVES_OUT.search(text))


def with_same_side_first(
    order: Sequence[int], found: Sequence[Candidate], scores: Measured, question: str, asked: Asked, near: float
) -> list[int]:
    """Where the best place is on the other side than what is asked for, the first one first that is not, and nearly as good: it
    lists what is so where what is not so is asked for, or stands below a line that denies what the question does not."""
    if asks_what_is_not(question, asked):
        fits = [may_deny(found[at].in_context) for at in order]
    elif asked.several and not may_deny(question):
        fits = [not denies(_announcement(found[at])) for at in order]
    else:
        return list(order)
    return with_fitting_first(order, scores, fits, near)


def with_statement_first(
    order: Sequence[int], found: Sequence[Candidate], scores: Measured, asked: Asked, near: float
) -> list[int]:
    """Where a fact is asked for, and the best place only gives an example or supposes something, the first one first that does
    not, and is nearly as good."""
    if not asked.anything or not supposes(found[order[0]].text):
        return list(order)
    return with_fitting_first(order, scores, [not supposes(found[at].text) for at in order], near)


def with_named_section_first(
    order: Sequence[int], found: Sequence[Candidate], scores: Measured, question: str, near: float
) -> list[int]:
    """Where the question names an identifier ("strict_env") of which the best place and the line above it say nothing, the first
    one first that stands below a heading with it, and is nearly as good: to a model, "unstrict_env" is much the same."""
    above = [found[at].path.rpartition(". ")[2] for at in order]
    for name in named_identifiers(question):
        if not mentioned(name, f"{above[0]} {found[order[0]].text}"):
            fits = [mentioned(name, one) for one in above]
            return with_fitting_first(order, scores, fits, near)
    return list(order)


def with_named_system_first(
    order: Sequence[int], found: Sequence[Candidate], scores: Measured, question: str, near: float
) -> list[int]:
    """Where the question names an operating system, and the best place is of other ones alone, the first one first that is of
    it or of none, and is nearly as good: "on Linux" is not answered by what is done on Windows."""
    if not (named := _systems_in(question)):
        return list(order)
    systems = [_systems_in(found[at].in_context) for at in order]
    return with_fitting_first(order, scores, [not one or not named.isdisjoint(one) for one in systems], near)


def with_own_language_first(
    order: Sequence[int],
    found: Sequence[Candidate],
    scores: Measured,
    question: str,
    passages: Sequence[Passage],
    near: float,
) -> list[int]:
    """Where the best place is clearly in another language than the question, the first one first that is not, and is nearly as
    good: of what a collection says in several languages a reader wants the own."""
    asked_in = by_words(question)

    @cache
    def is_own(rank: int) -> bool:
        return asked_in is None or not is_foreign(asked_in, passages[rank])

    if is_own(found[order[0]].rank):
        return list(order)
    return with_fitting_first(order, scores, [is_own(found[at].rank) for at in order], near)


def _systems_in(text: str) -> frozenset[str]:
    return frozenset(_SYSTEMS[word] for word in _WORD.findall(text.lower()) if word in _SYSTEMS)


def with_fitting_first(order: Sequence[int], scores: Measured, fits: Sequence[bool], near: float) -> list[int]:
    """The first one first that fits, and is no more than `near` behind the best; as it is where none does."""
    floor = scores[order[0]] - near
    first = next((at for at, fit in zip(order, fits, strict=True) if fit and scores[at] >= floor), order[0])
    return [first, *(at for at in order if at != first)]


def supposes(text: str) -> bool:
    """Whether words of a text say that it is an example, or only supposed."""
    return bool(_SUPPOSES.search(text))


def leads_elsewhere(text: str) -> bool:
    """Whether a sentence only says where to read on: "Please see the page on backups." What names code, or announces what stands
    behind it, says something itself."""
    said = _LINK.sub(r"\1", text)
    if len(said) > LONGEST_LEAD or said.rstrip().endswith(":") or "`" in _LINK.sub("", text):
        return False
    places = _LINK.search(text) or _NAMED.search(text) or "http" in text or _READ_AT.search(said)
    return bool(places and _LEADS_ELSEWHERE.match(text))


def with_answer_first(
    order: Sequence[int], found: Sequence[Candidate], scores: Measured, passages: Sequence[Passage], near: float
) -> list[int]:
    """Where the best place only leads elsewhere, the first one first that stands below the heading that it names in its own
    document; else the first one that says something itself, and is no more than `near` behind."""
    best = found[order[0]]
    if best.unit.kind not in ("prose", "item") or not leads_elsewhere(best.text):
        return list(order)
    names = {fold_line(name).strip(" .#") for pattern in (_LINK, _NAMED) for name in pattern.findall(best.text)}
    document = passages[best.rank].document_id
    says = [at for at in order if not leads_elsewhere(found[at].text)]
    for at in says if names else ():
        if passages[found[at].rank].document_id == document and _last_heading(found[at]) in names:
            return [at, *(other for other in order if other != at)]
    saying = set(says)
    return with_fitting_first(order, scores, [at in saying for at in order], near)


def _last_heading(one: Candidate) -> str:
    return fold_line(one.path.rpartition(". ")[2]).strip(" .#")


def is_what_is_asked_beside(question: str, asked: Asked, text: str) -> bool:
    """Whether a text is of what the question names, where who or what stands next to it is asked for: Nixon's row for "Who was
    president after Nixon?". What says itself that something comes after something may be of either."""
    if asked.time or asked.number or asked.way or asked.reason or _BESIDE.search(text):
        return False
    named = (word for match in _BESIDE_NAME.finditer(question) for word in match[1].split() if word[0].isupper())
    return not {fold_line(word) for word in named}.isdisjoint(_WORD.findall(fold_line(text)))


def _announcement(one: Candidate) -> str:
    """The line that announces what a candidate is one of, or the candidate where it is such a line; else the label that it begins
    with ("Not read: pictures, archives")."""
    if one.announces:
        return one.text
    if one.path.endswith(":"):
        return one.path.rpartition(". ")[2]
    return label[1] if (label := _LABEL.match(one.text)) else ""


_LABEL: Final = re.compile(r"\A([^:.;!?\n]{1,40}):\W{0,3}\s")  # bound: tests/unit/test_other_sides.py
