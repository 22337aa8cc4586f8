"""Numbers of Markdown lists: many write "1." before every item and leave the counting to whoever shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from cairn.language.linear import bounded

_MARKER: Final = bounded(r"( *)(?:(\d{1,9})([.)])|[-*+])(?: |$)")
_WIDEST: Final = 9  # bound: tests/unit/test_loaders.py
"""Items that take no wider number: what is set in below a wider one would stand outside of it."""

_SET_IN: Final = 2  # bound: tests/unit/test_loaders.py
"""Blanks from which on an item stands inside of the one above it."""


@dataclass(slots=True)
class _List:
    """`ones`: where the numbers stand, all of them 1 as far as `same`. `deep`: something is set in below an item."""

    indent: int
    mark: str
    ones: list[int] = field(default_factory=list)
    same: bool = True
    deep: bool = False


def counted_items(text: str, fenced: Iterable[tuple[int, int]]) -> str:
    """The text with lists of which every item is number 1 counted: 1. 2. 3. `fenced`: where blocks of code stand."""
    parts: list[str] = []
    position = 0
    places = {at: number for one in _lists(text, fenced) for number, at in enumerate(one.ones, 1) if number > 1}
    for at in sorted(places):
        parts += [text[position:at], str(places[at])]
        position = at + 1
    return "".join((*parts, text[position:]))


def _lists(text: str, fenced: Iterable[tuple[int, int]]) -> Iterator[_List]:
    """Numbered lists that are to be counted."""
    opened: list[_List] = []
    blocks = iter(fenced)
    start, end = next(blocks, (len(text), len(text)))
    at, blank = 0, False
    for line in text.split("\n"):
        while at >= end and start < len(text):
            start, end = next(blocks, (len(text), len(text)))
        indent = len(line) - len(line.lstrip())
        if opened and opened[-1].indent < indent < opened[-1].indent + _SET_IN:
            indent = opened[-1].indent
        said = line.strip()
        if said and not start < at < end:
            marker = _MARKER.match(line) if at != start else None
            ends = marker or blank or said.startswith(("#", "```", "~~~"))  # else a paragraph goes on
            while ends and opened and indent <= opened[-1].indent and not _goes_on(opened[-1], indent, marker):
                yield from filter(_is_uncounted, [opened.pop()])
            if opened and indent > opened[-1].indent:
                opened[-1].deep = True
            if marker and marker[2]:
                if not opened or opened[-1].indent < indent:
                    opened.append(_List(indent, marker[3]))
                opened[-1].ones.append(at + marker.start(2))
                opened[-1].same = opened[-1].same and marker[2] == "1"
        blank = not said
        at += len(line) + 1
    yield from filter(_is_uncounted, opened)


def _goes_on(one: _List, indent: int, marker: re.Match[str] | None) -> bool:
    """Whether a line is the next item of a list."""
    return marker is not None and indent == one.indent and marker[3] == one.mark


def _is_uncounted(one: _List) -> bool:
    return one.same and len(one.ones) > 1 and (len(one.ones) <= _WIDEST or not one.deep)
