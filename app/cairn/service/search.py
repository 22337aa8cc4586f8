"""Searching, its cache and its traces, once for all surfaces."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args
from uuid import UUID

from cairn.domain.access import check_access
from cairn.domain.document import check_filters
from cairn.domain.ids import new_id
from cairn.domain.passage import CacheStats, FusionForm, Leg, Mode, Passage, SearchRequest, SearchResult
from cairn.domain.trace import RunTrace, StageVerdict
from cairn.errors import InputError, NotFoundError, reason_of
from cairn.language.text import storable, tidy
from cairn.providers.requests import metered_by
from cairn.retrieve.cache import cached_search
from cairn.retrieve.plan import default_legs, legs_of
from cairn.retrieve.trace import complete_trace, sample_trace, search_trace
from cairn.service.documents import get_collection, require_access_giver
from cairn.service.epochs import check_reached, of_one_state
from cairn.settings import Settings
from cairn.store import audit, documents, passages, traces
from cairn.store import cache as cache_store
from cairn.wiring import Services


def check_query(text: str, settings: Settings) -> str:
    """A query or question, cleaned (NUL, lone surrogates, runs of white space). Raises InputError when it is empty or too
    long; where its words alone are, without putting its lines in order, which would hold up everybody else."""
    limit = settings.api.max_query_chars
    text = storable(text).replace("\ufffd", " ")
    if len(text) <= limit or sum(map(len, text.split())) <= limit:
        text = tidy(text)
    if not text:
        raise InputError("the query is empty; send at least one word")
    if len(text) > limit:
        raise InputError(
            f"the query has {len(text):,} characters, and at most {limit:,} are allowed (api.maxQueryChars): a longer text is "
            "a document; index it, and ask about it"
        )
    return text


def make_request(
    settings: Settings,
    query: str,
    collections: Sequence[str],
    *,
    mode: Mode | None = None,
    legs: Sequence[Leg] = (),
    top_k: int = 10,
    rerank: bool | None = None,
    filters: Mapping[str, Any] | None = None,
    group_by: Literal["passage", "document"] = "passage",
    expand_parents: bool = True,
    model: str | None = None,
    cache: bool = True,
    fusion: FusionForm | None = None,
) -> SearchRequest:
    """A search as a user asks for it, see SearchRequest; by what it searches when neither `mode` nor `legs` say so is up to
    the settings. Raises InputError for an unusable query, filters that are too large, an unknown mode or form of fusion, and
    where `mode` and `legs` contradict each other."""
    if not 1 <= top_k <= 200:
        raise InputError(f"top_k is 1 to 200, not {top_k}")
    if mode is not None and mode not in get_args(Mode):
        raise InputError(f"mode is one of {', '.join(get_args(Mode))}, not {str(mode)[:80]!r}")
    if fusion is not None and fusion not in get_args(FusionForm):
        raise InputError(f"fusion is one of {', '.join(get_args(FusionForm))}, not {str(fusion)[:80]!r}")
    check_filters(filters or {})
    named: tuple[Leg, ...] = tuple(dict.fromkeys(legs))
    of_mode = legs_of(mode, settings) if mode else ()
    if named and of_mode and set(named) - {"graph"} != set(of_mode) - {"graph"}:
        raise InputError(f"`mode` {mode} and `legs` {list(named)} contradict each other; send one of them")
    return SearchRequest(
        query=check_query(query, settings),
        collections=tuple(dict.fromkeys(collections)),
        top_k=top_k,
        legs=named or of_mode or default_legs(settings),
        explicit=bool(named) or mode == "graph",
        rerank=rerank,
        filters=filters,
        group_by=group_by,
        expand_parents=expand_parents,
        cache=cache,
        model=model,
        fusion=fusion,
    )


async def get_trace(services: Services, run_id: UUID) -> RunTrace:
    """Waits for the trace to be written. That of others is recorded of who reads it by the scope admin. Raises NotFoundError."""
    found = await _find_trace(services, run_id)
    askers = [found.asked_by] if found.asked_by else []
    await audit.record_read_of_others(services.database, services.principal, "trace", str(run_id), askers)
    return found


async def _find_trace(services: Services, run_id: UUID) -> RunTrace:
    await services.traces.flush()
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await traces.get(connection, services.principal, run_id)
    if found is None:
        raise NotFoundError(f"no trace {run_id}; traces are kept for trace.retentionDays")
    return found


async def explain_passage(
    services: Services, run_id: UUID, passage_id: UUID, readable_by: Collection[str] = ()
) -> list[StageVerdict]:
    """Why a run returned a passage or not, stage by stage. `readable_by`: principals of somebody else, on whose behalf an
    administrator asks: where these may not read it, a stage `access` says that it is withheld, and that ends it. Raises
    NotFoundError for an unknown run, ForbiddenError for `readable_by` from who does not operate, InputError."""
    if readable_by:
        require_access_giver(services)
        readable_by = check_access(readable_by)
    await _find_trace(services, run_id)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        told = await traces.explain(connection, run_id, passage_id)
        access = await documents.access_of_passage(connection, services.principal, passage_id) if readable_by else None
    if access and not set(access) & set(readable_by):
        withheld = f"withheld by access: its document is only for {', '.join(access)}"
        return [*told[:1], StageVerdict("access", withheld, None, None)]
    return told


async def load_passages(services: Services, ids: Collection[UUID]) -> Mapping[UUID, Passage]:
    """Passages by id; those that are gone are left out."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await passages.fetch(connection, services.principal, dict.fromkeys(ids))
    read = {one.document_id for one in found.values()}
    await audit.record_restricted_reads(services.database, services.principal, "passage", read)
    return found


async def get_cache_stats(services: Services) -> CacheStats:
    """What the retrieval cache did for the tenant, and holds; what this process has not written yet included."""
    await services.search_deps.ledger.flush()
    await services.search_deps.embeddings.flush()
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await cache_store.stats(connection, services.principal, services.settings.current.cache)


async def clear_cache(services: Services, collection: str | None = None) -> int:
    """Remove cached results, of one collection or all; how many. Raises NotFoundError for an unknown collection."""
    found = await get_collection(services, collection) if collection is not None else None
    async with services.database.transaction(services.principal) as connection:
        if found is None:
            removed = await cache_store.clear(connection, services.principal)
        else:
            removed = await cache_store.forget(connection, found.id)
        name = found.name if found else "all"
        await audit.record(connection, services.principal, "cache.clear", name, {"removed": removed})
        return removed


async def run_search(
    services: Services, request: SearchRequest, least: Mapping[str, int] | None = None
) -> SearchResult:
    """Search and leave a trace, also of a failure. `least`: epochs that collections must have reached. Raises
    EpochNotReachedError."""
    settings, started, run_id = services.settings.current, datetime.now(UTC), new_id()
    trace = search_trace(request, services.principal, settings, run_id, started)
    meter = services.meter(services.principal)
    try:
        with of_one_state(), metered_by(meter):
            await check_reached(services, least or {})
            result = await cached_search(
                services.search_deps, services.principal, request, settings, run_id, meter=meter
            )
            read = {one.document_id for one in result.passages}
            await audit.record_restricted_reads(services.database, services.principal, "search", read, run_id)
        trace = complete_trace(trace, result)
        return replace(result, usage=meter.usage)
    except Exception as error:
        trace = replace(trace, outcome="error", error=reason_of(error))
        raise
    finally:
        if settings.trace.enabled:
            trace = replace(trace, usage=meter.usage)
            services.traces.record(sample_trace(trace, settings.trace.sample_rate))
