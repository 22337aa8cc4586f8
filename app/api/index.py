"""Index texts that the caller has already: the route for programs, where uploads are for files."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from app.api import problems
from app.api.models import COLLECTION_EXAMPLE, ID_EXAMPLE, Body, Metadata, example
from app.api.running import ServicesDep, TypedRoute
from app.domain.document import Indexed, Rejected, Source
from app.errors import CairnError, InputError
from app.service.documents import checked_source, index_now
from app.settings import Settings

router = APIRouter(tags=["documents"], route_class=TypedRoute)

MAX_DOCUMENTS = 10_000


class IndexDocument(BaseModel):
    """`id` is the external id; without one it is made from title and text, so that repeating a call changes nothing."""

    model_config = ConfigDict(extra="forbid")

    id: str | None = None
    title: str | None = None
    text: str
    metadata: Metadata = {}


class IndexBody(Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "collection": COLLECTION_EXAMPLE,
                    "documents": [
                        {
                            "id": "leave",
                            "title": "Leave",
                            "text": "Employees have 30 days of leave per year.",
                            "metadata": {"team": "people"},
                        }
                    ],
                }
            ]
        },
    )

    collection: str | None = Field(None, description="Created if need be; default: the setting rag.collectionName.")
    documents: Annotated[list[IndexDocument], Field(min_length=1, max_length=MAX_DOCUMENTS)]


class IndexedOut(BaseModel):
    id: str
    document_id: UUID
    chunk_count: int
    duplicate: bool


class FailedOut(BaseModel):
    id: str
    error: str
    code: str


class IndexOut(BaseModel):
    """What became of each document."""

    model_config = example(
        {
            "indexed": [{"id": "leave", "document_id": ID_EXAMPLE, "chunk_count": 1, "duplicate": False}],
            "failed": [{"id": "empty", "error": "the file is empty", "code": "empty-document"}],
        }
    )

    indexed: list[IndexedOut]
    failed: list[FailedOut]


@router.post("/index", responses=problems.declare(502, 504), summary="Index texts")
async def index(body: IndexBody, services: ServicesDep) -> IndexOut:
    """Answers when the documents are searchable. One that cannot be indexed stands in `failed`, alone."""
    settings = services.settings.current
    good, failed = _sort(body.documents, settings)
    name = body.collection if body.collection is not None else settings.rag.collection_name
    outcomes = await index_now(services, name, good)
    failed += [_failed(item) for item in outcomes if isinstance(item, Rejected)]
    return IndexOut(indexed=[_indexed(item) for item in outcomes if isinstance(item, Indexed)], failed=failed)


def _sort(documents: list[IndexDocument], settings: Settings) -> tuple[list[Source], list[FailedOut]]:
    good, failed = [], []
    for document in documents:
        source = _source(document)
        try:
            good.append(checked_source(source, settings))
        except CairnError as error:
            failed.append(FailedOut(id=source.external_id[:200], error=error.detail, code=error.code))
    counts = Counter(source.external_id for source in good)
    if repeated := [key for key, count in counts.items() if count > 1]:
        raise InputError(f"document ids must differ within one request; repeated: {', '.join(repeated[:5])}")
    return good, failed


def _source(document: IndexDocument) -> Source:
    content = document.text.encode()
    key = document.id
    if key is None:
        key = "sha256-" + hashlib.sha256((document.title or "").encode() + b"\0" + content).hexdigest()[:32]
    fields: dict[str, Any] = {"title": document.title, "media_type": "text/plain", "metadata": document.metadata}
    return Source(key, key, content, is_text=True, **fields)


def _indexed(item: Indexed) -> IndexedOut:
    return IndexedOut(
        id=item.external_id, document_id=item.document_id, chunk_count=item.chunk_count, duplicate=item.duplicate
    )


def _failed(item: Rejected) -> FailedOut:
    return FailedOut(id=item.external_id, error=item.error, code=item.code)
