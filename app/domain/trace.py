"""What a run leaves behind for analysts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID


@dataclass(frozen=True, slots=True)
class LegTrace:
    """Candidates of one leg (or of fusion) as parallel arrays, best first.

    `shares`: contribution to the RRF score; for "fused" the rerank score (NaN where not reranked). `fates`: for "fused",
    kept or why it was dropped; empty strings otherwise.
    `leg` of the n-th search of a run, from the second on, ends in #n; "merged" is the list made of several searches.
    """

    leg: str
    passage_ids: tuple[UUID, ...]
    chunk_ids: tuple[UUID | None, ...]
    scores: tuple[float, ...]
    shares: tuple[float, ...]
    fates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunTrace:
    """One search or question; columns of rag.runs."""

    id: UUID
    tenant_id: int
    started_at: datetime
    kind: Literal["search", "query"]
    collections: tuple[str, ...]
    question: str
    settings_revision: str
    outcome: Literal["ok", "error", "cancelled"]
    strategy: str | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    legs_used: tuple[str, ...] = ()
    legs_failed: Mapping[str, str] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    epochs: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    document_ids: tuple[UUID, ...] = ()
    legs: tuple[LegTrace, ...] = ()
    session_id: str | None = None
