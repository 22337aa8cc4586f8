"""The short way: both legs and the passages of one collection in one statement (docs/adr/0015).

It takes plain searches, which are nearly all. What it does not take, or what it fails with, goes leg by leg.
"""

from __future__ import annotations

import time

from app.domain.passage import Leg, LegResult
from app.retrieve.fuse import fuse, weights
from app.retrieve.legs import lexical_text
from app.retrieve.query_vectors import QueryVectors
from app.retrieve.retriever import Asked, Found, State, unknown_collections
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
        and 0 < len(request.legs) == len({"vector", "lexical"}.intersection(request.legs))
        and ("vector" not in request.legs or asked.retriever.model.id in embedded.vectors)
    )


async def retrieve(asked: Asked, embedded: QueryVectors) -> Found | None:
    """None where another model serves the collection, or where the statement did not bring all passages that fuse best.

    Raises NotFoundError, DatabaseUnavailableError, QueryTimeoutError; anything else is a leg that failed.
    """
    begun, query = time.perf_counter(), _query(asked, embedded)
    async with asked.retriever.database.connection() as connection:
        found = await store.search(connection, asked.principal, query, asked.settings)
    if found is None:
        raise unknown_collections([query.collection])
    if not found.served:
        return None
    legs: dict[Leg, LegResult] = {}
    for leg in asked.request.legs:
        if (result := found.vector if leg == "vector" else found.lexical) is not None:
            legs[leg] = result
            asked.stopwatch.book(leg, found.milliseconds[leg])
    # what is left: reading the passages, and the way there and back
    elapsed = (time.perf_counter() - begun) * 1000
    asked.stopwatch.book("fetch", elapsed - sum(found.milliseconds.values()))
    fused = fuse(legs, asked.settings)
    best = fused[: asked.whole]
    if any(item.passage_id not in found.rows for item in best):
        return None
    shortlist = [passage(found.rows[item.passage_id], query.collection, item) for item in best]
    documents = {hit.passage_id: hit.document_id for result in legs.values() for hit in result.hits}
    scope = [State(found.collection_id, query.collection, found.epoch, found.passage_count)]
    return Found(scope, fused, fused, documents, legs, {}, shortlist)


def _query(asked: Asked, embedded: QueryVectors) -> store.CollectionQuery:
    request, settings, depth = asked.request, asked.settings, 3 * asked.request.top_k
    return store.CollectionQuery(
        collection=request.collections[0],
        model=asked.retriever.model,
        vector=embedded.vectors[asked.retriever.model.id] if "vector" in request.legs else None,
        text=lexical_text(request.query) if "lexical" in request.legs else None,
        chunks=first_chunks(depth, settings.vector),
        depth=depth,
        hits=max(depth, settings.lexical.candidates),
        vector_share=weights(request.legs, settings).get("vector", 0.0),
        top=asked.whole,
    )
