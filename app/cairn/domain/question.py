"""A question on its way through a strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

BuiltInStrategy = Literal["auto", "fast", "enhanced", "react", "iterative", "planned", "corrective"]
"""What a caller may name; installed packages may add others (cairn/strategies/registry.py)."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the caller asked, of which collection, and under which run id. `history`: what was said before in the session,
    oldest first. `context_session`: session of the iterative strategy, which keeps what was read but no messages; that of
    the conversation where it is None."""

    text: str
    collection: str
    run_id: UUID
    strategy: str = "auto"
    filters: Mapping[str, Any] | None = None
    session_id: str | None = None
    history: tuple[Turn, ...] = ()
    context_session: str | None = None


# --- What was said before, and what it stood on ---


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A source of an answer as a message remembers it. `preview` is at most 200 characters and empty once the
    document is deleted; `deleted` says so. Spans are code points in `version` of the document's text; `changed`: it has a later
    one by now. `url`: of a web page instead, whose ids no document has."""

    n: int
    document_id: UUID
    passage_id: UUID
    chunk_id: UUID | None
    filename: str
    title: str
    page: int | None
    start: int
    end: int
    version: int
    score: float
    preview: str
    cited: bool = True
    deleted: bool = False
    changed: bool = False
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, oldest first where there are several. `run_id`: the run that wrote it."""

    id: UUID
    role: Literal["user", "assistant"]
    content: str
    at: datetime
    sources: tuple[SourceRef, ...] = ()
    run_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """An answer that stands on sources, and the question that it goes back to; "" where that was too long ago."""

    question: str
    answer: Turn


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as lists show it. `title`: what its user calls it, else how the first message begins. `collection`: that
    was asked last."""

    session_id: str
    title: str
    collection: str | None
    message_count: int
    created_at: datetime
    last_used_at: datetime


@dataclass(frozen=True, slots=True)
class SavedMessage:
    """A message as history shows it, at `position` (from 1) of its conversation."""

    position: int
    turn: Turn
    notes: Mapping[str, Any]

    @property
    def source_changed(self) -> bool:
        """Whether the answer cites text of an earlier version of a document."""
        return any(source.cited and source.changed for source in self.turn.sources)
