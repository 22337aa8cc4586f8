"""The way for every search: scope, each retriever, the passages, statement by statement in one snapshot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import structlog

from cairn.domain.document import Collection
from cairn.domain.passage import Fused, Leg, LegResult, Passage
from cairn.domain.principal import Principal
from cairn.errors import NotFoundError, named_reason
from cairn.retrieve import graph, lexical, vector
from cairn.retrieve.context import CollectionState, Executed, Reason, Retrieved, SearchContext
from cairn.retrieve.fuse import add_graph, fuse
from cairn.retrieve.vector import ServedCollection
from cairn.store import collections, passages, vectors
from cairn.store.session import savepoint
from cairn.store.vectors import EmbeddingModel

T = TypeVar("T")
log = structlog.get_logger(__name__)

MAX_DEPTH = 5000  # bound: tests/unit/test_edges_retrieve.py
"""Passages per retriever beyond which grouping by document stops looking deeper."""


@dataclass(frozen=True, slots=True)
class _Failure:
    reason: str


async def retrieve(context: SearchContext, *, isolated: bool) -> Executed:
    """Everything that reads the database, in one snapshot. `isolated`: each retriever in a savepoint, so that one that
    fails leaves the snapshot to the others, for two more round trips each; without, it ends the attempt.

    Reasons to go again: VECTORS_MISSING, before any retriever runs; RETRIEVER_FAILED. Raises NotFoundError for unknown
    collections, DatabaseUnavailableError, QueryTimeoutError.
    """
    config = {"statement_timeout": str(context.settings.retrieve.statement_timeout_ms)}
    async with context.deps.database.transaction(
        context.principal, readonly=True, isolation="repeatable_read", config=config
    ) as connection:
        named = await _named_collections(connection, context)
        served, blocked = await _served_collections(connection, context, named)
        if blocked.retry:
            return blocked
        scope = [CollectionState(item.id, item.name, item.epoch, item.passage_count) for item, _ in named]
        executed = await _run_text(connection, context, scope, served, isolated=isolated)
        if "graph" in context.legs and not executed.retry:
            executed = await _run_graph(connection, context, executed, isolated=isolated)
        if executed.found is None:
            return executed
        found = await _with_passages(connection, context, executed.found)
    return Executed(found, {**executed.failed, **blocked.failed})


# --- what is searched -------------------------------------------------------------------------------------------------


def unknown_collections(names: Iterable[str]) -> NotFoundError:
    listed = ", ".join(sorted(names))
    return NotFoundError(f"no collection named {listed}; create it by adding documents, or see GET /collections")


async def _named_collections(connection: Any, context: SearchContext) -> list[tuple[Collection, int]]:
    names = context.request.collections
    found = await collections.to_search(connection, context.principal, names)
    if missing := set(names) - {collection.name for collection, _ in found}:
        raise unknown_collections(missing)
    return found


async def _served_collections(
    connection: Any, context: SearchContext, named: Sequence[tuple[Collection, int]]
) -> tuple[Sequence[ServedCollection], Executed]:
    """What the vector retriever searches; nothing where it does not run, and then why it cannot, if that is the reason."""
    if "vector" not in context.legs:
        return (), Executed()
    searched = [item for item, _ in named]
    serving = await _serving_models(connection, context, searched)
    if not serving:
        return (), Executed(failed={"vector": f"there is no embedding model {context.request.model}; see GET /models"})
    if missing := context.vectors.missing(serving.values()):
        return (), Executed(retry=Reason.VECTORS_MISSING, models=missing)
    for model in serving.values():
        if model.id in context.vectors.problems:
            return (), Executed(failed={"vector": context.vectors.problems[model.id]})
    counts = await _visible_chunks(connection, context, searched)
    return [ServedCollection(item.id, counts[item.id], serving[item.id], chunks) for item, chunks in named], Executed()


async def _serving_models(
    connection: Any, context: SearchContext, named: Sequence[Collection]
) -> dict[UUID, EmbeddingModel]:
    """The model whose vectors are compared in each collection; empty where the one that was requested is not registered."""
    if context.request.model is not None:
        requested = await vectors.model(connection, context.request.model)
        return dict.fromkeys((item.id for item in named), requested) if requested else {}
    default = context.deps.model
    known = {default.id: default}
    if others := {item.model_id for item in named if item.model_id is not None} - known.keys():
        known |= await vectors.models(connection, others)
    for item in named:
        if item.model_id:
            context.deps.serving.note(context.principal, item.name, known[item.model_id])
    return {item.id: known[item.model_id] if item.model_id else default for item in named}


async def _visible_chunks(connection: Any, context: SearchContext, named: Sequence[Collection]) -> Mapping[UUID, int]:
    """Chunks that filters and conditions leave, by collection."""
    counts, filters = {item.id: item.chunk_count for item in named}, context.request.filters
    if context.conditions:
        return await vectors.count_chunks_under(connection, context.principal, counts, context.conditions, filters)
    if filters:
        return await vectors.count_visible_chunks(
            connection, list(counts), filters, context.settings.vector.exact_below
        )
    return counts


# --- the retrievers ---------------------------------------------------------------------------------------------------


async def _run_text(
    connection: Any,
    context: SearchContext,
    scope: Sequence[CollectionState],
    served: Sequence[ServedCollection],
    *,
    isolated: bool,
) -> Executed:
    """The retrievers that look for the query itself; deeper, where too few documents are among their passages."""
    depth = 3 * context.request.top_k
    searches: dict[Leg, Callable[[int], Awaitable[LegResult]]] = {
        "vector": partial(vector.search, connection, context, served),
        "lexical": partial(lexical.search, connection, context, scope),
    }
    running = [leg for leg in context.legs if leg in searches and (served or leg != "vector")]
    while True:
        legs: dict[Leg, LegResult] = {}
        failed: dict[Leg, str] = {}
        for leg in running:
            result = await _run(connection, context, leg, partial(searches[leg], depth), isolated=isolated)
            if isinstance(result, LegResult):
                legs[leg] = result
            elif isolated:
                failed[leg] = result.reason
            else:
                return Executed(retry=Reason.RETRIEVER_FAILED)
        found = Retrieved(scope, legs, fuse(legs, context.fusion, context.settings))
        if _deep_enough(context, found, depth):
            return Executed(found, failed)
        depth *= 4


def _deep_enough(context: SearchContext, found: Retrieved, depth: int) -> bool:
    if context.request.group_by == "passage" or depth >= MAX_DEPTH:
        return True
    exhausted = all(result.complete for result in found.legs.values())
    return exhausted or len(_best_per_document(found)) >= context.request.top_k


async def _run_graph(connection: Any, context: SearchContext, text: Executed, *, isolated: bool) -> Executed:
    """What the other retrievers found, with what the graph adds to that."""
    assert text.found is not None
    work = partial(graph.search, connection, context, text.found.scope, text.found.fused)
    result = await _run(connection, context, "graph", work, isolated=isolated)
    if not isinstance(result, _Failure):
        return replace(text, found=add_graph(context, text.found, result.result, result.entities))
    if not isolated:
        return Executed(retry=Reason.RETRIEVER_FAILED)
    return replace(text, failed={**text.failed, "graph": result.reason})


async def _run(
    connection: Any, context: SearchContext, leg: Leg, work: Callable[[], Awaitable[T]], *, isolated: bool
) -> T | _Failure:
    """What a retriever found, or why it failed. Raises what a lost connection raises: nothing else could run either."""
    try:
        async with savepoint(connection) if isolated else nullcontext():
            return await context.stopwatch.measure(leg, work())
    except Exception as error:
        if connection.is_closed():
            raise
        if isolated:
            log.exception("search.leg_failed", leg=leg)
        return _Failure(named_reason(error))


# --- passages ---------------------------------------------------------------------------------------------------------


async def _with_passages(connection: Any, context: SearchContext, found: Retrieved) -> Retrieved:
    candidates = _best_per_document(found) if context.request.group_by == "document" else found.fused
    work = fetch_passages(connection, context.principal, candidates[: context.whole], found.legs)
    return replace(found, candidates=candidates, shortlist=await context.stopwatch.measure("fetch", work))


def _best_per_document(found: Retrieved) -> list[Fused]:
    best: dict[UUID, Fused] = {}
    documents = found.documents_by_passage()
    for item in found.fused:
        best.setdefault(documents[item.passage_id], item)
    return list(best.values())


async def fetch_passages(
    connection: Any, principal: Principal, best: Sequence[Fused], legs: Mapping[Leg, LegResult]
) -> list[Passage]:
    """The passages whole, in this order."""
    chunks = {hit.passage_id: hit.chunk_id for result in legs.values() for hit in result.hits if hit.chunk_id}
    rows = await passages.fetch(connection, principal, {item.passage_id: chunks.get(item.passage_id) for item in best})
    return [
        replace(rows[item.passage_id], score=item.score, ranks=item.ranks) for item in best if item.passage_id in rows
    ]
