"""Changing what is said about documents, and deleting many of them, once for all surfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from cairn.domain.access import check_access
from cairn.domain.document import Collection, Document, check_metadata
from cairn.domain.document_list import EVERY_DOCUMENT, DocumentFilter, ListOrder
from cairn.domain.names import clean_title
from cairn.errors import ConflictError, InputError, NotFoundError
from cairn.graph.refresh import follow
from cairn.ingest.model_jobs import order_model_jobs
from cairn.ingest.outlines import outline_reader
from cairn.ingest.reindex import reindex_document
from cairn.ingest.remove import remove_document
from cairn.service.documents import MAX_TITLE, find_document, get_collection, require_access_giver
from cairn.store import audit, documents
from cairn.wiring import Services

MOST_DELETED: Final = 1000
"""Documents of one request, so that it ends in time."""
_BATCH: Final = 20
"""Documents that are looked up at once."""
_IN_ORDER: Final = ListOrder("external_id", False, None)


@dataclass(frozen=True, slots=True)
class Deletion:
    """`more`: there are others that were meant."""

    deleted: int
    more: bool


async def change_document(
    services: Services, collection: str, document_id: UUID, *, title: str | None = None,
    metadata: Mapping[str, Any] | None = None, access: Sequence[str] | None = None,
) -> Document:  # fmt: skip
    """Give it another title, by which it is then found, or other metadata: `metadata` is merged into what is there, null
    removes (RFC 7396). Both stay until the document is handed over again. `access`: who may read it from now on, nobody:
    whom the rules of its folder name, without any everybody in the tenant. Raises NotFoundError, InputError,
    ForbiddenError for `access` from who may not say so, and ConflictError for a title while it is not indexed."""
    if access is not None:
        require_access_giver(services)
        access = check_access(access)
    document = await find_document(services, collection, document_id)
    if metadata is not None:
        check_metadata(merge(document.metadata, metadata))
    found = await get_collection(services, collection)
    if access is not None:
        await _change_access(services, found, document, access)
    title = title if title is None else clean_title(title)
    if title is not None and title != document.title:
        await _change_title(services, found, document, title)
    if metadata is not None:
        await _change_metadata(services, found, document, metadata)
    return await find_document(services, collection, document_id)


async def _change_access(services: Services, collection: Collection, document: Document, access: Sequence[str]) -> None:
    async with services.database.transaction(services.principal) as connection:
        changed = await documents.set_access(connection, collection.id, document.id, access)
        if changed is None:
            raise NotFoundError(f"no document {document.id} in collection {collection.name}")
        found = await documents.get(connection, services.principal, collection.id, document.id)
        readers = list(found.access or ()) if found else []  # of a rule, where it has none of its own
        if changed:
            detail = {"collection": collection.name, "access": readers}
            await audit.record(connection, services.principal, "document.access", str(document.id), detail)
    if changed and not readers and document.status == "indexed":
        await _reindex(services, collection, document)  # what everybody may read belongs into the graph


async def _change_title(services: Services, collection: Collection, document: Document, title: str) -> None:
    if not title.strip() or len(title) > MAX_TITLE:
        raise InputError(f"a title has 1 to {MAX_TITLE:,} characters, this one {len(title.strip()):,}")
    await _reindex(services, collection, document, title)


async def _reindex(services: Services, collection: Collection, document: Document, title: str | None = None) -> None:
    """Cut, embed and derive it anew. Raises ConflictError while it is not indexed."""
    target = services.target(services.principal, collection.id)
    done = "overtaken"
    while done == "overtaken":
        async with services.database.transaction(services.principal, readonly=True) as connection:
            stored = await documents.find_stored(connection, services.principal, document.id)
        if stored is None:
            raise ConflictError(f"{document.external_id[:200]} is not indexed; its title can be changed when it is")
        async with outline_reader(target.settings) as outlines:
            done = await reindex_document(services.database, target, stored, outlines, force=True, title=title)
    await order_model_jobs(services.database, target)
    await follow(services.database, services.principal, collection.id, target.settings)


async def _change_metadata(
    services: Services, collection: Collection, document: Document, patch: Mapping[str, Any]
) -> None:
    async with services.database.transaction(services.principal) as connection:
        locked = await documents.lock(connection, services.principal, [document.id])
        if document.id not in locked:
            raise NotFoundError(f"no document {document.id} in collection {collection.name}")
        merged = merge(locked[document.id], patch)
        check_metadata(merged)
        if merged != locked[document.id]:
            await documents.update_metadata(connection, collection.id, document.id, merged)


def merge(old: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The patch applied as RFC 7396 says: objects are merged, null removes, everything else replaces."""
    merged = dict(old)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping):
            inner = merged.get(name)
            merged[name] = merge(inner if isinstance(inner, Mapping) else {}, value)
        else:
            merged[name] = value
    return merged


def patch_between(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What `merge` makes `new` of `old` with: only what differs, so that what others changed meanwhile stays."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            patch[name] = patch_between(before, value)
        elif name not in old or before != value:
            patch[name] = value
    return patch


async def delete_documents(services: Services, collection: str, wanted: DocumentFilter) -> Deletion:
    """Remove those that are wanted with everything derived from them, MOST_DELETED at most. Raises NotFoundError for a collection
    that there is none of, InputError where nothing says which: that is what deleting the collection is for."""
    if wanted == EVERY_DOCUMENT:
        raise InputError("say which documents: by id or by a filter; to delete all of them delete the collection")
    found, deleted = await get_collection(services, collection), 0
    while deleted < MOST_DELETED and (gone := await _delete_some(services, found, wanted)) is not None:
        deleted += gone
    if deleted:
        await follow(services.database, services.principal, found.id, services.settings.current)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        more = await documents.page(connection, services.principal, found.id, wanted, _IN_ORDER, 1)
    return Deletion(deleted, bool(more))


async def _delete_some(services: Services, collection: Collection, wanted: DocumentFilter) -> int | None:
    """How many of the next were deleted; None: there are no more."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        batch = await documents.page(connection, services.principal, collection.id, wanted, _IN_ORDER, _BATCH)
    gone = [await _delete_if_meant(services, collection, replace(wanted, ids=[one.id])) for one in batch]
    return sum(gone) if batch else None


async def _delete_if_meant(services: Services, collection: Collection, wanted: DocumentFilter) -> int:
    """Delete the one document of `wanted`, if it still is what is wanted once nobody else can change it. In a transaction of its
    own, as every document is written and removed."""
    principal = services.principal
    async with services.database.transaction(principal) as connection:
        await documents.lock(connection, principal, wanted.ids or ())
        meant = await documents.page(connection, principal, collection.id, wanted, _IN_ORDER, 1)
        for one in meant:
            await remove_document(connection, principal, collection.id, collection.name, one.id)
    return len(meant)
