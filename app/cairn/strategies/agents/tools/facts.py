"""Facts that SQL counts completely: what there is, and how many. Statements are ours; a model fills in values."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cairn.graph.link import find_entities
from cairn.store import collections, tools
from cairn.strategies.agents.tools.search import MOST_DOCUMENTS, documents_with
from cairn.strategies.agents.tools.show import quoted
from cairn.strategies.agents.tools.tool import Arguments, Maybe, Tool, Toolbox, ToolResult
from cairn.strategies.document_names import topic
from cairn.strategies.list_wording import kind as kind_name

LISTED = 30
"""Values, names and documents that an observation lists; the rest is counted."""
SURE = 0.5


class Nothing(Arguments):
    pass


class Wanted(Arguments):
    of: Literal["documents", "entities", "mentions"] = Field(
        description="documents (how many, by what), entities (which ones there are) or mentions (where one is named)"
    )
    about: Maybe = Field(
        "", description="documents: words that must stand in them; entities: their kind (person, place, organisation, "
        "...); mentions: the name"
    )  # fmt: skip
    group_by: Maybe = Field("", description="documents only: type, language, or a key of their metadata such as year")


async def database_stats(toolbox: Toolbox, asked: Nothing) -> ToolResult:
    """What the collection holds."""
    library, filters = toolbox.run.deps.library, toolbox.filters
    held = await library.holdings(toolbox.collection, filters=filters)
    listed = await library.documents(toolbox.collection, filters=filters, limit=LISTED)
    kinds = ", ".join(f"{count} {kind_name(name)}" for name, count in held.media_types.items())
    languages = ", ".join(f"{count} {name or 'unknown'}" for name, count in held.languages.items())
    by = f"{kinds or 'none'}; languages: {languages or 'none'}"
    fact = f"There are {held.documents} documents with {held.passages} passages ({by})."
    titles = "\n".join(f"- {quoted(item.title, 100)} ({quoted(item.external_id, 100)})" for item in listed)
    more = f"\nand {held.documents - len(listed)} more" if held.documents > len(listed) else ""
    data = {"documents": held.documents, "passages": held.passages, "titles": [item.title for item in listed]}
    return ToolResult(f"{fact} This is complete.\n{titles}{more}", data=data, fact=f"{fact}\n{titles}")


async def aggregate(toolbox: Toolbox, asked: Wanted) -> ToolResult:
    """One of four counts, each with how complete it is."""
    match asked.of:
        case "documents" if asked.about:
            return await _documents_about(toolbox, asked.about)
        case "documents":
            return await _documents(toolbox, asked.group_by or "type")
        case "entities":
            return await _entities(toolbox, asked.about.lower())
        case "mentions":
            return await _mentions(toolbox, asked.about)


async def _documents_about(toolbox: Toolbox, words: str) -> ToolResult:
    passages, full = await documents_with(toolbox, topic(words) or words.split())
    held = await toolbox.run.deps.library.holdings(toolbox.collection, filters=toolbox.filters)
    number = f"{len(passages)}" if full else f"At least {MOST_DOCUMENTS}"
    coverage = "counted completely" if full else "there may be more"
    fact = f"{number} of {held.documents} documents contain all words of {quoted(words)} ({coverage})."
    names = "\n".join(f"- {quoted(p.title, 100)} [{toolbox.number(p)}]" for p in passages[:LISTED])
    more = f"\nand {len(passages) - LISTED} more" if len(passages) > LISTED else ""
    data = [passage.external_id for passage in passages]
    return ToolResult(f"{fact}\n{names}{more}", data=data, passages=tuple(passages[:LISTED]), fact=fact)


async def _documents(toolbox: Toolbox, field: str) -> ToolResult:
    library = toolbox.run.deps.library
    async with library.database.transaction(library.principal, readonly=True) as connection:
        values, total = await tools.by_value(
            connection, library.principal, toolbox.collection, toolbox.filters, field, LISTED
        )
    lines = "\n".join(f"- {quoted(value, 100) if value else 'none given'}: {count}" for value, count in values)
    shown = "complete" if total <= LISTED else f"the {LISTED} most frequent of {total} values"
    fact = f"Documents by {quoted(field, 60)} ({shown}):\n{lines or '- there are no documents'}"
    return ToolResult(fact, data=dict(values), fact=fact)


async def _entities(toolbox: Toolbox, kind: str) -> ToolResult:
    library = toolbox.run.deps.library
    async with library.database.transaction(library.principal, readonly=True) as connection:
        found, total = await tools.entities(
            connection, library.principal, toolbox.collection, toolbox.filters, kind, LISTED
        )
    what = f"entities of the kind {quoted(kind, 40)}" if kind else "entities"
    if not found:
        return ToolResult(f"The knowledge graph of the documents has no {what}.", data=[])
    shown = "all of them" if total <= LISTED else f"the {LISTED} spoken of most"
    lines = "\n".join(f"- {quoted(one.name, 80)} ({one.kind}): in {one.documents} documents" for one in found)
    fact = f"The graph has {total} {what}, as far as they were recognised; {shown}:\n{lines}"
    return ToolResult(fact, data=[one.name for one in found], fact=fact)


async def _mentions(toolbox: Toolbox, name: str) -> ToolResult:
    library, nothing = toolbox.run.deps.library, f"The knowledge graph of the documents knows no entity {quoted(name)}."
    async with library.database.transaction(library.principal, readonly=True) as connection:
        collection = await collections.by_name(connection, library.principal, toolbox.collection)
        links = await find_entities(connection, library.principal, collection.id, name, limit=1) if collection else []
        if not links or links[0].score < SURE:
            return ToolResult(nothing, data=[])
        found, documents, passages = await tools.mentions(
            connection, library.principal, toolbox.collection, toolbox.filters, links[0].entity_id, LISTED
        )
    if not found:
        return ToolResult(nothing, data=[])
    lines = "\n".join(f"- {quoted(one.title, 100)}: {one.passages} passages" for one in found)
    counted = f"{documents} documents, in {passages} passages"
    fact = f"{quoted(links[0].name, 80)} is mentioned in {counted} (as far as recognised):\n{lines}"
    return ToolResult(fact, data=[one.external_id for one in found], fact=fact)


TOOLS = (
    Tool("database_stats", "facts", "how many documents there are, which, of what kinds", Nothing, database_stats),
    Tool("aggregate", "facts", "count or list documents, entities or mentions completely", Wanted, aggregate),
)
