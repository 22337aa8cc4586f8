"""rag.entity_vectors: vectors of names of entities, for merges and for questions that name no entity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from app.db.queries import load_queries
from app.domain.graph import EntityLink
from app.domain.principal import Principal
from app.store import lexical

SQL = load_queries("entity_vectors")


async def missing(
    connection: Any, principal: Principal, collection_id: UUID, model_id: int, *, most: int, limit: int
) -> dict[UUID, str]:
    """Names to embed, by entity: of the `most` entities most spoken of, up to `limit`."""
    rows = await connection.fetch(SQL["missing"], principal.tenant_id, collection_id, model_id, most, limit)
    return {row["id"]: row["name"] for row in rows}


async def put(
    connection: Any,
    principal: Principal,
    collection_id: UUID,
    model_id: int,
    made: Sequence[tuple[UUID, str, HalfVector]],
) -> None:
    """Store (entity, name, vector); entities that are gone are left out. Takes the collection's lock."""
    if await lexical.lock(connection, principal, collection_id):
        columns = [list(column) for column in zip(*made, strict=True)]
        await connection.execute(SQL["put"], principal.tenant_id, collection_id, model_id, *columns)


async def prune(connection: Any, principal: Principal, collection_id: UUID, model_id: int, most: int) -> None:
    """Delete those of other models, and of all but the `most` entities most spoken of."""
    await connection.execute(SQL["prune"], principal.tenant_id, collection_id, model_id, most)


async def of_collection(connection: Any, principal: Principal, collection_id: UUID, model_id: int) -> list[Any]:
    """Rows of (id, normal, kind, passage_count, embedding), of entities that stand for themselves."""
    found: list[Any] = await connection.fetch(SQL["all"], principal.tenant_id, collection_id, model_id)
    return found


async def decided(connection: Any, principal: Principal, collection_id: UUID) -> set[frozenset[UUID]]:
    """Pairs that were merged once: one that was undone is not proposed again."""
    rows = await connection.fetch(SQL["decided"], principal.tenant_id, collection_id)
    return {frozenset((row["entity_id"], row["into_id"])) for row in rows}


async def nearest(
    connection: Any, principal: Principal, collection_id: UUID, model_id: int, vector: HalfVector, limit: int
) -> list[EntityLink]:
    """Entities by the cosine of their name and a vector, which is their score."""
    rows = await connection.fetch(SQL["nearest"], principal.tenant_id, collection_id, model_id, vector, limit)
    return [
        EntityLink(
            row["id"], row["name"], row["kind"], row["passage_count"], min(row["cosine"], 1.0), "vector", row["form"]
        )
        for row in rows
    ]
