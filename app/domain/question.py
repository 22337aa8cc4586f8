"""A question on its way through a strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from app.domain.conversation import Turn

Strategy = Literal["auto", "fast", "enhanced", "react", "iterative", "planned", "corrective"]


@dataclass(frozen=True, slots=True)
class Question:
    """What the caller asked, of which collection, and under which run id. `history`: what was said before in the session,
    oldest first. `context_session`: session of the iterative strategy, which keeps what was read but no messages; that of
    the conversation where it is None."""

    text: str
    collection: str
    run_id: UUID
    strategy: Strategy = "auto"
    filters: Mapping[str, Any] | None = None
    session_id: str | None = None
    history: tuple[Turn, ...] = ()
    context_session: str | None = None
