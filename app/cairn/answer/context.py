"""Passages -> the numbered sources that a model reads, after what the graph knows of them, within a budget of tokens.
Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from cairn.domain.graph import ContextEntity, ContextRelation, GraphContext
from cairn.domain.passage import Passage
from cairn.language.sentences import split_sentences

SEPARATOR: Final = "\n\n---\n\n"

Count = Callable[[str], int]
"""Tokens of a text."""


@dataclass(frozen=True, slots=True)
class Context:
    """`passages[n - 1]` is what `[Source n: ...]` in `text` shows; `left_out` passages did not fit the budget."""

    text: str
    passages: tuple[Passage, ...]
    left_out: int


def assemble(passages: Sequence[Passage], count: Count, max_tokens: int) -> Context:
    """The best passages that fit into `max_tokens`, headers included; `passages` come best first.

    Passages of one document that touch or overlap stand together in document order, at the place of the best of them,
    and what they share is shown once. Each stays a source of its own, so that its number leads to a real passage. If
    not even the best one fits, its beginning is shown, cut after a sentence.
    """
    kept = _affordable(passages, count, max_tokens)
    if not kept and passages:
        kept = [_shortened(passages[0], count, max_tokens)]
    ordered = _grouped(kept)
    return Context(_render(ordered), tuple(ordered), len(passages) - len(kept))


def _affordable(passages: Sequence[Passage], count: Count, max_tokens: int) -> list[Passage]:
    if count(_render(_grouped(passages))) <= max_tokens:  # nearly always, and counting is a quarter of an answer's time
        return list(passages)
    kept: list[Passage] = []
    for passage in passages:
        if count(_render(_grouped([*kept, passage]))) <= max_tokens:
            kept.append(passage)
    return kept


def rendered(passages: Sequence[Passage], first: int = 1) -> Context:
    """All of these passages as sources in the order given, numbered from `first`; `passages` are they alone."""
    return Context(_render(passages, first), tuple(passages), 0)


def _grouped(passages: Sequence[Passage]) -> list[Passage]:
    """Neighbours of one document together, in document order, where the best of them stood."""
    groups: list[list[Passage]] = []
    for passage in passages:
        # one passage may close the gap between two groups
        near = [group for group in groups if any(_touch(passage, other) for other in group)]
        merged = sorted([passage, *(other for group in near for other in group)], key=lambda p: (p.start, p.end))
        place = groups.index(near[0]) if near else len(groups)
        groups = [group for group in groups if group not in near]
        groups.insert(place, merged)
    return [passage for group in groups for passage in group]


def _touch(a: Passage, b: Passage) -> bool:
    """Same document, and at most white space between them (passages are cut at paragraph breaks)."""
    same = (a.document_id, a.version) == (b.document_id, b.version)
    return same and a.start <= b.end + 2 and b.start <= a.end + 2


def _render(ordered: Sequence[Passage], first: int = 1) -> str:
    sources: list[str] = []
    for n, passage in enumerate(ordered, start=first):
        before = ordered[n - first - 1] if n > first else None
        goes_on = before is not None and before.start <= passage.start and _touch(before, passage)
        shared = max(0, before.end - passage.start) if before and goes_on else 0
        header = f"[Source {n}: {_title(passage)}{', continued' if goes_on else ''}]"
        sources.append(f"{header}\n{_defused(passage.content[shared:]).strip()}")
    return SEPARATOR.join(sources)


def _title(passage: Passage) -> str:
    """Title and page, with authors and year where the metadata has them."""
    name = one_line(passage.title or passage.external_id)
    authors = passage.metadata.get("authors") or passage.metadata.get("author")
    if isinstance(authors, Sequence) and not isinstance(authors, str):
        authors = ", ".join(str(author) for author in authors)
    known = "; ".join(one_line(str(value)) for value in (authors, passage.metadata.get("year")) if value)
    page = f" (page {passage.page})" if passage.page is not None else ""
    return f"{name}{f' by {known}' if authors and known else f', {known}' if known else ''}{page}"


# measured: tests/unit/test_edges_quotation.py
def one_line(text: str, most: int = 200) -> str:
    """Of a header: no text can end it, or pose as the number of a source."""
    return " ".join(text.replace("[", "(").replace("]", ")").split())[:most]


_HEADER = re.compile(r"^([^\S\n]*+)\[(?=\s*+source\b)", re.IGNORECASE | re.MULTILINE)
_RULE = re.compile(r"^[ \t]*+(?:-{3,}+|={3}[^\n]*={3})[ \t]*+$", re.MULTILINE)


def _defused(content: str) -> str:
    """A document cannot pretend to be another source: lines that look like our headers, separators and sections are changed."""
    return _RULE.sub("***", _HEADER.sub(r"\1(", content))


def _shortened(passage: Passage, count: Count, max_tokens: int) -> Passage:
    """As many first sentences as fit, at least one."""
    ends = [end for _, end in split_sentences(passage.content)] or [len(passage.content)]

    def upto(end: int) -> Passage:
        return replace(passage, content=passage.content[:end], end=passage.start + end)

    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high + 1) // 2
        fits = count(_render([upto(ends[middle])])) <= max_tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    return upto(ends[low])


# --- what the graph knows, before the sources -------------------------------------------------------------------------
# Every line carries the numbers of its sources, and what no source of the context proves is left out: an answer cites
# passages, never the graph.

GRAPH_HEADER: Final = "=== KNOWLEDGE GRAPH CONTEXT ==="
DOCUMENT_HEADER: Final = "=== DOCUMENT CONTEXT ==="
HINT: Final = "Read out of the sources whose numbers stand behind each line; cite those sources."
MAX_SOURCE_CHUNKS_PER_ENTITY: Final = 20  # bound: tests/unit/test_graph_section.py
MAX_SOURCE_CHUNKS_FROM_GRAPH: Final = 100  # bound: tests/unit/test_graph_section.py
"""Numbers of sources behind one entity or relation, and in the whole section."""
SHARE: Final = 0.2  # measured: tests/unit/test_edges_quotation.py
"""Of the token budget that the section may take; the rest is for the sources."""
_UNTOLD: Final = frozenset({"name", "term", "topic"})
"""Kinds that say nothing about an entity."""

Numbers = Mapping[UUID, int]
Dress = Callable[[str], str]
"""How words of documents are told, such as in a JSON string."""


def _as_it_is(text: str) -> str:
    return text


def assemble_with_graph(
    passages: Sequence[Passage], graph: GraphContext | None, count: Count, max_tokens: int
) -> Context:
    """The best passages that fit into `max_tokens`, with what the graph says of them; see `assemble`."""
    if not graph:
        return assemble(passages, count, max_tokens)
    context = assemble(passages, count, max_tokens - int(SHARE * max_tokens))
    left = max_tokens - count(f"\n\n{DOCUMENT_HEADER}\n\n{context.text}")
    section = graph_section(graph, numbers_of(context.passages), count, left)
    if not section:
        return assemble(passages, count, max_tokens)
    return replace(context, text=f"{section}\n\n{DOCUMENT_HEADER}\n\n{context.text}")


def numbers_of(passages: Sequence[Passage]) -> Numbers:
    """Passages as sources are numbered: the first is 1."""
    return {passage.passage_id: n for n, passage in enumerate(passages, start=1)}


def graph_section(
    graph: GraphContext | None, numbers: Numbers, count: Count, max_tokens: int, dress: Dress = _as_it_is
) -> str:
    """What the graph says of the passages that have numbers, each line with those that prove it, within `max_tokens`; ""
    where it says nothing of them, or nothing fits."""
    if not graph:
        return ""
    lines = list(_fitting(_lines(graph, numbers, dress), count, max_tokens - count(f"{GRAPH_HEADER}\n{HINT}\n")))
    return "\n".join((GRAPH_HEADER, HINT, *lines)) if lines else ""


def _lines(graph: GraphContext, numbers: Numbers, dress: Dress) -> Iterator[str]:
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
            yield f"{heading}\n- {dress(_said(item))} {marks}" if heading else f"- {dress(_said(item))} {marks}"
            heading = ""
    heading = "Overview:\n"
    for community in graph.communities:
        yield f"{heading}- {dress(f'{_plain(community.title)}: {_plain(community.summary, 2000)}')}"
        heading = ""


def _said(item: ContextEntity | ContextRelation) -> str:
    if isinstance(item, ContextEntity):
        return _plain(item.name) + ("" if item.kind in _UNTOLD else f" ({_plain(item.kind)})")
    how = "stands together with" if item.kind == "co_occurs" else _plain(item.kind.replace("_", " "))
    return f"{_plain(item.source)} - {how} - {_plain(item.target)}"


# measured: tests/unit/test_edges_quotation.py
def _plain(text: str, most: int = 200) -> str:
    """Names come from documents: on one line, and neither a number of a source nor a heading."""
    return one_line(text, most).replace("===", "=")


def _fitting(lines: Iterator[str], count: Count, tokens: int) -> Iterator[str]:
    for line in lines:
        tokens -= count(line) + 1
        if tokens < 0:
            return
        yield line
