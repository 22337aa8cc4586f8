"""The read path on one screen: embed -> text legs -> graph -> passages -> rerank -> trace.

Legs and passages come in one statement (single_statement.py) or leg by leg (stepwise.py), always out of one snapshot. A leg or
reranker that fails never fails the search and is never hidden: it stands in `legs_failed` or `degraded`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import structlog

from app.domain.graph import GraphContext
from app.domain.ids import new_id
from app.domain.passage import Passage, SearchRequest, SearchResult
from app.domain.principal import Principal
from app.errors import DatabaseUnavailableError, NotFoundError
from app.retrieve import single_statement, stepwise
from app.retrieve.context import Asked, Found, SearchDeps, Stopwatch
from app.retrieve.embed import NeedsVectorsError, QueryVectors
from app.retrieve.graph import said_of
from app.retrieve.legs import LegFailedError
from app.retrieve.operators import parse_operators
from app.retrieve.plan import routed, unsure
from app.retrieve.rerank import relevant, rerank, wants_reranking
from app.retrieve.trace import leg_traces
from app.settings import Settings

log = structlog.get_logger(__name__)


async def search(
    deps: SearchDeps,
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
    embedded = embedded or QueryVectors(deps, principal, request, settings)
    parsed = parse_operators(request.query)
    request = replace(request, query=parsed.text)
    choice, reranker = deps.reranker.get(settings), None
    reranks = wants_reranking(choice, settings, requested=request.rerank, answering=answering)
    whole = max(request.top_k, settings.retrieve.rerank_candidates if reranks and choice.reranker else 0)
    ran = routed(request, settings)
    asked = Asked(deps, principal, ran, parsed.conditions, settings, whole, stopwatch)
    found = await _retrieve(asked, embedded)
    if unsure(request, asked.request, found.legs):
        asked = replace(asked, request=request)
        found = await _retrieve(asked, embedded)
    failed = found.failed
    if failed and not found.legs:
        reasons = "; ".join(f"{leg}: {reason}" for leg, reason in failed.items())
        raise DatabaseUnavailableError(f"no retrieval leg could answer ({reasons})")
    shortlist, degraded = found.shortlist, tuple(f"leg {leg} failed: {why}" for leg, why in failed.items())
    degraded += tuple(embedded.degraded)
    candidates = shortlist
    if shortlist and reranks:
        done = await stopwatch.measure(
            "rerank", rerank(choice, request.query, shortlist, settings.retrieve, requested=bool(request.rerank))
        )
        shortlist = candidates = done.passages
        reranker = done.reranker
        if done.problem:
            degraded += (done.problem,)
            candidates = relevant(shortlist, settings.retrieve) if answering and not done.reranker else shortlist
    kept = tuple(candidates[: request.top_k])
    told, problem = await _told(asked, found, kept) if answering else (None, "")
    degraded += (problem,) if problem else ()
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
        legs=leg_traces(found, shortlist, kept),
        how={leg: result.how for leg, result in found.legs.items() if result.how},
        graph=told,
    )


async def _retrieve(asked: Asked, embedded: QueryVectors) -> Found:
    """Almost always one statement. A part that fails costs another snapshot, in which it can fail alone; collections that
    another model than the settings' serves cost another one too, because nothing is embedded inside a transaction."""
    guarded, model = False, asked.deps.model
    if "vector" in asked.request.legs and asked.request.model is None and not embedded.knows(model):
        await embedded.add([model], asked.stopwatch)
    if single_statement.suits(asked, embedded):
        try:
            if (found := await single_statement.retrieve(asked, embedded)) is not None:
                return found
        except (NotFoundError, DatabaseUnavailableError):
            raise
        except Exception:
            log.warning("search.single_statement_failed", exc_info=True)
            guarded = True
    while True:
        try:
            return await stepwise.retrieve(asked, embedded, guarded=guarded)
        except NeedsVectorsError as need:
            await embedded.add(need.models, asked.stopwatch)
        except LegFailedError:
            guarded = True


async def _told(asked: Asked, found: Found, kept: Sequence[Passage]) -> tuple[GraphContext | None, str]:
    """What the graph says of the passages, where it brought some; or why that is missing."""
    if not any("graph" in passage.ranks for passage in kept):
        return None, ""
    try:
        work = said_of(asked.deps.database, asked.principal, found.linked, kept)
        return await asked.stopwatch.measure("graph", work), ""
    except Exception as error:
        log.exception("search.graph_context_failed")
        return None, f"what the graph says of the passages is missing ({type(error).__name__}: {error})"


def _chunk_only(passage: Passage) -> Passage:
    """The matched chunk in place of its passage, where the vector leg found one."""
    if passage.matched is None:
        return passage
    start, end = passage.matched
    content = passage.content[start - passage.start : end - passage.start]
    return replace(passage, content=content, start=start, end=end)


# --- What a search finds where there is nothing to search ---


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
