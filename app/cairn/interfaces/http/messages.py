"""What was said in a conversation, in the words of answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cairn.domain.question import SavedMessage, SourceRef
from cairn.interfaces.http.conversations import SessionId, position_after
from cairn.interfaces.http.models import ID_EXAMPLE, PASSAGE_EXAMPLE, WordOut, example
from cairn.interfaces.http.running import Cursor, Limit, ServicesDep, TypedRoute, encode_cursor
from cairn.service import conversations

router = APIRouter(route_class=TypedRoute)

_STATUSES = {"error": "failed", "cancelled": "cancelled"}
_SOURCE = {
    "kind": "document", "n": 1, "cited": True, "document_id": PASSAGE_EXAMPLE["document_id"],
    "external_id": "guides/leave.md", "passage_id": PASSAGE_EXAMPLE["passage_id"], "chunk_id": PASSAGE_EXAMPLE["chunk_id"],
    "title": "Leave", "page": None, "quote": "Employees have 30 days of leave per year.", "start": 120, "end": 161,
    "version": 1, "url": None, "changed": False, "deleted": False,
}  # fmt: skip
_QUESTION: dict[str, Any] = {
    "id": ID_EXAMPLE, "role": "user", "content": "How many days of leave do we have?", "created_at": "2026-11-21T10:00:00Z",
    "run_id": ID_EXAMPLE, "status": "succeeded", "problem": None, "confidence": None, "confidence_word": None, "answered": None,
    "grounded": None, "sources": [],
}  # fmt: skip
_ANSWER = {
    **_QUESTION, "role": "assistant", "content": "Employees have 30 days of leave per year [1].", "confidence": 0.92,
    "confidence_word": "found", "answered": "yes", "sources": [_SOURCE],
}  # fmt: skip


class RememberedSource(BaseModel):
    """A source as its conversation remembers it. `quote`: at most 200 characters from `start` on, empty once the document is
    deleted. `changed`: the document has another text by now."""

    model_config = example(_SOURCE)

    kind: Literal["document", "web"]
    n: int
    cited: bool
    document_id: UUID | None
    external_id: str
    passage_id: UUID | None
    chunk_id: UUID | None
    title: str
    page: int | None
    quote: str
    start: int
    end: int
    version: int
    url: str | None
    changed: bool
    deleted: bool


class MessageProblem(BaseModel):
    code: str
    detail: str


class ConversationMessage(BaseModel):
    """What the user or Cairn said. An answer that cites a deleted document is empty."""

    model_config = example(_ANSWER)

    id: UUID
    role: Literal["user", "assistant"]
    content: str
    created_at: datetime
    run_id: UUID | None
    status: Literal["succeeded", "failed", "cancelled"] = Field(
        description="Of a question: failed or cancelled where it got no answer."
    )
    problem: MessageProblem | None = Field(description="Why a question got no answer.")
    confidence: float | None
    confidence_word: WordOut
    answered: str | None
    grounded: bool | None = Field(
        description="Null too where a source has changed since: nobody checked it against that."
    )
    sources: list[RememberedSource]


class MessagePage(BaseModel):
    model_config = example({"items": [_QUESTION, _ANSWER], "next_cursor": None})

    items: list[ConversationMessage]
    next_cursor: str | None = Field(description="For the next page; null on the last one.")


@router.get("/chat/sessions/{session_id}/messages", tags=["conversations"], summary="Read a conversation")
async def list_messages(
    session_id: SessionId, services: ServicesDep, cursor: Cursor = None, limit: Limit = 200
) -> MessagePage:
    """In the order in which they were said."""
    await conversations.get_conversation(services, session_id)
    found = await conversations.get_history(services, session_id, after=position_after(cursor), limit=limit + 1)
    more = encode_cursor(str(found[limit - 1].position)) if len(found) > limit else None
    return MessagePage(items=[_message(one) for one in found[:limit]], next_cursor=more)


def _message(saved: SavedMessage) -> ConversationMessage:
    turn, notes = saved.turn, saved.notes
    checked = not (saved.source_changed or "source_deleted_at" in notes)
    return ConversationMessage.model_validate({
        "id": turn.id, "role": turn.role, "content": turn.content, "created_at": turn.at, "run_id": turn.run_id,
        "status": _STATUSES.get(notes.get("outcome", ""), "succeeded"), "problem": notes.get("error"),
        "confidence": notes.get("confidence"), "confidence_word": notes.get("confidence_word"),
        "answered": notes.get("answered"),
        "grounded": notes.get("grounded") if checked else None, "sources": [_source(one) for one in turn.sources],
    })  # fmt: skip


def _source(source: SourceRef) -> RememberedSource:
    web = source.url is not None
    return RememberedSource(
        kind="web" if web else "document", n=source.n, cited=source.cited,
        document_id=None if web else source.document_id, external_id=source.filename,
        passage_id=None if web else source.passage_id, chunk_id=None if web else source.chunk_id, title=source.title,
        page=source.page, quote=source.preview, start=source.start, end=source.end, version=source.version,
        url=source.url, changed=source.changed, deleted=source.deleted,
    )  # fmt: skip
