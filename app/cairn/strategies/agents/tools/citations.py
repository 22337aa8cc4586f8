"""Finding places and opening them, by the names of DocuChat: docId is a document, chunkId a passage of it, chunkIndex its
place. Ids are checked before they come near SQL, and open only what the question may see."""

from __future__ import annotations

import re
from collections.abc import Sequence
from uuid import UUID

from pydantic import Field

from cairn.domain.passage import Passage
from cairn.language.fence import as_json
from cairn.store import tools
from cairn.strategies.agents.tools.show import excerpt, quoted
from cairn.strategies.agents.tools.tool import Arguments, Text, Tool, Toolbox, ToolResult

FOUND = 5
SNIPPET = 300
OPENED = 2000
"""Characters of an opened place that a model reads."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


class CitationArguments(Arguments):
    query: Text = Field(description="what to look for, in words of the documents")


class Place(Arguments):
    doc_id: Text = Field(alias="docId", description="docId of a result of search_docs, all 36 characters")
    chunk_id: Text = Field(alias="chunkId", description="chunkId of the same result, all 36 characters")


async def search_docs(toolbox: Toolbox, asked: CitationArguments) -> ToolResult:
    """The five best places."""
    found = await toolbox.run.search(asked.query, FOUND, purpose="tool", filters=toolbox.filters)
    places = await _places(toolbox, [passage.passage_id for passage in found.passages])
    passages = tuple(passage for passage in found.passages if passage.passage_id in places)
    if not passages:
        return ToolResult(f"The documents contain no passage about {quoted(asked.query)}.", data=[])
    data = [
        {**_ids(passage, places), "snippet": excerpt(passage, SNIPPET), "score": round(passage.score, 4)}
        for passage in passages
    ]
    lines = [f"[{toolbox.number(p)}] {as_json(item)}" for p, item in zip(passages, data, strict=True)]
    return ToolResult("\n".join(lines), data=data, passages=passages)


async def open_citation(toolbox: Toolbox, asked: Place) -> ToolResult:
    """The whole text of one place."""
    ids = []
    for name, given in (("docId", asked.doc_id), ("chunkId", asked.chunk_id)):
        if (checked := _uuid(given)) is None:
            return ToolResult(_not_an_id(toolbox, name, given), False)
        ids.append(checked)
    document_id, passage_id = ids
    places = await _places(toolbox, [passage_id])
    opened = await toolbox.run.deps.library.passages(list(places))
    if not opened:
        return ToolResult(
            f"No indexed document has the chunkId {passage_id}. Copy ids from a search_docs result.", False
        )
    passage = opened[0]
    if passage.document_id != document_id:
        told = f"The chunkId {passage_id} is of another document than {document_id}. Copy both ids from one result."
        return ToolResult(told, False)
    data = {**_ids(passage, places), "text": passage.content, "filename": passage.external_id}
    shown = as_json({**data, "text": passage.content[:OPENED]})
    return ToolResult(f"[{toolbox.number(passage)}] {shown}", data=data, passages=(passage,))


async def _places(toolbox: Toolbox, ids: Sequence[UUID]) -> dict[UUID, int]:
    library = toolbox.run.deps.library
    async with library.database.transaction(library.principal, readonly=True) as connection:
        return await tools.in_scope(connection, library.principal, toolbox.collection, toolbox.filters, ids)


def _ids(passage: Passage, places: dict[UUID, int]) -> dict[str, object]:
    return {
        "docId": str(passage.document_id),
        "chunkId": str(passage.passage_id),
        "chunkIndex": places[passage.passage_id],
    }


def _uuid(text: str) -> UUID | None:
    """A whole one, as it is written; nothing that merely could be made into one."""
    text = text.strip("\"'`{}<> ")
    return UUID(text) if _UUID.fullmatch(text) else None


def _not_an_id(toolbox: Toolbox, name: str, given: str) -> str:
    known = {str(p.document_id if name == "docId" else p.passage_id) for p in toolbox.passages}
    begun = given.strip("\"'`{}<>. …").lower()
    meant = [key for key in known if begun and key.startswith(begun)]
    hint = f" Did you mean {meant[0]}?" if len(meant) == 1 else " Copy it from a search_docs result."
    return f"{name}: UUID is not valid: {quoted(given, 60)} is not a whole id of 36 characters.{hint}"


TOOLS = (
    Tool(
        "search_docs", "search", "the five places that fit a query best, with their ids", CitationArguments, search_docs
    ),
    Tool("open_citation", "text", "read one place of a search_docs result in full", Place, open_citation),
)
