"""Documents: registration, publication of a version in one transaction, reading, deletion."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from app.db.queries import load_queries
from app.domain.document import Document, Indexed, PreparedChunk, PreparedDocument, PreparedPassage, Source, Status
from app.domain.ids import new_id
from app.domain.principal import Principal

SQL = load_queries("documents")

PASSAGE_COLUMNS = (
    "id", "ordinal", "char_start", "char_end", "page", "headings", "landmarks", "token_count", "content",
    "search_terms", "config",
)  # fmt: skip
CHUNK_COLUMNS = (
    "id", "passage_id", "ordinal", "char_start", "char_end", "page", "headings", "token_count", "token_counter",
    "content", "content_hash", "embedding",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Known:
    """The stored state of an identity, its row locked until the transaction ends."""

    id: UUID
    version: int
    status: Status
    content_hash: bytes
    passage_count: int
    chunk_count: int
    metadata: Mapping[str, Any]


async def register(
    connection: Any,
    principal: Principal,
    collection_id: UUID,
    source: Source,
    content_hash: bytes,
    status: Status = "pending",
) -> Known:
    """The stored state of the identity, its row made with `status` if it is new, and locked."""
    row = await connection.fetchrow(
        SQL["register"],
        principal.tenant_id,
        new_id(),
        collection_id,
        source.external_id,
        source.title or source.name,
        status,
        content_hash,
        source.media_type or "application/octet-stream",
        dict(source.metadata),
        len(source.content),
    )
    return Known(**dict(row))


async def set_status(
    connection: Any, principal: Principal, collection_id: UUID, external_id: str, status: Status, error: str | None
) -> None:
    """Show progress or failure of a document that is not indexed yet; an indexed version keeps its status."""
    await connection.execute(SQL["set_status"], principal.tenant_id, collection_id, external_id, status, error)


async def update_metadata(connection: Any, collection_id: UUID, document_id: UUID, metadata: Mapping[str, Any]) -> None:
    """Results show metadata, so this is a change of the collection's content. The document's row is locked."""
    await connection.execute(SQL["set_metadata"], document_id, collection_id, dict(metadata))


async def publish(
    connection: Any,
    collection_id: UUID,
    model_id: int,
    known: Known,
    document: PreparedDocument,
    vectors: Sequence[HalfVector],
    *,
    keep_original: bool,
) -> Indexed:
    """Replace whatever `known` holds by this version. The caller's transaction makes it visible, all or nothing."""
    await _stage(connection, document, vectors)
    source = document.source
    version = await connection.fetchval(
        SQL["publish"],
        known.id,
        collection_id,
        model_id,
        document.title,
        document.content_hash,
        document.media_type,
        document.language,
        dict(source.metadata),
        len(source.content),
        document.text,
        source.content if keep_original else None,
    )
    return Indexed(
        external_id=source.external_id,
        name=source.name,
        document_id=known.id,
        version=version,
        passage_count=len(document.passages),
        chunk_count=len(document.chunks),
        duplicate=False,
    )


async def _stage(connection: Any, document: PreparedDocument, vectors: Sequence[HalfVector]) -> None:
    """Binary COPY into temporary tables: COPY into a table with row security is not possible."""
    await connection.execute(SQL["create_stage"])
    await connection.copy_records_to_table(
        "stage_passages",
        schema_name="pg_temp",
        columns=PASSAGE_COLUMNS,
        records=map(_passage_row, document.passages),
    )
    await connection.copy_records_to_table(
        "stage_chunks",
        schema_name="pg_temp",
        columns=CHUNK_COLUMNS,
        records=[
            _chunk_row(chunk, document.token_counter, vector)
            for chunk, vector in zip(document.chunks, vectors, strict=True)
        ],
    )


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


async def text(connection: Any, principal: Principal, document_id: UUID) -> tuple[int, str] | None:
    """Version and normalised text that spans count in."""
    row = await connection.fetchrow(SQL["text"], principal.tenant_id, document_id)
    return (row["version"], row["text"]) if row else None


async def page(connection: Any, principal: Principal, collection_id: UUID, *, after: str, limit: int) -> list[Document]:
    """Documents in order of external id, after the given one."""
    rows = await connection.fetch(SQL["page"], principal.tenant_id, collection_id, after, limit)
    return [Document(**dict(row)) for row in rows]


async def delete(connection: Any, collection_id: UUID, document_id: UUID) -> bool:
    """Remove a document and everything derived from it in the caller's transaction; False when it is not there."""
    await connection.execute(SQL["create_stage"])  # this connection may never have published anything
    return bool(await connection.fetchval(SQL["remove"], document_id, collection_id))
