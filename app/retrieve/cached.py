"""Search with the retrieval cache before it and behind it: look up -> embed -> (similar) -> search -> store.

A cache that does not work never fails a search: it is reported in `degraded`, and the search goes on (W7).
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

import structlog

from app.domain.cache import CacheAddress, CacheCounts
from app.domain.ids import new_id
from app.domain.passage import SearchRequest, SearchResult
from app.domain.principal import Principal
from app.retrieve.cache import address, normalise_query, storable
from app.retrieve.guards import reordered
from app.retrieve.operators import parse_operators
from app.retrieve.rerank import wanted
from app.retrieve.search import Embedded, Retriever, embed_query, search
from app.retrieve.stopwatch import Stopwatch
from app.settings import Settings
from app.store import cache

T = TypeVar("T")
log = structlog.get_logger(__name__)

_QUICKLY = {"statement_timeout": "1000"}
"""A cache that makes a search wait longer (ms) is none."""


@dataclass(frozen=True, slots=True)
class _Search:
    """One search on its way through the cache. `problems` collects what did not work."""

    retriever: Retriever
    principal: Principal
    request: SearchRequest
    settings: Settings
    run_id: UUID
    stopwatch: Stopwatch
    problems: list[str]


async def cached_search(
    retriever: Retriever,
    principal: Principal,
    request: SearchRequest,
    settings: Settings,
    run_id: UUID | None = None,
    *,
    answering: bool = False,
    strategy: str = "search",
    routed: bool = False,
) -> SearchResult:
    """Like `search`, from the cache where the same was searched before and nothing has changed since.

    `strategy` is part of the key (A7.02). `routed`: the caller brings a route of its own, which bypasses the cache
    like filters do (A7.03); so does `request.cache` False, which uses no query embeddings either. Raises what `search`
    raises.
    """
    asked = _Search(retriever, principal, request, settings, run_id or new_id(), Stopwatch(), [])
    if not request.cache:
        _bypassed(asked)
        return await search(retriever, principal, request, settings, asked.run_id, answering=answering)
    if request.filters or routed or not settings.cache.enabled:
        _bypassed(asked)
        return await _searched(asked, await _embedded(asked), answering)
    where = _address(asked, answering, strategy)
    if (hit := await _attempt(asked, "look-up", asked.stopwatch.measure("cache", _exact(asked, where)))) is not None:
        return _hit(asked, hit, where.key)
    embedded = await _embedded(asked)
    if (near := await _attempt(asked, "semantic look-up", _similar(asked, where, embedded))) is not None:
        return _hit(asked, near.result, near.key)
    retriever.ledger.count(principal, CacheCounts(misses=1))
    result = await _searched(asked, embedded, answering)
    if storable(result):
        await _attempt(asked, "storing", asked.stopwatch.measure("store", _store(asked, where, result, embedded)))
    return _finished(asked, result)


def _bypassed(asked: _Search) -> None:
    if asked.settings.cache.enabled:
        asked.retriever.ledger.count(asked.principal, CacheCounts(bypassed=1))


def _address(asked: _Search, answering: bool, strategy: str) -> CacheAddress:
    choice = asked.retriever.reranker.get(asked.settings)
    runs = choice.reranker is not None and wanted(choice, asked.request, asked.settings, answering=answering)
    return address(
        asked.principal, asked.request, asked.settings, model_id=asked.retriever.model.id,
        reranker=choice.reranker.name if choice.reranker and runs else None, strategy=strategy, answering=answering,
    )  # fmt: skip


async def _exact(asked: _Search, where: CacheAddress) -> SearchResult | None:
    async with asked.retriever.database.connection() as connection:
        return await cache.look_up(connection, asked.principal, where, asked.settings.cache, asked.run_id)


async def _similar(asked: _Search, where: CacheAddress, embedded: Embedded) -> cache.Similar | None:
    if not asked.settings.cache.semantic or embedded.vector is None or parse_operators(asked.request.query).conditions:
        return None  # operators do not show in the vector
    async with asked.retriever.database.transaction(asked.principal, readonly=True, config=_QUICKLY) as connection:
        found = await cache.look_up_similar(
            connection, asked.principal, where, embedded.vector, asked.settings.cache, asked.run_id
        )
    query = normalise_query(asked.request.query)
    return next((entry for entry in found if not reordered(entry.query, query)), None)


def _hit(asked: _Search, result: SearchResult, key: str) -> SearchResult:
    assert result.hit is not None
    semantic = result.hit.similarity is not None
    asked.retriever.ledger.count(asked.principal, CacheCounts(hits=1, semantic_hits=int(semantic)))
    asked.retriever.ledger.use(asked.principal, key)
    return _finished(asked, result)


async def _searched(asked: _Search, embedded: Embedded, answering: bool) -> SearchResult:
    result = await search(
        asked.retriever, asked.principal, asked.request, asked.settings, asked.run_id, answering=answering,
        embedded=embedded,
    )  # fmt: skip
    return _finished(asked, result)


async def _store(asked: _Search, where: CacheAddress, result: SearchResult, embedded: Embedded) -> None:
    plain = not parse_operators(asked.request.query).conditions
    vector = embedded.vector if asked.settings.cache.semantic and plain else None
    await asked.retriever.ledger.settle(asked.principal)
    async with asked.retriever.database.transaction(
        asked.principal, config={**_QUICKLY, "synchronous_commit": "off"}
    ) as connection:
        await cache.store(connection, asked.principal, where, result, vector, asked.settings.cache)


async def _embedded(asked: _Search) -> Embedded:
    """The query's vector, from the cache of query embeddings where it is known."""
    if "vector" not in asked.request.legs:
        return Embedded()
    known, capacity = asked.retriever.embeddings, asked.settings.cache.query_embeddings
    text, model = asked.request.query, asked.retriever.model
    found = await _attempt(asked, "query embeddings", known.get(asked.principal, model, text, capacity))
    if found is not None:
        return Embedded(found)
    made = await embed_query(asked.retriever, asked.request, asked.stopwatch)
    if made.vector is not None:
        known.put(asked.principal, model, text, made.vector, capacity)
    return made


async def _attempt(asked: _Search, what: str, work: Awaitable[T]) -> T | None:
    """None and a problem where the cache does not work."""
    try:
        return await work
    except Exception as error:
        log.exception("cache.failed", step=what)
        asked.problems.append(f"cache: {what} failed ({type(error).__name__}: {error})")
        return None


def _finished(asked: _Search, result: SearchResult) -> SearchResult:
    """With the time since the beginning, and what did not work so far."""
    degraded = tuple(dict.fromkeys((*result.degraded, *asked.problems)))
    return replace(result, timings_ms={**result.timings_ms, **asked.stopwatch.timings()}, degraded=degraded)
