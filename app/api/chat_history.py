"""What was said in a conversation: read it, delete it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from app.api.chat_frames import ChatSource, chat_source
from app.api.models import ID_EXAMPLE, example
from app.api.running import Cursor, Limit, ServicesDep, TypedRoute, decode_cursor, encode_cursor
from app.errors import InputError
from app.service import conversations as chat_actions
from app.store.memory import SavedMessage

router = APIRouter(tags=["chat"], route_class=TypedRoute)

SessionId = Annotated[str, Path(description="The conversation, as it was named in a request.", examples=["alice-1"])]

_MESSAGES = [
    {"id": ID_EXAMPLE, "role": "user", "content": "How many days of leave do we have?",
     "timestamp": "2026-11-21T10:00:00Z", "run_id": ID_EXAMPLE, "metadata": {}},
    {"id": ID_EXAMPLE, "role": "assistant", "content": "Employees have 30 days of leave per year [1].",
     "timestamp": "2026-11-21T10:00:00Z", "run_id": ID_EXAMPLE, "metadata": {"confidence": 0.92, "sources": []}},
]  # fmt: skip


class MessageOut(BaseModel):
    """`metadata`: of an answer its `sources`, `confidence` and `grounded`; of a question that got none `outcome`
    (error or cancelled) and the `error`; `source_deleted_at` once a source is deleted. An answer that cites a deleted
    document is empty."""

    id: UUID
    role: Literal["user", "assistant"]
    content: str
    timestamp: datetime
    run_id: UUID | None
    metadata: dict[str, Any]


class HistoryOut(BaseModel):
    model_config = example({"session_id": "alice-1", "messages": _MESSAGES, "next_cursor": None})

    session_id: str
    messages: list[MessageOut]
    next_cursor: str | None = Field(description="For the next page; null on the last one.")


@router.get("/chat/history/{session_id}", summary="Read a conversation")
async def get_history(
    session_id: SessionId, services: ServicesDep, cursor: Cursor = None, limit: Limit = 200
) -> HistoryOut:
    """In order. A conversation that nobody began has no messages."""
    found = await chat_actions.get_history(services, session_id, after=_after(cursor), limit=limit + 1)
    more = encode_cursor(str(found[limit - 1].position)) if len(found) > limit else None
    return HistoryOut(session_id=session_id, messages=[message_out(one) for one in found[:limit]], next_cursor=more)


def _after(cursor: str | None) -> int:
    key = decode_cursor(cursor)
    if key and not (key.isascii() and key.isdigit() and len(key) < 10):
        raise InputError("the cursor is not one that this API gave out; start again without it")
    return int(key or 0)


def message_out(message: SavedMessage) -> MessageOut:
    """As history shows it; sources as answers show them."""
    turn = message.turn
    sources: list[ChatSource] = [chat_source(source) for source in turn.sources]
    shown = {"sources": [source.model_dump() for source in sources]} if turn.role == "assistant" else {}
    return MessageOut(
        id=turn.id,
        role=turn.role,
        content=turn.content,
        timestamp=turn.at,
        run_id=turn.run_id,
        metadata={**message.notes, **shown},
    )


@router.delete("/chat/history/{session_id}", status_code=204, summary="Delete a conversation")
async def delete_history(session_id: SessionId, services: ServicesDep) -> None:
    """Its messages, and the text of its questions and answers in traces and in the retrieval cache. What is being answered
    meanwhile begins it anew. One that does not exist is deleted already."""
    await chat_actions.delete_history(services, session_id)
