"""Documents of a chat: in a collection of its own, apart from all others."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, File, Form, Query, Response, UploadFile
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from app.api import problems
from app.api.chat import ChatId
from app.api.documents import (
    UPLOADED_FAILED,
    AcceptedOut,
    DocumentId,
    DocumentPage,
    FailedUpload,
    document_page,
    received,
)
from app.api.models import ID_EXAMPLE, example
from app.api.running import Cursor, Limit, ServicesDep, TypedRoute, decode_cursor
from app.domain.document import Indexed, Rejected
from app.errors import NotFoundError
from app.service import conversations as chat_actions
from app.service import documents

router = APIRouter(tags=["chat"], route_class=TypedRoute)


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
        list[UploadFile], File(description="PDF, Word, HTML, Markdown, text or source code; names are identities.")
    ],
    metadata: Annotated[
        str | None, Form(description="A JSON object, stored with each document.", examples=['{"team": "people"}'])
    ] = None,
    wait: Annotated[bool, Query(description="Answer when the files are indexed.")] = True,
) -> Response:
    """A file that cannot be read fails alone. The same name with other content is a new version of the document."""
    collection = chat_actions.chat_collection(chat_id)
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
    collection = chat_actions.chat_collection(chat_id)
    try:
        found = await documents.list_documents(services, collection, after=decode_cursor(cursor), limit=limit + 1)
    except NotFoundError:
        found = []
    return document_page(found, limit)


@router.delete("/chat/{chat_id}/documents/{doc_id}", status_code=204, summary="Remove a file from a chat")
async def delete_document(chat_id: ChatId, doc_id: DocumentId, services: ServicesDep) -> None:
    """With everything derived from it, and what messages of any conversation quote from it."""
    collection = chat_actions.chat_collection(chat_id)
    try:
        await documents.delete_document(services, collection, doc_id)
    except NotFoundError:
        raise NotFoundError(f"no document {doc_id} in chat {chat_id}") from None
