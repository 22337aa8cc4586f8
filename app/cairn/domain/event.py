"""The stream of a run. Every surface renders these; exactly one terminal event ends a run on every path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from cairn.domain.answer import Answer
from cairn.domain.passage import Passage
from cairn.errors import CairnError


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Always the first event."""

    run_id: UUID
    strategy: str


@dataclass(frozen=True, slots=True)
class Progress:
    """A step began; `percent` of the whole run, 0 to 100. `message`: what it is about, for people; `numbers` in it, for
    programs. `detail`: a line of an agent's trace, as /api/agent/stream has it. `documents`: those whose words message and
    detail may hold."""

    step: str
    percent: int
    message: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    documents: tuple[UUID, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """The passages that the answer will be made of, numbered from 1 in this order."""

    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the answer's text. The terminal event holds the checked text, which replaces the pieces."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """Terminal. `message_id`: the message of the conversation that the answer was saved as; None where it was not. `replaced`:
    its text is not that of the pieces before it, which it replaces."""

    answer: Answer
    message_id: UUID | None = None
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """Terminal."""

    error: CairnError


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Terminal: the caller went away or asked to stop."""

    run_id: UUID


StepEvent = Progress | SourcesFound | Token
"""What a run says between its beginning and its end."""
Event = RunStarted | StepEvent | Answered | Failed | Cancelled
TERMINAL = (Answered, Failed, Cancelled)


# --- A run that outlives its request: its state, and its events with their places ---

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
