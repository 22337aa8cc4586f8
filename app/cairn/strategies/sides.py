"""The sides of a comparison: which passages are about one of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from cairn.domain.answer import Draft
from cairn.domain.document import landmark_at
from cairn.domain.passage import Passage
from cairn.language.linear import bounded
from cairn.language.sentences import Span
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


_ITEM: Final = re.compile(r"(?P<indent>[ \t]{0,40})(?:[-*+]|\d{1,3}[.)])[ \t]{1,8}(?P<label>\S.*)")
_LABEL: Final = bounded(
    r"[^:\n]{1,80}(?=:[*_`]{0,3}(?:\s|\Z)|\Z)|(?:\*\*[^*\n]{1,80}\*\*|`[^`\n]{1,80}`)(?=\s+[-–—]\s)"
)
_TERM: Final = bounded(r"\*\*[^*\n]{1,80}\*\*[.:]?|[^\s#|>*+-][^.!?\n]{0,60}")
"""A line by itself: a run-in heading in bold, or a term that the next paragraph defines."""
_HEADING: Final = re.compile(r"#{1,6}\s")


def own_entries(sides: Sequence[str], passages: Sequence[Passage]) -> tuple[tuple[Passage, ...], ...]:
    """For each side the entries that are called exactly so, cut out: the item that it labels, the term with its definition, what
    stands below a run-in heading. Those of documents that have one for every side, where any has. Of "Action and Time Event
    activators" also what is called "Action", without the noun that stands once for all."""
    read = list({(one.document_id, one.start, one.end): one for one in passages}.values())
    bare = _without_shared_end(sides)
    found = [
        _entries({_plain(side), _plain(short)} - {""}, read) if side else ()
        for side, short in zip(sides, bare, strict=True)
    ]
    if not stand_together(found):
        return tuple(found)
    shared = set.intersection(*({one.document_id for one in own} for own in found))
    return tuple(tuple(one for one in own if one.document_id in shared) for own in found)


def stand_together(found: Sequence[Sequence[Passage]]) -> bool:
    """Whether a document has an entry for every side: then it is its entries that are compared."""
    return bool(found) and bool(set.intersection(*({one.document_id for one in own} for own in found)))


def as_sure(entry: Draft, before: Draft) -> Draft:
    """What is quoted of an entry alone, and as surely as before, where the same stands in it that was quoted among others."""
    held = {(one.document_id, one.start) for one in entry.citations} & {
        (one.document_id, one.start) for one in before.citations
    }
    return replace(entry, confidence=max(entry.confidence, before.confidence)) if before.found and held else entry


def _without_shared_end(sides: Sequence[str]) -> list[str]:
    words = [side.split() for side in sides]
    while all(len(one) > 1 for one in words) and len({one[-1].casefold() for one in words}) == 1 and len(words) > 1:
        words = [one[:-1] for one in words]
    return [" ".join(one) for one in words]


def _entries(names: set[str], passages: Sequence[Passage]) -> tuple[Passage, ...]:
    return tuple(_cut_out(one, span) for one in passages for span in _entry_spans(names, one.content))


def _cut_out(passage: Passage, span: Span) -> Passage:
    start, end = passage.start + span[0], passage.start + span[1]
    place = landmark_at(passage.landmarks, start) if passage.landmarks else None
    inside = tuple(mark for mark in passage.landmarks if start <= mark.start < end)
    headings = tuple(place.headings) if place else passage.headings
    return replace(
        passage, content=passage.content[slice(*span)], start=start, end=end, headings=headings, landmarks=inside
    )


def _entry_spans(names: set[str], content: str) -> Iterator[Span]:
    """Of an item up to the next one that is set in no further; of a term up to the next term of its kind or heading."""
    lines, at = list[tuple[int, str]](), 0
    for line in content.splitlines(keepends=True):
        lines.append((at, line))
        at += len(line)
    for n, (start, line) in enumerate(lines):
        if item := _ITEM.match(line):
            label = _LABEL.match(item["label"])
            if label and _plain(label[0]) in names:
                width = len(item["indent"])
                end = next(
                    (at for at, other in lines[n + 1 :] if other.strip() and _indent(other) <= width), len(content)
                )
                yield start, end
        elif _is_term(lines, n) and _plain(line.strip()) in names:
            kind = line.startswith("*")
            behind = (
                other
                for other in range(n + 1, len(lines))
                if _HEADING.match(lines[other][1])
                or (_is_term(lines, other) and lines[other][1].startswith("*") == kind)
            )
            end = next((lines[other][0] for other in behind), len(content))
            if content[start + len(line) : end].strip():
                yield start, end


def _is_term(lines: Sequence[tuple[int, str]], at: int) -> bool:
    alone = all(not lines[beside][1].strip() for beside in (at - 1, at + 1) if 0 <= beside < len(lines))
    return alone and _TERM.fullmatch(lines[at][1].strip()) is not None and not lines[at][1].startswith((" ", "\t"))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _plain(heading: str) -> str:
    return " ".join(fold(heading.replace("`", "").replace("*", "")).split()).strip(" .:")


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
