"""Documents: registration, publication of a version in one transaction, reading, deletion."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast
from uuid import UUID

from pgvector import HalfVector

from cairn.db.queries import load_queries
from cairn.domain.document import (
    Document,
    Indexed,
    PreparedChunk,
    PreparedDocument,
    PreparedPassage,
    Source,
    Status,
    TextPart,
)
from cairn.domain.document_list import DocumentFilter, ListOrder
from cairn.domain.ids import new_id
from cairn.domain.principal import Principal, array_of
from cairn.errors import InputError
from cairn.store import audit, code_calls, collections, graph_stage, tables

SQL = load_queries("documents")
PAGE, PAGE_SORTED = f"{SQL['wanted']}\n{SQL['page']}", f"{SQL['wanted']}\n{SQL['page_sorted']}"

PASSAGE_COLUMNS = (
    "id", "ordinal", "char_start", "char_end", "page", "headings", "landmarks", "token_count", "content",
    "search_terms", "config", "document_id",
)  # fmt: skip
CHUNK_COLUMNS = (
    "id", "passage_id", "ordinal", "char_start", "char_end", "page", "headings", "token_count", "token_counter",
    "content", "content_hash", "embedding", "document_id",
)  # fmt: skip


VectorsByModel = Mapping[int, Sequence[HalfVector]]
"""Vectors of all chunks of a document, by model id."""
ROWS_OF_A_TURN: Final = 256
"""Rows of a COPY that are made and sent before others have their turn: some milliseconds."""
MODELS_CHANGED = "CR001"
"""SQLSTATE of rag.require_models."""


class ModelsChangedError(Exception):
    """The collection needs vectors of other models than those that were made: make them and publish again."""


@dataclass(frozen=True, slots=True)
class NewVersion:
    """What a document is to hold."""

    document_id: UUID
    document: PreparedDocument
    vectors: VectorsByModel


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """An indexed document as a reindexing meets it."""

    id: UUID
    external_id: str
    title: str
    version: int
    media_type: str
    language: str | None
    content_hash: bytes
    enrichment: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class OutdatedDocument(StoredDocument):
    """An indexed document that an earlier revision of the loaders read. `origin`: path of its file; `has_file`: that is kept."""

    byte_size: int
    chunk_count: int
    origin: str | None
    has_file: bool


@dataclass(frozen=True, slots=True)
class OlderDocuments:
    """How many documents an earlier release left: `read` by its loaders, and of the others `derived`, whose graph, symbols and
    cells its rules made."""

    read: int = 0
    derived: int = 0


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """The stored state of an identity, its row locked until the transaction ends."""

    id: UUID
    title: str
    version: int
    status: Status
    content_hash: bytes
    media_type: str
    passage_count: int
    chunk_count: int
    byte_size: int
    metadata: Mapping[str, Any]
    loader_revision: int
    has_file: bool
    access: Sequence[str] | None = None
    access_from: str | None = None

    def has_content(self, content_hash: bytes) -> bool:
        """Whether this content is indexed, whichever loaders read it."""
        return self.status == "indexed" and self.content_hash == content_hash

    def has_readers_of(self, before: KnownDocument) -> bool:
        """Whether nobody has given it another list since."""
        return (self.access, self.access_from) == (before.access, before.access_from)

    def is_current(self, content_hash: bytes, loader_revision: int) -> bool:
        """Whether there is nothing to do for this content."""
        return self.has_content(content_hash) and self.loader_revision >= loader_revision


async def register(
    connection: Any,
    principal: Principal,
    collection_id: UUID,
    source: Source,
    content_hash: bytes,
    status: Status = "pending",
) -> KnownDocument:
    """The stored state of the identity, its row made with `status` if it is new, and locked."""
    [known] = await register_all(connection, principal, collection_id, [(source, content_hash)], status)
    return known


async def register_all(
    connection: Any,
    principal: Principal,
    collection_id: UUID,
    identities: Sequence[tuple[Source, bytes]],
    status: Status = "pending",
) -> list[KnownDocument]:
    """Of several at once, each another one: source and hash of the content. In the order given. Where a source says who may read
    it, that is so from here on if it is fewer than before; others too, where its content is published (`take_access`)."""
    sources = [source for source, _ in identities]
    if any(source.access for source in sources):
        await require_access_lists(connection)
    ids = [new_id() for _ in sources]
    rows = await connection.fetch(
        SQL["register"],
        principal.tenant_id,
        collection_id,
        status,
        ids,
        [source.external_id for source in sources],
        [source.title or source.name for source in sources],
        [content_hash for _, content_hash in identities],
        [source.media_type or "application/octet-stream" for source in sources],
        [dict(source.metadata) for source in sources],
        [source.byte_size for source in sources],
        [source.origin for source in sources],
        [None if source.access is None else array_of(source.access) for source in sources],
    )
    found = {}
    for row in rows:
        fields = dict(row)
        external_id = fields.pop("external_id")
        found[external_id] = KnownDocument(**fields)
    for source in sources:
        known = found[source.external_id]
        if source.access and known.id in ids:
            await _record_access(connection, principal, collection_id, known.id, source.access)
        if _narrows(known.access, source.access):
            await take_access(connection, principal, collection_id, source, known)
    return [found[source.external_id] for source in sources]


def _narrows(old: Collection[str] | None, new: Collection[str] | None) -> bool:
    """Whether nobody may read by the new list who may not by the old one."""
    return bool(new) and (old is None or set(new or ()) <= set(old))


async def take_access(
    connection: Any, principal: Principal, collection_id: UUID, source: Source, known: KnownDocument
) -> None:
    """Let those read the document whom the source names, where it says who. What it holds is, or becomes in this transaction, the
    content of the source."""
    if source.access is None:
        return
    if set(source.access) == set(known.access or ()) and known.access_from is None:
        return
    await give_access(connection, principal, collection_id, known.id, source.access)


async def _record_access(
    connection: Any, principal: Principal, collection_id: UUID, document_id: UUID, access: Collection[str]
) -> None:
    found = await collections.by_id(connection, principal, collection_id)
    detail = {"collection": found.name if found else "", "access": sorted(access)}
    await audit.record(connection, principal, "document.access", str(document_id), detail)


async def require_access_lists(connection: Any) -> None:
    """Raises InputError on a distributed database, which would show everybody what has one."""
    if await connection.fetchval(SQL["is_distributed"]):
        raise InputError(
            "a distributed database (Citus) keeps no access lists; give what only some may read a tenant of its own"
        )


async def set_access(connection: Any, collection_id: UUID, document_id: UUID, access: Collection[str]) -> bool | None:
    """Say who may read it, nobody: whom the rules of its folder name, without any everybody in the tenant. Whether that changed;
    None where there is no such document. One that becomes restricted leaves the graph; one that opens has to be reindexed to
    come back into it. Raises InputError where the database keeps no lists."""
    if access:
        await require_access_lists(connection)
    changed: bool | None = await connection.fetchval(SQL["set_access"], document_id, collection_id, list(access))
    return changed


async def restricted_contents(
    connection: Any, principal: Principal, collection_id: UUID
) -> dict[bytes, dict[str | None, tuple[str, ...] | None]]:
    """Contents of documents that have an access list of their own, by hash (`source_hash`): all documents of the collection that
    have this content, by external id, with their own lists, where they have one; under None that of one that had it before."""
    found: dict[bytes, dict[str | None, tuple[str, ...] | None]] = {}
    for row in await connection.fetch(SQL["restricted_contents"], principal.tenant_id, collection_id):
        access = row["access"]
        found.setdefault(row["content_hash"], {})[row["external_id"]] = None if access is None else tuple(access)
    return found


@dataclass(frozen=True, slots=True)
class Readers:
    """Who may read a document, by a list of its `own` or by the rule of a folder."""

    external_id: str
    access: Sequence[str]
    own: bool


async def readers_of(connection: Any, principal: Principal, document_id: UUID) -> Readers | None:
    """None where everybody in the tenant may read it, or there is none."""
    row = await connection.fetchrow(SQL["readers_of"], principal.tenant_id, document_id)
    return None if row is None else Readers(row["external_id"], row["access"], row["own"])


async def clock(connection: Any) -> datetime:
    """The time of the database, by which documents are dated."""
    found: datetime = await connection.fetchval(SQL["clock"])
    return found


async def keeps_address(connection: Any, collection_id: UUID, asked: str, reached: str) -> bool:
    """Whether a page keeps the address that was asked for: it has readers there, and would be open where redirects led."""
    return bool(await connection.fetchval(SQL["keeps_address"], collection_id, asked, reached))


async def heirs(
    connection: Any, principal: Principal, document_id: UUID, since: datetime
) -> dict[UUID, Sequence[str] | None]:
    """Documents that have come with its content since then and have no access list of their own, with whom a rule lets read them;
    None: everybody."""
    rows = await connection.fetch(SQL["heirs"], principal.tenant_id, document_id, since)
    return {row["id"]: row["access"] for row in rows}


async def give_access(
    connection: Any, principal: Principal, collection_id: UUID, document_id: UUID, access: Sequence[str]
) -> None:
    """An access list of its own, on record."""
    if await set_access(connection, collection_id, document_id, access):
        await _record_access(connection, principal, collection_id, document_id, access)


async def readers_by_name(
    connection: Any, principal: Principal, collection_id: UUID, external_ids: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Who may read these documents of a collection, by external id; those that everybody may read are not among them."""
    rows = await connection.fetch(SQL["readers_by_name"], principal.tenant_id, collection_id, list(external_ids))
    return {row["external_id"]: tuple(row["access"]) for row in rows}


async def access_of_passage(connection: Any, principal: Principal, passage_id: UUID) -> Sequence[str] | None:
    """The access list of its document; None where everybody in the tenant may read it, or there is no such passage."""
    found: Sequence[str] | None = await connection.fetchval(SQL["access_of_passage"], principal.tenant_id, passage_id)
    return found


async def set_status(
    connection: Any, principal: Principal, collection_id: UUID, external_id: str, status: Status, error: str | None
) -> None:
    """Show progress or failure of a document that is not indexed yet; an indexed version keeps its status."""
    await connection.execute(SQL["set_status"], principal.tenant_id, collection_id, external_id, status, error)


async def keep_alive(connection: Any, principal: Principal, collection_id: UUID, external_ids: Collection[str]) -> None:
    """Say that somebody still works on these, so that `end_abandoned` lets them be."""
    await connection.execute(SQL["keep_alive"], principal.tenant_id, collection_id, list(external_ids))


async def end_abandoned(connection: Any, principal: Principal, error: str, idle: timedelta) -> int:
    """Mark as failed what nobody has worked on for `idle` and no unfinished job will take up; how many."""
    return len(await connection.fetch(SQL["end_abandoned"], principal.tenant_id, error, idle))


async def list_origins(
    connection: Any, principal: Principal, collection_id: UUID, external_ids: Collection[str]
) -> dict[str, str]:
    """Of those that were read from a file, the path of it, by external id."""
    rows = await connection.fetch(SQL["origins"], principal.tenant_id, collection_id, list(external_ids))
    return {row["external_id"]: row["origin"] for row in rows}


async def list_under(
    connection: Any, principal: Principal, collection_id: UUID, paths: Collection[str]
) -> list[tuple[UUID, str, str]]:
    """Id, external id and path of documents that were read from these files, or from below these folders."""
    rows = await connection.fetch(SQL["under"], principal.tenant_id, collection_id, list(paths))
    return [(row["id"], row["external_id"], row["origin"]) for row in rows]


async def update_metadata(connection: Any, collection_id: UUID, document_id: UUID, metadata: Mapping[str, Any]) -> None:
    """Results show metadata, so this is a change of the collection's content. The document's row is locked."""
    await connection.execute(SQL["set_metadata"], document_id, collection_id, dict(metadata))


async def publish(
    connection: Any,
    collection_id: UUID,
    model_id: int,
    versions: Sequence[NewVersion],
    *,
    keep_original: bool,
) -> list[Indexed]:
    """Replace whatever the documents hold by these versions, all made by loaders and rules of one revision. The
    caller's transaction makes them visible, all or nothing.

    Raises ModelsChangedError when the collection has come to need vectors of other models.
    """
    [(read_by, derived_by)] = {(one.document.loader_revision, one.document.derived_revision) for one in versions}
    await _stage(connection, collection_id, model_id, versions)
    await connection.copy_records_to_table(
        "stage_documents",
        schema_name="pg_temp",
        records=[_document_row(one, keep_original=keep_original) for one in versions],
    )
    rows = await _publish(connection.fetch, SQL["publish"], collection_id, model_id, read_by, derived_by)
    calls = {one.document_id: one.document.graph.calls for one in versions}
    await code_calls.write_calls(connection, collection_id, calls)
    numbers = {row["document_id"]: row["version"] for row in rows}
    read = [tables.ReadTables(one.document_id, numbers[one.document_id], one.document.tables) for one in versions]
    fresh = frozenset(document_id for document_id, version in numbers.items() if version == 1)
    await tables.write(connection, read, fresh=fresh)
    return [
        Indexed(
            external_id=one.document.source.external_id,
            name=one.document.source.name,
            document_id=one.document_id,
            version=numbers[one.document_id],
            passage_count=len(one.document.passages),
            chunk_count=len(one.document.chunks),
            duplicate=False,
            notes=one.document.notes,
        )
        for one in versions
    ]


async def republish(
    connection: Any,
    collection_id: UUID,
    model_id: int,
    stored: StoredDocument,
    document: PreparedDocument,
    vectors: VectorsByModel,
) -> bool:
    """Put these passages and chunks in the place of those of the same version; False when that version is gone.

    Raises ModelsChangedError.
    """
    await _stage(connection, collection_id, model_id, [NewVersion(stored.id, document, vectors)])
    arguments = (stored.id, collection_id, model_id, stored.version, document.language, document.derived_revision)
    done = bool(await _publish(connection.fetchval, SQL["republish"], *arguments))
    if done:
        await code_calls.write_calls(connection, collection_id, {stored.id: document.graph.calls})
        await tables.write(connection, [tables.ReadTables(stored.id, stored.version, document.tables)])
    return done


async def in_turns(rows: Iterable[tuple[Any, ...]]) -> AsyncIterator[tuple[Any, ...]]:
    """The rows, and a turn for others between some of them: those of a long document take a second to be made and sent."""
    for number, row in enumerate(rows, 1):
        yield row
        if number % ROWS_OF_A_TURN == 0:
            await asyncio.sleep(0)


async def _publish(ask: Callable[..., Awaitable[Any]], statement: str, *arguments: Any) -> Any:
    try:
        return await ask(statement, *arguments)
    except Exception as error:
        if getattr(error, "sqlstate", None) == MODELS_CHANGED:
            raise ModelsChangedError from None
        raise


async def _stage(connection: Any, collection_id: UUID, model_id: int, versions: Sequence[NewVersion]) -> None:
    """Binary COPY into temporary tables: COPY into a table with row security is not possible."""
    await connection.execute(SQL["prepare_stage"])
    await connection.copy_records_to_table(
        "stage_passages",
        schema_name="pg_temp",
        columns=PASSAGE_COLUMNS,
        records=in_turns(
            (*_passage_row(passage), one.document_id) for one in versions for passage in one.document.passages
        ),
    )
    await connection.copy_records_to_table(
        "stage_chunks",
        schema_name="pg_temp",
        columns=CHUNK_COLUMNS,
        records=in_turns(
            (*_chunk_row(chunk, one.document.token_counter, vector), one.document_id)
            for one in versions
            for chunk, vector in zip(one.document.chunks, one.vectors[model_id], strict=True)
        ),
    )
    others = [
        (chunk.id, other, vector)
        for one in versions
        for other, column in one.vectors.items()
        if other != model_id
        for chunk, vector in zip(one.document.chunks, column, strict=True)
    ]
    if others:
        await connection.copy_records_to_table("stage_vectors", schema_name="pg_temp", records=in_turns(others))
    await graph_stage.copy(connection, collection_id, [one.document.graph for one in versions])


def _document_row(version: NewVersion, *, keep_original: bool) -> tuple[Any, ...]:
    document, source = version.document, version.document.source
    return (
        version.document_id, document.title, document.content_hash, document.media_type, document.language,
        json.dumps(dict(source.metadata)), source.byte_size, document.text,
        source.content if keep_original and not source.is_text else None,
    )  # fmt: skip


def _passage_row(passage: PreparedPassage) -> tuple[Any, ...]:
    draft = passage.draft
    landmarks = json.dumps([(mark.start, mark.page, mark.headings) for mark in draft.landmarks])
    place = (draft.ordinal, draft.start, draft.end, draft.page, list(draft.headings), landmarks)
    return (passage.id, *place, draft.token_count, passage.content, passage.search_terms, passage.config)


def _chunk_row(chunk: PreparedChunk, token_counter: str, vector: HalfVector) -> tuple[Any, ...]:
    draft, mark = chunk.draft, chunk.landmark
    place = (chunk.ordinal, draft.start, draft.end, mark.page, list(mark.headings))
    counted = (draft.token_count, token_counter)
    return (chunk.id, chunk.passage_id, *place, *counted, chunk.content, chunk.content_hash, vector)


async def get(connection: Any, principal: Principal, collection_id: UUID, document_id: UUID) -> Document | None:
    row = await connection.fetchrow(SQL["get"], principal.tenant_id, collection_id, document_id)
    return Document(**dict(row)) if row else None


async def find_collection(connection: Any, principal: Principal, document_id: UUID) -> str | None:
    """The name of the collection that the document is in; None for an unknown one."""
    return cast("str | None", await connection.fetchval(SQL["collection_of"], principal.tenant_id, document_id))


async def text(connection: Any, principal: Principal, document_id: UUID) -> tuple[int, str] | None:
    """Version and normalised text that spans count in."""
    row = await connection.fetchrow(SQL["text"], principal.tenant_id, document_id)
    return (row["version"], row["text"]) if row else None


async def page(
    connection: Any, principal: Principal, collection_id: UUID, wanted: DocumentFilter, order: ListOrder, limit: int
) -> list[Document]:
    """Documents that are wanted, in that order."""
    meant = (
        principal.tenant_id, collection_id, _listed(wanted.ids), _listed(wanted.external_ids), wanted.contains,
        _listed(wanted.statuses), wanted.media_type, wanted.metadata, wanted.updated_since, wanted.mentions,
        _listed(wanted.readable_by), limit,
    )  # fmt: skip
    if order.by_index:
        rows = await connection.fetch(PAGE, *meant, order.after[1] if order.after else "")
    else:
        rows = await connection.fetch(PAGE_SORTED, *meant, order.key, order.descending, *(order.after or (None, None)))
    return [Document(**dict(row)) for row in rows]


def _listed(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


async def find_id(connection: Any, principal: Principal, collection_id: UUID, external_id: str) -> UUID | None:
    """Of the document that the caller calls so."""
    found: UUID | None = await connection.fetchval(SQL["id_of"], principal.tenant_id, collection_id, external_id)
    return found


async def lock(connection: Any, principal: Principal, documents: Collection[UUID]) -> dict[UUID, Mapping[str, Any]]:
    """The metadata of those that are there; nobody else changes or deletes them before the transaction ends."""
    rows = await connection.fetch(SQL["lock"], principal.tenant_id, list(documents))
    return {row["id"]: row["metadata"] for row in rows}


async def set_title(connection: Any, principal: Principal, document_id: UUID, title: str) -> None:
    """As it is shown; what is searched of it is made anew with it (cairn/ingest/reindex.py)."""
    await connection.execute(SQL["set_title"], principal.tenant_id, document_id, title)


async def find_stored(connection: Any, principal: Principal, document_id: UUID) -> StoredDocument | None:
    """None while it is not indexed."""
    row = await connection.fetchrow(SQL["stored"], principal.tenant_id, document_id)
    return StoredDocument(**dict(row)) if row else None


async def text_range(
    connection: Any, principal: Principal, document_id: UUID, start: int, count: int
) -> TextPart | None:
    """`count` code points at most, from `start` on; None while it is not indexed."""
    row = await connection.fetchrow(SQL["text_range"], principal.tenant_id, document_id, start, count)
    if row is None:
        return None
    return TextPart(row["version"], start, row["part"], row["length"])


async def delete(connection: Any, collection_id: UUID, document_id: UUID) -> bool:
    """Remove a document and everything derived from it in the caller's transaction; False when it is not there."""
    await connection.execute(SQL["prepare_stage"])  # this connection may never have published anything
    return bool(await connection.fetchval(SQL["remove"], document_id, collection_id))


async def find_versions(connection: Any, principal: Principal, documents: Collection[UUID]) -> dict[UUID, int]:
    """Of those that are there, the version that they have now."""
    rows = await connection.fetch(SQL["versions"], principal.tenant_id, list(documents))
    return {row["id"]: row["version"] for row in rows}


async def hold(connection: Any, principal: Principal, documents: Collection[UUID]) -> set[UUID]:
    """Those of them that are there; none can be deleted before the transaction ends."""
    if not documents:
        return set()
    return {row["id"] for row in await connection.fetch(SQL["hold"], principal.tenant_id, list(documents))}


async def list_stale(
    connection: Any, principal: Principal, collection_id: UUID, *, after: UUID, before: datetime | None, since: datetime | None,
    limit: int,
) -> list[StoredDocument]:  # fmt: skip
    """Indexed documents in order of id, after the given one, that were last written before an instant, or since one."""
    rows = await connection.fetch(SQL["stale"], principal.tenant_id, collection_id, after, before, since, limit)
    return [StoredDocument(**dict(row)) for row in rows]


async def list_outdated(
    connection: Any, principal: Principal, collection_id: UUID, loader_revision: int, *, after: UUID, limit: int
) -> list[OutdatedDocument]:
    """Indexed documents in order of id, after the given one, that loaders before this revision read."""
    rows = await connection.fetch(SQL["outdated"], principal.tenant_id, collection_id, after, loader_revision, limit)
    return [OutdatedDocument(**dict(row)) for row in rows]


async def which_outdated(
    connection: Any, principal: Principal, document_ids: Sequence[UUID], loader_revision: int
) -> set[UUID]:
    """Those of the documents that loaders before this revision read."""
    rows = await connection.fetch(SQL["which_outdated"], principal.tenant_id, list(document_ids), loader_revision)
    return {row["id"] for row in rows}


async def count_older(
    connection: Any, principal: Principal, collection_id: UUID, *, loaders: int, rules: int
) -> OlderDocuments:
    row = await connection.fetchrow(SQL["count_older"], principal.tenant_id, collection_id, loaders, rules)
    return OlderDocuments(**dict(row))


async def derived_revision(connection: Any, principal: Principal, document_id: UUID) -> int:
    """Of the rules that made graph, symbols and cells of a document; 0 where that is not known."""
    found: int | None = await connection.fetchval(SQL["derived_revision"], principal.tenant_id, document_id)
    return found or 0


async def mark_derived(connection: Any, principal: Principal, stored: StoredDocument, derived_revision: int) -> None:
    """That rules of this revision make the same of it, as long as it is of that version."""
    await connection.execute(SQL["mark_derived"], principal.tenant_id, stored.id, stored.version, derived_revision)


async def lock_version(
    connection: Any, principal: Principal, document_id: UUID, version: int
) -> Mapping[str, Any] | None:
    """Its metadata, if the document is still of this version; none other is published before the transaction ends."""
    metadata = await connection.fetchval(SQL["lock_version"], principal.tenant_id, document_id, version)
    return cast("Mapping[str, Any] | None", metadata)


async def mark_read(connection: Any, principal: Principal, document_id: UUID, loader_revision: int) -> None:
    """That loaders of this revision read the same of it. Its row is locked."""
    await connection.execute(SQL["mark_read"], principal.tenant_id, document_id, loader_revision)


async def load_pieces(
    connection: Any, principal: Principal, document_id: UUID, model_id: int
) -> tuple[list[Any], list[Any]]:
    """Rows of passages and of chunks, in order; of chunks with the hash of what that model embedded, or None."""
    return (
        await connection.fetch(SQL["indexed_passages"], principal.tenant_id, document_id),
        await connection.fetch(SQL["indexed_chunks"], principal.tenant_id, document_id, model_id),
    )
