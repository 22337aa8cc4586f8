"""The short way: both text retrievers and the passages of one collection in one statement (docs/adr/0015-one-statement.md),
and after it the graph.

It takes plain searches, which are nearly all. What it does not take, or what it fails with, goes stepwise.
"""

from __future__ import annotations

import time
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import structlog

from cairn.domain.passage import Leg, LegResult, Passage
from cairn.errors import DatabaseUnavailableError, NotFoundError
from cairn.retrieve import graph
from cairn.retrieve.context import CollectionState, Executed, Reason, Retrieved, SearchContext
from cairn.retrieve.fuse import add_graph
from cairn.retrieve.lexical import lexical_text
from cairn.retrieve.stepwise import fetch_passages, unknown_collections
from cairn.retrieve.vector import first_chunks
from cairn.retrieve.weights import text_shares
from cairn.store import search as store
from cairn.store.passages import passage
from cairn.store.search import SearchedCollection
from cairn.store.vectors import EmbeddingModel

log = structlog.get_logger(__name__)


def suits(context: SearchContext) -> bool:
    """One collection, by the model that is expected to serve it, without filters, operators and grouping; the query is
    embedded."""
    request = context.request
    return (
        len(set(request.collections)) == 1
        and not (request.filters or context.conditions or request.model)
        and request.group_by == "passage"
        and not {"vector", "lexical"}.isdisjoint(context.legs)
        and ("vector" not in context.legs or _expected(context).id in context.vectors.by_model)
    )


def _expected(context: SearchContext) -> EmbeddingModel:
    return context.expected or context.deps.model


async def retrieve(context: SearchContext) -> Executed:
    """Reasons to go again: OTHER_MODEL, COLLECTION_CHANGED, STATEMENT_FAILED.

    Raises NotFoundError, DatabaseUnavailableError; all else, a timeout too, is a retriever that failed.
    """
    try:
        return await _retrieve(context)
    except (NotFoundError, DatabaseUnavailableError):
        raise
    except Exception:
        log.warning("search.single_statement_failed", exc_info=True)
        return Executed(retry=Reason.STATEMENT_FAILED)


async def _retrieve(context: SearchContext) -> Executed:
    begun = time.perf_counter()
    async with _connection(context) as connection:
        row = await _search_collection(connection, context)
        if row is None:
            raise unknown_collections(context.request.collections[:1])
        if not row.served:
            return Executed(retry=Reason.OTHER_MODEL)
        legs = _book_legs(context, row)
        # what is left: reading the passages, and the way there and back
        elapsed = (time.perf_counter() - begun) * 1000
        context.stopwatch.book("fetch", elapsed - sum(row.milliseconds.values()))
        state = CollectionState(row.collection_id, context.request.collections[0], row.epoch, row.passage_count)
        found = Retrieved([state], legs, row.fused)
        if "graph" in context.legs:
            follow = _follow if _needs_transaction(context) else _follow_at
            followed = await follow(connection, context, row, found)
            if followed is None:
                return Executed(retry=Reason.COLLECTION_CHANGED)
            found = followed
    return Executed(_with_passages(context, row, found))


def _with_passages(context: SearchContext, row: SearchedCollection, found: Retrieved) -> Retrieved:
    """With the shortlist, of what the statement brought and, where the graph was followed, of what was read after it."""
    read = {item.passage_id: item for item in found.shortlist}
    best = found.fused[: context.whole]
    name = found.scope[0].name
    shortlist = [read.get(item.passage_id) or passage(row.rows[item.passage_id], name, item) for item in best]
    return replace(found, candidates=found.fused, shortlist=shortlist)


# --- the graph after the statement ------------------------------------------------------------------------------------


async def _follow(connection: Any, context: SearchContext, row: SearchedCollection, text: Retrieved) -> Retrieved:
    """With what the graph adds, and as shortlist the best passages that the statement did not bring; in the transaction of
    the statement."""
    work = graph.search(connection, context, text.scope, text.fused)
    graph_found = await context.stopwatch.measure("graph", work)
    found = add_graph(context, text, graph_found.result, graph_found.entities)
    new = [item for item in found.fused[: context.whole] if item.passage_id not in row.rows]
    return replace(found, shortlist=await fetch_passages(connection, context.principal, new, found.legs))


async def _follow_at(
    connection: Any, context: SearchContext, row: SearchedCollection, text: Retrieved
) -> Retrieved | None:
    """The same by two statements without a transaction; None where the collection is not any more what the first one saw."""
    work = graph.search_at(connection, context, text.scope[0], text.fused)
    graph_found = await context.stopwatch.measure("graph", work)
    if graph_found is None:
        return None
    found = add_graph(context, text, graph_found.result, graph_found.entities)
    shortlist = await context.stopwatch.measure("fetch", _passages_at(connection, context, row, found))
    return None if shortlist is None else replace(found, shortlist=shortlist)


def _needs_transaction(context: SearchContext) -> bool:
    """One statement, or few that compare the epoch, are of one snapshot without a transaction."""
    return "graph" in context.legs and not graph.fits_one_statement(context.text)


def _connection(context: SearchContext) -> AbstractAsyncContextManager[Any]:
    database, timeout = context.deps.database, context.settings.retrieve.statement_timeout_ms
    if not _needs_transaction(context):
        return database.reading(context.principal)
    config = {"statement_timeout": str(timeout)}
    return database.transaction(context.principal, readonly=True, isolation="repeatable_read", config=config)


async def _passages_at(
    connection: Any, context: SearchContext, row: SearchedCollection, found: Retrieved
) -> list[Passage] | None:
    """The best passages that the statement did not bring; None where the collection is not what the statement saw."""
    new = {item.passage_id: item for item in found.fused[: context.whole] if item.passage_id not in row.rows}
    chunks = {hit.passage_id: hit.chunk_id for hit in (row.vector.hits if row.vector else ())}
    return await store.passages_at(
        connection, context.principal, found.scope[0].id, found.scope[0].epoch, found.scope[0].name,
        new, chunks, context.settings.retrieve.statement_timeout_ms,
    )  # fmt: skip


# --- the statement ----------------------------------------------------------------------------------------------------


async def _search_collection(connection: Any, context: SearchContext) -> SearchedCollection | None:
    settings, depth = context.settings, 3 * context.request.top_k
    model, text_legs = _expected(context), [leg for leg in context.legs if leg != "graph"]
    return await store.search_collection(
        connection, context.principal, settings,
        collection=context.request.collections[0],
        model=model,
        vector=context.vectors.by_model[model.id] if "vector" in context.legs else None,
        text=lexical_text(context.text) if "lexical" in context.legs else None,
        chunks=first_chunks(depth, settings.vector),
        least=context.request.top_k,
        hits=max(depth, settings.lexical.candidates),
        vector_share=text_shares(text_legs, settings).get("vector", 0.0),
        rrf_k=settings.retrieve.rrf_k if context.fusion == "rrf" else None,
        top=context.whole,
    )  # fmt: skip


def _book_legs(context: SearchContext, row: SearchedCollection) -> dict[Leg, LegResult]:
    """Lists of the text retrievers that ran, with the time that each took."""
    legs: dict[Leg, LegResult] = {}
    for leg in context.legs:
        result = row.vector if leg == "vector" else row.lexical if leg == "lexical" else None
        if result is not None:
            legs[leg] = result
            context.stopwatch.book(leg, row.milliseconds[leg])
    return legs
