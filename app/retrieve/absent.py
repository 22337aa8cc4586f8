"""What a search finds where there is nothing to search."""

from __future__ import annotations

from uuid import UUID

from app.domain.passage import SearchRequest, SearchResult


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
