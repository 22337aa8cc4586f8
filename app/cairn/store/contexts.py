"""rag.chunk_contexts: sentences of context that chat models wrote for chunks, and the documents embedded with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from pgvector import HalfVector

from cairn.db.queries import load_queries
from cairn.domain.principal import Principal
from cairn.store import cache, models

SQL = load_queries("contexts")

UNREAD: Final = "no usable reply"
"""Why a chunk has no context that a later run asks for again: a model's bad hour is no verdict on the chunk. Never kept."""

Written = tuple[str, str | None]
"""A context, "" where there is none, and then why."""


@dataclass(frozen=True, slots=True)
class PlainDocument:
    """A document that is embedded without the contexts that are wanted; `enrichment` has those of another writer. `own`: whether
    who ordered the job may read it; `access`: who may, None for everybody."""

    id: UUID
    version: int
    title: str
    media_type: str
    enrichment: Mapping[str, Any] | None
    own: bool
    access: Sequence[str] | None


async def list_pending(
    connection: Any, principal: Principal, collection_id: UUID, writer: str, *, after: UUID, limit: int
) -> list[PlainDocument]:
    """In order of id, after the given one."""
    names = list(principal.caller.names)
    rows = await connection.fetch(
        SQL["pending"], principal.tenant_id, collection_id, after, writer, limit, UNREAD, names
    )
    return [PlainDocument(**dict(row)) for row in rows]


async def count_pending(connection: Any, principal: Principal, collection_id: UUID, writer: str) -> int:
    """How many documents wait."""
    return int(await connection.fetchval(SQL["left"], principal.tenant_id, collection_id, writer, UNREAD))


async def load_chunks(connection: Any, principal: Principal, document_id: UUID, model_id: int) -> list[Any]:
    """Rows of (id, passage_id, char_start, char_end, headings, content, key, content_hash), in order; the last is the hash of
    what the model embedded, or None."""
    rows: list[Any] = await connection.fetch(SQL["chunks"], principal.tenant_id, document_id, model_id)
    return rows


async def load_cached(
    connection: Any, principal: Principal, document_id: UUID, writer: str, keys: Sequence[bytes]
) -> dict[bytes, Written]:
    """What was written for these keys of a document, for any of the tenant that all may read who may read it."""
    rows = await connection.fetch(SQL["cached"], principal.tenant_id, list(keys), writer, document_id)
    return {bytes(row["content_hash"]): (row["context"], row["reason"]) for row in rows if row["reason"] != UNREAD}


async def load_applied(connection: Any, principal: Principal, document_ids: Sequence[UUID]) -> dict[UUID, str]:
    """What chunks of these documents are embedded with, by chunk."""
    rows = await connection.fetch(SQL["applied"], principal.tenant_id, list(document_ids))
    return {row["chunk_id"]: row["context"] for row in rows}


async def keep(
    connection: Any, collection_id: UUID, document_id: UUID, writer: str, written: Mapping[bytes, Written]
) -> int:
    """Keep contexts by key, but for those of chunks that the document no longer has, and for UNREAD ones; how many are new."""
    written = {key: one for key, one in written.items() if one[1] != UNREAD}
    await connection.execute(SQL["forget"], document_id, writer, list(written), UNREAD)
    contexts, reasons = [one[0] for one in written.values()], [one[1] for one in written.values()]
    arguments = (document_id, collection_id, writer, list(written), contexts, reasons)
    return int(await connection.fetchval(SQL["keep"], *arguments))


async def hold_document(connection: Any, principal: Principal, document: PlainDocument, chunks: Sequence[UUID]) -> bool:
    """Lock it until the transaction ends; False where it is another version by now, or has other chunks."""
    row = await connection.fetchrow(SQL["hold"], principal.tenant_id, document.id, document.version)
    return row is not None and row["chunks"] == list(chunks)


async def replace_vectors(
    connection: Any, principal: Principal, collection_id: UUID, document_id: UUID, model_id: int,
    made: Sequence[tuple[UUID, bytes, HalfVector]],
) -> None:  # fmt: skip
    """Vectors (chunk, hash of its text, vector) in the place of the present ones. Needs `hold_document`."""
    if made:
        columns = [list(column) for column in zip(*made, strict=True)]
        where = (principal.tenant_id, model_id, document_id, collection_id)
        await connection.execute(SQL["put_vectors"], *where, *columns)


async def mark(connection: Any, principal: Principal, document_id: UUID, enrichment: Mapping[str, Any]) -> None:
    """Say what the document's chunks are embedded with."""
    await connection.execute(SQL["mark"], principal.tenant_id, document_id, dict(enrichment))


async def finish(connection: Any, principal: Principal, collection_id: UUID, chunks: Sequence[UUID]) -> set[int]:
    """Let readers see it from the commit on; models whose vectors the collection needs, which cannot change before that.
    `chunks`: whose vectors were replaced."""
    await connection.execute(SQL["renew"], principal.tenant_id, collection_id)
    await connection.execute(SQL["place"], collection_id, list(chunks))
    await cache.forget(connection, collection_id)
    return {model.id for model in await models.list_needed(connection, principal, collection_id)}
