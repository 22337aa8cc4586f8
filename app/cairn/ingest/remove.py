"""How a document goes, whoever asks for it: with everything derived from it, and on record."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from cairn.domain.principal import Principal
from cairn.store import audit, documents


async def remove_document(
    connection: Any, principal: Principal, collection_id: UUID, collection: str, document_id: UUID
) -> bool:
    """Whether it was there. `collection`: its name."""
    removed = await documents.delete(connection, collection_id, document_id)
    if removed:  # by its id alone: a deleted document leaves no name behind
        await audit.record(connection, principal, "document.delete", str(document_id), {"collection": collection})
    return removed
