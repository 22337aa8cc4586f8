"""What was said in a conversation, and the files of a chat."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, File, Form, Path, Query, Response, UploadFile
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from app.api import problems
from app.api.chat import ChatId
from app.api.chat_frames import ChatSource, chat_source
from app.api.documents import (
    UPLOADED_FAILED,
    AcceptedOut,
    DocumentPage,
    FailedUpload,
    document_page,
    received,
)
from app.api.models import ID_EXAMPLE, example
from app.api.running import Cursor, Limit, ServicesDep, TypedRoute, decode_cursor, encode_cursor
from app.domain.document import Indexed, Rejected
from app.domain.question import SavedMessage
from app.errors import InputError, NotFoundError
from app.service import conversations as conversation_service
from app.service import documents

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
    document is empty. `source_changed`: the answer cites a document that has other content by now; `changed_sources` are
    the numbers of all such sources."""

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
    found = await conversation_service.get_history(services, session_id, after=_after(cursor), limit=limit + 1)
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
    shown: dict[str, Any] = {}
    if turn.role == "assistant":
        changed = [source.n for source in turn.sources if source.changed]
        shown = {"source_changed": message.source_changed, "changed_sources": changed} if changed else {}
        if message.source_changed or "source_deleted_at" in message.notes:
            shown["grounded"] = None  # nobody has checked it against what stands there now
        shown["sources"] = [source.model_dump() for source in sources]
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
    await conversation_service.delete_history(services, session_id)


# --- files of a chat: in a collection of its own, apart from all others ----------------------------------------------------


class ChatUploaded(BaseModel):
    id: UUID
    name: str
    chunk_count: int


class ChatUploadOut(BaseModel):
    model_config = example(
        {"uploaded": [{"id": ID_EXAMPLE, "name": "guides/leave.md", "chunk_count": 4}], "failed": [UPLOADED_FAILED]}
    )

    uploaded: list[ChatUploaded]
    failed: list[FailedUpload]


@router.post(
    "/chat/{chat_id}/documents",
    response_model=ChatUploadOut,
    responses={
        202: {"model": AcceptedOut, "description": "With ?wait=false: the job that indexes the files."},
        **problems.declare(502, 504),
    },
    summary="Add files to a chat",
)
async def upload(
    chat_id: ChatId,
    services: ServicesDep,
    files: Annotated[
        list[UploadFile],
        File(
            description="PDF, Word, Excel, PowerPoint, mails, text, code and more; names are identities.",
            json_schema_extra={"minItems": 1},
        ),
    ],
    metadata: Annotated[
        str | None, Form(description="A JSON object, stored with each document.", examples=['{"team": "people"}'])
    ] = None,
    wait: Annotated[bool, Query(description="Answer when the files are indexed.")] = True,
) -> Response:
    """A file that cannot be read fails alone. The same name with other content is a new version of the document."""
    collection = conversation_service.chat_collection(chat_id)
    sources = await received(files, metadata, services.settings.current)
    if not wait:
        job = await documents.index_later(services, collection, sources)
        url = f"/jobs/{job.id}"
        return JSONResponse({"job_id": str(job.id), "status_url": url}, 202, {"Location": url})
    outcomes = await documents.index_now(services, collection, sources)
    body = ChatUploadOut(
        uploaded=[
            ChatUploaded(id=item.document_id, name=item.name, chunk_count=item.chunk_count)
            for item in outcomes
            if isinstance(item, Indexed)
        ],
        failed=[
            FailedUpload(name=item.name, error=item.error, code=item.code)
            for item in outcomes
            if isinstance(item, Rejected)
        ],
    )
    return Response(body.model_dump_json(), media_type="application/json")


@router.get("/chat/{chat_id}/documents", summary="List the files of a chat")
async def list_documents(
    chat_id: ChatId, services: ServicesDep, cursor: Cursor = None, limit: Limit = 50
) -> DocumentPage:
    """In order of name. A chat without files has none."""
    collection = conversation_service.chat_collection(chat_id)
    try:
        found = await documents.list_documents(services, collection, after=decode_cursor(cursor), limit=limit + 1)
    except NotFoundError:
        found = []
    return document_page(found, limit)


@router.delete("/chat/{chat_id}/documents/{doc_id}", status_code=204, summary="Remove a file from a chat")
async def delete_document(
    chat_id: ChatId,
    doc_id: Annotated[UUID, Path(description="Id that Cairn gave to the file.", examples=[ID_EXAMPLE])],
    services: ServicesDep,
) -> None:
    """With everything derived from it, and what messages of any conversation quote from it."""
    collection = conversation_service.chat_collection(chat_id)
    try:
        await documents.delete_document(services, collection, doc_id)
    except NotFoundError:
        raise NotFoundError(f"no document {doc_id} in chat {chat_id}") from None
