"""Documents of a collection: upload, index texts, list, read, delete."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, File, Form, Query, Request, Response, UploadFile
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, FailFast, Field

from cairn.domain.access import MOST_NAMES, check_access
from cairn.domain.document import (
    MAX_METADATA_BYTES,
    Change,
    Document,
    Indexed,
    Rejected,
    Source,
    count_outcomes,
    upload_result,
)
from cairn.domain.document_list import DocumentSort, place_of
from cairn.domain.job import Job
from cairn.domain.names import check_distinct, id_of_file_name, id_of_text
from cairn.errors import CairnError, InputError, TooLargeError
from cairn.interfaces.http import problems
from cairn.interfaces.http.collections import CollectionName
from cairn.interfaces.http.document_addresses import DocumentId, Wanted
from cairn.interfaces.http.models import (
    COLLECTION_EXAMPLE,
    ID_EXAMPLE,
    Body,
    JobOut,
    Metadata,
    cleaned,
    example,
    job_out,
)
from cairn.interfaces.http.running import Cursor, Limit, ServicesDep, TypedRoute, decode_cursor, encode_cursor
from cairn.interfaces.http.unknown_names import check_form
from cairn.language.text import normalise
from cairn.service import documents, jobs
from cairn.service.documents import check_source, index_now
from cairn.service.epochs import epoch_of
from cairn.settings import Settings

router = APIRouter(tags=["documents"], route_class=TypedRoute)

MAX_METADATA_FIELD = 4 * MAX_METADATA_BYTES
"""Characters: escapes and white space are not counted as metadata, but read."""

_UPLOADED = {
    "id": ID_EXAMPLE, "external_id": "guides/leave.md", "chunk_count": 4, "duplicate": False, "change": "added",
}  # fmt: skip
_COUNTS = {"added": 1, "replaced": 0, "updated": 0, "unchanged": 0, "failed": 1}
UPLOADED_FAILED = {
    "external_id": "scan.pdf",
    "error": "the PDF has no text layer; run OCR on it first",
    "code": "no-text-layer",
}
_DOCUMENT = {
    "id": ID_EXAMPLE, "collection": COLLECTION_EXAMPLE, "external_id": "guides/leave.md", "title": "Leave",
    "version": 1, "status": "indexed", "media_type": "text/markdown", "language": "en", "metadata": {"team": "people"},
    "error": None, "byte_size": 5120, "passage_count": 3, "chunk_count": 14, "token_count": 1210,
    "created_at": "2026-11-21T10:00:00Z", "updated_at": "2026-11-21T10:00:01Z", "has_file": True, "enrichment": None,
    "access": None, "access_from": None,
}  # fmt: skip


EPOCH: Final = Field(description="Of the collection, with this written: `min_epoch` of a request that must see it.")
ACCESS: Final = (
    "Who may read it: `group:<name>`, `person:<subject of a token>`, `key:<id>`; empty: as the rules of its folder "
    "say (`PUT /collections/{name}/access`), without any everybody in the tenant."
)
EPOCH_HEADER: Final = "X-Collection-Epoch"
"""The same, of what is answered with something else."""


class Uploaded(BaseModel):
    id: UUID
    external_id: str = Field(description="The file's name as a relative path.")
    chunk_count: int
    duplicate: bool = Field(description="The collection had this file with this content already.")
    notes: list[str] = Field([], description="What of the file was not read, such as scanned pages.")
    change: Change = Field(
        description="replaced: the collection had it with other content; updated: with other metadata only."
    )


class Counts(BaseModel):
    """How many documents of a request became what."""

    added: int
    replaced: int
    updated: int
    unchanged: int
    failed: int


class FailedDocument(BaseModel):
    external_id: str
    error: str
    code: str


class UploadOut(BaseModel):
    """What became of each file."""

    model_config = example({"uploaded": [_UPLOADED], "failed": [UPLOADED_FAILED], "counts": _COUNTS, "epoch": 14})

    uploaded: list[Uploaded]
    failed: list[FailedDocument]
    counts: Counts
    epoch: int = EPOCH


class EnrichmentOut(BaseModel):
    """Sentences of context that a chat model wrote for chunks; they are embedded with them and never shown."""

    model: str
    chunks: int = Field(description="Chunks that are embedded with one.")
    of: int = Field(description="All chunks of the document.")
    without: dict[str, int] = Field(description="Why the others have none, with how many.")


class DocumentOut(BaseModel):
    model_config = example(_DOCUMENT)

    id: UUID
    collection: str
    external_id: str
    title: str
    version: int
    status: Literal["pending", "parsing", "embedding", "indexed", "failed"]
    media_type: str
    language: str | None
    metadata: Metadata
    error: str | None
    byte_size: int
    passage_count: int
    chunk_count: int
    token_count: int
    created_at: datetime
    updated_at: datetime
    has_file: bool = Field(description="The file is kept: GET .../file has it.")
    enrichment: EnrichmentOut | None = Field(
        None, description="Set once contexts were written (rag.contextualEnrichmentEnabled)."
    )
    access: list[str] | None = Field(None, description="Who may read it; null: everybody in the tenant.")
    access_from: str | None = Field(
        None, description="Folder whose access rule says so, empty: the collection; null: it has its own list, or none."
    )


class DocumentWithText(DocumentOut):
    text: str | None = Field(None, description="Normalised text that all spans count in; only with ?include=text.")


class DocumentPage(BaseModel):
    model_config = example({"items": [_DOCUMENT], "next_cursor": None})

    items: list[DocumentOut]
    next_cursor: str | None = Field(description="For the next page; null on the last one.")


def document_out(document: Document) -> DocumentOut:
    return DocumentOut(**_fields(document))


def _fields(document: Document) -> dict[str, Any]:
    found = document.enrichment
    enrichment = EnrichmentOut(**{name: found[name] for name in EnrichmentOut.model_fields}) if found else None
    same = {name: getattr(document, name) for name in DocumentOut.model_fields if name != "enrichment"}
    return {**same, "enrichment": enrichment}


# --- upload -----------------------------------------------------------------------------------------------------------


async def _known_fields(request: Request) -> None:
    check_form(await request.form(), ("files", "access", "metadata"))


FormAccess = Annotated[
    list[str],
    Form(
        default_factory=list,
        max_length=MOST_NAMES,
        description=f"{ACCESS} Left out: as it is. Repeat it; needs the scope admin.",
        examples=[["group:personnel"]],
    ),
]
KNOWN_FIELDS: Final = Depends(_known_fields)
"""Of a form with files: others are refused."""


@router.post(
    "/collections/{name}/documents",
    dependencies=[KNOWN_FIELDS],
    status_code=202,
    response_model=JobOut,
    responses={
        200: {"model": UploadOut, "description": "With ?wait=true: what became of each file."},
        **problems.declare(502, 504),
    },
    summary="Upload files",
)
async def upload_documents(
    name: CollectionName,
    services: ServicesDep,
    files: Annotated[
        list[UploadFile],
        File(
            description="PDF, Word, Excel, PowerPoint, mails, text, code and more. The name is the document's identity.",
            json_schema_extra={"minItems": 1},
        ),
    ],
    access: FormAccess,
    metadata: Annotated[
        str | None, Form(description="A JSON object, stored with each document.", examples=['{"team": "people"}'])
    ] = None,
    wait: Annotated[bool, Query(description="Answer when the files are indexed instead of at once.")] = False,
) -> Response:
    """A file that cannot be read fails alone. The same name with the same content is a duplicate, with other content a
    new version. The collection is created if need be."""
    settings = services.settings.current
    documents.check_collection_name(name)
    sources = for_readers(await received(files, metadata, settings), access)
    if wait:
        outcomes = await documents.index_now(services, name, sources)
        return JSONResponse(upload_result(outcomes, await epoch_of(services, name)))
    return accepted(await documents.index_later(services, name, sources))


def for_readers(sources: list[Source], access: Sequence[str]) -> list[Source]:
    """With the list of readers that a form gives; the same where it gives none. Raises InputError."""
    if not access:
        return sources
    named = check_access([one for one in access if one])
    return [replace(source, access=named) for source in sources]


def accepted(job: Job) -> Response:
    """The answer where a job does what was asked: the job, and where to look at it."""
    headers = {"Location": f"/jobs/{job.id}"}
    return Response(job_out(job).model_dump_json(), 202, headers, "application/json")


async def received(files: Sequence[UploadFile], metadata: str | None, settings: Settings) -> list[Source]:
    """What an upload brought. Raises InputError, TooLargeError."""
    _check_sizes(files, settings)
    return await _sources(files, _metadata(metadata), settings)


def _check_sizes(files: Sequence[UploadFile], settings: Settings) -> None:
    limit = settings.ingest.max_file_bytes
    if large := [file.filename or "" for file in files if (file.size or 0) > limit]:
        raise TooLargeError(
            f"{large[0]} is larger than {limit:,} bytes (setting ingest.maxFileBytes)", files=cleaned(large)
        )


def _metadata(field: str | None) -> Metadata:
    if not field:
        return {}
    if len(field) > MAX_METADATA_FIELD:
        raise InputError(
            f"the field metadata has {len(field):,} characters, and at most {MAX_METADATA_FIELD:,} are allowed"
        )
    try:
        found = cleaned(json.loads(field))
    except (ValueError, RecursionError) as error:
        raise InputError(f"the field metadata is not usable JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"the field metadata must be a JSON object, not {type(found).__name__}")
    return found


async def _sources(files: Sequence[UploadFile], metadata: Metadata, settings: Settings) -> list[Source]:
    sources = []
    for file in files:
        name = id_of_file_name(sent_name(file))
        media_type = normalise(file.content_type or "")[:200] or None
        source = Source(name, name, await file.read(), media_type=media_type, metadata=metadata)
        sources.append(documents.check_source(source, settings))
    check_distinct((sent_name(file), source.external_id) for file, source in zip(files, sources, strict=True))
    return sources


_OF_A_DISK: Final = re.compile(r""";[ \t]*filename="?((?:[^"\\]:\\|\\\\)(?:[^"\\]|\\.)*+)""")


def sent_name(file: UploadFile) -> str:
    """The file name as the client sent it. Of a path of Windows the parser of forms keeps what stands behind the last backslash,
    so that two of them would come to one name unseen."""
    found = _OF_A_DISK.search(file.headers.get("content-disposition", ""))
    if not found:
        return file.filename or ""
    folder = found[1].replace("\\\\", "\\").rpartition("\\")[0].encode("latin-1", "replace").decode(errors="replace")
    return f"{folder}\\{file.filename or ''}"


# --- read and delete --------------------------------------------------------------------------------------------------


@router.get("/collections/{name}/documents", summary="List documents")
async def list_documents(
    name: CollectionName,
    services: ServicesDep,
    wanted: Wanted,
    sort: Annotated[DocumentSort, Query(description="With `-` the other way round.")] = "external_id",
    cursor: Cursor = None,
    limit: Limit = 50,
) -> DocumentPage:
    """All, or those that meet every filter that is given."""
    found = await documents.list_documents(
        services, name, wanted, sort=sort, after=decode_cursor(cursor), limit=limit + 1
    )
    return document_page(found, limit, sort)


def document_page(found: Sequence[Document], limit: int, sort: DocumentSort = "external_id") -> DocumentPage:
    """The page, of what was found when one more than `limit` were asked for."""
    more = encode_cursor(place_of(found[limit - 1], sort)) if len(found) > limit else None
    return DocumentPage(items=[document_out(document) for document in found[:limit]], next_cursor=more)


@router.get(
    "/collections/{name}/documents/{document_id}", response_model_exclude_unset=True, summary="Look at a document"
)
async def get_document(
    name: CollectionName,
    document_id: DocumentId,
    services: ServicesDep,
    include: Annotated[Literal["text"] | None, Query(description="`text`: with the whole text.")] = None,
) -> DocumentWithText:
    if not include:
        return DocumentWithText(**_fields(await documents.find_document(services, name, document_id)))
    document, text = await documents.get_document(services, name, document_id)
    return DocumentWithText(**_fields(document), text=text)


@router.delete("/collections/{name}/documents/{document_id}", status_code=204, summary="Delete a document")
async def delete_document(
    name: CollectionName, document_id: DocumentId, services: ServicesDep, response: Response
) -> None:
    """With everything derived from it, in one transaction. `X-Collection-Epoch`: `min_epoch` of requests that must see it."""
    await documents.delete_document(services, name, document_id)
    response.headers[EPOCH_HEADER] = str(await epoch_of(services, name))


@router.post("/collections/{name}/enrich", status_code=202, summary="Let the chat model write contexts for chunks")
async def enrich_collection(name: CollectionName, services: ServicesDep, response: Response) -> JobOut:
    """By a job; what was written already costs nothing, and an order that waits or runs already is the answer then. 422 where
    `rag.contextualEnrichmentEnabled` is off or there is no chat model."""
    job = await jobs.enrich_collection(services, name)
    response.headers["Location"] = f"/jobs/{job.id}"
    return job_out(job)


# --- texts that the caller has already: for programs, where uploads are for files ------------------------------------------


MAX_DOCUMENTS = 10_000


class IndexDocument(BaseModel):
    """Without an `external_id` one is made from title and text, so that repeating a call changes nothing."""

    model_config = ConfigDict(extra="forbid")

    external_id: str | None = None
    title: str | None = None
    text: str
    metadata: Metadata = {}
    access: list[str] | None = Field(
        None, max_length=MOST_NAMES, description=f"{ACCESS} Null: as it is. Needs the scope admin."
    )


class IndexBody(Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "collection": COLLECTION_EXAMPLE,
                    "documents": [
                        {
                            "external_id": "leave",
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
    # the first document of a wrong shape is enough to say: describing 100,000 mistakes holds everybody up
    documents: Annotated[list[IndexDocument], FailFast(), Field(min_length=1, max_length=MAX_DOCUMENTS)]


class IndexedOut(BaseModel):
    id: UUID
    external_id: str
    chunk_count: int
    duplicate: bool
    change: Change


class IndexOut(BaseModel):
    """What became of each document."""

    model_config = example(
        {
            "indexed": [
                {"id": ID_EXAMPLE, "external_id": "leave", "chunk_count": 1, "duplicate": False, "change": "added"}
            ],
            "failed": [{"external_id": "empty", "error": "the file is empty", "code": "empty-document"}],
            "counts": _COUNTS,
            "epoch": 14,
        }
    )

    indexed: list[IndexedOut]
    failed: list[FailedDocument]
    counts: Counts
    epoch: int = EPOCH


@router.post("/index", responses=problems.declare(502, 504), summary="Index texts")
async def index_texts(body: IndexBody, services: ServicesDep) -> IndexOut:
    """Answers when the documents are searchable. One that cannot be indexed stands in `failed`, alone."""
    settings = services.settings.current
    good, failed = _sort(body.documents, settings)
    name = body.collection if body.collection is not None else settings.rag.collection_name
    outcomes = await index_now(services, name, good)
    failed += [_failed(item) for item in outcomes if isinstance(item, Rejected)]
    indexed = [item for item in outcomes if isinstance(item, Indexed)]
    counts = Counts(**{**count_outcomes(indexed), "failed": len(failed)})
    epoch = await epoch_of(services, name)
    return IndexOut(indexed=[_indexed(item) for item in indexed], failed=failed, counts=counts, epoch=epoch)


def _sort(documents: list[IndexDocument], settings: Settings) -> tuple[list[Source], list[FailedDocument]]:
    good, failed = [], []
    for document in documents:
        source = _source(document)
        try:
            good.append(check_source(source, settings))
        except CairnError as error:
            failed.append(FailedDocument(external_id=source.external_id[:200], error=error.detail, code=error.code))
    counts = Counter(source.external_id for source in good)
    if repeated := [key for key, count in counts.items() if count > 1]:
        raise InputError(f"external ids must differ within one request; repeated: {', '.join(repeated[:5])}")
    return good, failed


def _source(document: IndexDocument) -> Source:
    content = document.text.encode()
    key = document.external_id
    if key is None:
        key = id_of_text(document.title, content, restricted=bool(document.access))
    fields: dict[str, Any] = {"title": document.title, "media_type": "text/plain", "metadata": document.metadata}
    if document.access is not None:
        fields["access"] = check_access(document.access)
    return Source(key, key, content, is_text=True, **fields)


def _indexed(item: Indexed) -> IndexedOut:
    return IndexedOut(
        id=item.document_id, external_id=item.external_id, chunk_count=item.chunk_count, duplicate=item.duplicate,
        change=item.change,
    )  # fmt: skip


def _failed(item: Rejected) -> FailedDocument:
    return FailedDocument(external_id=item.external_id, error=item.error, code=item.code)
