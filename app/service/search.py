"""Searching, its cache and its traces, once for all surfaces."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from app.domain.ids import new_id
from app.domain.passage import CacheStats, SearchRequest, SearchResult
from app.domain.trace import RunTrace
from app.errors import InputError, NotFoundError
from app.language.text import normalise
from app.retrieve.cache import cached_search
from app.retrieve.trace import sampled, search_trace, succeeded
from app.service.documents import get_collection
from app.settings import Settings
from app.store import cache, traces
from app.wiring import Services


def checked_text(text: str, settings: Settings) -> str:
    """A query or question, cleaned (NUL, lone surrogates). Raises InputError when it is empty or too long."""
    text = normalise(text).replace("\ufffd", " ").strip()
    if not text:
        raise InputError("the query is empty; send at least one word")
    limit = settings.api.max_query_chars
    if len(text) > limit:
        raise InputError(f"the query has {len(text):,} characters; at most {limit:,} are allowed")
    return text


async def get_trace(services: Services, run_id: UUID) -> RunTrace:
    """Waits for the trace to be written. Raises NotFoundError."""
    await services.traces.flush()
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await traces.get(connection, services.principal, run_id)
    if found is None:
        raise NotFoundError(f"no trace {run_id}; traces are kept for trace.retentionDays")
    return found


async def cache_stats(services: Services) -> CacheStats:
    """What the retrieval cache did for the tenant, and holds; what this process has not written yet included."""
    await services.search_deps.ledger.flush()
    await services.search_deps.embeddings.flush()
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await cache.stats(connection, services.principal, services.settings.current.cache)


async def clear_cache(services: Services, collection: str | None = None) -> int:
    """Remove cached results, of one collection or all; how many. Raises NotFoundError for an unknown collection."""
    found = await get_collection(services, collection) if collection is not None else None
    async with services.database.transaction(services.principal) as connection:
        if found is None:
            return await cache.clear(connection, services.principal)
        return await cache.forget(connection, found.id)


async def run_search(services: Services, request: SearchRequest) -> SearchResult:
    """Search and leave a trace, also of a failure."""
    settings, started, run_id = services.settings.current, datetime.now(UTC), new_id()
    trace = search_trace(request, services.principal, settings, run_id, started)
    try:
        result = await cached_search(services.search_deps, services.principal, request, settings, run_id)
        trace = succeeded(trace, result)
        return result
    except Exception as error:
        trace = replace(trace, outcome="error", error=str(error))
        raise
    finally:
        if settings.trace.enabled:
            services.traces.record(sampled(trace, settings.trace.sample_rate))
