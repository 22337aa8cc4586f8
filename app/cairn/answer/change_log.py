"""Change logs: they have the words of every question about a program, and tell what became otherwise, not how it is done. Pure.

A manual says it in the same words, and for those who have the version at hand (docs/adr/0156).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Final

from cairn.answer.answer_type import Asked, read_asked
from cairn.answer.candidates import Candidate
from cairn.answer.evidence import Measured
from cairn.answer.other_sides import with_fitting_first
from cairn.domain.document import Landmark
from cairn.domain.passage import Passage
from cairn.language.lexicon import any_of
from cairn.language.linear import bounded
from cairn.language.tokens import terms

_ASKS_OF_CHANGES: Final = bounded(rf"(?<!\w)(?:{any_of(lambda one: one.asked.changes)})(?!\w)", re.IGNORECASE)
_BESIDE_RELEASE: Final = bounded(rf"(?<!\w)(?:{any_of(lambda one: one.asked.beside_release)})(?!\w)", re.IGNORECASE)
_VERSION: Final = re.compile(r"(?<![\w.])v?\d{1,4}(?:\.\d{1,5}){1,3}(?![\w.]*\d)")
_DATE: Final = (
    r"(?:(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./](?:19|20)\d\d"
    r"|[^\W\d_]{3,12}\.? \d{1,2}(?:st|nd|rd|th)?,? (?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th|\.)? [^\W\d_]{3,12}\.?,? (?:19|20)\d\d)"
)
_RELEASE: Final = re.compile(
    r"\A\W{0,3}(?:[^\W\d_][\w-]{0,30} ){0,2}v?\d{1,4}(?:\.\d{1,5}){1,3}[\w.+-]{0,12}"
    rf"(?P<date>\W{{1,5}}(?:[^\W\d_]{{2,12}}:? )?{_DATE})?\W{{0,3}}\Z"
)
"""A heading of nothing but a version, with what it is of and its date: "orchard 1.1.0 (2019-03-31)"; not "4.2 Outlook 2024"."""
_NUMBERS_OF: Final = re.compile(r"\d{1,4}(?:\.\d{1,5}){1,3}[\w.+-]{0,12}")
_SURE_NAME: Final = bounded(rf"(?:{any_of(lambda one: one.asked.change_logs)})", re.IGNORECASE)
_CHANGES: Final = bounded(rf"(?:{any_of(lambda one: one.asked.changed)})", re.IGNORECASE)
_MAYBE_NAME: Final = bounded(rf"(?:{any_of(lambda one: one.asked.maybe_change_logs)})", re.IGNORECASE)
_WORDS: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


LAST: Final = sys.maxsize
"""Behind the end of every document."""


def asks_of_changes(question: str, asked: Asked) -> bool:
    """Whether it may ask what became otherwise, or in which version; how something is done does so only with a version."""
    return bool(_VERSION.search(question)) or (not asked.way and bool(_ASKS_OF_CHANGES.search(question)))


def has_version(text: str) -> bool:
    return bool(_VERSION.search(text))


def release_in(heading: str) -> str:
    """The version of a heading of nothing but a version; "" where it is none."""
    released = _RELEASE.match(heading)
    return _NUMBERS_OF.search(released[0])[0].lower() if released else ""  # type: ignore[index]


def is_change_log(passage: Passage) -> bool:
    """Whether it stands in a list of what changed from version to version, by the names of the file, the document and its
    headings. "News" and "History" are names of such a list only where a heading is a version, and a version with its date is
    enough."""
    names = (PurePosixPath(passage.external_id).name.split(".")[0], passage.title, *passage.headings)
    said = [" ".join(_WORDS.findall(one.replace("_", " "))) for one in names]
    if any(_SURE_NAME.search(one) for one in said):
        return True
    releases = list(filter(None, map(_RELEASE.match, passage.headings)))
    return any(one["date"] for one in releases) or (bool(releases) and any(_MAYBE_NAME.fullmatch(one) for one in said))


def tells_date(heading: str) -> bool:
    """Whether it is a version with its date."""
    released = _RELEASE.match(heading)
    return released is not None and released["date"] is not None


def release_asked(question: str, asked: Asked, names: Iterable[str]) -> str:
    """The one version of which all changes, or those of a kind, or the date are asked for; "" where there is none, or something
    else is asked about it. `names`: words that may stand in the question besides, as of the program."""
    versions = _VERSION.findall(question)
    if len(versions) != 1 or asked.way or asked.reason or asked.number or _BESIDE_RELEASE.search(question):
        return ""
    version = versions[0].lower().removeprefix("v")
    told = " ".join(_ASKS_OF_CHANGES.sub(" ", f"{question} ").replace(versions[0], " ").split())
    known = {word for name in names for word in terms(name)}
    return version if known.issuperset(terms(told)) else ""


@dataclass(frozen=True, slots=True)
class ReleaseSection:
    """start..end of a document: all that stands below the heading of a release, or one of the sections in it."""

    start: int
    end: int
    headings: tuple[str, ...]


def find_release(marks: Sequence[Landmark], version: str, question: str) -> ReleaseSection | None:
    """The section of a version, or the one in it that the question names ("Added"); None where there is none, or it is not known
    where it ends. `marks`: where sections begin in the document, up to its end."""
    at = next((n for n, mark in enumerate(marks) if mark.headings and release_in(mark.headings[-1]) == version), None)
    if at is None:
        return None
    path = marks[at].headings
    inside = list(takewhile(lambda mark: mark.headings[: len(path)] == path, marks[at:]))
    said = frozenset(terms(question))
    kinds = dict.fromkeys(mark.headings for mark in inside if len(mark.headings) == len(path) + 1)
    # of several, as of what changed at all, all is told
    named = [
        one
        for one in kinds
        if not said.isdisjoint(terms(one[-1]))
        and not _MAYBE_NAME.fullmatch(one[-1])
        and not _CHANGES.fullmatch(one[-1].strip())
    ]
    kind = named[0] if len(named) == 1 else None
    first = next((n for n, mark in enumerate(inside) if kind and mark.headings == kind), 0)
    path = kind or path
    behind = next((n for n in range(at + first, len(marks)) if marks[n].headings[: len(path)] != path), None)
    return ReleaseSection(inside[first].start, marks[behind].start if behind is not None else LAST, path)


def manuals_first(passages: Sequence[Passage], question: str, read: int) -> tuple[Passage, ...]:
    """Passages of change logs behind all others, where the question asks nothing of changes; the best of them is still the last
    of the first `read`, where it was among these: what nothing else says may stand there."""
    if asks_of_changes(question, read_asked(question)):
        return tuple(passages)
    told = [is_change_log(one) for one in passages]
    logs = [one for one, is_log in zip(passages, told, strict=True) if is_log]
    others = [one for one, is_log in zip(passages, told, strict=True) if not is_log]
    if any(told[:read]) and len(others) >= read:
        others.insert(read - 1, logs.pop(0))
    return (*others, *logs)


def with_manual_first(
    order: Sequence[int], found: Sequence[Candidate], scores: Measured, passages: Sequence[Passage], question: str,
    asked: Asked, near: float,
) -> list[int]:  # fmt: skip
    """Where the best place stands in a change log, and nothing of changes is asked, the first one first that does not, and is no
    more than `near` behind."""
    if asks_of_changes(question, asked):
        return list(order)
    logs = [is_change_log(one) for one in passages]
    return with_fitting_first(order, scores, [not logs[found[at].rank] for at in order], near)
