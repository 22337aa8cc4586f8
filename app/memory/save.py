"""Saving what was said: at the end of every path, in one transaction, in order.

A question and its answer are saved together. A question whose run failed or was cancelled is saved alone, with the reason
in its metadata: it was said, and a follow-up may refer to it, but nothing was answered. Both are saved when the run ends,
so of two questions asked at once that one comes first which was answered first, and no exchange is torn apart.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from app.domain.answer import Answer
from app.domain.principal import Principal
from app.errors import CairnError
from app.memory.sources import sources_of
from app.store import memory
from app.store.memory import NewMessage
from app.store.session import Database


async def save_exchange(
    database: Database, principal: Principal, *, session_id: str, collection: str | None, question: str, answer: Answer
) -> UUID:
    """Save a question with its answer and sources; the id of the assistant's message. Raises DatabaseUnavailableError."""
    said = NewMessage(
        "assistant",
        answer.answer,
        answer.run_id,
        sources_of(answer),
        {"confidence": answer.confidence, "grounded": answer.grounded},
    )
    async with database.transaction(principal) as connection:
        messages = [NewMessage("user", question, answer.run_id), said]
        return (await memory.add(connection, principal, session_id, collection, messages))[1]


async def save_question(
    database: Database,
    principal: Principal,
    *,
    session_id: str,
    collection: str | None,
    question: str,
    run_id: UUID,
    error: CairnError | None,
) -> UUID:
    """Save a question that got no answer: its run failed with `error`, or was cancelled (None); the message's id."""
    notes: dict[str, Any] = {"outcome": "error" if error else "cancelled"}
    if error:
        notes["error"] = {"code": error.code, "detail": error.detail}
    async with database.transaction(principal) as connection:
        messages = [NewMessage("user", question, run_id, notes=notes)]
        return (await memory.add(connection, principal, session_id, collection, messages))[0]
