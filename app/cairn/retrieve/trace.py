"""The retrievers of a search as an analyst will read them: every candidate, and why it was kept or dropped."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from cairn.domain.lazy import columns_of
from cairn.domain.passage import Leg, LegResult, Passage, SearchRequest, SearchResult
from cairn.domain.principal import Principal
from cairn.domain.trace import BELOW_TOP_K, LegTrace, RunTrace
from cairn.retrieve.context import Retrieved
from cairn.retrieve.lexical import lexical_text
from cairn.retrieve.operators import parse_operators
from cairn.settings import Settings
from cairn.store.arrays import pack_id
from cairn.store.search import FusedLists


def search_trace(
    request: SearchRequest, principal: Principal, settings: Settings, run_id: UUID, started: datetime
) -> RunTrace:
    """The trace of a search that has not ended; it counts as cancelled until its outcome is known."""
    plan = {
        "legs": list(request.legs),
        "top_k": request.top_k,
        "group_by": request.group_by,
        "filters": dict(request.filters or {}),
        "fusion": request.fusion or settings.retrieve.fusion,
        "vector_share": settings.rag.hybrid_search_weight,
        **query_plan(request.query, filtered=bool(request.filters)),
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
        asked_by=principal.caller.id,
        asked_as=principal.names,
    )


def query_plan(query: str, *, filtered: bool) -> dict[str, Any]:
    """What the retrievers make of a query: the operators in it, and the text of the lexical retriever where that is another."""
    parsed = parse_operators(query)
    plan: dict[str, Any] = {}
    if parsed.conditions:
        plan["conditions"] = parsed.conditions.as_json(filtered=filtered)
    if (text := lexical_text(parsed.text)) != query:
        plan["lexical_query"] = text
    return plan


def sample_trace(trace: RunTrace, rate: float) -> RunTrace:
    """The trace as it is kept. Of runs that went well, all but the share `rate` lose their candidates, by their id;
    failures and degraded runs keep everything."""
    if trace.outcome != "ok" or trace.degraded or trace.legs_failed:
        return trace
    return trace if trace.id.int % 2**32 < rate * 2**32 else replace(trace, legs=())


def complete_trace(trace: RunTrace, result: SearchResult) -> RunTrace:
    """The trace with what the search found."""
    return replace(
        trace,
        plan={
            **trace.plan,
            "found": bool(result.passages),
            "reranker": result.reranker,
            "weights": result.weights and result.weights.as_json(),
            **cache_plan(result),
            **{str(leg): how for leg, how in result.how.items()},
            **({"retries": list(result.retries)} if result.retries else {}),
        },
        outcome="ok",
        timings_ms=result.timings_ms,
        legs_used=result.legs_used,
        legs_failed={str(leg): why for leg, why in result.legs_failed.items()},
        degraded=result.degraded,
        epochs=result.epochs,
        legs=result.legs,
    )


def cache_plan(result: SearchResult) -> dict[str, object]:
    """Whether the result came from the cache, and then the run whose retrievers found it."""
    if result.hit is None:
        return {"from_cache": False}
    hit = result.hit
    return {
        "from_cache": True, "cached_run": str(hit.run_id), "cached_seconds": round(hit.age_seconds, 3),
        "cached_similarity": hit.similarity and round(hit.similarity, 4),
    }  # fmt: skip


def leg_traces(found: Retrieved, shortlist: Sequence[Passage], kept: Sequence[Passage]) -> tuple[LegTrace, ...]:
    """One entry per retriever, and one for fusion. `shortlist`: that of `found` after reranking."""
    fused = found.fused
    keep = {passage.passage_id for passage in kept}
    reranked = {passage.passage_id: passage.rerank_score for passage in shortlist if passage.rerank_score is not None}
    ids: Sequence[UUID]
    scores: Sequence[float]
    shares: dict[Leg, Sequence[float]]
    if isinstance(fused, FusedLists) and found.candidates is fused:
        # nothing was changed: the lists go back as they came
        ids, scores = fused.passage_ids, fused.scores
        shares = {leg: fused.parts[leg] for leg in found.legs}
        fates = _fates(ids.elements(), len(ids), map(pack_id, keep), map(pack_id, reranked))
    else:
        items = list(fused)  # read once: they may be made by reading
        ids, scores = tuple([item.passage_id for item in items]), tuple([item.score for item in items])
        given = {item.passage_id: item.shares for item in items}
        shares = {leg: tuple([given[key][leg] for key in _ids(result)]) for leg, result in found.legs.items()}
        fates = _fates(ids, len(ids), keep, reranked, _of_kept_documents(found, kept))
    chances = tuple([reranked.get(key, math.nan) for key in ids]) if reranked else ()
    return (
        *(_trace_leg(leg, result, shares[leg]) for leg, result in found.legs.items()),
        LegTrace("fused", ids, scores, shares=chances, fates=fates),
    )


def _trace_leg(leg: Leg, result: LegResult, shares: Sequence[float]) -> LegTrace:
    if not result.hits:
        return LegTrace(leg, (), ())
    ids, _, scores, chunks = columns_of(result.hits)
    return LegTrace(leg, ids, scores, chunks if any(chunks) else (), shares)


def _ids(result: LegResult) -> Sequence[UUID]:
    return columns_of(result.hits)[0] if result.hits else ()


def _of_kept_documents(found: Retrieved, kept: Sequence[Passage]) -> AbstractSet[UUID]:
    """Passages that grouping left out for a better one of their document."""
    if found.candidates is found.fused:
        return set()
    candidates, documents = {item.passage_id for item in found.candidates}, found.documents_by_passage()
    shown = {passage.document_id for passage in kept}
    return {key for key, document in documents.items() if key not in candidates and document in shown}


def _fates(
    keys: Iterable[Hashable],
    size: int,
    keep: Iterable[Hashable],
    reranked: Iterable[Hashable],
    grouped: Iterable[Hashable] = (),
) -> tuple[str, ...]:
    """What became of each of `size` passages, by whatever stands for it. Mostly the first ones were kept, and no more are
    looked at."""
    known = dict.fromkeys(reranked, "below top_k after reranking")
    known |= dict.fromkeys(grouped, "same document")
    known |= dict.fromkeys(keep, "kept")
    fates, rest = [], iter(keys)
    while known and (key := next(rest, None)) is not None:
        fates.append(known.pop(key, BELOW_TOP_K))
    return (*fates, *(BELOW_TOP_K,) * (size - len(fates)))
