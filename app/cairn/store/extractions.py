"""rag.extractions: what chat models said of passages. Their graph is staged by graph_stage.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.principal import Principal

SQL = load_queries("extractions")


@dataclass(frozen=True, slots=True)
class PendingDocument:
    """A document whose graph has nothing of the model yet. `own`: whether who ordered the job may read it."""

    id: UUID
    version: int
    own: bool


async def list_pending(
    connection: Any, principal: Principal, collection_id: UUID, extractor: str, *, after: UUID, limit: int
) -> list[PendingDocument]:
    """In order of id, after the given one."""
    arguments = (principal.tenant_id, collection_id, after, extractor, limit, list(principal.caller.names))
    rows = await connection.fetch(SQL["pending"], *arguments)
    return [PendingDocument(**dict(row)) for row in rows]


async def count_pending(connection: Any, principal: Principal, collection_id: UUID, extractor: str) -> int:
    """How many documents wait."""
    return int(await connection.fetchval(SQL["left"], principal.tenant_id, collection_id, extractor))


async def passages(connection: Any, principal: Principal, document_id: UUID) -> list[Any]:
    """Rows of (id, char_start, char_end, token_count), in order."""
    found: list[Any] = await connection.fetch(SQL["passages"], principal.tenant_id, document_id)
    return found


async def load_cached(
    connection: Any, principal: Principal, document_id: UUID, extractor: str, hashes: Sequence[bytes]
) -> dict[bytes, Mapping[str, Any]]:
    """Results for passages of a document by their hash, from any of the tenant that all may read who may read it."""
    rows = await connection.fetch(SQL["cached"], principal.tenant_id, list(hashes), extractor, document_id)
    return {bytes(row["content_hash"]): row["result"] for row in rows}


async def keep(
    connection: Any, collection_id: UUID, document_id: UUID, extractor: str, results: Mapping[bytes, Mapping[str, Any]]
) -> int:
    """Keep results by hash, but for those of passages that the document no longer has; how many are new to it."""
    arguments = (document_id, collection_id, extractor, list(results), [dict(one) for one in results.values()])
    return int(await connection.fetchval(SQL["keep"], *arguments))


async def merge(
    connection: Any, collection_id: UUID, document: PendingDocument, extractor: str, passage_ids: Sequence[UUID]
) -> bool:
    """Make what is staged the model's part of the document's graph; False when it is another by now."""
    arguments = (document.id, collection_id, document.version, extractor, list(passage_ids))
    return bool(await connection.fetchval(SQL["merge"], *arguments))
