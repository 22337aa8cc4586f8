"""Text -> the units that an answer can quote: sentences, headings, list items, table rows, groups of code lines.

Offsets count code points of the text that was given; a unit never reaches across a blank line. Pure and linear in the
length of the text: one pass over the lines, one over each paragraph, and bounded looks back and ahead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from cairn.language.code_fences import FENCE, LINE, cut_off_fence
from cairn.language.lexicon import every
from cairn.language.linear import bounded
from cairn.language.tables import PIECE_CHARS, tables_in

Span = tuple[int, int]
"""Half-open range of code points."""

Kind = Literal["prose", "heading", "item", "row", "code"]

LONGEST_UNIT: Final = 1000
"""Code points; text without punctuation (logs, extracted tables) is cut at a line end or space before this."""

LONGEST_ROW: Final = PIECE_CHARS
"""Code points; no row that a loader writes is longer, so that none is cut."""


@dataclass(frozen=True, slots=True)
class Unit:
    start: int
    end: int
    kind: Kind


def split_sentences(text: str) -> list[Span]:
    """Spans of all units in order, without white space and list markers around them."""
    return [(unit.start, unit.end) for unit in split_units(text)]


def split_units(text: str, *, code: bool = False) -> list[Unit]:
    """Units in order. `code`: the text is source code, so it is cut at blank lines only."""
    blocks = _code_groups(text, 0, len(text)) if code else _blocks_and_rows(text)
    return [Unit(start, end, block.kind) for block in blocks for start, end in _cut(text, block)]


# --- lines to blocks ------------------------------------------------------------------------------------------------

_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+")
_ROW = re.compile(r"(?<![ \t])[ \t]*+\|")
_ITEM = re.compile(r"(?<![ \t])[ \t]*+(?:[-*+•‣▪◦–][ \t]+|\(?(?:\d{1,3}|[a-z])[.)][ \t]+)")
_RULE = re.compile(
    r"(?<![-=_*|:+ \t])[ \t]*+[-=_*|:+][-=_*|:+ \t]*+|(?<![ \t])[ \t]*+(?:(?:[-*+]|\d{1,3}\.)[ \t]++)?!\[[^\[\]\n]{1,2000}\]\(\)"
)
"""A line or frame, and what stands below a picture that is not here, as loaders write it (`render.picture`); or as an item."""
_LEADERS = re.compile(r"\.{4}|(?:\. ){4}|…{2}")


def _blocks_and_rows(text: str) -> Iterator[Unit]:
    """The rows of tables, and the blocks of what stands between tables. A header is no unit: rows are quoted with it."""
    start = 0
    for table in tables_in(text):
        yield from _blocks(text, start, table.span[0])
        yield from (Unit(row.start, row.end, "row") for row in table.rows)
        start = table.span[1]
    yield from _blocks(text, start, len(text))


def _blocks(text: str, first: int, last: int) -> Iterator[Unit]:
    """Blocks of one kind; fences, rules and blank lines belong to none."""
    opened: Unit | None = None
    cut = cut_off_fence(text, first, last)
    fence = (cut[1], first) if cut else None
    for line in LINE.finditer(text, first, last):
        start, end = line.span()
        mark = FENCE.match(text, start, end)
        if fence and mark and mark[1].startswith(fence[0]):
            yield from _code_groups(text, fence[1], start)
            fence = None
        elif fence is None:
            found = None if mark else _classify(text, start, end)
            if found and opened and found.kind == "prose":
                opened = Unit(opened.start, end, opened.kind)  # a paragraph or item goes on
                continue
            if opened:
                yield opened
            opened = found if found and found.kind in ("prose", "item") else None
            if found and not opened:
                yield found
            if mark:
                fence = (mark[1], end)
    if opened:
        yield opened
    if fence:  # never closed, for instance because the passage ends first
        yield from _code_groups(text, fence[1], last)


def _classify(text: str, start: int, end: int) -> Unit | None:
    """The block that this line is or begins; None for a blank line, a rule or a picture. A line of contents counts as heading."""
    line = text[start:end].rstrip()
    if not line or _RULE.fullmatch(line):
        return None
    if line[-1].isdigit() and _LEADERS.search(line):
        return Unit(start, end, "heading")
    for pattern, kind in _STRUCTURE:
        if mark := pattern.match(text, start, end):
            return Unit(start if kind == "row" else mark.end(), end, kind)
    return Unit(start, end, "prose")


_STRUCTURE: Final[tuple[tuple[re.Pattern[str], Kind], ...]] = ((_HEADING, "heading"), (_ROW, "row"), (_ITEM, "item"))


def is_rule(line: str) -> bool:
    """Whether a line only separates: dashes, a frame; or is what stands below a picture that is not here."""
    return bool(_RULE.fullmatch(line.rstrip()))


def is_item(line: str) -> bool:
    """Whether a line begins with the marker of a list."""
    return bool(_ITEM.match(line))


def _code_groups(text: str, start: int, end: int) -> Iterator[Unit]:
    """Lines of code between blank lines."""
    begun: int | None = None
    for line in LINE.finditer(text, start, end):
        if not line[0].strip():
            if begun is not None:
                yield Unit(begun, line.start(), "code")
            begun = None
        elif begun is None:
            begun = line.start()
    if begun is not None:
        yield Unit(begun, end, "code")


# --- blocks to sentences --------------------------------------------------------------------------------------------


def _cut(text: str, block: Unit) -> Iterator[Span]:
    if block.kind in ("prose", "item"):
        ends = [*_sentence_ends(text, block), block.end]
        starts = [block.start, *ends]
        spans: Iterator[Span] = zip(starts, ends, strict=False)
    else:
        spans = iter([(block.start, block.end)])
    for start, end in spans:
        for piece in _bounded(text, start, end, LONGEST_ROW if block.kind == "row" else LONGEST_UNIT):
            if trimmed := _trim(text, *piece, lines=block.kind == "code"):
                yield trimmed


def _trim(text: str, start: int, end: int, *, lines: bool) -> Span | None:
    """Without white space around it; `lines` keeps the indentation of the first line."""
    body = text[start:end]
    left = len(body) - len(body.lstrip("\n" if lines else None))
    right = len(body.rstrip())
    return (start + left, start + right) if right > left else None


def _bounded(text: str, start: int, end: int, longest: int) -> Iterator[Span]:
    while end - start > longest:
        limit = start + longest
        cut = max(text.rfind("\n", start + 1, limit), 0) or max(text.rfind(" ", start + 1, limit), 0) or limit
        yield start, cut
        start = cut
    yield start, end


# The run of marks is always taken whole, and what follows is looked at outside the pattern: no backtracking.
_END = re.compile(r"([.!?…]+|[。！？]+)((?:[\"'”’“»)\]*_]|\[\d{1,3}\]|[ \u00a0\u202f]»)*)")
_NEXT = re.compile(r"[\"'“‘«„»(\[¿¡*_–—\-\u00a0\u202f ]{0,4}(\w+)")
_BEFORE = re.compile(r"([^\s(\[«„“\"'/]{1,20})\Z")
_LETTERED = re.compile(r"[A-Z]\.[ \u00a0\u202f]?(\d+)")
"""A number with a letter before it, as articles of French law have: "art. L. 300-2"."""
_LOOK: Final = 40


_ABBREVIATIONS: Final = every(lambda one: one.sentences.abbreviations)
_NUMBERED: Final = every(lambda one: one.sentences.numbered)
_STARTERS: Final = every(lambda one: one.sentences.starters)
_BEFORE_ORDINAL: Final = every(lambda one: one.sentences.before_ordinal)
_ACRONYM = bounded(r"(?:[^\W\d_]\.)*[^\W\d_]\Z")


def _sentence_ends(text: str, block: Unit) -> Iterator[int]:
    for mark in _END.finditer(text, block.start, block.end):
        end = mark.end()
        if end >= block.end:
            return
        if mark[1][0] in "。！？" or (text[end].isspace() and _ends(text, block, mark)):
            yield end


def _ends(text: str, block: Unit, mark: re.Match[str]) -> bool:
    """Whether a sentence ends at this mark, which white space follows."""
    after = text[mark.end() : min(mark.end() + _LOOK, block.end)].lstrip()
    follows = _NEXT.match(after)
    if follows and follows[1][0].islower():
        return False
    if mark[1] != ".":
        return True
    if mark.start() == block.start or text[mark.start() - 1].isspace():
        return False  # the leaders of a table of contents: ". . . . 12"
    lettered = _LETTERED.match(after)
    following = lettered[1] if lettered else follows[1] if follows else ""
    return bool(mark[2]) or not _is_abbreviation(text[max(block.start, mark.start() - _LOOK) : mark.start()], following)


def _numbers_step(number: int, before: str) -> bool:
    """Whether a number is that of a step: "As follows: 1. Stop it. 2. Start it."."""
    word = before.rstrip("\"'”’»)]*_`")
    if number == 1:
        return word.endswith(":")
    short = word[:-1].lower()
    return word.endswith(tuple(".!?…;")) and short not in _NUMBERED and short not in _ABBREVIATIONS


def _is_abbreviation(before: str, follows: str) -> bool:
    """Whether the full stop between `before` and the word `follows` belongs to an abbreviation or ordinal."""
    found = _BEFORE.search(before)
    if not found:
        return False
    word = found[1].lower()
    if word in _ABBREVIATIONS or (len(word) == 1 and found[1].islower()):  # also "z. B.", "u. a.", "p. ej."
        return True
    if follows[:1].isdigit() and word in _NUMBERED:
        return True
    if follows.lower() in _STARTERS:
        return False
    # German ordinals: "am 3. Oktober", "im 19. Jahrhundert"; "²" is a digit and no number
    if word.isdecimal() and len(word) <= 2:
        earlier = before[: found.start()].split()
        return bool(earlier) and (earlier[-1].lower() in _BEFORE_ORDINAL or _numbers_step(int(word), earlier[-1]))
    return bool(_ACRONYM.fullmatch(found[1])) and found[1][0].isupper()
