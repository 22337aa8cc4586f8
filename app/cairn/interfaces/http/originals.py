"""What a document was made of: its file, its text, its pages as pictures, and where on them words stand."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from cairn.interfaces.http.collections import CollectionName
from cairn.interfaces.http.conditional import etag_of, headers_of, is_known, unchanged
from cairn.interfaces.http.document_addresses import DocumentId
from cairn.interfaces.http.models import ID_EXAMPLE, example
from cairn.interfaces.http.running import ServicesDep, TypedRoute
from cairn.service import documents, originals

router = APIRouter(tags=["documents"], route_class=TypedRoute)

_LARGEST: Final = 2**31 - 1
_DOCUMENT: Final = "/collections/{name}/documents/{document_id}"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9 ._()\[\]+,=@-]{1,200}")
_BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}

PageNumber = Annotated[int, Path(ge=1, le=1_000_000, description="From 1.", examples=[1])]
Position = Annotated[int, Query(ge=0, le=_LARGEST, description="Code point of the document's text.", examples=[0])]


class TextOut(BaseModel):
    """A part of the normalised text, in which every span (`start`, `end`) counts code points."""

    model_config = example(
        {"id": ID_EXAMPLE, "version": 1, "start": 0, "end": 18, "length": 5120, "text": "Employees have 30 "}
    )

    id: str
    version: int = Field(description="Version of the document that this is the text of.")
    start: int
    end: int
    length: int = Field(description="Of the whole text.")
    text: str


class PageSpanOut(BaseModel):
    page: int
    start: int
    end: int


class PagesOut(BaseModel):
    """The pages (slides) that have text, and which part of the document's text is on each."""

    model_config = example({"items": [{"page": 1, "start": 0, "end": 2210}], "pictures": True})

    items: list[PageSpanOut]
    pictures: bool = Field(description="Each page can be had as a picture: the document is a PDF and its file is kept.")


class MarkOut(BaseModel):
    """A rectangle, as shares (0 to 1) of the page's width and height, from the left and the top."""

    left: float
    top: float
    width: float
    height: float


class MarksOut(BaseModel):
    """Where on the page the span stands: a rectangle for each line or cell. None where nothing of the span is on the page, and on
    a scan, of which it is not known."""

    model_config = example(
        {"page": 1, "start": 15, "end": 22, "marks": [{"left": 0.1, "top": 0.21, "width": 0.32, "height": 0.014}]}
    )

    page: int
    start: int
    end: int
    marks: list[MarkOut]


@router.get(f"{_DOCUMENT}/text", summary="Read the text of a document")
async def get_text(
    name: CollectionName,
    document_id: DocumentId,
    services: ServicesDep,
    start: Position = 0,
    end: Annotated[
        int | None, Query(ge=0, le=_LARGEST, description="One past the last code point; default: all.")
    ] = None,
) -> TextOut:
    """All of it, or the code points of a span, such as a citation's. 404 while it is not indexed."""
    count = None if end is None else max(end - start, 0)
    part = await documents.read_text(services, name, document_id, start, count)
    return TextOut(
        id=str(document_id), version=part.version, start=part.start, end=part.start + len(part.text), length=part.length,
        text=part.text,
    )  # fmt: skip


@router.get(
    f"{_DOCUMENT}/file",
    response_class=Response,
    responses={200: {"content": {"*/*": _BINARY}, "description": "The bytes, under their media type."}},
    summary="Download the file of a document",
)
async def get_file(name: CollectionName, document_id: DocumentId, request: Request, services: ServicesDep) -> Response:
    """As it was uploaded. 404 where it is not kept: texts that were handed over have none, and nothing is kept while
    `ingest.keepOriginal` is off."""
    version = (await documents.find_document(services, name, document_id)).version
    if is_known(request, etag_of(document_id, version)):
        return unchanged(etag_of(document_id, version))
    found = await originals.read_original(services, name, document_id)
    # the type alone: which characters a text is written in is its own affair
    headers = {"Content-Type": found.media_type, "Content-Disposition": attachment(found.name)}
    return Response(found.content, headers=headers | headers_of(etag_of(document_id, found.version)))


def attachment(name: str) -> str:
    """Content-Disposition of a file to be saved under that name (RFC 6266)."""
    if _PLAIN_NAME.fullmatch(name):
        return f'attachment; filename="{name}"'
    return f"attachment; filename*=utf-8''{quote(name[-200:], safe='')}"


@router.get(f"{_DOCUMENT}/pages", summary="List the pages of a document")
async def list_pages(name: CollectionName, document_id: DocumentId, services: ServicesDep) -> PagesOut:
    """Empty for a document without pages."""
    document = await documents.find_document(services, name, document_id)
    found = await originals.list_pages(services, name, document_id)
    return PagesOut(
        items=[PageSpanOut(page=one.number, start=one.start, end=one.end) for one in found],
        pictures=document.has_file and document.media_type == originals.PDF,
    )


@router.get(
    f"{_DOCUMENT}/pages/{{page}}.png",
    response_class=Response,
    responses={200: {"content": {"image/png": _BINARY}, "description": "The picture."}},
    summary="Look at a page of a PDF",
)
async def get_page_picture(
    name: CollectionName,
    document_id: DocumentId,
    page: PageNumber,
    request: Request,
    services: ServicesDep,
    width: Annotated[
        int, Query(ge=originals.NARROWEST, le=originals.WIDEST, description="Pixels.")
    ] = originals.USUAL_WIDTH,
) -> Response:
    """404 for other files, for a page that there is none of, and where the file is not kept."""
    document = await documents.find_document(services, name, document_id)
    tag = etag_of(document_id, document.version, page, width)
    if is_known(request, tag):
        return unchanged(tag)
    picture = await originals.draw_page(services, name, document_id, page, width)
    return Response(picture.png, headers=headers_of(tag), media_type="image/png")


@router.get(f"{_DOCUMENT}/pages/{{page}}/marks", summary="Find where words stand on a page of a PDF")
async def find_marks(
    name: CollectionName,
    document_id: DocumentId,
    page: PageNumber,
    services: ServicesDep,
    start: Position,
    end: Annotated[int, Query(ge=1, le=_LARGEST, description="One past the last of them.", examples=[18])],
) -> MarksOut:
    """Rectangles around the words of a span of the document's text, such as `start` and `end` of a citation, to be laid over the
    page's picture."""
    found = await originals.find_marks(services, name, document_id, page, start, end)
    return MarksOut(page=page, start=start, end=end, marks=[MarkOut(**asdict(mark)) for mark in found])
