"""What stands around a quotation: the part of a document's text that a reader checks a citation in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from cairn.domain.document import Document
from cairn.errors import NotFoundError
from cairn.service.documents import get_document
from cairn.store import documents
from cairn.store.session import reads_contents
from cairn.wiring import Services

AROUND: Final = 8_000
"""Characters of text before and after the quotation."""
ENOUGH: Final = 40
"""Characters of a quotation that tell where it stands now, in a document that changed since."""


@dataclass(frozen=True, slots=True)
class QuotedText:
    """A part of `document`, which holds `length` code points: `text` begins at `offset`. `marked`: where in `text` the quotation
    stands; None where it stands nowhere, or none was asked for. `moved`: it was quoted from an earlier version, and looked for by
    its words."""

    document: Document
    collection: str
    text: str
    offset: int
    length: int
    marked: tuple[int, int] | None
    moved: bool = False


@reads_contents
async def read_excerpt(
    services: Services,
    document_id: UUID,
    span: tuple[int, int] | None = None,
    *,
    version: int | None = None,
    quote: str = "",
    around: int = AROUND,
) -> QuotedText:
    """The text around `span` (code points) of the `version` it is of, or the beginning of the document. `quote`: how the
    quotation begins, to find it again where the document changed since. Raises NotFoundError."""
    collection = await find_collection(services, document_id)
    document, text = await get_document(services, collection, document_id)
    text = text or ""
    moved = span is not None and version is not None and version != document.version
    if moved and span is not None:
        span = _find_again(text, quote, span[1] - span[0])
    if span is None or not 0 <= span[0] < span[1] <= len(text):
        return QuotedText(document, collection, text[: 2 * around], 0, len(text), None, moved)
    offset = _line_start(text, max(0, span[0] - around))
    until = text.find("\n", min(len(text), span[1] + around))
    shown = text[offset : until if until >= 0 else len(text)]
    return QuotedText(document, collection, shown, offset, len(text), (span[0] - offset, span[1] - offset), moved)


async def find_collection(services: Services, document_id: UUID) -> str:
    """The name of the collection that a document is in. Raises NotFoundError."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await documents.find_collection(connection, services.principal, document_id)
    if found is None:
        raise NotFoundError(f"no document {document_id}; it may have been deleted")
    return found


def _find_again(text: str, quote: str, length: int) -> tuple[int, int] | None:
    """Where the same words stand; a quotation that is too short to tell is not looked for."""
    quote = quote[:length]
    at = text.find(quote) if len(quote) >= min(ENOUGH, length) else -1
    return (at, at + len(quote)) if at >= 0 else None


def _line_start(text: str, at: int) -> int:
    """The beginning of the line, unless it is far."""
    start = text.rfind("\n", max(0, at - 500), at) + 1
    return start if start > 0 or at <= 500 else at
