"""The legs of a search as an analyst will read them: every candidate, and why it was kept or dropped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from app.domain.passage import Fused, Leg, LegResult, Passage, SearchRequest, SearchResult
from app.domain.principal import Principal
from app.domain.trace import LegTrace, RunTrace
from app.settings import Settings


def search_trace(
    request: SearchRequest, principal: Principal, settings: Settings, run_id: UUID, started: datetime
) -> RunTrace:
    """The trace of a search that has not ended; it counts as cancelled until its outcome is known."""
    plan = {
        "legs": list(request.legs),
        "top_k": request.top_k,
        "group_by": request.group_by,
        "filters": dict(request.filters or {}),
        "fusion": settings.retrieve.fusion,
        "vector_share": settings.rag.hybrid_search_weight,
    }
    return RunTrace(
        id=run_id,
        tenant_id=principal.tenant_id,
        started_at=started,
        kind="search",
        collections=request.collections,
        question=request.query,
        settings_revision=settings.revision,
        outcome="cancelled",
        plan=plan,
    )


def succeeded(trace: RunTrace, result: SearchResult) -> RunTrace:
    """The trace with what the search found."""
    return replace(
        trace,
        outcome="ok",
        plan={**trace.plan, **{str(leg): how for leg, how in result.how.items()}},
        timings_ms=result.timings_ms,
        legs_used=result.legs_used,
        legs_failed={str(leg): why for leg, why in result.legs_failed.items()},
        degraded=result.degraded,
        epochs=result.epochs,
        legs=result.legs,
    )


def leg_traces(
    legs: Mapping[Leg, LegResult],
    fused: Sequence[Fused],
    documents: Mapping[UUID, UUID],
    shortlist: Sequence[Passage],
    kept: Sequence[Passage],
) -> tuple[LegTrace, ...]:
    """One entry per leg, and one for fusion."""
    shares = {item.passage_id: item.shares for item in fused}
    return (
        *(_leg(leg, result, shares) for leg, result in legs.items()),
        _fusion(fused, documents, shortlist, kept),
    )


def _leg(leg: Leg, result: LegResult, shares: Mapping[UUID, Mapping[Leg, float]]) -> LegTrace:
    return LegTrace(
        leg=leg,
        passage_ids=tuple(hit.passage_id for hit in result.hits),
        chunk_ids=tuple(hit.chunk_id for hit in result.hits),
        scores=tuple(hit.score for hit in result.hits),
        shares=tuple(shares[hit.passage_id][leg] for hit in result.hits),
        fates=("",) * len(result.hits),
    )


def _fusion(
    fused: Sequence[Fused], documents: Mapping[UUID, UUID], shortlist: Sequence[Passage], kept: Sequence[Passage]
) -> LegTrace:
    reranked = {passage.passage_id: passage.rerank_score for passage in shortlist}
    keep = {passage.passage_id for passage in kept}
    kept_documents = {passage.document_id for passage in kept}
    fates = []
    for item in fused:
        if item.passage_id in keep:
            fates.append("kept")
        elif item.passage_id not in reranked and documents[item.passage_id] in kept_documents:
            fates.append("same document")
        elif reranked.get(item.passage_id) is not None:
            fates.append("below top_k after reranking")
        else:
            fates.append("below top_k")
    return LegTrace(
        leg="fused",
        passage_ids=tuple(item.passage_id for item in fused),
        chunk_ids=(None,) * len(fused),
        scores=tuple(item.score for item in fused),
        shares=tuple(_number(reranked.get(item.passage_id)) for item in fused),
        fates=tuple(fates),
    )


def _number(score: float | None) -> float:
    return math.nan if score is None else score
