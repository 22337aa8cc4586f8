"""Keys of the retrieval cache. Pure: what decides a result is in the key, so that equal keys mean equal searches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, TypeVar
from uuid import UUID

import structlog
from pgvector import HalfVector

from app.domain.ids import new_id
from app.domain.passage import CacheAddress, CacheCounts, SearchRequest, SearchResult
from app.domain.principal import Principal
from app.language.identifiers import identifier_terms
from app.retrieve.context import SearchDeps, Stopwatch
from app.retrieve.embed import QueryVectors
from app.retrieve.graph import question_keys
from app.retrieve.guards import guards, reordered
from app.retrieve.operators import parse_operators
from app.retrieve.rerank import wants_reranking
from app.retrieve.search import search
from app.settings import Settings
from app.store import cache

FORMAT = 3
"""Of keys and stored results: one more when either changes its meaning, so that old entries are never read."""
_TRAILING = "?.!,;: "


def normalise_query(query: str) -> str:
    """Lower case, single spaces, no trailing ?.!,;:; no stemming, no stop words.

    A query of nothing but such signs stays as it is: all of them would be the same otherwise.
    """
    words = " ".join(query.lower().split())
    return words.rstrip(_TRAILING) or words


def address(
    principal: Principal,
    request: SearchRequest,
    settings: Settings,
    *,
    model_id: int,
    serving: Sequence[int] = (),
    reranker: str | None,
    strategy: str,
    answering: bool,
) -> CacheAddress:
    """Where the result of this search belongs.

    The key is CogniDoc's (query, top_k, reranking, strategy) with what it lacks: tenant, collections, embedding
    models, settings revision, legs, grouping, expansion and reranker. `reranker` is the name of the one that will run,
    `serving` the ids of the models whose vectors are compared in each collection. Epochs are no part of it: they are
    compared when the entry is read. Parts of identifiers and names stand beside the query, because the lexical leg takes
    `getUserName` for more words than `getusername`, and the graph leg Turkey for another thing than turkey.
    """
    query = normalise_query(request.query)
    names = tuple(sorted(set(request.collections)))
    rest = [
        FORMAT, principal.tenant_id, request.top_k, request.rerank, reranker, strategy, answering, names, model_id,
        settings.revision, sorted(set(request.legs)), request.group_by, request.expand_parents,
        request.model, list(serving), request.explicit, request.weights and astuple(request.weights),
    ]  # fmt: skip
    named = question_keys(request.query) if "graph" in request.legs else ()
    return CacheAddress(
        key=_digest([query, identifier_terms(request.query), named, *rest]),
        scope=_digest(rest),
        query=query,
        guards=guards(request.query),
        collections=names,
    )


def storable(result: SearchResult) -> bool:
    """Only what everything worked for: a failed leg or reranker may work the next time."""
    return not result.legs_failed and not result.degraded and bool(result.snapshot)


def _digest(parts: list[Any]) -> str:
    """As JSON, so that no part can run into the next one."""
    return hashlib.md5(json.dumps(parts).encode(), usedforsecurity=False).hexdigest()


# --- Search with the retrieval cache before it and behind it: look up -> embed -> (similar) -> search -> stor ---

T = TypeVar("T")
log = structlog.get_logger(__name__)

_QUICKLY = {"statement_timeout": "1000"}
"""A cache that makes a search wait longer (ms) is none."""


@dataclass(frozen=True, slots=True)
class _Search:
    """One search on its way through the cache. `problems` collects what did not work."""

    deps: SearchDeps
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
    deps: SearchDeps,
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
    asked = _Search(deps, principal, request, settings, run_id or new_id(), Stopwatch(), [])
    if not request.cache:
        _bypassed(asked)
        return await search(deps, principal, request, settings, asked.run_id, answering=answering)
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
    deps.ledger.count(principal, CacheCounts(misses=1))
    result = await _searched(asked, embedded, answering)
    if looked is not None and storable(result):
        storing = _store(asked, looked.address, result, _vector(asked, embedded))
        await _attempt(asked, "storing", asked.stopwatch.measure("store", storing))
    return _finished(asked, result)


def _bypassed(asked: _Search) -> None:
    if asked.settings.cache.enabled:
        asked.deps.ledger.count(asked.principal, CacheCounts(bypassed=1))


def _address(asked: _Search, answering: bool, strategy: str, serving: Sequence[int]) -> CacheAddress:
    choice = asked.deps.reranker.get(asked.settings)
    runs = choice.reranker is not None and wants_reranking(
        choice, asked.settings, requested=asked.request.rerank, answering=answering
    )
    return address(
        asked.principal, asked.request, asked.settings, model_id=asked.deps.model.id, serving=serving,
        reranker=choice.reranker.name if choice.reranker and runs else None, strategy=strategy, answering=answering,
    )  # fmt: skip


async def _exact(asked: _Search, answering: bool, strategy: str) -> _LookedUp:
    """One statement where the model of the settings serves all collections, as it nearly always does; else two."""
    default, settings = asked.deps.model.id, asked.settings.cache
    serving = [default] * len(set(asked.request.collections))
    async with asked.deps.database.connection() as connection:
        while True:
            where = _address(asked, answering, strategy, serving)
            models, found = await cache.look_up(connection, asked.principal, where, settings, asked.run_id)
            really = [model or default for model in models]
            if really == serving or len(models) < len(serving):  # a collection that is not there has no results
                return _LookedUp(where, found, set(really) <= {default})
            serving = really


async def _similar(asked: _Search, where: CacheAddress, vector: HalfVector) -> cache.Similar | None:
    async with asked.deps.database.transaction(asked.principal, readonly=True, config=_QUICKLY) as connection:
        found = await cache.look_up_similar(
            connection, asked.principal, where, vector, asked.settings.cache, asked.run_id
        )
    query = normalise_query(asked.request.query)
    return next((entry for entry in found if not reordered(entry.query, query)), None)


def _hit(asked: _Search, result: SearchResult, key: str) -> SearchResult:
    assert result.hit is not None
    semantic = result.hit.similarity is not None
    asked.deps.ledger.count(asked.principal, CacheCounts(hits=1, semantic_hits=int(semantic)))
    asked.deps.ledger.use(asked.principal, key)
    return _finished(asked, result)


async def _searched(asked: _Search, embedded: QueryVectors | None, answering: bool) -> SearchResult:
    result = await search(
        asked.deps, asked.principal, asked.request, asked.settings, asked.run_id, answering=answering,
        embedded=embedded,
    )  # fmt: skip
    return _finished(asked, result)


async def _store(asked: _Search, where: CacheAddress, result: SearchResult, vector: HalfVector | None) -> None:
    await asked.deps.ledger.settle(asked.principal)
    async with asked.deps.database.transaction(
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
    embedded = QueryVectors(asked.deps, asked.principal, request, settings)
    await embedded.add([asked.deps.model], asked.stopwatch)
    return embedded


def _vector(asked: _Search, embedded: QueryVectors | None) -> HalfVector | None:
    return embedded.vectors.get(asked.deps.model.id) if embedded else None


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
