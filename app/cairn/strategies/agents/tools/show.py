"""How tools say what they found. What documents say stands in JSON strings: data, which no text can end by itself. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cairn.answer.context import Numbers, graph_section
from cairn.domain.graph import GraphContext
from cairn.domain.passage import Passage
from cairn.language.fence import quoted as as_data
from cairn.language.sentences import split_sentences
from cairn.runs.context import Run
from cairn.strategies.agents.tools.tool import Toolbox

EXCERPT: Final = 700
"""Characters of a passage that an observation quotes."""

GRAPH_TOKENS: Final = 300
"""Of an observation that what the graph says of its passages may take."""


def quoted(text: str, most: int = EXCERPT) -> str:
    """As a JSON string on one line, cut."""
    text = " ".join(text.split())
    return as_data(text, most)


def excerpt(passage: Passage, most: int = EXCERPT) -> str:
    """The part of a passage that matched, with what stands around it."""
    if passage.matched is None or len(passage.content) <= most:
        return passage.content[:most]
    start, end = (place - passage.start for place in passage.matched)
    first = max(0, min(start - (most - (end - start)) // 2, len(passage.content) - most))
    return passage.content[first : first + most]


def numbered(toolbox: Toolbox, passages: Sequence[Passage], most: int = EXCERPT) -> str:
    """A line for each passage: its number, its document, its text."""
    lines = []
    for passage in passages:
        page = f", page {passage.page}" if passage.page is not None else ""
        lines.append(f"[{toolbox.number(passage)}] {quoted(passage.title or passage.external_id, 120)}{page}: "
                     f"{quoted(excerpt(passage, most), most)}")  # fmt: skip
    return "\n".join(lines)


def related(run: Run, graph: GraphContext | None, numbers: Numbers) -> str:
    """What the graph says of passages that have numbers, on lines of its own; "" where that is nothing."""
    section = graph_section(graph, numbers, run.deps.judge.tokens.count, GRAPH_TOKENS, quoted)
    return f"\n{section}" if section else ""


def windows(passages: Sequence[Passage], most: int) -> tuple[Passage, ...]:
    """The passages within so many characters in all, each cut to the whole sentences around its match."""
    shown: list[Passage] = []
    left = most
    for place, passage in enumerate(passages):
        share = left // (len(passages) - place)
        part = window(passage, share)
        if part.content.strip():
            shown.append(part)
            left -= len(part.content)
    return tuple(shown)


def window(passage: Passage, most: int) -> Passage:
    """Whole sentences of a passage, those of its match first, then those after and before; at its own span."""
    if len(passage.content) <= most:
        return passage
    spans = split_sentences(passage.content) or [(0, len(passage.content))]
    at = max(0, passage.matched[0] - passage.start) if passage.matched else 0
    first = last = next((n for n, (_, end) in enumerate(spans) if end > at), 0)
    while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= most:
        last += 1
    while first > 0 and spans[last][1] - spans[first - 1][0] <= most:
        first -= 1
    start, end = spans[first][0], min(spans[last][1], spans[first][0] + most)
    return replace(passage, content=passage.content[start:end], start=passage.start + start, end=passage.start + end)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
