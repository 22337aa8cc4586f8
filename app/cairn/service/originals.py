"""What a reader of a source sees of it: the file as it was handed over, its pages as pictures, and where words stand on them."""

from __future__ import annotations

from uuid import UUID

from cairn.domain.original import Mark, Original, PagePicture, PageSpan
from cairn.errors import ConflictError, InputError, NotFoundError
from cairn.ingest import pages
from cairn.service.documents import find_document, read_text
from cairn.store import audit, originals
from cairn.wiring import Services

PDF = "application/pdf"
NARROWEST, WIDEST, USUAL_WIDTH = 100, 2400, 1000
"""Pixels of a page's picture."""


async def read_original(services: Services, collection: str, document_id: UUID) -> Original:
    """Raises NotFoundError where there is no such document, or where its file is not kept."""
    found = await _read(services, collection, document_id)
    await audit.record_restricted_reads(services.database, services.principal, "file", [document_id])
    return found


async def _read(services: Services, collection: str, document_id: UUID) -> Original:
    document = await find_document(services, collection, document_id)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await originals.get(connection, services.principal, document_id)
    if found is None:
        raise NotFoundError(
            f"the file of {document.external_id[:200]} is not kept: the document was handed over as text, or while "
            "ingest.keepOriginal was off; upload the file again to keep it, or read the document's text"
        )
    return found


async def list_pages(services: Services, collection: str, document_id: UUID) -> list[PageSpan]:
    """The pages (or slides) that have text, with the code points of the document's text on them; [] for a document without pages.
    Raises NotFoundError."""
    await find_document(services, collection, document_id)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await originals.list_pages(connection, services.principal, document_id)


async def draw_page(
    services: Services, collection: str, document_id: UUID, page: int, width: int = USUAL_WIDTH
) -> PagePicture:
    """The page (from 1) of a PDF as PNG, `width` pixels wide. Raises NotFoundError where there is no such document, file or page,
    and where it is another kind of file; ParseError."""
    if not NARROWEST <= width <= WIDEST:
        raise InputError(f"a picture is {NARROWEST} to {WIDEST:,} pixels wide, not {width:,}")
    original = await _read_pdf(services, collection, document_id)
    await audit.record_restricted_reads(services.database, services.principal, "file", [document_id])
    return await pages.draw_page(original.content, page, width, services.settings.current.ingest)


async def find_marks(
    services: Services, collection: str, document_id: UUID, page: int, start: int, end: int
) -> tuple[Mark, ...]:
    """Where the part of [start, end) of the document's text that is on the page (from 1) stands there, a rectangle for each line
    or cell; () where nothing of it does, or the page is a scan. Raises as draw_page."""
    if not 0 <= start < end:
        raise InputError(f"start and end are a range of the text: 0 <= start < end, not {start} and {end}")
    original = await _read_pdf(services, collection, document_id)
    span = next((one for one in await list_pages(services, collection, document_id) if one.number == page), None)
    if span is None or start >= span.end or end <= span.start:
        return ()
    text = await read_text(services, collection, document_id, span.start, span.end - span.start)
    if text.version != original.version:
        raise ConflictError("the document was replaced meanwhile; ask again")
    on_page = (max(start, span.start) - span.start, min(end, span.end) - span.start)
    settings = services.settings.current.ingest
    return await pages.find_marks(original.content, page, text.text, on_page, settings)


async def _read_pdf(services: Services, collection: str, document_id: UUID) -> Original:
    original = await _read(services, collection, document_id)
    if original.media_type != PDF:
        raise NotFoundError(
            f"{original.name[:200]} is {original.media_type}: only pages of a PDF have pictures; read its text instead"
        )
    return original
