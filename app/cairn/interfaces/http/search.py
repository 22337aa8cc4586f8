"""Search: passages, and how they were found."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from cairn.domain.passage import FusionForm, Leg, Mode, SearchRequest, SearchResult
from cairn.domain.plan import WeightMode
from cairn.errors import InputError
from cairn.interfaces.http import problems
from cairn.interfaces.http.models import (
    COLLECTION_EXAMPLE,
    ID_EXAMPLE,
    PASSAGE_EXAMPLE,
    Body,
    Metadata,
    MinEpoch,
    PassageOut,
    example,
    passage_fields,
)
from cairn.interfaces.http.running import RunningDep, ServicesDep, TypedRoute, until_gone
from cairn.service import search as search_service
from cairn.service.epochs import least_epochs
from cairn.settings import Settings

router = APIRouter(route_class=TypedRoute)


class SearchBody(Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"query": "how many days of leave?", "collection": COLLECTION_EXAMPLE, "top_k": 5},
                {"query": "ERR_4012", "collections": [COLLECTION_EXAMPLE], "mode": "lexical",
                 "filters": {"team": "people"}, "group_by": "document"},
            ]
        },
    )  # fmt: skip

    query: str = Field(description="Words or a question; any text is fine, nothing in it is an operator.")
    collection: str | None = Field(None, description="Default: the setting rag.collectionName.")
    collections: Annotated[list[str], Field(min_length=1, max_length=50)] | None = Field(
        None, description="Several at once, in place of `collection`."
    )
    top_k: int = Field(10, ge=1, le=200)
    legs: Annotated[list[Leg], Field(min_length=1)] | None = Field(
        None,
        description="Default: vector, lexical and (graph.search) graph, which is followed where a question names something and "
        "goes through another one, or names several things; "
        "vector alone when rag.hybridSearchEnabled is off. Named here, the graph is asked about any query.",
    )
    mode: Mode | None = Field(
        None, description="Shorthand for `legs`; hybrid is the default, text the same without the graph."
    )
    fusion: FusionForm | None = Field(
        None,
        description="How the legs are merged: by scores relative to each leg's best, or by reciprocal ranks. "
        "Default: the setting retrieve.fusion.",
    )
    rerank: bool | None = Field(
        None,
        description="Default: rag.rerankingEnabled. Under rerankerProvider auto a chat model reranks only where this is true.",
    )
    filters: Metadata | None = Field(None, description="Only documents whose metadata contain this object.")
    group_by: Literal["passage", "document"] = Field("passage", description="document: the best passage of each.")
    expand_parents: bool = Field(True, description="false: the matched chunk's text where the vector leg found one.")
    model: str | None = Field(
        None, description="Search by the vectors of this embedding model instead of those that serve, to compare them."
    )
    min_epoch: MinEpoch = None
    cache: bool = Field(True, description="false: neither answered from the retrieval cache nor stored in it.")


class WeightsOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    text: float = Field(description="Of the vector and the lexical leg together.")
    graph: float
    legs: dict[Leg, float] = Field(description="What each leg counted; they sum to 1. One that did not run is missing.")
    mode: WeightMode = Field(description="ADAPTIVE: neither text nor graph was sure, so neither gave weight away.")
    fusion: FusionForm
    reason: str = Field(description="Why the graph was followed or not, and how much it counts.")
    classifier: str = Field(
        description="Who decided: names (what the query names), rules or a model (by the type of the question), caller, settings."
    )


class SearchOut(BaseModel):
    model_config = example(
        {
            "results": [PASSAGE_EXAMPLE], "legs_used": ["vector", "lexical"], "legs_failed": {}, "exact": True,
            "from_cache": False, "degraded": [], "reranker": None, "confidence": {"vector": 0.71, "lexical": 0.9},
            "weights": {"text": 1.0, "graph": 0.0, "legs": {"vector": 0.7, "lexical": 0.3}, "mode": "TEXT_ONLY",
                        "fusion": "relative_score", "reason": "the question names nothing that the graph could begin with",
                        "classifier": "names"},
            "timings_ms": {"embed": 6.1, "vector": 2.0, "lexical": 3.4, "total": 14.2}, "trace_id": ID_EXAMPLE,
            "epochs": {COLLECTION_EXAMPLE: 14}, "usage": {},
        }
    )  # fmt: skip

    results: list[PassageOut]
    legs_used: list[Leg]
    legs_failed: dict[Leg, str] = Field(description="Leg to reason; never hidden.")
    exact: bool = Field(description="Whether each leg looked at everything that it might have returned.")
    from_cache: bool = Field(description="Found by an earlier search; no collection has changed since.")
    degraded: list[str] = Field(description="What did not work as asked.")
    reranker: str | None = Field(description="What made the order, or null: the order is that of fusion.")
    confidence: dict[Leg, float] = Field(description="Per leg, 0 to 1.")
    weights: WeightsOut | None = Field(
        description="What each leg counted in the order, and why; null: nothing was searched."
    )
    timings_ms: dict[str, float]
    trace_id: UUID
    epochs: dict[str, int] = Field(description="State of each collection that was read.")
    usage: dict[str, Any] = Field(
        description="As of an answer: `by_purpose` has what hosted embedding and reranking cost; empty where none was called."
    )


@router.post("/search", tags=["search"], responses=problems.declare(409), summary="Search passages")
async def search_passages(body: SearchBody, request: Request, services: ServicesDep, running: RunningDep) -> SearchOut:
    """By meaning, by words, and by what the graph links with what they find; GET /traces/{trace_id} tells the details."""
    wanted = _request(body, services.settings.current)
    least = least_epochs(body.min_epoch, wanted.collections)
    result: SearchResult = await until_gone(request, search_service.run_search(services, wanted, least))
    running.metrics.stages(result.timings_ms)
    return SearchOut(**_fields(result))


def _request(body: SearchBody, settings: Settings) -> SearchRequest:
    return search_service.make_request(
        settings,
        body.query,
        _collections(body, settings),
        mode=body.mode,
        legs=body.legs or (),
        top_k=body.top_k,
        rerank=body.rerank,
        filters=body.filters,
        group_by=body.group_by,
        expand_parents=body.expand_parents,
        model=body.model,
        cache=body.cache,
        fusion=body.fusion,
    )


def _collections(body: SearchBody, settings: Settings) -> tuple[str, ...]:
    if body.collections is None:
        return (body.collection if body.collection is not None else settings.rag.collection_name,)
    if body.collection not in (None, *body.collections):
        raise InputError("`collection` and `collections` contradict each other; send one of them")
    return tuple(body.collections)


def _fields(result: SearchResult) -> dict[str, Any]:
    same = {name: getattr(result, name) for name in SearchOut.model_fields if name != "results"}
    return {**same, "results": [PassageOut(**passage_fields(passage)) for passage in result.passages]}


# --- the cache --------------------------------------------------------------------------------------------------------


class CacheOut(BaseModel):
    model_config = example(
        {
            "enabled": True, "size": 12, "capacity": 50, "ttl_seconds": 300, "hits": 30, "semantic_hits": 0,
            "misses": 12, "bypassed": 3, "hit_rate": 0.714, "semantic": False, "query_embeddings": 14,
        }
    )  # fmt: skip

    enabled: bool
    size: int = Field(description="Entries that can answer now.")
    capacity: int
    ttl_seconds: float
    hits: int = Field(description="Searches answered from the cache, semantic ones included.")
    semantic_hits: int = Field(description="Hits of nearly the same query.")
    misses: int
    bypassed: int = Field(description="Searches with filters or a route of their own, or that asked for no cache.")
    hit_rate: float | None = Field(description="hits / (hits + misses); null before the first search.")
    semantic: bool = Field(description="Whether nearly the same query is enough.")
    query_embeddings: int = Field(description="Stored embeddings of queries.")


class ClearedOut(BaseModel):
    model_config = example({"deleted": 12})

    deleted: int = Field(description="Entries.")


@router.get("/cache", tags=["cache"], summary="What the retrieval cache did")
async def get_cache(services: ServicesDep) -> CacheOut:
    """Counts of the tenant over all processes and restarts; those of other processes are up to a second old."""
    settings, stats = services.settings.current.cache, await search_service.get_cache_stats(services)
    return CacheOut(
        enabled=settings.enabled,
        size=stats.size,
        capacity=settings.capacity,
        ttl_seconds=settings.ttl_seconds,
        hits=stats.counts.hits,
        semantic_hits=stats.counts.semantic_hits,
        misses=stats.counts.misses,
        bypassed=stats.counts.bypassed,
        hit_rate=None if stats.hit_rate is None else round(stats.hit_rate, 4),
        semantic=settings.semantic,
        query_embeddings=stats.query_embeddings,
    )


@router.delete("/cache", tags=["cache"], summary="Empty the retrieval cache")
async def clear_cache(
    services: ServicesDep,
    collection: Annotated[
        str | None, Query(max_length=200, description="Only what was found in it.", examples=[COLLECTION_EXAMPLE])
    ] = None,
) -> ClearedOut:
    """Never needed for fresh results: entries of a changed collection do not answer. Counts are kept."""
    return ClearedOut(deleted=await search_service.clear_cache(services, collection))
