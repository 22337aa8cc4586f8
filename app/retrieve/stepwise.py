"""The long way, for every search: scope, each leg, the passages, statement by statement in one snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from app.domain.document import Collection
from app.domain.passage import Fused, Leg, LegResult, Passage
from app.domain.principal import Principal
from app.retrieve.context import (
    Asked,
    Found,
    State,
    unknown_collections,
)
from app.retrieve.embed import QueryVectors
from app.retrieve.follow import Merged, follow
from app.retrieve.fuse import fuse
from app.retrieve.legs import LegQuery, run_legs
from app.retrieve.vector import Searched, VectorQuery
from app.store import collections, passages, vectors

MAX_DEPTH = 5000
"""Passages per leg beyond which grouping by document stops looking deeper."""


async def retrieve(asked: Asked, embedded: QueryVectors, *, guarded: bool) -> Found:
    """Everything that reads the database, in one snapshot. `guarded`: a leg that fails leaves it usable, for four more
    round trips; otherwise LegFailedError is raised. Raises NeedsVectorsError before it runs a leg."""
    request, settings = asked.request, asked.settings
    config = {"statement_timeout": str(settings.retrieve.statement_timeout_ms)}
    async with asked.deps.database.transaction(
        asked.principal, readonly=True, isolation="repeatable_read", config=config
    ) as connection:
        scope = await _scope(connection, asked)
        vector, problem = await _vector_query(connection, asked, scope, embedded)
        query = LegQuery(request, [collection.id for collection in scope], vector, asked.conditions)
        merged = await _text_legs(connection, asked, query, guarded=guarded)
        if "graph" in request.legs:
            merged = await follow(connection, asked, query.collections, merged, guarded=guarded)
        fused, candidates = merged.fused, merged.fused
        if request.group_by == "document":
            candidates = _one_per_document(fused, merged.documents)
        best = candidates[: asked.whole]
        shortlist = await asked.stopwatch.measure("fetch", fetch(connection, asked.principal, best, merged.legs))
    failed = dict(merged.failed)
    if problem:
        failed["vector"] = problem
    states = [State(item.id, item.name, item.epoch, item.passage_count) for item in scope]
    return Found(states, fused, candidates, merged.documents, merged.legs, failed, shortlist, merged.linked)


async def _text_legs(connection: Any, asked: Asked, query: LegQuery, *, guarded: bool) -> Merged:
    """The legs that look for the query itself; deeper, where too few documents are among their passages."""
    request, settings, depth = asked.request, asked.settings, 3 * asked.request.top_k
    while True:
        legs, failed = await run_legs(
            connection, asked.principal, query, depth, settings, asked.stopwatch, guarded=guarded
        )
        documents = {hit.passage_id: hit.document_id for leg in legs.values() for hit in leg.hits}
        merged = Merged(fuse(legs, settings), legs, documents, failed)
        exhausted = all(len(leg.hits) < depth for leg in legs.values())
        if request.group_by == "passage" or exhausted or depth >= MAX_DEPTH:
            return merged
        if len(_one_per_document(merged.fused, documents)) >= request.top_k:
            return merged
        depth *= 4


async def _scope(connection: Any, asked: Asked) -> list[Collection]:
    found = await collections.by_names(connection, asked.principal, asked.request.collections)
    missing = set(asked.request.collections) - {collection.name for collection in found}
    if missing:
        raise unknown_collections(missing)
    return found


async def _vector_query(
    connection: Any, asked: Asked, scope: Sequence[Collection], embedded: QueryVectors
) -> tuple[VectorQuery | None, str | None]:
    """What the vector leg looks for, or why it cannot."""
    request, principal, default = asked.request, asked.principal, asked.deps.model
    enough = asked.settings.vector.exact_below
    if "vector" not in request.legs:
        return None, None
    known = {default.id: default}
    if request.model is not None:
        named = await vectors.model(connection, request.model)
        if named is None:
            return None, f"there is no embedding model {request.model}; see GET /models"
        serving = dict.fromkeys((item.id for item in scope), named)
    else:
        others = {item.model_id for item in scope if item.model_id is not None} - known.keys()
        known |= await vectors.models(connection, others) if others else {}
        serving = {item.id: known[item.model_id] if item.model_id else default for item in scope}
    embedded.require(serving.values())
    for model in serving.values():
        if model.id in embedded.problems:
            return None, embedded.problems[model.id]
    counts = {item.id: item.chunk_count for item in scope}
    if asked.conditions:
        counts = await vectors.visible_under(connection, principal, counts, asked.conditions, request.filters)
    elif request.filters:
        counts = await vectors.visible(connection, list(counts), request.filters, enough)
    searched = tuple(Searched(item.id, counts[item.id], serving[item.id]) for item in scope)
    return VectorQuery(searched, embedded.vectors, request.filters or None, asked.conditions), None


def _one_per_document(fused: Sequence[Fused], documents: Mapping[UUID, UUID]) -> list[Fused]:
    best: dict[UUID, Fused] = {}
    for item in fused:
        best.setdefault(documents[item.passage_id], item)
    return list(best.values())


async def fetch(
    connection: Any, principal: Principal, best: Sequence[Fused], legs: Mapping[Leg, LegResult]
) -> list[Passage]:
    """The passages whole, in this order."""
    chunks = {hit.passage_id: hit.chunk_id for leg in legs.values() for hit in leg.hits if hit.chunk_id}
    rows = await passages.fetch(connection, principal, {item.passage_id: chunks.get(item.passage_id) for item in best})
    return [
        replace(rows[item.passage_id], score=item.score, ranks=item.ranks) for item in best if item.passage_id in rows
    ]
