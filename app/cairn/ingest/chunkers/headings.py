"""Markdown headings -> sections with their heading paths.

An own scanner: langchain's Markdown splitter re-joins lines and so destroys indentation, and knows no setext headings.
It follows CommonMark in what matters here: fenced code hides headings, four spaces make code, `Title` over `=====` or
`-----` is a heading when the title is a paragraph of one line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from cairn.language.linear import bounded

_FENCE = re.compile(r" {0,3}(`{3,}+(?=[^`\n]*(?:\n|\Z))|~{3,})")
_HASHES = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?<![=-])(={2,}+|-{2,}+)[ \t]*+$")
_NO_TITLE = re.compile(r" {4}|\t| {0,3}(?:[-*+>|]|\d{1,9}[.)][ \t])")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\n]*\)")
_ANCHOR = bounded(r"[ \t]*\{#[^{}]*\}$")
_SLANTED = re.compile(
    r"(?P<code>`[^`]*`|(?<!\w)[A-Za-z]:\\[^\s`]{1,300}|(?<![\w\\])\\\\\w[^\s`]{0,300})|(?<![\w\\/_])_(?=[^\W_])(?P<said>(?:[^_`\n]|(?<=\w)_(?=\w)){0,300}[^\s_`\\])_(?![\w/=(])"
    r"|(?<![\w*\\])\*(?=[^\s*])(?P<starred>[^*`\n]{0,300}[^\s*`\\])\*(?![\w*])"
    r"|(?<![:\\])\\(?P<escaped>[_*\[\]&#()+!<>-]|(?<!\w\\)\.|\.(?=\s|\Z))"
)
"""Emphasis and escapes, and code and paths of Windows, which have none."""
_MAX_HEADING = 300
"""Characters kept of one heading in a path."""


@dataclass(frozen=True, slots=True)
class HeadedSection:
    """A heading and the text under it, up to the next heading. `body` is its first line of text, or `end`."""

    start: int
    body: int
    end: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Heading:
    start: int
    end: int
    level: int
    text: str


def scan(text: str, max_level: int = 6) -> tuple[HeadedSection, ...]:
    """Sections that cover the whole text, in order; the first has an empty path when text precedes all headings."""
    headings = [heading for heading in _headings(text) if heading.level <= max_level]
    sections, path = [], dict[int, str]()
    if not headings or headings[0].start > 0:
        end = headings[0].start if headings else len(text)
        sections.append(HeadedSection(0, _first_text(text, 0, end), end, ()))
    for heading, following in zip_longest(headings, headings[1:]):
        path = {level: name for level, name in path.items() if level < heading.level} | {heading.level: heading.text}
        end = following.start if following else len(text)
        body = _first_text(text, heading.end, end)
        sections.append(HeadedSection(heading.start, body, end, tuple(name for name in path.values() if name)))
    return tuple(sections)


def path_at(sections: Sequence[HeadedSection], start: int, end: int) -> tuple[str, ...]:
    """The headings in force at the first line of body in [start, end); of its last heading when it has no body."""
    first = max(bisect_right(sections, start, key=lambda section: section.start) - 1, 0)
    path: tuple[str, ...] = ()
    for index in range(first, len(sections)):
        section = sections[index]
        if section.start >= end:
            break
        path = section.path
        if section.body < section.end and max(section.body, start) < min(section.end, end):
            break
    return path


def _headings(text: str) -> Iterator[_Heading]:
    fence, title = "", None  # title: a one-line paragraph that an underline would make a heading
    in_paragraph = False
    for start, line in _lines(text):
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark.group(1).startswith(fence) and not line[mark.end() :].strip()
            fence = "" if closes else fence
            continue
        if mark:
            fence, title, in_paragraph = mark.group(1), None, False
        elif hashes := _HASHES.match(line):
            yield _Heading(start, start + len(line), len(hashes.group(1)), _clean(_atx(line[hashes.end() :])))
            title, in_paragraph = None, False
        elif title and (underline := _UNDERLINE.match(line)):
            level = 1 if underline.group(1)[0] == "=" else 2
            yield _Heading(title[0], start + len(line), level, _clean(title[1]))
            title, in_paragraph = None, False
        elif not line.strip():
            title, in_paragraph = None, False
        else:
            title = None if in_paragraph or _NO_TITLE.match(line) else (start, line)
            in_paragraph = True


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their offsets, after the front matter if there is any."""
    start = _front_matter_end(text)
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, text[start:end]
        start = end + 1


def _front_matter_end(text: str) -> int:
    match = re.compile(r"---[ \t]*\n").match(text)
    close = re.compile(r"^(?:---|\.\.\.)[ \t]*\n", re.MULTILINE).search(text, match.end()) if match else None
    return close.end() if close else 0


def _atx(rest: str) -> str:
    """The text of a # heading without its closing sequence."""
    rest = rest.strip()
    bare = rest.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else rest


def _clean(heading: str) -> str:
    """The words of a heading without inline markup."""
    plain = _ANCHOR.sub("", _LINK.sub(r"\1", heading[: 2 * _MAX_HEADING]))
    if "_" in plain or "*" in plain or "\\" in plain:
        plain = _SLANTED.sub(_unmarked, plain)
    return plain.replace("`", "").replace("**", "").strip().strip("*").strip()[:_MAX_HEADING]


def _unmarked(found: re.Match[str]) -> str:
    """One word between underscores is a name ("Drop the _id_ index"), unless it is all that the heading says: a heading may
    come of a page or a mail, where they are no markup."""
    said = found["said"]
    if said and " " not in said and found[0] != found.string.strip(" *:.!?"):
        return found[0]
    return found["code"] or said or found["starred"] or found["escaped"]


def _first_text(text: str, start: int, end: int) -> int:
    found = re.compile(r"\S").search(text, start, end)
    return found.start() if found else end
