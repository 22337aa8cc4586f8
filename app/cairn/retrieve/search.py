"""The read path on one screen: plan -> execute -> rerank -> trace.

`execute` runs the retrievers, fuses their lists and reads the passages, all out of one snapshot. A retriever or reranker
that fails never fails the search and is never hidden: it stands in `legs_failed` or `degraded`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

import structlog

from cairn.domain.graph import GraphContext
from cairn.domain.lazy import Deferred
from cairn.domain.passage import Passage, SearchRequest, SearchResult
from cairn.domain.principal import Principal
from cairn.errors import DatabaseUnavailableError, QueryTimeoutError, named_reason, reason_of
from cairn.retrieve.context import Retrieved, SearchContext, SearchDeps
from cairn.retrieve.execute import execute
from cairn.retrieve.graph import graph_context
from cairn.retrieve.plan import plan_search
from cairn.retrieve.rerank import Reranked, keep_relevant, rerank
from cairn.retrieve.trace import leg_traces
from cairn.retrieve.weights import weights_used
from cairn.settings import Settings
from cairn.telemetry import span

log = structlog.get_logger(__name__)


async def search(
    deps: SearchDeps,
    principal: Principal,
    request: SearchRequest,
    settings: Settings,
    run_id: UUID | None = None,
    *,
    answering: bool = False,
) -> SearchResult:
    """Passages for a query, best first. `answering`: an answer will be made of them, shortened where a reranker failed.

    Raises NotFoundError for an unknown collection, DatabaseUnavailableError when no retriever could answer,
    QueryTimeoutError.
    """
    return await search_planned(plan_search(deps, principal, request, settings, run_id, answering=answering))


async def search_planned(context: SearchContext) -> SearchResult:
    """The same of a search that is planned already."""
    with span("search", {"cairn.run_id": str(context.run_id), "cairn.top_k": context.request.top_k}) as noted:
        result = await _search(context)
        noted.add({
            "cairn.passages": len(result.passages), "cairn.legs": ",".join(result.legs_used),
            "cairn.degraded": len(result.degraded),
        })  # fmt: skip
        return result


async def _search(context: SearchContext) -> SearchResult:
    executed = await execute(context)
    found, failed = executed.found, executed.failed
    if found is None or (failed and not found.legs):
        reasons = "; ".join(f"{leg}: {reason}" for leg, reason in failed.items())
        raise DatabaseUnavailableError(f"no retrieval leg could answer ({reasons})")
    ranked = await _rerank(context, found)
    kept = tuple(_candidates(context, ranked)[: context.request.top_k])
    graph, problem = await _graph_context(context, found, kept)
    return SearchResult(
        passages=kept if context.request.expand_parents else tuple(map(_chunk_only, kept)),
        trace_id=context.run_id,
        legs_used=tuple(found.legs),
        legs_failed=failed,
        exact=all(result.exact for result in found.legs.values()),
        degraded=(
            *(f"the {leg} search failed: {reason}" for leg, reason in failed.items()),
            *executed.degraded,
            *filter(None, (ranked.problem, problem)),
        ),
        timings_ms=context.stopwatch.timings(),
        confidence={leg: round(result.confidence, 4) for leg, result in found.legs.items()},
        epochs={collection.name: collection.epoch for collection in found.scope},
        snapshot={collection.id: collection.epoch for collection in found.scope},
        visible_passages=sum(collection.passage_count for collection in found.scope),
        reranker=ranked.reranker,
        legs=Deferred(partial(leg_traces, found, ranked.passages, kept)),
        how={leg: result.how for leg, result in found.legs.items() if result.how},
        retries=tuple(reason.value for reason in executed.retries),
        graph=graph,
        weights=weights_used(context, found),
    )


async def _rerank(context: SearchContext, found: Retrieved) -> Reranked:
    """The shortlist in the reranker's order, where one is wanted; else as fusion left it."""
    if not found.shortlist or not context.reranks:
        return Reranked(list(found.shortlist))
    requested, settings = bool(context.request.rerank), context.settings.retrieve
    work = rerank(context.reranker_choice, context.text, found.shortlist, settings, requested=requested)
    return await context.stopwatch.measure("rerank", work)


def _candidates(context: SearchContext, ranked: Reranked) -> Sequence[Passage]:
    """What an answer may be made of: where a reranker failed, only what fusion is sure of."""
    if context.answering and ranked.problem and not ranked.reranker:
        return keep_relevant(ranked.passages, context.settings.retrieve)
    return ranked.passages


async def _graph_context(
    context: SearchContext, found: Retrieved, kept: Sequence[Passage]
) -> tuple[GraphContext | None, str | None]:
    """What the graph says of the passages, where it brought some and an answer will be made of them; or why that is missing."""
    if not context.answering or not any("graph" in passage.ranks for passage in kept):
        return None, None
    try:
        work = graph_context(context.deps.database, context.principal, found.linked, kept)
        return await context.stopwatch.measure("graph", work), None
    except Exception as error:
        foreseen = isinstance(error, QueryTimeoutError | DatabaseUnavailableError)
        log.warning("search.graph_context_failed", problem=reason_of(error), exc_info=not foreseen)
        return None, f"what the graph says of the passages is missing ({named_reason(error)})"


def _chunk_only(passage: Passage) -> Passage:
    """The matched chunk in place of its passage, where the vector retriever found one."""
    if passage.matched is None:
        return passage
    start, end = passage.matched
    content = passage.content[start - passage.start : end - passage.start]
    return replace(passage, content=content, start=start, end=end)


def nothing_found(request: SearchRequest, run_id: UUID) -> SearchResult:
    """The result for collections that do not exist: that of an empty one. A chat may begin before its first document."""
    return SearchResult(
        passages=(),
        trace_id=run_id,
        legs_used=(),
        legs_failed={},
        exact=True,
        degraded=(),
        timings_ms={},
        confidence=dict.fromkeys(request.legs, 0.0),
        epochs={},
        visible_passages=0,
    )
