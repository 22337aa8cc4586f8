"""What changed in a release, and when it came: the section of a change log under its heading, as it stands there. Pure.

A passage is a part of such a section, and to a model one version is as good as the next; but its heading says which it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cairn.answer.change_log import ReleaseSection, release_in, tells_date
from cairn.answer.cite import citation
from cairn.answer.quotation import without_markup
from cairn.answer.shown import INTRODUCTION, MOST_SHOWN, ShownPart, as_markdown
from cairn.domain.answer import CitedContext, Draft
from cairn.domain.document import BETWEEN_HEADINGS
from cairn.domain.passage import Passage
from cairn.language.blocks import Block, blocks_in
from cairn.language.sentences import Span, split_sentences, split_units

CERTAIN: Final = 0.9  # measured: tests/unit/test_release_told.py
"""Confidence in a section whose heading is the version that is asked for."""
FEWEST_ITEMS: Final = 3  # measured: tests/unit/test_release_told.py
"""Items of its list that a section is shown with at least, whatever stands before them."""
LONGEST: Final = 20_000  # bound: tests/unit/test_release_told.py
"""Characters of a section that are read: more than is shown. Of a longer one nobody knows how many items it has."""
_LEFT_OUT: Final = re.compile(r" \(\+\d{1,4}\)\Z")
_HEADING: Final = re.compile(r"[^\n]*")


def tell_date(passage: Passage, first: int) -> Draft | None:
    """The heading of a release, where it has a date. `passage`: begins with it."""
    heading = passage.headings[-1] if passage.headings else ""
    line = _HEADING.match(passage.content)
    if not tells_date(heading) or line is None or without_markup(heading) not in without_markup(line[0]):
        return None
    start = len(line[0]) - len(line[0].lstrip("# "))
    cited = citation(first, passage, (start, len(line[0].rstrip())))
    return Draft(f"{without_markup(line[0])} [{first}]", (cited,), True, CERTAIN, named=True)


def tell_release(passage: Passage, first: int) -> Draft | None:
    """What stands in the section that a passage is, from its beginning: at most MOST_SHOWN characters, cut between blocks and
    items, with a mark where it goes on, and how many items are left out. None where nothing stands there."""
    content = passage.content
    blocks = [block for block in blocks_in(content) if block.kind != "other"]
    body = blocks[1:] if blocks and blocks[0].kind == "heading" else blocks
    units = [one for one in split_units(content) if one.kind != "heading" and body and one.start >= body[0].start]
    if not units:
        return None
    parts = _shown_of(content, body)
    end = parts[-1][1]
    quoted = (units[0].start, min(units[0].end, parts[0][1]))
    released = next(at for at, one in enumerate(passage.headings) if release_in(one))
    label = BETWEEN_HEADINGS.join(without_markup(one.strip("# ")) for one in passage.headings[released:])
    shown = [
        ShownPart(content, span, _inside(body, span), outlined=False, named="" if at else label)
        for at, span in enumerate(parts)
    ]
    text, context = (
        "\n\n…\n\n".join(as_markdown(one, marked if one is shown[0] else {}) for one in shown)
        for marked in ({quoted[1]: f"[{first}]"}, {})
    )
    if end < body[-1].end:
        behind = sum(item[0] >= end for block in body for item in block.items) if len(content) < LONGEST else 0
        text = _LEFT_OUT.sub("", text) if end < shown[-1].blocks[-1].end else f"{text}\n\n…"
        text = f"{text} (+{behind})" if behind and text.endswith("…") else text
    cited = citation(first, passage, quoted)
    context_shown = CitedContext(context, passage.start + body[0].start, passage.start + end)
    return Draft(text, (replace(cited, context=context_shown),), True, CERTAIN, named=True)


def _inside(body: Sequence[Block], span: Span) -> tuple[Block, ...]:
    return tuple(block for block in body if span[0] <= block.start < span[1])


def _shown_of(content: str, body: Sequence[Block]) -> list[Span]:
    """What is shown of a section: its beginning; or where an introduction leaves no room for the list behind it, the beginning of
    either, for what changed is the list."""
    end = _end(body, MOST_SHOWN)
    at = next((number for number, block in enumerate(body) if block.items), None)
    whole = [(body[0].start, end)]
    if not at or sum(item[1] <= end for item in body[at].items) >= min(FEWEST_ITEMS, len(body[at].items)):
        return whole
    said = next((block for block in body[:at] if block.kind == "prose"), None)
    if said is None:
        return whole
    sentences = [said.start + to for _, to in split_sentences(content[said.start : said.end])]
    most = body[0].start + INTRODUCTION
    introduced = max((to for to in sentences if to <= most), default=sentences[0])
    first = at - 1 if body[at - 1].kind == "heading" else at
    return [
        (body[0].start, introduced),
        (body[first].start, _end(body[first:], max(MOST_SHOWN - (introduced - body[0].start), INTRODUCTION))),
    ]


def _end(body: Sequence[Block], room: int) -> int:
    """Where the last block or item ends for which there is room; headings at the end say nothing."""
    most = body[0].start + room
    ends: list[int] = []
    for block in body:
        pieces: Sequence[Span] = block.items or ((block.start, block.end),)
        ends += [piece[1] for piece in pieces if block.kind != "heading" and piece[1] <= most]
        if block.end > most:
            break
    if ends:
        return ends[-1]
    first = next((block for block in body if block.kind != "heading"), body[0])
    return first.items[0][1] if first.items else first.end


def as_section(passage: Passage, text: str, section: ReleaseSection) -> Passage:
    """A passage of its document that is the section alone."""
    end = section.start + len(text)
    return replace(passage, content=text, start=section.start, end=end, headings=section.headings, landmarks=())
