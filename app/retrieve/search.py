"""The read path on one screen: scope -> legs -> fuse -> fetch -> rerank -> trace.

A leg or reranker that fails never fails the search and is never hidden: it stands in `legs_failed` or `degraded`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app.domain.collection import Collection
from app.domain.condition import Conditions
from app.domain.ids import new_id
from app.domain.passage import Fused, Leg, LegResult, Passage, SearchRequest, SearchResult
from app.domain.principal import Principal
from app.errors import DatabaseUnavailableError, NotFoundError
from app.providers.protocols import Embedder, Embedders
from app.retrieve.fuse import reciprocal_rank_fusion, relative_score_fusion
from app.retrieve.legs import LegQuery, run_legs
from app.retrieve.operators import parse_operators
from app.retrieve.query_vectors import NeedsVectorsError, QueryVectors
from app.retrieve.rerank import Rerankers, relevant, rerank, wanted
from app.retrieve.stopwatch import Stopwatch
from app.retrieve.trace import leg_traces
from app.retrieve.vector import Searched, VectorQuery
from app.settings import Settings
from app.store import collections, passages, vectors
from app.store.cache_ledger import CacheLedger
from app.store.query_embeddings import QueryEmbeddings
from app.store.session import Database

MAX_DEPTH = 5000
"""Passages per leg beyond which grouping by document stops looking deeper."""


@dataclass(frozen=True, slots=True)
class Retriever:
    """What a search works with. `embedder` and `model` are those of the settings, which serve new collections; others are
    had from `embedders` by name. `reranker` is chosen anew for each state of the settings.

    `ledger` serves `cached_search`; `embeddings` keeps vectors of queries.
    """

    database: Database
    embedder: Embedder
    model: vectors.EmbeddingModel
    reranker: Rerankers
    ledger: CacheLedger
    embeddings: QueryEmbeddings
    embedders: Embedders

    def embedder_of(self, model: vectors.EmbeddingModel) -> Embedder:
        """Raises ProviderError or SettingsError when it cannot be had."""
        return self.embedder if model.id == self.model.id else self.embedders.get(model.name)


@dataclass(frozen=True, slots=True)
class _Found:
    """What the snapshot gave: fused candidates, fetched passages, and how the legs did."""

    scope: Sequence[Collection]
    fused: list[Fused]
    documents: Mapping[UUID, UUID]
    legs: Mapping[Leg, LegResult]
    failed: Mapping[Leg, str]
    shortlist: list[Passage]


async def search(
    retriever: Retriever,
    principal: Principal,
    request: SearchRequest,
    settings: Settings,
    run_id: UUID | None = None,
    *,
    answering: bool = False,
    embedded: QueryVectors | None = None,
) -> SearchResult:
    """Passages for a query, best first. `answering`: an answer will be made of them, so a slow reranker may run.

    `embedded`: vectors of the query that the caller has already.

    Raises NotFoundError for an unknown collection, DatabaseUnavailableError when no leg could answer, QueryTimeoutError.
    """
    stopwatch = Stopwatch()
    embedded = embedded or QueryVectors(retriever, principal, request, settings)
    parsed = parse_operators(request.query)
    request = replace(request, query=parsed.text)
    found = await _embed_and_retrieve(retriever, principal, request, parsed.conditions, settings, embedded, stopwatch)
    failed = found.failed
    if failed and not found.legs:
        reasons = "; ".join(f"{leg}: {reason}" for leg, reason in failed.items())
        raise DatabaseUnavailableError(f"no retrieval leg could answer ({reasons})")
    shortlist, degraded = found.shortlist, tuple(f"leg {leg} failed: {why}" for leg, why in failed.items())
    degraded += tuple(embedded.degraded)
    candidates, choice, reranker = shortlist, retriever.reranker.get(settings), None
    if shortlist and wanted(choice, request, settings, answering=answering):
        done = await stopwatch.measure("rerank", rerank(choice, request, shortlist, settings.retrieve))
        shortlist = candidates = done.passages
        reranker = done.reranker
        if done.problem:
            degraded += (done.problem,)
            candidates = relevant(shortlist, settings.retrieve) if answering and not done.reranker else shortlist
    kept = tuple(candidates[: request.top_k])
    return SearchResult(
        passages=tuple(map(_chunk_only, kept)) if not request.expand_parents else kept,
        trace_id=run_id or new_id(),
        legs_used=tuple(found.legs),
        legs_failed=failed,
        exact=all(result.exact for result in found.legs.values()),
        degraded=degraded,
        timings_ms=stopwatch.timings(),
        confidence={leg: round(result.confidence, 4) for leg, result in found.legs.items()},
        epochs={collection.name: collection.epoch for collection in found.scope},
        snapshot={collection.id: collection.epoch for collection in found.scope},
        visible_passages=sum(collection.passage_count for collection in found.scope),
        reranker=reranker,
        legs=leg_traces(found.legs, found.fused, found.documents, shortlist, kept),
        how={leg: result.how for leg, result in found.legs.items() if result.how},
    )


async def _embed_and_retrieve(
    retriever: Retriever,
    principal: Principal,
    request: SearchRequest,
    conditions: Conditions | None,
    settings: Settings,
    embedded: QueryVectors,
    stopwatch: Stopwatch,
) -> _Found:
    """Almost always one pass: only collections that another model than the settings' serves take a second."""
    if "vector" in request.legs and request.model is None and not embedded.knows(retriever.model):
        await embedded.add([retriever.model], stopwatch)
    while True:
        try:
            return await _retrieve(retriever, principal, request, conditions, settings, embedded, stopwatch)
        except NeedsVectorsError as need:
            await embedded.add(need.models, stopwatch)


async def _retrieve(
    retriever: Retriever,
    principal: Principal,
    request: SearchRequest,
    conditions: Conditions | None,
    settings: Settings,
    embedded: QueryVectors,
    stopwatch: Stopwatch,
) -> _Found:
    """Everything that reads the database, in one snapshot. Raises NeedsVectorsError before it runs a leg."""
    config = {"statement_timeout": str(settings.retrieve.statement_timeout_ms)}
    async with retriever.database.transaction(
        principal, readonly=True, isolation="repeatable_read", config=config
    ) as connection:
        scope = await _scope(connection, principal, request)
        ids = [collection.id for collection in scope]
        vector, problem = await _vector_query(
            connection, retriever, principal, request, conditions, scope, embedded, settings.vector.exact_below
        )
        query = LegQuery(request, ids, vector, conditions)
        depth = 3 * request.top_k
        while True:
            legs, failed = await run_legs(connection, principal, query, depth, settings, stopwatch)
            documents = {hit.passage_id: hit.document_id for leg in legs.values() for hit in leg.hits}
            fused = _fuse(legs, settings)
            candidates = _one_per_document(fused, documents) if request.group_by == "document" else fused
            exhausted = all(len(leg.hits) < depth for leg in legs.values())
            if len(candidates) >= request.top_k or exhausted or depth >= MAX_DEPTH or request.group_by == "passage":
                break
            depth *= 4
        shortlist = candidates[: max(request.top_k, settings.retrieve.rerank_candidates)]
        fetched = await stopwatch.measure("fetch", _fetch(connection, principal, shortlist, legs))
    return _Found(scope, fused, documents, legs, {**failed, **({"vector": problem} if problem else {})}, fetched)


async def _vector_query(
    connection: Any,
    retriever: Retriever,
    principal: Principal,
    request: SearchRequest,
    conditions: Conditions | None,
    scope: Sequence[Collection],
    embedded: QueryVectors,
    enough: int,
) -> tuple[VectorQuery | None, str | None]:
    """What the vector leg looks for, or why it cannot. `enough`: chunks beyond which it need not know how many there are."""
    if "vector" not in request.legs:
        return None, None
    known = {retriever.model.id: retriever.model}
    default = retriever.model
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
    if conditions:
        counts = await vectors.visible_under(connection, principal, counts, conditions, request.filters)
    elif request.filters:
        counts = await vectors.visible(connection, list(counts), request.filters, enough)
    searched = tuple(Searched(item.id, counts[item.id], serving[item.id]) for item in scope)
    return VectorQuery(searched, embedded.vectors, request.filters or None, conditions), None


async def _scope(connection: Any, principal: Principal, request: SearchRequest) -> list[Collection]:
    found = await collections.by_names(connection, principal, request.collections)
    missing = set(request.collections) - {collection.name for collection in found}
    if missing:
        names = ", ".join(sorted(missing))
        raise NotFoundError(f"no collection named {names}; create it by adding documents, or see GET /collections")
    return found


def _fuse(legs: Mapping[Leg, LegResult], settings: Settings) -> list[Fused]:
    share = settings.rag.hybrid_search_weight
    weights: dict[Leg, float] = {"vector": share, "lexical": 1 - share} if len(legs) > 1 else {}
    if settings.retrieve.fusion == "rrf":
        return reciprocal_rank_fusion(legs, weights, settings.retrieve.rrf_k)
    return relative_score_fusion(legs, weights)


def _one_per_document(fused: Sequence[Fused], documents: Mapping[UUID, UUID]) -> list[Fused]:
    best: dict[UUID, Fused] = {}
    for item in fused:
        best.setdefault(documents[item.passage_id], item)
    return list(best.values())


async def _fetch(
    connection: Any, principal: Principal, shortlist: Sequence[Fused], legs: Mapping[Leg, LegResult]
) -> list[Passage]:
    chunks = {hit.passage_id: hit.chunk_id for leg in legs.values() for hit in leg.hits if hit.chunk_id}
    wanted = {item.passage_id: chunks.get(item.passage_id) for item in shortlist}
    rows = await passages.fetch(connection, principal, wanted)
    return [
        replace(rows[item.passage_id], score=item.score, ranks=item.ranks)
        for item in shortlist
        if item.passage_id in rows
    ]


def _chunk_only(passage: Passage) -> Passage:
    """The matched chunk in place of its passage, where the vector leg found one."""
    if passage.matched is None:
        return passage
    start, end = passage.matched
    content = passage.content[start - passage.start : end - passage.start]
    return replace(passage, content=content, start=start, end=end)
