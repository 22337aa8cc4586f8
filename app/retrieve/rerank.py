"""Reranking the fused shortlist. On any failure the fused order stays, and the reason is reported (W7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.domain.passage import Passage, SearchRequest
from app.errors import ProviderError
from app.providers.protocols import Reranker


async def rerank(
    reranker: Reranker | None, request: SearchRequest, shortlist: Sequence[Passage], limit: int
) -> tuple[list[Passage], str | None]:
    """The first `limit` passages in the reranker's order, then the rest; and what went wrong, if anything.

    Without a reranker nothing is wrong unless the caller asked for reranking in so many words.
    """
    if reranker is None:
        asked = "rerank asked for, but no reranker is configured (set COHERE_API_KEY)"
        return list(shortlist), asked if request.rerank else None
    head, tail = list(shortlist[:limit]), list(shortlist[limit:])
    try:
        ranked = await reranker.rerank(request.query, [p.content for p in head], top_n=len(head))
    except ProviderError as error:
        return list(shortlist), f"reranker {reranker.name} failed: {error.detail}"
    first = [replace(head[item.index], rerank_score=item.score) for item in ranked]
    named = {item.index for item in ranked}
    return first + [p for i, p in enumerate(head) if i not in named] + tail, None
