"""What the tools of agents read besides searching: read-only statements with parameters, of one collection of the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.graph_view import EntityCount, EntityMentionedIn
from cairn.domain.principal import Principal

SQL = load_queries("tools")

Filters = Mapping[str, Any]


async def in_scope(
    connection: Any, principal: Principal, collection: str, filters: Filters, ids: Sequence[UUID]
) -> dict[UUID, int]:
    """Of these passages those in indexed documents of the collection that meet the filters: id to place in the document."""
    rows = await connection.fetch(SQL["in_scope"], principal.tenant_id, collection, filters, list(ids))
    return {row["id"]: row["ordinal"] for row in rows}


async def relation_kinds(connection: Any, principal: Principal, ids: Sequence[UUID]) -> dict[UUID, str]:
    rows = await connection.fetch(SQL["relations"], principal.tenant_id, list(ids))
    return {row["id"]: row["kind"] for row in rows}


async def by_value(
    connection: Any, principal: Principal, collection: str, filters: Filters, field: str, limit: int
) -> tuple[list[tuple[str, int]], int]:
    """Values of `type`, `language` or a key of the metadata with their documents, and how many values there are."""
    rows = await connection.fetch(SQL["by_value"], principal.tenant_id, collection, filters, field, limit)
    return [(row["value"], row["documents"]) for row in rows], rows[0]["all_values"] if rows else 0


async def entities(
    connection: Any, principal: Principal, collection: str, filters: Filters, kind: str, limit: int
) -> tuple[list[EntityCount], int]:
    """Entities of a kind ("": all) by documents that mention them, and how many there are."""
    rows = await connection.fetch(SQL["entities"], principal.tenant_id, collection, filters, kind, limit)
    found = [EntityCount(row["name"], row["kind"], row["documents"], row["passages"]) for row in rows]
    return found, rows[0]["all_entities"] if rows else 0


async def mentions(
    connection: Any, principal: Principal, collection: str, filters: Filters, entity_id: UUID, limit: int
) -> tuple[list[EntityMentionedIn], int, int]:
    """Documents that mention an entity; how many documents and passages do in all."""
    rows = await connection.fetch(SQL["mentions"], principal.tenant_id, collection, filters, entity_id, limit)
    found = [EntityMentionedIn(row["external_id"], row["title"], row["passages"], row["occurrences"]) for row in rows]
    return found, rows[0]["all_documents"] if rows else 0, rows[0]["all_passages"] if rows else 0
