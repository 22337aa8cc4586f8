"""Search with the retrieval cache before it and behind it: look up -> embed -> (similar) -> search -> store.

A cache that does not work never fails a search: it is reported in `degraded`, and the search goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

import structlog
from pgvector import HalfVector

from app.domain.ids import new_id
from app.domain.passage import CacheAddress, CacheCounts, SearchRequest, SearchResult
from app.domain.principal import Principal
from app.retrieve.cache import address, normalise_query, storable
from app.retrieve.guards import reordered
from app.retrieve.operators import parse_operators
from app.retrieve.query_vectors import QueryVectors
from app.retrieve.rerank import wanted
from app.retrieve.search import Retriever, search
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


@dataclass(frozen=True, slots=True)
class _LookedUp:
    """Where the result belongs, and what is there. `alike`: the model of the settings serves all collections."""

    address: CacheAddress
    found: SearchResult | None
    alike: bool


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

    `strategy` is part of the key. `routed`: the caller brings a route of its own, which bypasses the cache
    like filters do; so does `request.model`, because its vectors may still be in the making, and `request.cache`
    False, which uses no query embeddings either. Raises what `search` raises.
    """
    asked = _Search(retriever, principal, request, settings, run_id or new_id(), Stopwatch(), [])
    if not request.cache:
        _bypassed(asked)
        return await search(retriever, principal, request, settings, asked.run_id, answering=answering)
    if request.filters or request.model or routed or not settings.cache.enabled:
        _bypassed(asked)
        return await _searched(asked, None, answering)
    looked = await _attempt(asked, "look-up", asked.stopwatch.measure("cache", _exact(asked, answering, strategy)))
    if looked is not None and looked.found is not None:
        return _hit(asked, looked.found, looked.address.key)
    embedded = await _embedded(asked, looked) if looked is not None else None
    if looked is not None and (vector := _vector(asked, embedded)) is not None:
        near = await _attempt(asked, "semantic look-up", _similar(asked, looked.address, vector))
        if near is not None:
            return _hit(asked, near.result, near.key)
    retriever.ledger.count(principal, CacheCounts(misses=1))
    result = await _searched(asked, embedded, answering)
    if looked is not None and storable(result):
        storing = _store(asked, looked.address, result, _vector(asked, embedded))
        await _attempt(asked, "storing", asked.stopwatch.measure("store", storing))
    return _finished(asked, result)


def _bypassed(asked: _Search) -> None:
    if asked.settings.cache.enabled:
        asked.retriever.ledger.count(asked.principal, CacheCounts(bypassed=1))


def _address(asked: _Search, answering: bool, strategy: str, serving: Sequence[int]) -> CacheAddress:
    choice = asked.retriever.reranker.get(asked.settings)
    runs = choice.reranker is not None and wanted(choice, asked.request, asked.settings, answering=answering)
    return address(
        asked.principal, asked.request, asked.settings, model_id=asked.retriever.model.id, serving=serving,
        reranker=choice.reranker.name if choice.reranker and runs else None, strategy=strategy, answering=answering,
    )  # fmt: skip


async def _exact(asked: _Search, answering: bool, strategy: str) -> _LookedUp:
    """One statement where the model of the settings serves all collections, as it nearly always does; else two."""
    default, settings = asked.retriever.model.id, asked.settings.cache
    serving = [default] * len(set(asked.request.collections))
    async with asked.retriever.database.connection() as connection:
        while True:
            where = _address(asked, answering, strategy, serving)
            models, found = await cache.look_up(connection, asked.principal, where, settings, asked.run_id)
            really = [model or default for model in models]
            if really == serving or len(models) < len(serving):  # a collection that is not there has no results
                return _LookedUp(where, found, set(really) <= {default})
            serving = really


async def _similar(asked: _Search, where: CacheAddress, vector: HalfVector) -> cache.Similar | None:
    async with asked.retriever.database.transaction(asked.principal, readonly=True, config=_QUICKLY) as connection:
        found = await cache.look_up_similar(
            connection, asked.principal, where, vector, asked.settings.cache, asked.run_id
        )
    query = normalise_query(asked.request.query)
    return next((entry for entry in found if not reordered(entry.query, query)), None)


def _hit(asked: _Search, result: SearchResult, key: str) -> SearchResult:
    assert result.hit is not None
    semantic = result.hit.similarity is not None
    asked.retriever.ledger.count(asked.principal, CacheCounts(hits=1, semantic_hits=int(semantic)))
    asked.retriever.ledger.use(asked.principal, key)
    return _finished(asked, result)


async def _searched(asked: _Search, embedded: QueryVectors | None, answering: bool) -> SearchResult:
    result = await search(
        asked.retriever, asked.principal, asked.request, asked.settings, asked.run_id, answering=answering,
        embedded=embedded,
    )  # fmt: skip
    return _finished(asked, result)


async def _store(asked: _Search, where: CacheAddress, result: SearchResult, vector: HalfVector | None) -> None:
    await asked.retriever.ledger.settle(asked.principal)
    async with asked.retriever.database.transaction(
        asked.principal, config={**_QUICKLY, "synchronous_commit": "off"}
    ) as connection:
        await cache.store(connection, asked.principal, where, result, vector, asked.settings.cache)


async def _embedded(asked: _Search, looked: _LookedUp) -> QueryVectors | None:
    """The query's vector under the model of the settings, where the semantic level can use it."""
    request, settings = asked.request, asked.settings
    if not settings.cache.semantic or "vector" not in request.legs or not looked.alike:
        return None
    if parse_operators(request.query).conditions:
        return None  # operators do not show in the vector
    embedded = QueryVectors(asked.retriever, asked.principal, request, settings)
    await embedded.add([asked.retriever.model], asked.stopwatch)
    return embedded


def _vector(asked: _Search, embedded: QueryVectors | None) -> HalfVector | None:
    return embedded.vectors.get(asked.retriever.model.id) if embedded else None


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
