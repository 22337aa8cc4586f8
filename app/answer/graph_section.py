"""What the knowledge graph says, before the numbered sources that prove it. Pure.

Every line carries the numbers of its sources, and what no source of the context proves is left out: an answer cites
passages, never the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from app.answer.context import Context, Count, assemble, one_line
from app.domain.graph import ContextEntity, ContextRelation, GraphContext
from app.domain.passage import Passage

GRAPH_HEADER: Final = "=== KNOWLEDGE GRAPH CONTEXT ==="
DOCUMENT_HEADER: Final = "=== DOCUMENT CONTEXT ==="
HINT: Final = "Read out of the sources below, whose numbers stand behind each line; cite those sources."
MAX_SOURCE_CHUNKS_PER_ENTITY: Final = 20
MAX_SOURCE_CHUNKS_FROM_GRAPH: Final = 100
"""Numbers of sources behind one entity or relation, and in the whole section."""
SHARE: Final = 0.2
"""Of the token budget that the section may take; the rest is for the sources."""
_UNTOLD: Final = frozenset({"name", "term", "topic"})
"""Kinds that say nothing about an entity."""

Numbers = Mapping[UUID, int]


def assembled(passages: Sequence[Passage], graph: GraphContext | None, count: Count, max_tokens: int) -> Context:
    """The best passages that fit into `max_tokens`, with what the graph says of them; see `assemble`."""
    if not graph:
        return assemble(passages, count, max_tokens)
    context = assemble(passages, count, max_tokens - int(SHARE * max_tokens))
    numbers = {passage.passage_id: n for n, passage in enumerate(context.passages, start=1)}
    left = max_tokens - count(f"{GRAPH_HEADER}\n{HINT}\n\n{DOCUMENT_HEADER}\n\n{context.text}")
    lines = list(_fitting(_lines(graph, numbers), count, left))
    if not lines:
        return assemble(passages, count, max_tokens)
    section = "\n".join((GRAPH_HEADER, HINT, *lines))
    return replace(context, text=f"{section}\n\n{DOCUMENT_HEADER}\n\n{context.text}")


def _lines(graph: GraphContext, numbers: Numbers) -> Iterator[str]:
    """Headings and what stands under them; a heading only where something does."""
    told = 0
    for heading, items in (("Entities:", graph.entities), ("Relations:", graph.relations)):
        for item in items:
            proofs = [numbers[key] for key in item.passages if key in numbers][:MAX_SOURCE_CHUNKS_PER_ENTITY]
            proofs = sorted(proofs[: MAX_SOURCE_CHUNKS_FROM_GRAPH - told])
            if not proofs:
                continue
            told += len(proofs)
            marks = "".join(f"[{n}]" for n in proofs)
            yield f"{heading}\n- {_said(item)} {marks}" if heading else f"- {_said(item)} {marks}"
            heading = ""
    heading = "Overview:\n"
    for community in graph.communities:
        yield f"{heading}- {_plain(community.title)}: {_plain(community.summary, 2000)}"
        heading = ""


def _said(item: ContextEntity | ContextRelation) -> str:
    if isinstance(item, ContextEntity):
        return _plain(item.name) + ("" if item.kind in _UNTOLD else f" ({_plain(item.kind)})")
    how = "stands together with" if item.kind == "co_occurs" else _plain(item.kind.replace("_", " "))
    return f"{_plain(item.source)} - {how} - {_plain(item.target)}"


def _plain(text: str, most: int = 200) -> str:
    """Names come from documents: on one line, and neither a number of a source nor a heading."""
    return one_line(text, most).replace("===", "=")


def _fitting(lines: Iterator[str], count: Count, tokens: int) -> Iterator[str]:
    for line in lines:
        tokens -= count(line) + 1
        if tokens < 0:
            return
        yield line
