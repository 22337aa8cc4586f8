"""What was said before, and what it stood on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A source of an answer as a message remembers it. `preview` is at most 200 characters (A13.04) and empty once the
    document is deleted; `deleted` says so. Spans are code points in `version` of the document's text."""

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


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, oldest first where there are several. `run_id`: the run that wrote it."""

    id: UUID
    role: Literal["user", "assistant"]
    content: str
    at: datetime
    sources: tuple[SourceRef, ...] = ()
    run_id: UUID | None = None
