"""The stream of a run. Every surface renders these; exactly one terminal event ends a run on every path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from app.domain.answer import Answer
from app.domain.passage import Passage
from app.errors import CairnError


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Always the first event."""

    run_id: UUID
    strategy: str


@dataclass(frozen=True, slots=True)
class Progress:
    """A step began; `percent` of the whole run, 0 to 100. `message`: what it is about, for people (agents have one).
    `detail`: the same for programs, by the names of A10.13. `documents`: those whose words these two may hold."""

    step: str
    percent: int
    message: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    documents: tuple[UUID, ...] = ()


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
    """Terminal. `message_id`: the message of the conversation that the answer was saved as; None where it was not."""

    answer: Answer
    message_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """Terminal."""

    error: CairnError


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Terminal: the caller went away or asked to stop."""

    run_id: UUID


Event = RunStarted | Progress | SourcesFound | Token | Answered | Failed | Cancelled
TERMINAL = (Answered, Failed, Cancelled)
