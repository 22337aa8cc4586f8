"""The files that documents were made of, and which part of their text stands on which page."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.original import Original, PageSpan
from cairn.domain.principal import Principal

SQL = load_queries("originals")


async def get(connection: Any, principal: Principal, document_id: UUID) -> Original | None:
    """None where no file is kept of the document."""
    row = await connection.fetchrow(SQL["get"], principal.tenant_id, document_id)
    if row is None:
        return None
    name = row["external_id"].rsplit("/", 1)[-1]
    return Original(document_id, row["version"], name, row["media_type"], row["content"])


async def keep(connection: Any, principal: Principal, document_id: UUID, content: bytes) -> None:
    """Of a document that is indexed already, its row locked."""
    await connection.execute(SQL["keep"], principal.tenant_id, document_id, content)


async def list_pages(connection: Any, principal: Principal, document_id: UUID) -> list[PageSpan]:
    """In order; empty where the document has no pages."""
    rows = await connection.fetch(SQL["pages"], principal.tenant_id, document_id)
    return [PageSpan(row["number"], row["start"], row["end"]) for row in rows]
