"""The retrieval cache: what it did, and emptying it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from app.api.models import COLLECTION_EXAMPLE, example
from app.api.running import ServicesDep, TypedRoute
from app.service import search

router = APIRouter(tags=["cache"], route_class=TypedRoute)


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
    model_config = example({"removed": 12})

    removed: int


@router.get("/cache", summary="What the retrieval cache did")
async def get_cache(services: ServicesDep) -> CacheOut:
    """Counts of the tenant over all processes and restarts; those of other processes are up to a second old."""
    settings, stats = services.settings.current.cache, await search.get_cache_stats(services)
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


@router.delete("/cache", summary="Empty the retrieval cache")
async def clear_cache(
    services: ServicesDep,
    collection: Annotated[
        str | None, Query(max_length=200, description="Only what was found in it.", examples=[COLLECTION_EXAMPLE])
    ] = None,
) -> ClearedOut:
    """Never needed for fresh results: entries of a changed collection do not answer. Counts are kept."""
    return ClearedOut(removed=await search.clear_cache(services, collection))
