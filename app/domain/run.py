"""A run that outlives its request: its state, and its events with their places."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from app.domain.event import Event, Progress

RunStatus = Literal["running", "ok", "error", "cancelled"]
Surface = Literal["query", "chat"]
"""How events of a run are shown: as by /query, or as by /chat."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event with its place in the run, from 1."""

    seq: int
    event: Event


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as others than its owner see it. `lost`: it has not ended, and its owner has been silent for too long."""

    id: UUID
    surface: Surface
    session_id: str | None
    owner: UUID
    status: RunStatus
    started_at: datetime
    ended_at: datetime | None
    cancel_requested: bool
    last_seq: int
    blanked_at: datetime | None
    lost: bool
    progress: Progress | None

    @property
    def ended(self) -> bool:
        return self.status != "running"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a user thinks of an answer: -1 bad, 0 neither, 1 good."""

    run_id: UUID
    session_id: str | None
    rating: int
    comment: str | None
    created_at: datetime
    updated_at: datetime
