"""Text -> its blocks as Markdown has them: headings, paragraphs, lists, code, tables. Pure.

A passage may begin or end anywhere: a fence whose beginning was cut off is code up to its end, one that never ends is code up to
the end of the text, and the rest of a table is a table. Offsets count code points of the text that was given. Fences, tables and
sentences are found as sentences.py and tables.py find them; lists, quotations, headings and indented code by markdown-it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, Final, Literal

from cairn.language.code_fences import FENCE, cut_off_fence
from cairn.language.sentences import Span, is_rule
from cairn.language.tables import Table, tables_in

BlockKind = Literal["heading", "prose", "list", "code", "table", "other"]


@dataclass(frozen=True, slots=True)
class Block:
    """start..end: all its lines, fences included, without white space behind them. `other` is what nobody reads:
    rules, tags, captions.

    `level`: of a heading, 1 to 6. `body`: of code, the lines between the fences. `language`: of code, what its fence names.
    `items`: of a list, where each of the outermost ones begins and ends, marker included. `table`: of a table.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    body: Span = (0, 0)
    language: str = ""
    items: tuple[Span, ...] = ()
    table: Table | None = None


def blocks_in(text: str) -> list[Block]:
    """In order; they do not overlap."""
    found: list[Block] = []
    start = 0
    for table in tables_in(text):
        if all(len(row.cells) == 1 for row in table.rows):
            continue  # a frame around text
        found += _between_tables(text, start, table.span[0])
        found.append(Block("table", *table.span, table=table))
        start = table.span[1]
    return _steps_joined(text, [*found, *_between_tables(text, start, len(text))])


_NUMBER: Final = re.compile(r"[ \t]{0,3}(\d{1,3})[.)][ \t]")


def _steps_joined(text: str, blocks: list[Block]) -> list[Block]:
    """Blocks, those that are one list of steps as one: where code stands at the beginning of its line between two numbered items,
    Markdown ends the list before it, and a reader goes on. Such code belongs to the item before it."""
    joined: list[Block] = []
    for at, block in enumerate(blocks):
        last = joined[-1] if joined else None
        if (
            last is not None
            and block.kind == "code"
            and last.items
            and _is_followed_by_step(text, last, blocks[at + 1 :])
        ):
            joined[-1] = _longer(last, block)
        elif last is not None and last.items and block.items and at and blocks[at - 1].kind == "code":
            follows = last.end == blocks[at - 1].end and _number(text, block.items[0]) == _next_number(text, last)
            joined[-1:] = (
                [replace(last, end=block.end, items=(*last.items, *block.items))] if follows else [last, block]
            )
        elif last is not None and block.kind == "code" and _ends_steps(text, last, block):
            joined[-1] = _longer(last, block)
        else:
            joined.append(block)
    return joined


def _longer(steps: Block, code: Block) -> Block:
    """A list of which the last item goes on with code."""
    return replace(steps, end=code.end, items=(*steps.items[:-1], (steps.items[-1][0], code.end)))


def _is_followed_by_step(text: str, steps: Block, behind: list[Block]) -> bool:
    """Whether the next list behind code goes on counting where one ends."""
    after = next((block for block in behind if block.kind != "code"), None)
    number = _next_number(text, steps)
    return after is not None and bool(after.items) and number is not None and _number(text, after.items[0]) == number


def _ends_steps(text: str, steps: Block, code: Block) -> bool:
    """Whether code right below the last of several steps belongs to it, as it did to the one before."""
    if len(steps.items) < 2 or _next_number(text, steps) is None:
        return False
    before = text[slice(*steps.items[-2])].rpartition("\n")[2]
    return bool(FENCE.match(before)) and not before[0].isspace() and not text[steps.end : code.start].strip()


def _number(text: str, item: Span) -> int | None:
    found = _NUMBER.match(text, text.rfind("\n", 0, item[0]) + 1)
    return int(found[1]) if found else None


def _next_number(text: str, steps: Block) -> int | None:
    """The number behind that of the last item, where the items are numbered one by one."""
    number = _number(text, steps.items[-1])
    return None if number is None else number + 1


def _between_tables(text: str, first: int, last: int) -> Iterator[Block]:
    if cut := cut_off_fence(text, first, last):
        yield Block("code", first, cut.end(), body=(first, cut.start()))
        first = cut.end()
    if text[first:last].strip():
        yield from _parsed(text, first, last)


_LINE_END: Final = re.compile("\n")
_SETTLED: Final = re.compile(r"[.!?:…][\"'”’»)\]*_`]{0,4}\Z")


@cache
def _parser() -> Callable[[str], list[Any]]:
    """It is loaded when the first answer is made: most commands make none."""
    from markdown_it import MarkdownIt

    # What stands in a line is left alone. Tables are read by tables.py; definitions of links can take quadratic time.
    return MarkdownIt("commonmark").disable(["inline", "text_join", "reference"]).parse


def _parsed(text: str, first: int, last: int) -> Iterator[Block]:
    part = text[first:last].replace("\r", " ")  # a line end there, and none here
    starts = [first, *(first + mark.end() for mark in _LINE_END.finditer(part)), last]

    def span(lines: list[int]) -> Span:
        start, end = starts[min(lines[0], len(starts) - 1)], starts[min(lines[1], len(starts) - 1)]
        return start, start + len(text[start:end].rstrip())

    items: list[Span] = []
    opened: list[int] = []
    for token in _parser()(part):
        if token.level == 1 and token.type == "list_item_open":
            items.append(span(token.map))
        elif token.level:
            continue
        elif token.nesting == 1 and token.map:
            opened, items = token.map, []
            if token.type == "heading_open":
                yield Block("heading", *span(opened), level=int(token.tag[1:]))
            elif token.type in ("paragraph_open", "blockquote_open"):
                start, end = span(opened)
                yield Block("other" if is_rule(text[start:end]) else "prose", start, end)
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            yield Block("list", *span(opened), items=tuple(items))
        elif token.type == "fence":
            yield _fenced(text, starts, token)
        elif token.type == "code_block":
            yield from _indented(text, span(token.map))
        elif token.type in ("hr", "html_block"):
            start, end = span(token.map)
            yield Block("prose" if _has_words(text[start:end]) else "other", start, end)


def _fenced(text: str, starts: list[int], token: Any) -> Block:
    begins, ends = token.map
    start, end = starts[begins], starts[min(ends, len(starts) - 1)]
    inner = starts[min(begins + 1, len(starts) - 1)]
    lines = token.content.count("\n") + (not token.content.endswith("\n"))
    behind = min(starts[min(begins + 1 + lines, len(starts) - 1)], end)
    words = token.info.split()
    return Block(
        "code", start, start + len(text[start:end].rstrip()), body=(inner, max(inner, behind)),
        language=words[0] if words and words[0].replace("-", "").replace("+", "").isalnum() else "",
    )  # fmt: skip


def _indented(text: str, span: Span) -> Iterator[Block]:
    """Code, or a paragraph that is set in, as in manual pages: what begins like a sentence and ends like one. What stands below a
    picture is no line of either, so that the rest of an item is read that begins with one."""
    start, end = span
    if "![" in text[start:end]:
        lines = line_starts(text, start, end)
        for begins, ends in pairwise([*lines, end]):
            line = text[begins:ends]
            if "![" in line and is_rule(line):
                yield from _set_in(text, start, begins)
                yield Block("other", begins, begins + len(line.rstrip()))
                start = ends
    yield from _set_in(text, start, end)


def _set_in(text: str, start: int, end: int) -> Iterator[Block]:
    """Of what is set in, code as one block, or its paragraphs; what begins like no sentence belongs to the one before."""
    start += len(text[start:end]) - len(text[start:end].lstrip("\n"))
    end = start + len(text[start:end].rstrip())
    said = text[start:end].strip()
    if not said:
        return
    if not (said[:1].isupper() and _SETTLED.search(said[-6:])):
        yield Block("code", start, end, body=(start, end))
        return
    margin = text[start : text.index(said[0], start)]
    for gap in _PARAGRAPHS.finditer(text, start, end):
        begins = gap.end() + len(margin)
        if text.startswith(margin, gap.end()) and text[begins : begins + 1].isupper():
            yield Block("prose", start, gap.start())
            start = gap.end()
    yield Block("prose", start, end)


_PARAGRAPHS: Final = re.compile(r"\n(?:[ \t]*+\n)++")
_TAG: Final = re.compile(r"<[^<>]*>")


def _has_words(html: str) -> bool:
    return any(map(str.isalnum, _TAG.sub("", html)))


def line_starts(text: str, start: int, end: int) -> list[int]:
    """Where the lines between two places begin, the first of them at `start`."""
    return [start, *(mark.end() for mark in _LINE_END.finditer(text, start, end) if mark.end() < end)]


def block_at(blocks: list[Block], place: int) -> int | None:
    """Which block holds a place; None between blocks."""
    at = bisect_right(blocks, place, key=lambda block: block.start) - 1
    return at if at >= 0 and place < max(blocks[at].end, blocks[at].start + 1) else None
