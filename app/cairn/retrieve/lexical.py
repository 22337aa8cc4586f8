"""The lexical retriever: BM25 over the words of the query and the forms of its identifiers (docs/adr/0007-bm25-in-sql.md)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from cairn.domain.passage import LegResult
from cairn.language.identifiers import identifier_terms
from cairn.retrieve.context import CollectionState, SearchContext
from cairn.store import lexical


@lru_cache(maxsize=64)  # asked for by the retriever, the graph and the trace
def lexical_text(query: str) -> str:
    """What is looked for: the query, and the forms of its identifiers that the parser does not see."""
    return f"{query} {identifier_terms(query)}".rstrip()


async def search(connection: Any, context: SearchContext, scope: Sequence[CollectionState], wanted: int) -> LegResult:
    """The best passages by BM25, `wanted` or more. rag.search_collection does the same for one collection without filters
    and conditions."""
    settings = context.settings.lexical
    return await lexical.search(
        connection, [collection.id for collection in scope], lexical_text(context.text), max(wanted, settings.candidates),
        settings, context.request.filters or None, context.conditions,
    )  # fmt: skip
