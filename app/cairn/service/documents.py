"""What a user can do with collections and documents, once for all surfaces."""

from __future__ import annotations

import os
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal
from uuid import UUID

from cairn.domain.document import Collection, Document, Outcome, Source, TextPart, check_metadata
from cairn.domain.document_list import EVERY_DOCUMENT, DocumentFilter, DocumentSort, ListOrder
from cairn.domain.graph_view import Refreshed
from cairn.domain.job import Job, RecallCheck
from cairn.domain.names import MAX_NAME, check_external_id, clean_title
from cairn.errors import ConflictError, ForbiddenError, InputError, NotFoundError, SettingsError, TooLargeError
from cairn.graph.refresh import due, follow, refresh
from cairn.ingest.embed import OnShare
from cairn.ingest.model_choice import Writing
from cairn.ingest.pipeline import ABANDONED, ABANDONED_SECONDS, OnOutcome, ingest
from cairn.ingest.prepare import source_hash_aside
from cairn.ingest.remove import remove_document
from cairn.jobs import vector_indexes
from cairn.jobs.documents import INDEX_UPLOADS
from cairn.language.text import normalise
from cairn.service.metered import metered_for_key
from cairn.settings import AUTO, Settings
from cairn.store import (
    audit,
    cache,
    collections,
    documents,
    jobs,
    limits,
    traces,
)
from cairn.store import vector_indexes as vector_store
from cairn.store.session import reads_contents
from cairn.wiring import Services

COLLECTION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
LONGEST_TEXT = 2**30
"""Code points; PostgreSQL holds no longer text."""
MOST_AHEAD = timedelta(minutes=15)
"""Of an empty file."""
LARGE_BYTES = 10_000_000
"""Files that have these overtake nothing."""
MAX_TITLE = 2000
"""Characters; a title stands with each passage."""


def check_collection_name(name: str) -> str:
    """A collection name. Raises InputError."""
    if not COLLECTION_NAME.fullmatch(name):
        raise InputError(
            f"{name[:140]!r} is not a collection name: 1 to 128 letters, digits, '.', '_' or '-', beginning with a "
            "letter or digit"
        )
    return name


def collection_of(path: Path) -> str:
    """The name of a file or folder, as far as a collection may be called so."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(os.path.abspath(path.expanduser())))[:100].strip("-._")
    return name or "documents"


def check_source(source: Source, settings: Settings) -> Source:
    """The same, its title without what cannot be seen. Raises InputError or TooLargeError for what can be said before reading the
    content."""
    check_external_id(source.external_id)
    if len(source.title or "") > MAX_TITLE:
        raise InputError(f"a title has at most {MAX_TITLE:,} characters, this one {len(source.title or ''):,}")
    if any(not char.isprintable() for char in source.media_type or ""):
        raise InputError("a media type is one line of printable characters, such as text/plain")
    if source.byte_size > settings.ingest.max_file_bytes:
        raise TooLargeError(
            f"{source.name} has {source.byte_size:,} bytes; at most {settings.ingest.max_file_bytes:,} are "
            "accepted (setting ingest.maxFileBytes)"
        )
    check_metadata(source.metadata)
    title = source.title and clean_title(source.title)
    return source if title == source.title else replace(source, title=title or None)


def check_display_name(name: str) -> str:
    """What people are to call a collection, in one line. Raises InputError."""
    shown = " ".join(clean_title(name).split())
    if not 1 <= len(shown) <= MAX_NAME:
        raise InputError(f"a display name has 1 to {MAX_NAME} characters that are seen, this one {len(shown):,}")
    return shown


def name_from(display_name: str) -> str:
    """A collection name made of what people call it: "Personnel 2024" is Personnel-2024. Where other than Latin letters were
    lost, a number tells names apart."""
    plain = unicodedata.normalize("NFKD", display_name).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", plain)[:100].strip("-._")
    lost = any(sign.isalnum() and not unicodedata.normalize("NFKD", sign)[0].isascii() for sign in display_name)
    number = f"{zlib.crc32(display_name.encode()):08x}"
    return f"{name or 'collection'}-{number}" if lost or not name else name


async def create_collection(
    services: Services, name: str | None, model: str | None = None, display_name: str | None = None
) -> Collection:
    """`model`: the embedding model that is to serve it; None: that of the settings, or what its first documents ask for.
    `name` None: it is made of the display name. Raises ConflictError when the name is taken, InputError for a model that cannot
    be had, ProviderError."""
    shown = None if display_name is None else check_display_name(display_name)
    name = check_collection_name(name if name is not None else name_from(shown or ""))
    chosen = None
    if model is not None and model != AUTO:
        try:
            chosen = await services.register_model(model)
        except SettingsError as error:  # of the caller's choice, and of no setting
            raise InputError(error.detail) from None
    async with services.database.transaction(services.principal) as connection:
        collection, created = await collections.ensure(connection, services.principal, name)
        if not created:
            raise ConflictError(f"a collection named {name} exists already")
        if chosen is not None:
            await collections.pin_model(connection, services.principal, collection.id, chosen.id)
        if shown is not None and shown != name:
            await collections.rename(connection, services.principal, name, shown)
            collection = replace(collection, display_name=shown)
    return replace(collection, model_id=chosen.id if chosen else None)


async def rename_collection(services: Services, name: str, display_name: str | None) -> Collection:
    """Change what people call it; its name, by which programs find it, stays. None: its name again. Raises NotFoundError,
    InputError."""
    shown = None if display_name is None else check_display_name(display_name)
    async with services.database.transaction(services.principal) as connection:
        if not await collections.rename(connection, services.principal, name, None if shown == name else shown):
            raise NotFoundError(f"no collection named {name[:140]}; see GET /collections")
    return await get_collection(services, name)


async def ensure_collection(services: Services, name: str) -> Collection:
    """The collection, created if need be: adding documents is what makes one."""
    return (await find_or_make_collection(services, name))[0]


async def find_or_make_collection(services: Services, name: str) -> tuple[Collection, bool]:
    """The collection, created if need be, and whether it was."""
    async with services.database.transaction(services.principal) as connection:
        return await collections.ensure(connection, services.principal, check_collection_name(name))


async def get_collection(services: Services, name: str) -> Collection:
    """Raises NotFoundError."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await collections.by_name(connection, services.principal, normalise(name))
    if found is None:
        raise NotFoundError(f"no collection named {name[:140]}; see GET /collections")
    return found


@reads_contents
async def list_collections(services: Services, *, after: str = "", limit: int = 50) -> list[Collection]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await collections.page(connection, services.principal, after=after, limit=limit)


async def delete_collection(services: Services, name: str) -> None:
    """Remove it with all its documents, rules and sources. Raises NotFoundError; ForbiddenError where it has documents that the
    caller may not read, or rules or a source, which are for who operates: what came later under its name would be open."""
    collection = await get_collection(services, name)
    async with services.database.transaction(services.principal) as connection:
        await require_reader_of_all(services, connection, collection)
        if not services.principal.caller.reads_all and await collections.is_ruled(connection, collection.id):
            raise ForbiddenError("admin")
        counts = await collections.count_open(connection, services.principal, collection.id)  # the audit log stays
        await traces.forget_collection(connection, services.principal, collection.id)
        if not (gone := await collections.delete(connection, services.principal, name)):
            raise NotFoundError(f"no collection named {name}")
        await cache.forget(connection, gone)
        await audit.record(connection, services.principal, "collection.delete", collection.name, counts)
    if collection.chunk_count > services.settings.current.vector.dedicated_above * 0.8:
        # it may have had an index of its own; the plan that drops it may be waiting already, and not be the caller's to see
        house = services.principal.house
        async with services.database.transaction(house) as connection:
            await vector_indexes.enqueue_plan(connection, house)


async def require_reader_of_all(services: Services, connection: object, collection: Collection) -> None:
    """For what is done with a collection as a whole. Raises ForbiddenError where some of it is withheld from the caller."""
    if await collections.withholds(connection, services.principal, collection.id):
        raise ForbiddenError("admin")


async def get_recall(services: Services, collection: Collection) -> RecallCheck | None:
    """How well the vector leg found its neighbours when that was last checked; None where it never was."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await vector_store.latest_check(connection, services.principal, collection.id)


async def list_recall(services: Services, limit: int) -> dict[str, float]:
    """Of the last checks of collections that are too large for the exact scan, worst first."""
    above = services.settings.current.vector.exact_below
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await vector_store.latest_checks(connection, services.principal, above, limit)


async def index_now(
    services: Services,
    collection: str,
    sources: Iterable[Source],
    on_outcome: OnOutcome | None = None,
    *,
    communities: Literal["now", "later"] = "later",
    writing: Writing | None = None,
    on_share: OnShare | None = None,
) -> list[Outcome]:
    """Index and wait. Documents that cannot be read are rejected one by one. `communities`: whether those of a
    large collection are brought up to date at once, or by a job. `writing`: what most of the documents are, where the caller
    knows. `on_share`: see `ingest`. Raises RateLimitedError where the key of the caller has used up its day; what has its
    vectors is indexed then."""
    sources = _allowed(services, sources)
    found = await ensure_collection(services, collection)
    target = replace(services.target(services.principal, found.id), writing=writing)
    with metered_for_key(services):
        outcomes = await ingest(services.database, target, sources, on_outcome=on_outcome, on_share=on_share)
    if communities == "now":
        await refresh_communities(services, collection)
    else:
        await follow(services.database, services.principal, found.id, services.settings.current)
    return outcomes


def require_access_giver(services: Services) -> None:
    """Raises ForbiddenError where the caller may not say who reads a document."""
    if not services.principal.caller.reads_all:
        raise ForbiddenError("admin")


def _allowed(services: Services, sources: Iterable[Source]) -> Iterator[Source]:
    """The same, one by one. Raises ForbiddenError at one that says who may read it where the caller may not say so."""
    for source in sources:
        if source.access is not None:
            require_access_giver(services)
        yield source


async def refresh_communities(services: Services, collection: str, *, force: bool = False) -> Refreshed:
    """Find the communities of the collection anew if enough of it changed, or in any case. Raises NotFoundError."""
    found, settings = await get_collection(services, collection), services.settings.current
    async with services.database.transaction(services.principal, readonly=True) as connection:
        stale = await due(connection, services.principal, found.id, settings)
    if stale is None and not force:
        return Refreshed()
    return await refresh(services.database, services.principal, found.id, settings.graph.communities)


def head_start(size: int) -> timedelta:
    """By how much files of so many bytes together are put before what came earlier: small ones overtake large ones, and none
    waits longer than MOST_AHEAD for those that came after it."""
    return max(timedelta(0), MOST_AHEAD * (1 - size / LARGE_BYTES))


async def index_later(services: Services, collection: str, sources: Sequence[Source]) -> Job:
    """Store the files and enqueue the job that indexes them, in one transaction. Raises TenantFullError."""
    sources = list(_allowed(services, sources))
    target = await ensure_collection(services, collection)
    hashes = {id(source): await source_hash_aside(source) for source in sources}
    async with services.database.transaction(services.principal) as connection:
        names = [source.external_id for source in sources]
        waits = await jobs.waits_already(connection, services.principal, target.id, names)
        job = await jobs.enqueue(
            connection, services.principal, INDEX_UPLOADS, {"collection": target.name, "collection_id": str(target.id)},
            max_attempts=services.settings.current.jobs.max_attempts,
            delay=timedelta(0) if waits else -head_start(sum(source.byte_size for source in sources)),
        )  # fmt: skip
        for source in sorted(sources, key=lambda source: source.external_id):  # in the order that all lock them in
            await documents.register(connection, services.principal, target.id, source, hashes[id(source)])
            await jobs.add_upload(connection, services.principal, job_id=job.id, collection_id=target.id, source=source)
        await limits.check_waiting(connection, services.settings.current.limits.holding)
    return job


@reads_contents
async def list_documents(
    services: Services, collection: str, wanted: DocumentFilter = EVERY_DOCUMENT, *, sort: DocumentSort = "external_id",
    after: str = "", limit: int = 50,
) -> list[Document]:  # fmt: skip
    """Those that are wanted, in that order; `after`: `place_of` the last one that was shown. Raises NotFoundError where there is
    no such collection, InputError for a place of another order."""
    found = await get_collection(services, collection)
    try:
        order = ListOrder.of(sort, after)
    except ValueError:
        raise InputError("the cursor belongs to another order; start again without it") from None

    async def read() -> list[Document]:
        async with services.database.transaction(services.principal, readonly=True) as connection:
            return await documents.page(connection, services.principal, found.id, wanted, order, limit)

    page = await read()
    if any(map(_looks_abandoned, page)) and await end_abandoned(services):
        page = await read()
    return page


def _looks_abandoned(document: Document) -> bool:
    """By this machine's clock; the database's decides."""
    idle = datetime.now(UTC) - document.updated_at
    return document.status not in ("indexed", "failed") and idle.total_seconds() > ABANDONED_SECONDS


async def end_abandoned(services: Services) -> int:
    """Mark documents as failed whose indexing was broken off: the process died, or the job was given up; how many."""
    async with services.database.transaction(services.principal) as connection:
        return await documents.end_abandoned(
            connection, services.principal, ABANDONED, timedelta(seconds=ABANDONED_SECONDS)
        )


async def find_document(services: Services, collection: str, document_id: UUID) -> Document:
    """Raises NotFoundError."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        document = await documents.get(connection, services.principal, found.id, document_id)
    if document and _looks_abandoned(document) and await end_abandoned(services):
        return await find_document(services, collection, document_id)
    if document is None:
        raise NotFoundError(f"no document {document_id} in collection {collection}")
    return document


@reads_contents
async def get_document(services: Services, collection: str, document_id: UUID) -> tuple[Document, str | None]:
    """The document and its text (None while it is not indexed). Raises NotFoundError."""
    document = await find_document(services, collection, document_id)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        text = await documents.text(connection, services.principal, document_id)
    await audit.record_restricted_reads(services.database, services.principal, "text", [document_id])
    return document, text[1] if text else None


async def find_document_id(services: Services, collection: str, external_id: str) -> UUID:
    """Of the document that the caller calls so. Raises NotFoundError."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        document_id = await documents.find_id(connection, services.principal, found.id, external_id)
    if document_id is None:
        raise NotFoundError(f"no document {external_id[:200]!r} in collection {collection}")
    return document_id


@reads_contents
async def read_text(
    services: Services, collection: str, document_id: UUID, start: int = 0, count: int | None = None
) -> TextPart:
    """The normalised text that all spans count in, from code point `start` on, `count` of them or all. Raises NotFoundError, also
    while the document is not indexed."""
    document = await find_document(services, collection, document_id)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await documents.text_range(
            connection, services.principal, document_id, start, LONGEST_TEXT if count is None else count
        )
    if found is None:
        raise NotFoundError(f"{document.external_id[:200]} has no text: it is {document.status}")
    await audit.record_restricted_reads(services.database, services.principal, "text", [document_id])
    return found


async def delete_document(services: Services, collection: str, document_id: UUID, *, may_return: bool = False) -> None:
    """Remove it with everything derived from it. `may_return`: its file is away, and an access list of its own stays with its
    name. Raises NotFoundError."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal) as connection:
        if not await remove_document(
            connection, services.principal, found.id, found.name, document_id, may_return=may_return
        ):
            raise NotFoundError(f"no document {document_id} in collection {collection}")
    await follow(services.database, services.principal, found.id, services.settings.current)
