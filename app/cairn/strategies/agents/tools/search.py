"""Searching: the best passages for a query, and all documents in which words stand."""

from __future__ import annotations

from pydantic import Field

from cairn.answer.context import numbers_of
from cairn.domain.passage import Passage
from cairn.runs.gather import best_confidence
from cairn.strategies.agents.tools.show import numbered, quoted, related
from cairn.strategies.agents.tools.tool import Arguments, Count, Text, Tool, Toolbox, ToolResult
from cairn.strategies.document_names import topic

MOST_DOCUMENTS = 200
"""That an exhaustive search returns; where there are so many, it says "at least"."""
SHOWN = 8
"""Documents of an exhaustive search whose passages are quoted; the others are named."""
NAMED = 40
WEAK = 0.3
"""Confidence of the retrieval under which what was found may well be about something else."""


class SearchArguments(Arguments):
    query: Text = Field(description="what to look for, in words of the documents")
    top_k: Count = Field(5, description="passages wanted")


class Words(Arguments):
    query: Text = Field(description="the words that must all stand in a document")


async def retrieve_vector(toolbox: Toolbox, asked: SearchArguments) -> ToolResult:
    """The hybrid search of the question's collection."""
    found = await toolbox.run.search(asked.query, asked.top_k, purpose="tool", filters=toolbox.filters)
    if not found.passages:
        return ToolResult(f"The documents contain no passage about {quoted(asked.query)}.", data=[])
    sure = best_confidence(found)
    weak = "; they are only weakly related to it" if sure < WEAK else ""
    head = f"{len(found.passages)} passages for {quoted(asked.query)} (confidence {sure:.2f}{weak}):"
    lines = numbered(toolbox, found.passages) + related(toolbox.run, found.graph, numbers_of(toolbox.passages))
    return ToolResult(f"{head}\n{lines}", data=[passage.content for passage in found.passages], passages=found.passages)


async def exhaustive_search(toolbox: Toolbox, asked: Words) -> ToolResult:
    """Every document that holds all the words in any inflection, by the lexical index."""
    wanted = topic(asked.query) or asked.query.split()
    total = (await toolbox.run.deps.library.holdings(toolbox.collection, filters=toolbox.filters)).documents
    passages, full = await documents_with(toolbox, wanted)
    said = ", ".join(quoted(word, 60) for word in wanted)
    coverage = f"searched completely: all {total} documents" if full else f"at least; {total} documents in all"
    fact = f"{len(passages)} of {total} documents mention {said} ({coverage})."
    if not passages:
        return ToolResult(f"The documents contain no passage with {said}: {fact}", data=[], fact=fact)
    shown = numbered(toolbox, passages[:SHOWN], 300)
    more = "; ".join(quoted(passage.title, 80) for passage in passages[SHOWN:NAMED])
    rest = f"\nAlso in: {more}" if more else ""
    names = [passage.external_id for passage in passages]
    return ToolResult(f"{fact}\n{shown}{rest}", data=names, passages=tuple(passages[:SHOWN]), fact=fact)


async def documents_with(toolbox: Toolbox, words: list[str]) -> tuple[list[Passage], bool]:
    """The best passage of each document that holds all of these words, and whether that is all of them."""
    all_of = " ".join('+"' + word.replace('"', " ") + '"' for word in words[:20])
    result = await toolbox.run.search(
        f"{all_of} {' '.join(words[:20])}", MOST_DOCUMENTS, purpose="mentions", filters=toolbox.filters, by_words=True
    )
    return list(result.passages), result.exact and len(result.passages) < MOST_DOCUMENTS


TOOLS = (
    Tool("retrieve_vector", "search", "the passages that fit a query best", SearchArguments, retrieve_vector),
    Tool(
        "exhaustive_search", "search", "all documents that mention some words, counted completely; for how many, which, "
        "list all", Words, exhaustive_search,
    ),
)  # fmt: skip
