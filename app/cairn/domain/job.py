"""Work that outlives its request: a job, what it reports, a file that waits for it, indexes to be built and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from cairn.domain.document import Source, Status

JobStatus = Literal["queued", "running", "succeeded", "failed", "parked", "cancelled"]
"""parked: claimed max_attempts times without an end; somebody has to look, then revive or cancel it.
failed: another attempt could not have helped; somebody who has removed the cause may revive it."""

ENDED: frozenset[JobStatus] = frozenset({"succeeded", "failed", "parked", "cancelled"})

Signal = Literal["go_on", "cancel", "lost"]
"""What a worker learns when it reports: carry on, somebody cancelled the job, or another worker owns it."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    """`done` of `total` steps; `total` is None while unknown. `shares`: by external id, how much of a file under way is read,
    then of a large one embedded, 0 to 1."""

    done: int = 0
    total: int | None = None
    message: str = ""
    shares: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """A durable job. All times are the database's; `worker` and `attempts` together fence its owner."""

    id: UUID
    kind: str
    payload: Mapping[str, Any]
    status: JobStatus
    attempts: int
    max_attempts: int
    progress: JobProgress
    result: Mapping[str, Any] | None
    error: str | None
    cancel_requested: bool
    worker: str | None
    run_at: datetime
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def ended(self) -> bool:
        """Whether the status is final, as far as workers go."""
        return self.status in ENDED


@dataclass(frozen=True, slots=True)
class WaitingFile:
    """A file of a job that did not end. `place`: from 1 within the job, whose files before `done` were handed on; `ahead`: files
    of other jobs that come before. `status` and `error`: of its document, None before there is one. `share`: how much is read,
    then of a large one embedded, 0 to 1."""

    job_id: UUID
    external_id: str
    byte_size: int
    running: bool
    done: int
    ahead: int
    place: int
    status: Status | None
    error: str | None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class QueueState:
    """The queue over all tenants; `oldest_runnable_seconds` is None when nothing waits."""

    queued: int
    running: int
    runnable: int
    oldest_runnable_seconds: float | None


@dataclass(frozen=True, slots=True)
class Upload:
    """A file with the job that will index it and the collection it goes to."""

    id: UUID
    job_id: UUID
    collection_id: UUID
    source: Source


# --- HNSW indexes of single collections, and how well they find ---


@dataclass(frozen=True, slots=True)
class PlannedIndex:
    """An index that is wanted, or is there and not wanted. `ready`: searches use it now."""

    tenant_id: int
    collection_id: UUID
    model_id: int
    dimensions: int
    chunk_count: int
    wanted: bool
    ready: bool

    @property
    def name(self) -> str:
        """Of the index; the collection's part is its last 48 bits, which are random. A tenant may be a copy of another one, with
        the same collections."""
        return f"embeddings_hnsw_{self.model_id}_c{(self.collection_id.int ^ self.tenant_id) % 2**48:012x}"


@dataclass(frozen=True, slots=True)
class RecallCheck:
    """A sampled comparison with the exact scan: `recall` is the mean share of the true `k` neighbours found, 0 to 1."""

    regime: str
    model: str
    k: int
    sample: int
    recall: float
    ef_search: int
    checked_at: datetime
