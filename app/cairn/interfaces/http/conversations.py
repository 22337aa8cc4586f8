"""What was said in a conversation, and the files of a chat."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, File, Form, Path, Query, Response, UploadFile
from pydantic import BaseModel, ConfigDict, Field

from cairn.domain.document import Indexed, Rejected
from cairn.domain.question import Conversation, SavedMessage
from cairn.errors import InputError, NotFoundError
from cairn.interfaces.http import problems
from cairn.interfaces.http.chat import ChatId
from cairn.interfaces.http.chat_frames import ChatSource, chat_source
from cairn.interfaces.http.documents import (
    KNOWN_FIELDS,
    DocumentPage,
    FormAccess,
    accepted,
    document_page,
    for_readers,
    received,
)
from cairn.interfaces.http.models import COLLECTION_EXAMPLE, ID_EXAMPLE, Body, JobOut, example
from cairn.interfaces.http.running import Cursor, Limit, ServicesDep, TypedRoute, decode_cursor, encode_cursor
from cairn.service import conversations as conversation_service
from cairn.service import documents
from cairn.service.conversations import MAX_TITLE

router = APIRouter(route_class=TypedRoute)

SessionId = Annotated[str, Path(description="The conversation, as it was named in a request.", examples=["alice-1"])]

_MESSAGES = [
    {"id": ID_EXAMPLE, "role": "user", "content": "How many days of leave do we have?",
     "timestamp": "2026-11-21T10:00:00Z", "run_id": ID_EXAMPLE, "metadata": {}},
    {"id": ID_EXAMPLE, "role": "assistant", "content": "Employees have 30 days of leave per year [1].",
     "timestamp": "2026-11-21T10:00:00Z", "run_id": ID_EXAMPLE, "metadata": {"confidence": 0.92, "sources": []}},
]  # fmt: skip


_CONVERSATION = {
    "id": "alice-1", "title": "Leave", "collection": COLLECTION_EXAMPLE, "message_count": 4,
    "created_at": "2026-11-21T10:00:00Z", "last_used_at": "2026-11-21T10:05:00Z",
}  # fmt: skip


class ConversationOut(BaseModel):
    model_config = example(_CONVERSATION)

    id: str = Field(description="The `session_id` of its messages and runs.")
    title: str = Field(description="As it was given, else how the first message begins.")
    collection: str | None = Field(description="That was asked last; it may be gone by now.")
    message_count: int = Field(description="Of both sides.")
    created_at: datetime
    last_used_at: datetime


class ConversationPage(BaseModel):
    model_config = example({"items": [_CONVERSATION], "next_cursor": None})

    items: list[ConversationOut]
    next_cursor: str | None = Field(description="For the next page; null on the last one.")


class ConversationChange(Body):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"title": "Leave"}]})

    title: str = Field(max_length=MAX_TITLE, description="An empty one: it is shown by what was said first again.")


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


@router.get("/chat/sessions", tags=["conversations"], summary="List conversations")
async def list_conversations(
    services: ServicesDep,
    q: Annotated[
        str | None,
        Query(max_length=MAX_TITLE, description="Only those with this text in their title or a message, in any case."),
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> ConversationPage:
    """Of the tenant, whichever key began them; the one used last first."""
    found = await conversation_service.list_conversations(
        services, text=q, before=_used_before(cursor), limit=limit + 1
    )
    last = found[limit - 1] if len(found) > limit else None
    more = encode_cursor(f"{last.last_used_at.isoformat()} {last.session_id}") if last else None
    return ConversationPage(items=[_conversation_out(one) for one in found[:limit]], next_cursor=more)


@router.get("/chat/sessions/{session_id}", tags=["conversations"], summary="Look at a conversation")
async def get_conversation(session_id: SessionId, services: ServicesDep) -> ConversationOut:
    """What was said is at `/chat/sessions/{session_id}/messages`."""
    return _conversation_out(await conversation_service.get_conversation(services, session_id))


@router.patch("/chat/sessions/{session_id}", tags=["conversations"], summary="Rename a conversation")
async def rename_conversation(
    session_id: SessionId, body: ConversationChange, services: ServicesDep
) -> ConversationOut:
    return _conversation_out(await conversation_service.rename_conversation(services, session_id, body.title))


@router.delete("/chat/sessions/{session_id}", tags=["conversations"], status_code=204, summary="Delete a conversation")
async def delete_conversation(session_id: SessionId, services: ServicesDep) -> None:
    """Its messages, and the text of its questions and answers in traces and in the retrieval cache. What is being answered
    meanwhile begins it anew. 404 for one that does not exist or is withheld from the caller, which stays."""
    await conversation_service.delete_conversation(services, session_id)


def _conversation_out(found: Conversation) -> ConversationOut:
    same = {name: getattr(found, name) for name in ConversationOut.model_fields if name != "id"}
    return ConversationOut(id=found.session_id, **same)


def _used_before(cursor: str | None) -> tuple[datetime, str] | None:
    moment, _, session_id = decode_cursor(cursor).partition(" ")
    try:
        used = datetime.fromisoformat(moment) if moment else None
    except ValueError:
        used = None
    if cursor and (used is None or used.tzinfo is None):
        raise InputError("the cursor is not one that this list gave out; start again without it")
    return (used, session_id) if used else None


@router.get("/chat/history/{session_id}", tags=["compatibility"], summary="Read a conversation")
async def get_history(
    session_id: SessionId, services: ServicesDep, cursor: Cursor = None, limit: Limit = 200
) -> HistoryOut:
    """In order. A conversation that nobody began has no messages."""
    found = await conversation_service.get_history(services, session_id, after=position_after(cursor), limit=limit + 1)
    more = encode_cursor(str(found[limit - 1].position)) if len(found) > limit else None
    return HistoryOut(session_id=session_id, messages=[message_out(one) for one in found[:limit]], next_cursor=more)


def position_after(cursor: str | None) -> int:
    """Of the message that a cursor stands for, 0 without one. Raises InputError."""
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


@router.delete(
    "/chat/history/{session_id}",
    tags=["compatibility"],
    status_code=204,
    summary="Delete what was said in a conversation",
)
async def delete_history(session_id: SessionId, services: ServicesDep) -> None:
    """The same as `DELETE /chat/sessions/{session_id}`, but 204 also where nobody began the conversation, as its history is
    empty then."""
    await conversation_service.delete_history(services, session_id)


# --- files of a chat: in a collection of its own, apart from all others ----------------------------------------------------


class ChatUploaded(BaseModel):
    id: UUID
    name: str
    chunk_count: int


class ChatFailed(BaseModel):
    name: str
    error: str
    code: str


class ChatUploadOut(BaseModel):
    model_config = example(
        {
            "uploaded": [{"id": ID_EXAMPLE, "name": "guides/leave.md", "chunk_count": 4}],
            "failed": [{"name": "scan.pdf", "error": "the PDF has no text layer; run OCR on it first", "code": "no-text-layer"}],
        }
    )  # fmt: skip

    uploaded: list[ChatUploaded]
    failed: list[ChatFailed]


@router.post(
    "/chat/{chat_id}/documents",
    dependencies=[KNOWN_FIELDS],
    tags=["compatibility"],
    response_model=ChatUploadOut,
    responses={
        202: {"model": JobOut, "description": "With ?wait=false: the job that indexes the files."},
        **problems.declare(502, 504),
    },
    summary="Add files to a chat",
)
async def upload_chat_documents(
    chat_id: ChatId,
    services: ServicesDep,
    files: Annotated[
        list[UploadFile],
        File(
            description="PDF, Word, Excel, PowerPoint, mails, text, code and more; names are identities.",
            json_schema_extra={"minItems": 1},
        ),
    ],
    access: FormAccess,
    metadata: Annotated[
        str | None, Form(description="A JSON object, stored with each document.", examples=['{"team": "people"}'])
    ] = None,
    wait: Annotated[bool, Query(description="Answer when the files are indexed.")] = True,
) -> Response:
    """A file that cannot be read fails alone. The same name with other content is a new version of the document."""
    collection = conversation_service.chat_collection(chat_id)
    sources = for_readers(await received(files, metadata, services.settings.current), access)
    if not wait:
        return accepted(await documents.index_later(services, collection, sources))
    outcomes = await documents.index_now(services, collection, sources)
    body = ChatUploadOut(
        uploaded=[
            ChatUploaded(id=item.document_id, name=item.name, chunk_count=item.chunk_count)
            for item in outcomes
            if isinstance(item, Indexed)
        ],
        failed=[
            ChatFailed(name=item.name, error=item.error, code=item.code)
            for item in outcomes
            if isinstance(item, Rejected)
        ],
    )
    return Response(body.model_dump_json(), media_type="application/json")


@router.get("/chat/{chat_id}/documents", tags=["compatibility"], summary="List the files of a chat")
async def list_chat_documents(
    chat_id: ChatId, services: ServicesDep, cursor: Cursor = None, limit: Limit = 50
) -> DocumentPage:
    """In order of name. A chat without files has none."""
    collection = conversation_service.chat_collection(chat_id)
    try:
        found = await documents.list_documents(services, collection, after=decode_cursor(cursor), limit=limit + 1)
    except NotFoundError:
        found = []
    return document_page(found, limit)


@router.delete(
    "/chat/{chat_id}/documents/{document_id}",
    tags=["compatibility"],
    status_code=204,
    summary="Remove a file from a chat",
)
async def delete_chat_document(
    chat_id: ChatId,
    document_id: Annotated[UUID, Path(description="Id that Cairn gave to the file.", examples=[ID_EXAMPLE])],
    services: ServicesDep,
) -> None:
    """With everything derived from it, and what messages of any conversation quote from it."""
    collection = conversation_service.chat_collection(chat_id)
    try:
        await documents.delete_document(services, collection, document_id)
    except NotFoundError:
        raise NotFoundError(f"no document {document_id} in chat {chat_id}") from None
