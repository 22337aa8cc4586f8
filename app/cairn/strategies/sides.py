"""The sides of a comparison: which passages are about one of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cairn.domain.passage import Passage
from cairn.language.text import fold
from cairn.language.tokens import alike, terms


def sections_of(side: str, passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """The parts of passages that stand below a heading which is this side, cut out: what is said of `caddy run` under its own
    heading, and not what the same passage goes on to say of `caddy start`."""
    name = _plain(side)
    return tuple(part for one in passages for part in _parts_below(name, one)) if name else ()


def _parts_below(name: str, passage: Passage) -> Iterator[Passage]:
    inside = [(mark.start, mark.headings) for mark in passage.landmarks if passage.start < mark.start < passage.end]
    marks = [(passage.start, passage.headings), *inside, (passage.end, ())]
    first: int | None = None
    for at, (start, headings) in enumerate(marks):
        below = name in map(_plain, headings)
        if below and first is None:
            first = at
        elif first is not None and not below:
            begins, above = marks[first]
            content = passage.content[begins - passage.start : start - passage.start]
            within = tuple(mark for mark in passage.landmarks if begins <= mark.start < start)
            yield replace(passage, content=content, start=begins, end=start, headings=above, landmarks=within)
            first = None


def _plain(heading: str) -> str:
    return " ".join(fold(heading).replace("`", "").replace("*", "").split()).strip(" .:")


def not_of_others(side: str, sides: Sequence[str], passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """Passages without those whose title or headings name another side and not this one: the section on KML may mention
    GeoJSON, but does not say what it is. Nor is what has a longer name alone ("--files-from-verbatim") of the shorter one. All of
    them where nothing else is left."""
    name = _plain(side)
    beside = [other for other in sides if _plain(other) != name and _is_begun_by(name, _plain(other))]
    if beside:
        longer = [other for other in beside if len(_plain(other)) > len(name)]
        named = [one for one in passages if _has(side, one) or not _has_any(longer, one)]
        headed = [one for one in named if _has(side, one, last=True) or not _has_any(beside, one, last=True)]
        return tuple(headed or named or passages)
    own = _apart(side, [other for other in sides if other != side])
    others = [words for other in sides if other != side and (words := _apart(other, [side]))]
    if not own or not others:
        return tuple(passages)
    kept = [one for one in passages if _names(own, one) or not any(_names(words, one) for words in others)]
    return tuple(kept or passages)


def _has(side: str, passage: Passage, *, last: bool = False) -> bool:
    """Whether it is said as a whole, not as part of a longer name; `last`: in the last heading."""
    heading = " ".join(passage.headings[-1:] or (passage.title,))
    text = _plain(heading if last else f"{passage.title} {' '.join(passage.headings)} {passage.content}")
    return re.search(rf"(?<![\w-]){re.escape(_plain(side))}(?![\w-])", text) is not None


def _has_any(sides: Sequence[str], passage: Passage, *, last: bool = False) -> bool:
    return any(_has(side, passage, last=last) for side in sides)


def _is_begun_by(one: str, other: str) -> bool:
    """Whether one of two names is the other up to a hyphen: words may not tell them apart."""
    short, long = sorted((one, other), key=len)
    return bool(short) and long.startswith(short) and long[len(short)] in "-_"


def _apart(side: str, others: Sequence[str]) -> frozenset[str]:
    """Words that only this side has."""
    return frozenset(terms(side)) - {word for other in others for word in terms(other)}


def _names(words: frozenset[str], passage: Passage) -> bool:
    last = passage.headings[-1:] or (passage.title,)
    vocabulary = frozenset(terms(" ".join(last)))
    return all(alike(word, vocabulary) for word in words)
