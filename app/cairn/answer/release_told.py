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
from cairn.answer.shown import MOST_SHOWN, ShownPart, as_markdown
from cairn.domain.answer import CitedContext, Draft
from cairn.domain.document import BETWEEN_HEADINGS
from cairn.domain.passage import Passage
from cairn.language.blocks import Block, blocks_in
from cairn.language.sentences import Span, split_units

CERTAIN: Final = 0.9  # measured: tests/unit/test_release_told.py
"""Confidence in a section whose heading is the version that is asked for."""
_HEADING: Final = re.compile(r"[^\n]*")


def tell_date(passage: Passage, first: int) -> Draft | None:
    """The heading of a release, where it has a date. `passage`: begins with it."""
    heading = passage.headings[-1] if passage.headings else ""
    line = _HEADING.match(passage.content)
    if not tells_date(heading) or line is None or without_markup(heading) not in without_markup(line[0]):
        return None
    start = len(line[0]) - len(line[0].lstrip("# "))
    cited = citation(first, passage, (start, len(line[0].rstrip())))
    return Draft(f"{without_markup(line[0])} [{first}]", (cited,), True, CERTAIN)


def tell_release(passage: Passage, first: int) -> Draft | None:
    """What stands in the section that a passage is, from its beginning: at most MOST_SHOWN characters, cut between blocks and
    items, with a mark where it goes on. None where nothing stands there."""
    content = passage.content
    blocks = [block for block in blocks_in(content) if block.kind != "other"]
    body = blocks[1:] if blocks and blocks[0].kind == "heading" else blocks
    units = [one for one in split_units(content) if one.kind != "heading" and body and one.start >= body[0].start]
    if not units:
        return None
    end = _end(body)
    inside = tuple(block for block in body if block.start < end)
    quoted = (units[0].start, min(units[0].end, end))
    released = next(at for at, one in enumerate(passage.headings) if release_in(one))
    label = BETWEEN_HEADINGS.join(without_markup(one.strip("# ")) for one in passage.headings[released:])
    around = ShownPart(content, (body[0].start, end), inside, outlined=False, named=label)
    text = as_markdown(around, {quoted[1]: f"[{first}]"})
    if end < body[-1].end and end == inside[-1].end:
        text = f"{text}\n\n…"
    cited = citation(first, passage, quoted)
    context = CitedContext(as_markdown(around), passage.start + body[0].start, passage.start + end)
    return Draft(text, (replace(cited, context=context),), True, CERTAIN)


def _end(body: Sequence[Block]) -> int:
    """Where the last block or item ends for which there is room; headings at the end say nothing."""
    most = body[0].start + MOST_SHOWN
    ends: list[int] = []
    for block in body:
        pieces: Sequence[Span] = block.items or ((block.start, block.end),)
        ends += [piece[1] for piece in pieces if block.kind != "heading" and piece[1] <= most]
        if block.end > most:
            break
    return ends[-1] if ends else next((block for block in body if block.kind != "heading"), body[0]).end


def as_section(passage: Passage, text: str, section: ReleaseSection) -> Passage:
    """A passage of its document that is the section alone."""
    end = section.start + len(text)
    return replace(passage, content=text, start=section.start, end=end, headings=section.headings, landmarks=())
