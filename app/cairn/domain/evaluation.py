"""What was measured, with which state of everything, and how good it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over queries and its 95 % bootstrap interval (percentiles of the means of resampled queries)."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class EvalResult:
    """One query of a run: external ids of the documents found (best first), grades, metric values, milliseconds."""

    query_id: str
    query: str
    ranking: tuple[str, ...]
    judgements: Mapping[str, int]
    metrics: Mapping[str, float]
    total_ms: float


@dataclass(frozen=True, slots=True)
class EvalRun:
    """A data set searched with one state of collection (`epochs`), settings and code.

    `data_hash` identifies queries and judgements; `degraded` says what did not work as asked, and for how many queries.
    """

    id: UUID
    kind: str
    name: str
    data_set: str
    data_hash: str
    collection_id: UUID
    collection: str
    epochs: Mapping[str, int]
    settings: Mapping[str, Any]
    settings_revision: str
    code_version: str
    parameters: Mapping[str, Any]
    started_at: datetime
    finished_at: datetime
    query_count: int
    metrics: Mapping[str, Estimate]
    timings_ms: Mapping[str, float]
    degraded: tuple[str, ...]

    @property
    def mode(self) -> str:
        """How was searched: hybrid, text (without the graph), vector, lexical or graph."""
        return str(self.parameters.get("mode", ""))
