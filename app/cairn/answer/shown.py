"""What is shown around a quotation: the list that it announces, the code that it explains, the section that it stands in. Pure.

The sentence that is nearest to a question often stands beside the answer ("To protect a directory:"), so an answer shows a whole
part of the passage, as Markdown, and the number of the citation stands where the quotation ends (docs/adr/0098).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from textwrap import dedent
from typing import Final

from cairn.answer.quotation import after_term, row_as_read, with_code_only, without_white
from cairn.language.blocks import Block, block_at, blocks_in, line_starts
from cairn.language.code_fences import fence_around, opens_fence
from cairn.language.lexicon import any_of, every
from cairn.language.linear import bounded
from cairn.language.sentences import Span, is_item, is_rule, split_sentences
from cairn.language.tables import Row
from cairn.language.text import fold

MOST_SHOWN: Final = 900  # bound: tests/unit/test_edges_shown.py
"""Characters, about: what a telephone shows at once."""
SHORT_PROSE: Final = 600  # measured: tests/unit/test_edges_shown.py
"""Of a section of paragraphs alone that is shown whole. In a longer one most of what is asked stands in a sentence and those
around it."""
SAID_SHORTLY: Final = 80  # measured: tests/unit/test_edges_shown.py
"""Of the first paragraph of a section that says little alone, so that those behind it are shown with it."""
INTRODUCTION: Final = 300  # bound: tests/unit/test_edges_shown.py
"""Of a paragraph that is shown whole before what it introduces, or around a sentence of it. A section that is shorter only begins
what the sections below it say."""
FEWEST_BEGUN: Final = 2  # measured: tests/unit/test_shown.py
"""Sentences of an item that are shown where there is no room for all of it: the first is often its name alone."""
OUTLINED: Final = 600  # bound: tests/unit/test_edges_shown.py
"""Characters of what items begin with that there is no room for: of five steps it is worth knowing what each one is."""
OUTLINED_BRIEFLY: Final = 160  # bound: tests/unit/test_shown.py
"""The same where what is asked is said briefly: a mark in the place of an item or two says less, and is a line as well."""
LONGEST_STEP: Final = 200  # bound: tests/unit/test_edges_shown.py
"""Of code in an item that is told with the sentence that announces it, fences included."""
LABEL: Final = 80  # bound: tests/unit/test_edges_shown.py
"""Of a line that names what the paragraph below it is about."""
LONGEST_NAME: Final = 160  # bound: tests/unit/test_shown.py
"""Of a heading that is a name, with its marks and where it leads to."""
MOST_ANNOUNCED: Final = 1300  # bound: tests/unit/test_edges_shown.py
"""Up to the end of what a sentence announces: half a list says as little as none."""
BETWEEN_CODE: Final = 20  # bound: tests/unit/test_edges_shown.py
"""Of what stands between code and the code that takes its place: "to:", "becomes"."""
NEAR: Final = 5  # bound: tests/unit/test_edges_shown.py
"""Blocks behind a sentence among which is what it announces."""
ON_THE_WAY: Final = 300  # bound: tests/unit/test_edges_shown.py
"""Characters of prose as it reads, at most, between what is shown and what announces the list or code that its section leads to;
or between a sentence and the sections below."""
LEAD: Final = 300  # bound: tests/unit/test_edges_shown.py
"""Of the code that a section begins with, and that is shown above what is said of it."""
LONG_ITEM: Final = MOST_SHOWN - INTRODUCTION
"""Of an item that is cut where the items and paragraphs in it begin."""
WINDOW: Final = 4000  # bound: tests/unit/test_edges_shown.py
"""Of a passage, before and behind the quotation, that is read: chunkers of others may make long ones."""


@dataclass(frozen=True, slots=True)
class ShownPart:
    """Of a quotation in a passage. `span` holds it; `blocks` are those that `span` has a part of. `above`: a term, or what an
    item begins with, that stands before it, and that it says something of; `lead`: the code that its section is about.
    `outlined`: what is left out of a list is told by the first sentence of each item; `introduced`: what introduces a list
    that is not shown from its beginning; `named`: the name that its section has as a heading, in an earlier passage."""

    content: str
    span: Span
    blocks: tuple[Block, ...]
    above: Span | None = None
    lead: Block | None = None
    outlined: bool = False
    introduced: Span | None = None
    named: str = ""


def surroundings(
    content: str, quoted: Span, *, row: bool = False, said_briefly: bool = False, begun: bool = False, heading: str = "",
    key: str = "",
) -> ShownPart:  # fmt: skip
    """What is shown of a passage around a quotation: at most MOST_SHOWN characters unless the quotation is longer, cut between
    blocks, sentences, items, lines or rows.

    A section that is short is shown whole, with those below it where they are short, too, and have a list, code or a table;
    of a list of definitions the term with all that is said of it.
    Of a longer one: a sentence with the one before and the one behind it; a list, code or table with what introduces it, of
    a list the next item begun, and how the others begin, where it has no room for all of it; a paragraph with what it
    introduces, or with what it speaks of ("This directive ..."), be it the heading; what is said of a term with the term; and the
    list or code that the section leads to, or else the code that it begins with. That, and how items begin, is left out where
    what is asked is `said_briefly`: a date is in a sentence, a way of doing something in the command behind it, or in the one
    whose options it tells. `row`: of a row its table alone, as far as there is room. `begun`: the content begins inside of its
    document, perhaps in the middle of a sentence, of which the rest is not shown. `heading`: in force where the content begins.
    `key`: the one name that is asked for; of a list of which one item is its entry, that alone, with what introduces the list.
    """
    text = _near(content, quoted)
    blocks = [block for block in blocks_in(text) if block.kind != "other"]
    lead = None
    at, last = block_at(blocks, quoted[0]), block_at(blocks, quoted[1] - 1)
    if at is None or last is None or blocks[at].kind == "heading":
        return ShownPart(content, quoted, (Block("prose", *quoted),))
    entry = _entry_alone(text, blocks[at], quoted, key) if key else None
    if entry is not None:
        introduced = _introduction_above(text, blocks, at, entry.end)
        return ShownPart(content, (entry.start, entry.end), (entry,), introduced=introduced)
    if row:
        span = _around(text, blocks[at], quoted, MOST_SHOWN)
    else:
        begins, ends = _section(blocks, at)
        whole = _whole_section(blocks, begins, ends)
        defined = None if whole else _whole_entry(text, blocks, (begins, ends), at)
        span = whole or defined or _part(text, blocks, (begins, ends), at, quoted)
        if not (whole or defined or said_briefly):
            span = span[0], _led_to(text, blocks[begins:ends], span)
            span = span[0], _said_on(text, blocks, ends, span)
            lead = _lead_code(text, blocks[begins:ends], span)
        if whole and span[1] - span[0] < INTRODUCTION:
            span = _continued(text, blocks, begins, ends, span)
        # what an item announces stands in it, unless it is the last
        if foretells(text, quoted) and not (blocks[last].items and text[quoted[1] : blocks[last].end].strip()):
            span = span[0], max(span[1], _announced(text, blocks, last, span[0]))
    span = min(span[0], quoted[0]), max(span[1], blocks[last].end if last > at else quoted[1])
    ending = None if row or text[span[1] - 1] != ":" else block_at(blocks, span[1] - 1)
    if ending is not None and blocks[ending].kind == "prose" and not _only_announces(text, blocks[ending], span[1]):
        span = span[0], max(span[1], _announced(text, blocks, ending, span[0]))
    elif ending is not None and blocks[ending].items and span[1] == blocks[ending].end:
        span = span[0], _item_goes_on(text, blocks, ending, span[0])
    if not row:
        span = span[0], _with_remedy(text, blocks, span)
        span = span[0], _without_announcement(text, blocks, span[1], quoted[1])
    span = span[0], _without_empty_end(text, blocks, span[1], quoted[1])
    if begun and not row:
        span = _without_rest_of_sentence(text, blocks, span[0], quoted[0]), span[1]
        lead = lead and _without_rest_of_line(text, blocks, lead)
    if lead and lead.end <= span[0] and span[1] - lead.start <= MOST_SHOWN:
        span, lead = (lead.start, span[1]), None
    start, above = (span[0], None) if row else _named(text, blocks, span[0])
    inside = tuple(block for block in blocks if block.start < span[1] and start < block.end)
    lead = lead if lead and lead.end <= start else None
    introduced = None if row or said_briefly else _introduction_above(text, blocks, at, start)
    named = heading if not row and _is_name(heading) and all(one.kind != "heading" for one in blocks[:at]) else ""
    return ShownPart(content, (start, span[1]), inside, above, lead, not said_briefly, introduced, named)


def _entry_alone(text: str, block: Block, quoted: Span, key: str) -> Block | None:
    """The item that a quotation stands in as a list of its own, where it is the entry of a name, and the others begin with names
    of their own: who asks for one key wants to read of that."""
    item = next((item for item in block.items if item[0] <= quoted[0] and quoted[1] <= item[1]), None)
    if item is None or item[1] - item[0] > MOST_SHOWN:
        return None
    entries = [one for one in block.items if _ENTRY.match(text, *one)]
    named = [one for one in block.items if key in fold(text[one[0] : min(one[0] + LABEL, one[1])])]
    if named != [item] or item not in entries or len(entries) < FEWEST_ENTRIES:
        return None
    return replace(block, start=item[0], end=item[1], items=(item,))


FEWEST_ENTRIES: Final = 4  # measured: tests/unit/test_shown.py
"""Items of a list that begin with a name each, of which one can do without the others."""
_ENTRY: Final = re.compile(r"[ \t]{0,9}(?:[-*+]|\d{1,3}[.)])\s{1,9}(?:\[?[*_]{0,2}`|\*\*|--?\w|\w{1,40}[_.=]\w)")
"""How an item begins that is the entry of a name: in backticks or bold, an option, or with an underscore."""


def _without_rest_of_sentence(text: str, blocks: Sequence[Block], start: int, quoted: int) -> int:
    """Where what is shown begins without the end of a sentence, or of a line of code, of which the beginning is in another
    passage."""
    first = blocks[0]
    if start == first.start and first.kind == "code" and first.body[0] == start:
        line = text.find("\n", start, quoted) + 1
        return line or start
    if start != first.start or first.kind != "prose" or not text[start].islower():
        return start
    places = [piece[0] for piece in _pieces(text, first)] + [block.start for block in blocks[1:]]
    return next((place for place in places if start < place <= quoted), start)


def _without_rest_of_line(text: str, blocks: Sequence[Block], lead: Block) -> Block | None:
    """Code that a section begins with, without the end of a line of which the beginning is in another passage."""
    if lead is not blocks[0] or lead.body[0] != lead.start:
        return lead
    line = text.find("\n", *lead.body) + 1
    return replace(lead, start=line, body=(line, lead.body[1])) if text[line : lead.body[1]].strip() and line else None


def _without_empty_end(text: str, blocks: Sequence[Block], end: int, quoted: int) -> int:
    """Where what is shown ends without headings, terms and labels behind the quotation of which nothing is shown."""
    shown = [block for block in blocks if quoted <= block.start < end]
    while shown and (
        shown[-1].kind == "heading" or _is_run_in(text, shown[-1]) or _only_announces(text, shown[-1], end)
    ):
        block = shown.pop()
        end = min(end, max(quoted, block.start - len(text[: block.start]) + len(text[: block.start].rstrip())))
    return end


def _without_announcement(text: str, blocks: Sequence[Block], end: int, quoted: int) -> int:
    """Where what is shown ends without a sentence behind the quotation that announces what is not shown: what stands behind it,
    or in the next passage."""
    at = block_at(list(blocks), end - 1)
    if at is None or blocks[at].kind != "prose" or end != blocks[at].end:
        return end
    begins = max(_last_sentence(text, blocks[at]), blocks[at].start)
    if begins < quoted or not announces(text, (begins, end)):
        return end
    cut_off = at + 1 == len(blocks) or blocks[at + 1].kind in ("list", "code", "table")
    return max(quoted, len(text[:begins].rstrip())) if cut_off else end


def _only_announces(text: str, block: Block, end: int) -> bool:
    """Whether a block is one sentence or item, which announces what does not follow."""
    one = len(_pieces(text, block)) == 1 if block.kind == "prose" else len(block.items) == 1
    return one and end - block.start <= INTRODUCTION and text[block.start : end].rstrip().endswith(":")


def _near(content: str, quoted: Span) -> str:
    """The content up to WINDOW behind the quotation, with blanks for what stands further before it, so that offsets stay."""
    start, end = quoted[0] - WINDOW, quoted[1] + WINDOW
    if end < len(content):
        content = content[: content.rfind("\n", quoted[1], end) + 1 or end]
    if start > 0:
        start = content.find("\n", start, quoted[0]) + 1 or start
        content = " " * (start - 1) + "\n" + content[start:]
    return content


def wants_more(content: str, around: ShownPart) -> tuple[bool, bool]:
    """Whether what is shown is cut off where the content begins, or where it ends: code, a list, or what a sentence announces.
    A passage is a part of a document, and the next one may begin between a line that ends in ":" and its list."""
    first, last = around.blocks[0], around.blocks[-1]
    starts, ends = not content[: first.start].strip(), not content[max(around.span[1], last.end) :].strip()
    announced = last.kind in ("list", "code") or (
        last.kind == "prose" and announces(content, (_last_sentence(content, last), last.end))
    )
    return starts and first.kind in ("list", "code"), ends and announced


# --- sections ---------------------------------------------------------------------------------------------------------


def _section(blocks: Sequence[Block], at: int) -> tuple[int, int]:
    """The slice of blocks around `at` between two headings."""
    begins, ends = at, at + 1
    while begins > 0 and blocks[begins - 1].kind != "heading":
        begins -= 1
    while ends < len(blocks) and blocks[ends].kind != "heading":
        ends += 1
    return begins, ends


def _with_those_below(blocks: Sequence[Block], begins: int, ends: int) -> int:
    """Where a section ends with the sections below it."""
    level = blocks[begins - 1].level if begins else 0
    while level and ends < len(blocks) and (blocks[ends].kind != "heading" or blocks[ends].level > level):
        ends += 1
    return ends


def _whole_section(blocks: Sequence[Block], begins: int, ends: int) -> Span | None:
    for end in (_with_those_below(blocks, begins, ends), ends):
        span = blocks[begins].start, blocks[end - 1].end
        prose = _is_prose(blocks[begins:end])
        if span[1] - span[0] <= (SHORT_PROSE if prose else MOST_SHOWN) and (
            end == ends or not _is_prose(blocks[ends:end])
        ):
            return span
    return None


def _whole_entry(text: str, blocks: Sequence[Block], section: tuple[int, int], at: int) -> Span | None:
    """A term of a list of definitions with all that is said of it, where that is short."""
    terms = [number for number in range(*section) if _is_run_in(text, blocks[number])]
    if not terms or at < terms[0]:
        return None
    begins = max(number for number in terms if number <= at)
    ends = min((number for number in terms if number > at), default=section[1])
    span = blocks[begins].start, blocks[ends - 1].end
    return span if span[1] - span[0] <= (SHORT_PROSE if _is_prose(blocks[begins:ends]) else MOST_SHOWN) else None


_RUN_IN: Final = re.compile(r"\*\*[^*\n]+\*\*[.:]?")


def _is_run_in(text: str, block: Block) -> bool:
    """Whether a paragraph is a line in bold, a term or a heading that stands below all others."""
    return (
        block.kind == "prose"
        and block.end - block.start <= LABEL
        and bool(_RUN_IN.fullmatch(text, block.start, block.end))
    )


def _is_prose(blocks: Sequence[Block]) -> bool:
    return all(block.kind in ("prose", "heading") for block in blocks)


def _continued(text: str, blocks: Sequence[Block], begins: int, ends: int, span: Span) -> Span:
    """A section that is little more than a heading, with as much of the sections below it as there is room for, where these have
    a list, code or a table: what they only speak of is something else."""
    below = blocks[ends : _with_those_below(blocks, begins, ends)]
    if _is_prose(below):
        return span
    for block in below:
        if block.kind == "heading":
            continue
        end = _from_start(text, block, MOST_SHOWN - (block.start - span[0]))
        span = span[0], end or span[1]
        if end != block.end:
            break
    return span


_ANNOUNCES: Final = bounded(rf"(?<!\w){any_of(lambda one: one.asked.announces)}(?!\w)", re.IGNORECASE)


def announces(text: str, span: Span) -> bool:
    """Whether a sentence says that what it speaks of stands behind it."""
    return text[span[1] - 1] == ":" or _ANNOUNCES.search(text, *span) is not None


_FORETELLS: Final = bounded(rf"(?<!\w){any_of(lambda one: one.asked.foretells)}(?!\w)", re.IGNORECASE)


def foretells(text: str, span: Span) -> bool:
    """The same, also of several things that paragraphs behind it may tell: "there are a number of things to check"."""
    return announces(text, span) or _FORETELLS.search(text, *span) is not None


def _announced(text: str, blocks: Sequence[Block], at: int, start: int) -> int:
    """Where that ends which a sentence in the block `at` announces: the next list, code or table, or terms with what is said of
    each, as far as there is room; else the paragraphs behind it, where it leads to them; where the block ends if nothing is
    near."""
    headings = 0
    for number, block in enumerate(blocks[at + 1 : at + 1 + NEAR], at + 1):
        headings += block.kind == "heading"
        if headings > 1:
            break
        if block.kind in ("list", "code", "table"):
            end = _from_start(text, block, MOST_ANNOUNCED - (block.start - start)) or blocks[at].end
            return _code_for_code(text, blocks, number, start) or _steps_of_code(text, blocks, number, start) or end
        if _is_run_in(text, block) or _is_term(text, blocks, number):
            return _terms_announced(text, blocks, number, start) or blocks[at].end
    return _paragraphs_announced(text, blocks, at, start)


def _item_goes_on(text: str, blocks: Sequence[Block], at: int, start: int) -> int:
    """Where a list ends of which an item announces a table that is set in, and cuts the list: with that, what is set in behind
    it, and the items that go on, as far as there is room."""
    end = blocks[at].end
    if at + 1 == len(blocks) or blocks[at + 1].kind != "table":
        return end
    for block in blocks[at + 1 :]:
        line = text[text.rfind("\n", 0, block.start) + 1 :]
        if not (block.items or line[:1].isspace()) or block.end - start > MOST_ANNOUNCED:
            break
        end = block.end
    return end


_ERRORS: Final = bounded(rf"(?<!\w){any_of(lambda one: one.asked.errors)}(?!\w)", re.IGNORECASE)


def _with_remedy(text: str, blocks: Sequence[Block], span: Span) -> int:
    """Where that ends which is shown where it ends with the words of an error ("If you see this error: ..."): with the paragraph
    right behind them, which says what to do, and with what that announces; as far as there is room."""
    at = block_at(list(blocks), span[1] - 1)
    pair = blocks[at : at + 2] if at else []
    if [block.kind for block in pair] != ["code", "prose"] or span[1] != pair[0].end or not at:
        return span[1]
    before, remedy = blocks[at - 1], pair[1]
    if before.kind != "prose" or not _ERRORS.search(text, _last_sentence(text, before), before.end):
        return span[1]
    end = _from_start(text, remedy, MOST_ANNOUNCED - (remedy.start - span[0])) or span[1]
    return (
        _announced(text, blocks, at + 1, span[0]) if end == remedy.end and announces(text, (remedy.start, end)) else end
    )


def _code_for_code(text: str, blocks: Sequence[Block], at: int, start: int) -> int | None:
    """Where the second code ends of "change this: ... to: ...", if there is room: the first alone is what is not wanted."""
    kinds = [block.kind for block in blocks[at : at + 3]]
    if kinds != ["code", "prose", "code"] or blocks[at + 2].end - start > MOST_ANNOUNCED:
        return None
    between = text[blocks[at + 1].start : blocks[at + 1].end]
    return blocks[at + 2].end if len(between) <= BETWEEN_CODE and not _SENTENCE.search(between) else None


def _steps_of_code(text: str, blocks: Sequence[Block], at: int, start: int) -> int | None:
    """Where the last code ends of steps that are a sentence and its code each, behind a sentence that announces them all ("follow
    the steps below: ... List them: ..."), as far as there is room. `at`: of the first code."""
    before = blocks[max(at - 2, 0) : at]
    if blocks[at].kind != "code" or [one.kind for one in before] != ["prose", "prose"]:
        return None
    if any(text[one.end - 1] != ":" for one in before) or not any(
        one.search(text, before[0].start, before[0].end) for one in (_ANNOUNCES, _FORETELLS)
    ):
        return None
    end = None
    for block in takewhile(lambda one: one.kind in ("prose", "code") and not _is_run_in(text, one), blocks[at:]):
        if block.end - start > MOST_ANNOUNCED:
            break
        end = block.end if block.kind == "code" else end
    return end


def _paragraphs_announced(text: str, blocks: Sequence[Block], at: int, start: int) -> int:
    """Where the last of the paragraphs ends to which the last sentence of a block leads ("In this example:", "There are several
    things to check."), as far as there is room."""
    end, last = blocks[at].end, (_last_sentence(text, blocks[at]), blocks[at].end)
    if text[last[1] - 1] != ":" and not _FORETELLS.search(text, *last):
        return end
    for block in blocks[at + 1 :]:
        if block.kind != "prose" or block.end - start > MOST_SHOWN:
            break
        end = block.end
    return end


def _terms_announced(text: str, blocks: Sequence[Block], at: int, start: int) -> int | None:
    """Where the last of the terms from a block on ends that there is room for, each with all that is said of it; None where not
    even the first fits. Of the last term of a section it is a paragraph with the code or list behind it."""

    def names(number: int) -> bool:
        return _is_run_in(text, blocks[number]) or _is_term(text, blocks, number)

    end: int | None = None
    while at < len(blocks) and names(at):
        behind = at + 1
        while behind < len(blocks) and blocks[behind].kind != "heading" and not names(behind):
            behind += 1
        if behind == len(blocks) or blocks[behind].kind == "heading":
            said = range(at + 2, behind)
            behind = next((number for number in said if blocks[number].kind == "prose"), behind)
        if behind == at + 1 or blocks[behind - 1].end - start > MOST_ANNOUNCED:
            break
        end, at = blocks[behind - 1].end, behind
    return end


def _led_to(text: str, section: Sequence[Block], span: Span) -> int:
    """Where the next list, code or table of the section ends that a paragraph shortly behind what is shown announces; where that
    ends if there is none, or one is shown already: then it is that which answers. Code is shown whole or not at all."""
    if any(block.kind != "prose" and block.start < span[1] and span[0] < block.end for block in section):
        return span[1]
    for at, (before, block) in enumerate(pairwise(section), 1):
        if block.kind == "prose" or block.start < span[1]:
            continue
        announcing = _last_sentence(text, before)
        on_the_way = len(with_code_only(without_white(text[span[1] : announcing])))
        if on_the_way > ON_THE_WAY or not announces(text, (announcing, before.end)):
            break
        end = _from_start(text, block, MOST_SHOWN - (block.start - span[0]))
        end = end if end == block.end or (end and block.kind != "code") else span[1]
        return _steps_of_code(text, section, at, span[0]) or end
    return span[1]


def _lead_code(text: str, section: Sequence[Block], span: Span) -> Block | None:
    """The code that a section begins with, where what is shown stands further down and is prose alone: what a manual says of the
    options of a command stands below the command."""
    if any(block.kind != "prose" and block.start < span[1] and span[0] < block.end for block in section):
        return None
    first = next((block for block in section if block.kind != "prose"), None)
    if first is None or first.kind != "code" or first.end > span[0]:
        return None
    length = first.body[1] - first.body[0]
    return first if length <= LEAD and length + span[1] - span[0] <= MOST_SHOWN else None


def _is_term(text: str, blocks: Sequence[Block], at: int) -> bool:
    """Whether a block names what the one behind it says something of."""
    pair = blocks[at : at + 2]
    return (
        len(pair) == 2 and all(one.kind == "prose" for one in pair) and _only_names(text[pair[0].start : pair[0].end])
    )


# --- parts of a section -----------------------------------------------------------------------------------------------


def _part(text: str, blocks: Sequence[Block], section: tuple[int, int], at: int, quoted: Span) -> Span:
    block = blocks[at]
    around = _around(text, block, quoted, MOST_SHOWN)
    if at > section[0] and _points_back(text, block, around, quoted) and around[1] - blocks[at - 1].start <= MOST_SHOWN:
        return blocks[at - 1].start, around[1]
    start = _introduction(text, blocks[at - 1], block) if at > section[0] else block.start
    span = _around(text, block, quoted, MOST_SHOWN - (block.start - start))
    if span[0] == block.start:
        span = start, span[1]
    if block.kind == "prose" and span[1] == block.end and at + 1 < section[1] and blocks[at + 1].kind != "prose":
        follows = blocks[at + 1]
        span = span[0], _from_start(text, follows, MOST_SHOWN - (follows.start - span[0])) or span[1]
    return span


def _said_on(text: str, blocks: Sequence[Block], ends: int, span: Span) -> int:
    """Where that ends which is shown where it is a short paragraph that begins its section or entry ("No, you need not."): with
    those behind it, to the end of these, as far as there is room."""
    at = block_at(list(blocks), span[1] - 1)
    if not at or blocks[at].kind != "prose" or span[1] != blocks[at].end or span[1] - span[0] > SAID_SHORTLY:
        return span[1]
    if blocks[at - 1].kind != "heading" and not _is_run_in(text, blocks[at - 1]):
        return span[1]
    end = span[1]
    for block in blocks[at + 1 : ends]:
        if block.kind != "prose" or _is_run_in(text, block) or block.end - span[0] > SHORT_PROSE:
            break
        end = block.end
    return end


def _introduction(text: str, before: Block, block: Block) -> int:
    """Where that begins which introduces a block: a list, code or table the paragraph before it, or its last sentence; of a
    paragraph, a line that only names it."""
    if before.kind != "prose":
        return block.start
    said = text[before.start : before.end]
    if block.kind == "prose":
        return before.start if _only_names(said) else block.start
    return before.start if len(said) <= INTRODUCTION else _last_sentence(text, before)


def _introduction_above(text: str, blocks: Sequence[Block], at: int, start: int) -> Span | None:
    """What introduces the list of which what is shown begins in the middle: what announces it, or stands alone between the
    heading and the list."""
    if not blocks[at].items or start <= blocks[at].start or not at or blocks[at - 1].kind != "prose":
        return None
    begins = _introduction(text, blocks[at - 1], blocks[at])
    ends = blocks[at - 1].end
    alone = at > 1 and blocks[at - 2].kind == "heading" and ends - begins <= INTRODUCTION
    return (begins, ends) if begins < ends and (alone or announces(text, (begins, ends))) else None


def _last_sentence(text: str, block: Block) -> int:
    """Where the last sentence of a paragraph begins."""
    pieces = _pieces(text, block)
    return pieces[-1][0] if pieces else block.start


_POINTS_BACK: Final = every(lambda one: one.carry.demonstratives) | every(lambda one: one.carry.points_back)
_WORD: Final = re.compile(r"\w+")


def _points_back(text: str, block: Block, span: Span, quoted: Span) -> bool:
    """Whether what is shown of a paragraph begins with "this" or the like, so that it is about the block before it, and not about
    the one behind it."""
    if block.kind != "prose" or span[0] != block.start or announces(text, quoted):
        return False
    return _first_word(text, block) in _POINTS_BACK


_ABOUT_ANOTHER: Final = _POINTS_BACK | every(lambda one: one.carry.pronouns)


def _named(text: str, blocks: Sequence[Block], start: int) -> tuple[int, Span | None]:
    """Where what is shown begins, with the heading that it points back to, or the term that it says something of; and the term,
    the heading that is a name, or what the item begins with, where that stands further above."""
    at = block_at(list(blocks), start)
    if at is None:
        return start, None
    nearest = _pointed_to(text, blocks, at, start)
    heading = _name_above(text, blocks, at) if nearest == (start, None) and blocks[at].kind != "table" else None
    if heading is None:
        return nearest
    return (heading[0], None) if start == blocks[at].start and blocks[at - 1].start == heading[0] else (start, heading)


def _pointed_to(text: str, blocks: Sequence[Block], at: int, start: int) -> tuple[int, Span | None]:
    """The same, without headings that are names."""
    block = blocks[at]
    if block.kind == "list":
        return start, _beginning_of_item(text, block, start)
    before = blocks[at - 1] if at else None
    if before is None or block.kind != "prose":
        return start, None
    if before.kind == "heading":
        pointing = start == block.start and _first_word(text, block) in _ABOUT_ANOTHER
        is_line = text.count("\n", before.start, before.end) < 2  # with what underlines it; else it is no heading
        return (before.start if pointing and is_line else start), None
    if before.kind == "prose" and _only_names(text[before.start : before.end]):
        return (before.start, None) if start == block.start else (start, (before.start, before.end))
    return start, None


_IS_NAME: Final = re.compile(
    r"\A(?:#{1,6}[ \t]+)?\[?(?:`|--?\w|\w{1,60}[_=(]|[A-Za-z]\w{0,60}(?:\.\w{1,60}){1,6}\s*\Z|"
    r"(?:[\w.-]{1,60} ){1,4}(?:[<{]|\[(?![^\[\]\n]{0,200}\][(\[])))"
)
"""In backticks, an option, with an underscore, with dots, with what it takes or is set to; no link in words."""


def _name_above(text: str, blocks: Sequence[Block], at: int) -> Span | None:
    """The heading of a section, where it is the name of an option, a variable or a function: "Set to true to hide it." says
    nothing without it. That of a whole document is its title."""
    heading = next((block for block in reversed(blocks[:at]) if block.kind == "heading"), None)
    if heading is None or heading.level == 1 or not _is_name(text[heading.start : heading.end]):
        return None
    return heading.start, heading.end


def _is_name(heading: str) -> bool:
    """Whether a heading is the name of an option, a variable or a function, and not in words."""
    return len(heading) <= LONGEST_NAME and _IS_NAME.match(heading) is not None


def _beginning_of_item(text: str, block: Block, start: int) -> Span | None:
    """What an item begins with, of which not the beginning is shown."""
    item = next((item for item in block.items if item[0] < start < item[1]), None)
    begins = _parts_of_item(text, item)[0] if item else None
    return begins if begins and begins[1] <= start and begins[1] - begins[0] <= INTRODUCTION else None


def _first_word(text: str, block: Block) -> str:
    found = _WORD.search(text, block.start, block.end)
    return fold(found[0]) if found else ""


def _only_names(said: str) -> bool:
    """Whether a paragraph is a line that only names what stands below it."""
    return len(said) <= LABEL and "\n" not in said and not _SENTENCE.search(said)


_SENTENCE: Final = re.compile(r"[.!?…][\"'”’»)\]*_`]{0,4}\Z")


def _around(text: str, block: Block, quoted: Span, room: int) -> Span:
    """As much of a block around the quotation as there is room for; of a long paragraph the sentence before and the one behind,
    unless it is a list of steps."""
    sentences = block.kind == "prose" and len(_STEP.findall(text, block.start, block.end)) < 2
    if block.kind == "code" and block.end - block.start <= MOST_ANNOUNCED:
        return block.start, block.end
    if block.table:
        room = _room_for_rows(text, block, room) - (block.table.header_span[1] - block.table.header_span[0])
    if block.end - block.start <= (INTRODUCTION if sentences else room):
        return block.start, block.end
    pieces = _pieces(text, block)
    first = max((at for at, piece in enumerate(pieces) if piece[0] <= quoted[0]), default=0)
    last = max((at for at, piece in enumerate(pieces) if piece[0] < quoted[1]), default=0)
    if not pieces or pieces[last][1] - pieces[first][0] > room:
        return quoted
    lowest = max(first - 1, 0) if sentences else 0
    highest = min(last + 2, len(pieces)) if sentences else len(pieces)
    grew = True
    while grew:
        grew = False
        if last + 1 < highest and pieces[last + 1][1] - pieces[first][0] <= room:
            last, grew = last + 1, True
        if first > lowest and pieces[last][1] - pieces[first - 1][0] <= room:
            first, grew = first - 1, True
    start = block.start if first == 0 else pieces[first][0]
    if last == len(pieces) - 1:
        return start, block.end
    return start, _begun(text, block, pieces[last + 1], start + room) or pieces[last][1]


def _begun(text: str, block: Block, item: Span, limit: int) -> int | None:
    """Where the sentences of an item end that stand before the limit, where a list has no room for all of it: an item begins with
    what it is about. None where there are none."""
    if not block.items or not is_item(text[slice(*item)]):
        return None
    ends = [item[0] + end for _, end in split_sentences(text[slice(*item)])]
    return max((end for end in ends[FEWEST_BEGUN - 1 : -1] if end <= limit), default=None)


_STEP: Final = re.compile(r"[.!?:;…]\s\(?(?:\d{1,2}|[a-h])[.)]\s")
"""A number that begins a step, behind the end of another: "1. Stop it. 2. Start it."."""


def _from_start(text: str, block: Block, room: int) -> int | None:
    """Where as much of a block ends as there is room for; None where not even the first piece fits."""
    room = _room_for_rows(text, block, room)
    if block.end - block.start <= room:
        return block.end
    return max((end for _, end in _pieces(text, block) if end - block.start <= room), default=None)


def _room_for_rows(text: str, block: Block, room: int) -> int:
    """Of a table in the characters that it has in its document, where columns are filled up with blanks that are not shown."""
    if block.table is None:
        return room
    return room * (block.end - block.start) // len(_FILLS_UP.sub(" ", text[block.start : block.end]))


_FILLS_UP: Final = re.compile(r"(?<! ) {2,}+|(?<!-)-{2,}+")


def _pieces(text: str, block: Block) -> list[Span]:
    """What a block is cut into: sentences, rows, items, lines."""
    if block.table:
        return [_line(text, row.start, row.end) for row in block.table.rows]
    if block.kind == "prose":
        return [(block.start + a, block.start + b) for a, b in split_sentences(text[block.start : block.end])]
    if len(pieces := _items(text, block)) > 1:
        return pieces
    start, end = block.body if block.kind == "code" else (block.start, block.end)
    starts = line_starts(text, start, end)
    return [(a, a + len(text[a:b].rstrip())) for a, b in zip(starts, [*starts[1:], end], strict=True)]


def _items(text: str, block: Block) -> list[Span]:
    """Of a list; of a long item its parts."""
    return [
        part
        for item in block.items
        for part in (_parts_of_item(text, item) if item[1] - item[0] > LONG_ITEM else [item])
    ]


def _parts_of_item(text: str, item: Span) -> list[Span]:
    """What it begins with, and the items, paragraphs and code in it."""
    starts, fence, blank = [item[0]], "", False
    for start, end in pairwise([*line_starts(text, *item), item[1]]):
        line = text[start:end]
        mark = opens_fence(line)
        if fence:
            fence = "" if mark.startswith(fence) else fence
        elif line.strip() and start > item[0] and (blank or mark or is_item(line)):
            starts.append(start)
            fence = mark
        else:
            fence = mark
        blank = not line.strip()
    return [(a, a + len(text[a:b].rstrip())) for a, b in pairwise([*starts, item[1]])]


def _line(text: str, start: int, end: int) -> Span:
    """The line that holds a row."""
    behind = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, len(text) if behind < 0 else behind


# --- as Markdown ------------------------------------------------------------------------------------------------------

_MARK: Final = "\0"
"""Where the quotation ends; PostgreSQL stores no text that has it."""


def as_markdown(around: ShownPart, marks: Mapping[int, str] | None = None) -> str:
    """What is shown, each paragraph on one line, without links, emphasis and tags; code between fences, a table under its header.
    `marks`: by the place in the passage where a quotation ends, in text or code, what stands behind it, or behind its code."""
    places = sorted(marks or ())
    parts = [_shown(around, block, places) for block in around.blocks]
    if around.above and not any(block.start <= around.above[0] < block.end for block in around.blocks):
        parts.insert(0, f"**{with_code_only(around.content[slice(*around.above)]).strip('*')}**")
    if around.introduced:
        parts.insert(0, "\n".join(_lines(around.content[slice(*around.introduced)])))
    if around.lead:
        code = as_code(around.content[slice(*around.lead.body)], around.lead.language)
        between = around.content[around.lead.end : around.span[0]].strip()
        parts.insert(0, f"{code}\n\n…" if between else code)
    if around.named:
        parts.insert(0, f"**{with_code_only(around.named)}**")
    text = "\n\n".join(filter(None, parts))
    said = [(marks or {})[place] for place in places]
    if text.count(_MARK) != len(said):  # one was in a tag or an address, and went with it
        return f"{text.replace(f' {_MARK}', '')} {''.join(said)}"
    for mark in said:
        text = text.replace(_MARK, mark, 1)
    return text


def can_mark(around: ShownPart, quoted: Span) -> bool:
    """Whether a quotation is shown, so that a mark can stand behind it: in a table there is no room."""
    if not around.span[0] <= quoted[0] < quoted[1] <= around.span[1]:
        return False
    return any(block.start < quoted[1] <= block.end and block.kind != "table" for block in around.blocks)


def _shown(around: ShownPart, block: Block, places: Sequence[int]) -> str:
    start, end = max(block.start, around.span[0]), min(block.end, around.span[1])
    places = [place for place in places if start < place <= end]
    if block.kind == "code":
        first, last = max(block.body[0], start), min(block.body[1], end)
        code = as_code(around.content[first:last], block.language)
        before = "…\n\n" if around.content[block.body[0] : first].strip() else ""
        behind = "\n\n…" if around.content[last : block.body[1]].strip() else ""
        marks = "\n" + " ".join(_MARK for _ in places) if places else ""
        return f"{before}{code}{marks}{behind}"
    if block.table:
        return _table(around.content, block, (start, end))
    places = [_end_of_sentence(around.content, start, place, end) for place in places]
    text = f" {_MARK}".join(around.content[a:b] for a, b in pairwise((start, *places, end)))
    if block.kind == "heading":
        return f"**{with_code_only(text.lstrip('# ').rstrip('#= -'))}**"
    return "\n".join(_cut_list(around, block, [*_lines(text)], (start, end)) if block.items else _lines(text))


_ENDS_SAID: Final = re.compile(r"[.!?:;\u2026\u3002][\"'\u201d\u2019\u00bb)\]*_`]{0,4}\s*\Z")


def _end_of_sentence(text: str, start: int, place: int, end: int) -> int:
    """Where the sentence ends that a quotation, of a long one its best clauses, ends within: a mark stands behind it."""
    line, _, below = text[place:end].partition("\n")
    if _ENDS_SAID.search(text[max(0, place - 8) : place]) or (not line.strip() and _is_apart(below)):
        return place
    if sum(bool(opens_fence(above)) for above in text[start:place].split("\n")) % 2:
        return place  # in code of an item
    return next((place + last for _, last in split_sentences(text[place:end])), place)


def _is_apart(below: str) -> bool:
    """Whether a line does not go on with the sentence that ends the line above it."""
    return not below.partition("\n")[0].strip() or is_item(below)


def _cut_list(around: ShownPart, block: Block, lines: list[str], span: Span) -> Iterator[str]:
    """Lines of a list, with marks of what is left out of it, and what the item begins with of which not all is shown."""
    pieces = _items(around.content, block)
    above = around.above if around.above and block.start <= around.above[0] < span[0] else None
    begins_here = _is_no_part(around.content[: block.start].rstrip().rpartition("\n")[2])
    ends_here = _is_no_part(around.content[block.end :].lstrip("\n").partition("\n")[0])
    begins = above[0] if above else span[0]
    before = [piece for piece in pieces if piece[1] <= begins]
    behind = [piece for piece in pieces if span[1] <= piece[0]]
    items_before = [item for item in block.items if item[1] <= begins]
    items_behind = [item for item in block.items if span[1] <= item[0]]
    room = OUTLINED if around.outlined else OUTLINED_BRIEFLY
    told_before, told_behind = _outlines(around.content, items_before, items_behind, room)
    inside = [piece for piece in before if not items_before or items_before[-1][1] <= piece[0]]
    if told_before:
        yield from told_before
        before = inside
    if before:
        yield _cut(around.content, before[::-1], begins_here, indented=bool(told_before))
    if above:
        yield from _lines(around.content[slice(*above)])
        if left_out := [piece for piece in pieces if above[1] <= piece[0] and piece[1] <= span[0]]:
            yield _cut(around.content, left_out[::-1])
    begun = any(start < span[1] < end for start, end in pieces)
    yield from (f"{line} …" if begun and at == len(lines) else line for at, line in enumerate(lines, 1))
    indented = bool(lines) and lines[-1].startswith(" ")
    if items_behind and behind[0][0] < items_behind[0][0]:  # the rest of an item
        inside = [piece for piece in behind if piece[1] <= items_behind[0][0]]
        yield _cut(around.content, inside, indented=indented)
        behind, indented = [piece for piece in behind if items_behind[0][0] <= piece[0]], False
    if told_behind:
        yield from told_behind
    elif behind:
        yield _cut(around.content, behind, ends_here, indented=indented)


def _is_no_part(line: str) -> bool:
    """Whether a list ends beside a line. Of one with which a passage begins or ends there may be more in its document."""
    return bool(line.strip()) and not line[0].isspace() and not is_item(line)


def _outlines(content: str, before: Sequence[Span], behind: Sequence[Span], room: int) -> tuple[list[str], list[str]]:
    """Items before and behind what is shown by the sentence that they begin with, and the next one where that is short; where
    there is no room for all of them, by the first one alone, and where there is none for that, either, those behind alone. With
    the code that the sentence announces where there is room for that, too: of a step it is the command."""
    for items in ((before, behind), ((), behind), (before, ())):
        for longest, least in ((LONGEST_STEP, LABEL), (0, LABEL), (0, 0)):
            told = [[line for item in side for line in _begun_item(content, item, longest, least)] for side in items]
            if sum(len(line) for side in told for line in side) <= room:
                return told[0], told[1]
    return [], []


def _begun_item(content: str, item: Span, longest: int, least: int) -> Iterator[str]:
    """Lines of what an item begins with: sentences up to the first that ends `least` characters behind its beginning.
    `longest`: of the code right behind it."""
    begins, *rest = _parts_of_item(content, item)
    sentences = [item[0] + to for _, to in split_sentences(content[slice(*begins)])] or [begins[1]]
    ends = next((to for to in sentences if to - item[0] >= least), sentences[-1])
    line = " ".join(filter(None, _lines(content[item[0] : ends])))
    code = content[slice(*rest[0])] if rest and ends == begins[1] else ""
    if code and opens_fence(code) and len(code) <= longest:
        yield line
        yield from _lines(code)
    else:
        yield line if ends == item[1] else f"{line} …"


def _cut(content: str, pieces: Sequence[Span], counted: bool = True, *, indented: bool = True) -> str:
    """In the place of parts of a list, the one next to what is shown first: of a list its own marker, for another would begin
    another list, and how many items there are of those that stand beside it. `counted`: all of them are known."""
    piece = content[slice(*pieces[0])]
    marker = _MARKER.match(piece) if is_item(piece) else None
    if marker is None:
        return f"{piece[: _indent(piece)] if indented else ''}…"
    texts = (content[slice(*one)] for one in pieces)
    beside = takewhile(lambda text: _indent(text) >= _indent(piece), texts)
    number = sum(_indent(text) == _indent(piece) and is_item(text) for text in beside)
    said = f"{marker[0]}… (+{number})" if counted else f"{marker[0]}…"
    return said if indented else said.lstrip()


_MARKER: Final = re.compile(r"\A[ \t]*+\S++[ \t]")


def _indent(piece: str) -> int:
    return len(piece) - len(piece.lstrip())


def as_code(code: str, language: str = "") -> str:
    """Lines of code as a block of Markdown, whatever is in them."""
    fence = fence_around(code)
    body = dedent(code.rstrip()).strip("\n")
    return f"{fence}{language}\n{body}\n{fence}"


def _table(content: str, block: Block, span: Span) -> str:
    """Rows under their header, with marks of those that are left out; of a table whose header was cut off under an empty one,
    without which it is no table."""
    assert block.table is not None
    table, (start, end) = block.table, block.table.header_span
    header, _, rule = content[start:end].partition("\n")
    width = max(len(table.header), *(len(row.cells) for row in table.rows))
    rows = [row for row in table.rows if span[0] <= row.start and row.end <= span[1]]
    before = [row for row in table.rows if row.end <= span[0]]
    behind = [row for row in table.rows if span[1] <= row.start]
    lines = [row_as_read(content[slice(*_line(content, row.start, row.end))]) for row in rows]
    begins_here = _is_beside_table(content[: block.start].rstrip().rpartition("\n")[2])
    ends_here = _is_beside_table(content[block.end :].lstrip("\n").partition("\n")[0])
    top = [row_as_read(header), _DASHES.sub("---", without_white(rule))] if header else _rows_under_nothing(width)
    shown = [*top, _rows_cut(before, width, begins_here), *lines, _rows_cut(behind, width, ends_here)]
    return "\n".join(filter(None, shown))


_DASHES: Final = re.compile("-+")


def _rows_under_nothing(width: int) -> list[str]:
    return ["|" + "  |" * width, "|" + " --- |" * width]


def _rows_cut(rows: Sequence[Row], width: int, counted: bool) -> str:
    """A row in the place of others, and how many these are. `counted`: all of them are known, as in a list."""
    said = f"… (+{len(rows)})" if counted else "…"
    return f"| {said} |{' |' * (width - 1)}" if rows else ""


def _is_beside_table(line: str) -> bool:
    """Whether a table ends beside a line. A long one is written in pieces, each under the header, and passages cut it as well."""
    return bool(line.strip()) and "|" not in line


def _lines(text: str) -> Iterator[str]:
    """Paragraphs and items on a line each, empty ones between paragraphs. Code in items stays as it is, its fences closed."""
    line, blank, owed = "", False, 0
    indent, fence, shown_at = 0, "", 0
    in_list = False
    for raw in text.split("\n"):
        if fence:
            owed += raw.count(_MARK)
            yield _less_indented(raw.replace(f" {_MARK}", ""), indent - shown_at)
            if opens_fence(raw).startswith(fence):
                fence = ""
                if owed:
                    yield " " * shown_at + _MARK * owed
                owed = 0
            continue
        said = raw.strip().lstrip("> ")
        if mark := opens_fence(raw):
            if line:
                yield _as_read(line)
            line, blank, fence = "", False, mark
            indent = len(raw) - len(raw.lstrip())
            shown_at = min(indent, DEEPEST_FENCE)
            yield _less_indented(raw, indent - shown_at)
        elif not said or is_rule(said):
            blank = blank or bool(line)
        else:
            deep = len(raw) - len(raw.lstrip())
            item = is_item(raw)
            if line and not item and not blank and deep - indent < SET_IN:
                line = f"{line}{after_term(line, said) if deep and is_item(line) else ''}"
                line = f"{line.removesuffix(HYPHEN)}{'' if line.endswith(HYPHEN) else ' '}{said}"
                continue
            if line:
                yield _as_read(line)
                if blank and not item:
                    yield ""
            in_list = item or (in_list and deep > 0)
            wide = len(raw[:deep].expandtabs(TAB)) if in_list or indent else 0
            line, blank, indent = " " * wide + said, False, deep
    if fence:
        yield " " * shown_at + fence
        if owed:
            yield " " * shown_at + _MARK * owed
    if line:
        yield _as_read(line)


def _less_indented(line: str, by: int) -> str:
    return line[min(by, len(line) - len(line.lstrip(" "))) :]


def _as_read(line: str) -> str:
    """A paragraph or item on a line, set in as far: a link may begin on one line and end on the next."""
    return " " * (len(line) - len(line.lstrip(" "))) + with_code_only(line)


DEEPEST_FENCE: Final = 3  # bound: tests/unit/test_edges_shown.py
"""Blanks before a fence, beyond which it is none to whoever reads Markdown outside of a list, and what stands in it no code."""
TAB: Final = 3  # bound: tests/unit/test_shown.py
"""Blanks that a tab before an item becomes: as many make it part of an item with a mark or a number, and code of none."""
SET_IN: Final = 3  # measured: tests/unit/test_edges_shown.py
"""Blanks by which a line is set in that says what the line above it names."""
HYPHEN: Final = "\u2010"
"""At the end of a printed line, where manual pages cut a word."""
