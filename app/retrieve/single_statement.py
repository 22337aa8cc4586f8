"""The short way: both text legs and the passages of one collection in one statement (docs/adr/0015), and after it the graph.

It takes plain searches, which are nearly all. What it does not take, or what it fails with, goes leg by leg.
"""

from __future__ import annotations

import time
from contextlib import AbstractAsyncContextManager
from typing import Any
from uuid import UUID

from app.domain.passage import Leg, LegResult, Passage
from app.retrieve import graph
from app.retrieve.context import (
    Asked,
    Found,
    State,
    unknown_collections,
)
from app.retrieve.embed import QueryVectors
from app.retrieve.follow import Merged, follow
from app.retrieve.fuse import fuse, weights
from app.retrieve.legs import lexical_text
from app.retrieve.stepwise import fetch
from app.retrieve.vector import first_chunks
from app.store import search as store
from app.store.passages import passage


def suits(asked: Asked, embedded: QueryVectors) -> bool:
    """One collection, by the model of the settings, without filters, operators and grouping; the query is embedded."""
    request = asked.request
    return (
        len(set(request.collections)) == 1
        and not (request.filters or asked.conditions or request.model)
        and request.group_by == "passage"
        and not {"vector", "lexical"}.isdisjoint(request.legs)
        and ("vector" not in request.legs or asked.deps.model.id in embedded.vectors)
    )


async def retrieve(asked: Asked, embedded: QueryVectors) -> Found | None:
    """None where another model serves the collection, where the statement did not bring all passages that fuse best, or where
    the collection changed before the graph was followed.

    Raises NotFoundError, DatabaseUnavailableError, QueryTimeoutError; anything else is a leg that failed.
    """
    begun, query = time.perf_counter(), _query(asked, embedded)
    async with _connection(asked) as connection:
        found = await store.search(connection, asked.principal, query, asked.settings)
        if found is None:
            raise unknown_collections([query.collection])
        if not found.served:
            return None
        legs = _booked(asked, found)
        # what is left: reading the passages, and the way there and back
        elapsed = (time.perf_counter() - begun) * 1000
        asked.stopwatch.book("fetch", elapsed - sum(found.milliseconds.values()))
        documents = {hit.passage_id: hit.document_id for result in legs.values() for hit in result.hits}
        merged = Merged(fuse(legs, asked.settings), legs, documents)
        whole: dict[UUID, Passage] = {}
        if "graph" in asked.request.legs:
            try:
                merged, whole = await _followed(connection, asked, found, merged)
            except store.MovedOnError:
                return None
    best = merged.fused[: asked.whole]
    if any(item.passage_id not in found.rows and item.passage_id not in whole for item in best):
        return None
    shortlist = [
        whole.get(item.passage_id) or passage(found.rows[item.passage_id], query.collection, item) for item in best
    ]
    scope = [State(found.collection_id, query.collection, found.epoch, found.passage_count)]
    return Found(scope, merged.fused, merged.fused, merged.documents, merged.legs, {}, shortlist, merged.linked)


async def _followed(
    connection: Any, asked: Asked, found: store.Searched, text: Merged
) -> tuple[Merged, dict[UUID, Passage]]:
    """With what the graph adds, and the passages that the statement did not bring, whole: of the state that it saw."""
    timeout = asked.settings.retrieve.statement_timeout_ms
    if not _transacted(asked):
        state = graph.State(found.collection_id, found.epoch, timeout)
        merged = await follow(connection, asked, [found.collection_id], text, guarded=False, state=state)
        work = store.whole(
            connection, asked.principal, found, asked.request.collections[0], merged.fused[: asked.whole], timeout
        )
        return merged, await asked.stopwatch.measure("fetch", work)
    merged = await follow(connection, asked, [found.collection_id], text, guarded=False)
    new = [item for item in merged.fused[: asked.whole] if item.passage_id not in found.rows]
    return merged, {item.passage_id: item for item in await fetch(connection, asked.principal, new, text.legs)}


def _transacted(asked: Asked) -> bool:
    """One statement, or few that compare the epoch, are of one snapshot without a transaction."""
    return "graph" in asked.request.legs and not graph.one_statement(asked.request)


def _connection(asked: Asked) -> AbstractAsyncContextManager[Any]:
    database, timeout = asked.deps.database, asked.settings.retrieve.statement_timeout_ms
    if not _transacted(asked):
        return database.connection()
    config = {"statement_timeout": str(timeout)}
    return database.transaction(asked.principal, readonly=True, isolation="repeatable_read", config=config)


def _booked(asked: Asked, found: store.Searched) -> dict[Leg, LegResult]:
    """The text legs that ran, with the time that each took."""
    legs: dict[Leg, LegResult] = {}
    for leg in asked.request.legs:
        result = found.vector if leg == "vector" else found.lexical if leg == "lexical" else None
        if result is not None:
            legs[leg] = result
            asked.stopwatch.book(leg, found.milliseconds[leg])
    return legs


def _query(asked: Asked, embedded: QueryVectors) -> store.CollectionQuery:
    request, settings, depth = asked.request, asked.settings, 3 * asked.request.top_k
    return store.CollectionQuery(
        collection=request.collections[0],
        model=asked.deps.model,
        vector=embedded.vectors[asked.deps.model.id] if "vector" in request.legs else None,
        text=lexical_text(request.query) if "lexical" in request.legs else None,
        chunks=first_chunks(depth, settings.vector),
        depth=depth,
        hits=max(depth, settings.lexical.candidates),
        vector_share=weights([leg for leg in request.legs if leg != "graph"], settings).get("vector", 0.0),
        top=asked.whole,
    )
