"""Resources: collections, documents and passages by URI. Collections and documents are listed, page by page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final
from uuid import UUID

from mcp_types import ListResourcesResult, ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from cairn.domain.document import Collection, Document
from cairn.domain.ids import as_id
from cairn.errors import InputError, NotFoundError
from cairn.interfaces.mcp.addresses import COLLECTION, DOCUMENT, PASSAGE, collection_uri, document_uri, read_uri
from cairn.service.documents import get_collection, get_document, list_collections, list_documents
from cairn.service.passages import get_passage
from cairn.wiring import Services

PAGE: Final = 100
"""Documents of a page, and documents that a collection names."""
MAX_CHARACTERS: Final = 400_000
"""Of a document that is read as a resource; the tool read_document reads any part of a longer one."""

TEMPLATES: Final = [
    ResourceTemplate(
        uri_template=COLLECTION, name="collection", title="Collection", mime_type="text/markdown",
        description="The documents of a collection, with their URIs.",
    ),
    ResourceTemplate(
        uri_template=DOCUMENT, name="document", title="Document", mime_type="text/plain",
        description="The text of a document.",
    ),
    ResourceTemplate(
        uri_template=PASSAGE, name="passage", title="Passage", mime_type="text/plain",
        description="The text of a passage that a search found or an answer cites.",
    ),
]  # fmt: skip


async def list_resources(services: Services, cursor: str | None) -> ListResourcesResult:
    """Collection by collection, each before its documents. Raises InputError for a cursor that this did not give out, and
    NotFoundError where its collection is gone."""
    name, after = _place(cursor)
    resources = []
    if after is None:  # the next collection begins
        found = await list_collections(services, after=name, limit=1)
        if not found:
            return ListResourcesResult(resources=[])
        resources, name = [_collection(found[0])], found[0].name
    documents = await list_documents(services, name, after=after or "", limit=PAGE + 1)
    resources += [_document(one) for one in documents[:PAGE]]
    following: list[str] | None = None
    if len(documents) > PAGE:
        following = [name, documents[PAGE - 1].external_id]
    elif await list_collections(services, after=name, limit=1):
        following = [name]
    return ListResourcesResult(resources=resources, next_cursor=json.dumps(following) if following else None)


def _place(cursor: str | None) -> tuple[str, str | None]:
    """The collection and the last document of the page before; no document: that collection is done."""
    if not cursor:
        return "", None
    try:
        name, *after = json.loads(cursor)
        if not all(isinstance(part, str) for part in (name, *after)) or len(after) > 1:
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise InputError("the cursor is not one that this list gave out; start again without it") from None
    return name, after[0] if after else None


def _collection(found: Collection) -> Resource:
    return Resource(
        uri=collection_uri(found.name), name=found.name, title=f"Collection {found.name}", mime_type="text/markdown",
        description=f"{found.document_count:,} document(s)",
    )  # fmt: skip


def _document(found: Document) -> Resource:
    return Resource(
        uri=document_uri(found.collection, found.id), name=found.external_id, title=found.title or None,
        mime_type="text/plain", description=f"{found.media_type}, {found.status}, in {found.collection}",
    )  # fmt: skip


async def read_resource(services: Services, uri: str) -> ReadResourceResult:
    """Raises NotFoundError."""
    template, parts = read_uri(uri) or ("", ())
    if template == COLLECTION:
        return await _read_collection(services, uri, parts[0])
    if template == DOCUMENT and (document_id := as_id(parts[1])):
        return await _read_document(services, uri, parts[0], document_id)
    if template == PASSAGE and (passage_id := as_id(parts[0])):
        passage = await get_passage(services, passage_id)
        place = {
            "document": document_uri(passage.collection, passage.document_id), "external_id": passage.external_id,
            "title": passage.title, "headings": list(passage.headings), "page": passage.page,
            "start": passage.start, "end": passage.end,
        }  # fmt: skip
        return _text(uri, passage.content, "text/plain", place)
    raise NotFoundError(f"there is no resource {uri[:300]}; they look like {COLLECTION}, {DOCUMENT} and {PASSAGE}")


async def _read_collection(services: Services, uri: str, name: str) -> ReadResourceResult:
    found = await get_collection(services, name)
    documents = await list_documents(services, found.name, limit=PAGE)
    lines = [f"# {found.name}", "", f"{found.document_count:,} document(s)"]
    lines += [f"- {one.title or one.external_id} ({one.external_id}): {_document(one).uri}" for one in documents]
    lines += ["- ..."] if found.document_count > len(documents) else []
    return _text(uri, "\n".join(lines), "text/markdown", {})


async def _read_document(services: Services, uri: str, collection: str, document_id: UUID) -> ReadResourceResult:
    document, text = await get_document(services, collection, document_id)
    if text is None:
        raise NotFoundError(f"document {document.external_id[:200]} is {document.status} and has no text yet")
    place = {
        "external_id": document.external_id, "title": document.title, "version": document.version,
        "characters": len(text), "truncated": len(text) > MAX_CHARACTERS,
    }  # fmt: skip
    return _text(uri, text[:MAX_CHARACTERS], "text/plain", place)


def _text(uri: str, text: str, media_type: str, place: Mapping[str, object]) -> ReadResourceResult:
    """`place`: where it stands, in `_meta`."""
    return ReadResourceResult(
        contents=[TextResourceContents(uri=uri, text=text, mime_type=media_type, _meta=dict(place) or None)]
    )
