"""Embedding models of collections: which one serves, which have vectors, and vectors that are still to be made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pgvector import HalfVector

from cairn.db.queries import load_queries
from cairn.domain.document import Collection
from cairn.domain.principal import Principal
from cairn.store import cache, collections
from cairn.store.vectors import EmbeddingModel

SQL = load_queries("models")

State = Literal["backfilling", "stopped", "ready", "serving", "retired"]
"""stopped: being backfilled, and the job that did so was given up; only lists say so, and it is not stored."""


@dataclass(frozen=True, slots=True)
class CollectionModel:
    """A model with vectors, or to have vectors, in a collection. `changed_at` is None for one that always served."""

    collection: str
    model: str
    state: State
    changed_at: datetime | None


@dataclass(frozen=True, slots=True)
class MissingVectors:
    """A chunk without a vector, with its span in the document's text. `title` is the one that is shown. `content_hash`: of what
    the serving model embedded for it, None where it has none; `access`: who may read the document, None for everybody."""

    id: UUID
    document_id: UUID
    char_start: int
    char_end: int
    headings: Sequence[str]
    title: str
    media_type: str
    content_hash: bytes | None
    enrichment: Mapping[str, Any] | None
    access: Sequence[str] | None

    @property
    def span(self) -> tuple[int, int]:
        return self.char_start, self.char_end


async def all_models(connection: Any) -> list[EmbeddingModel]:
    return [EmbeddingModel(**row) for row in await connection.fetch(SQL["all"])]


async def list_serving(connection: Any, principal: Principal) -> list[EmbeddingModel]:
    """What collections of the tenant that have documents are searched by."""
    return [EmbeddingModel(**row) for row in await connection.fetch(SQL["serving"], principal.tenant_id)]


async def list_models(connection: Any, principal: Principal, collection: str | None = None) -> list[CollectionModel]:
    rows = await connection.fetch(SQL["of_collections"], principal.tenant_id, collection)
    return [CollectionModel(**row) for row in rows]


async def list_reindexing(connection: Any, principal: Principal) -> set[str]:
    """Names of collections whose documents are cut and embedded anew, or wait for that."""
    return {row["name"] for row in await connection.fetch(SQL["reindexing"], principal.tenant_id)}


async def list_needed(connection: Any, principal: Principal, collection_id: UUID) -> list[EmbeddingModel]:
    """Models that every new chunk needs a vector of, the serving one first; empty while none serves."""
    rows = await connection.fetch(SQL["needed"], principal.tenant_id, collection_id)
    return [EmbeddingModel(**row) for row in rows]


async def lock(connection: Any, principal: Principal, collection_id: UUID) -> Collection | None:
    """The collection, its row locked against publications and other changes until the transaction ends."""
    row = await connection.fetchrow(SQL["lock"], principal.tenant_id, collection_id)
    return Collection(**dict(row)) if row else None


async def set_state(connection: Any, principal: Principal, collection_id: UUID, model_id: int, state: State) -> None:
    await connection.execute(SQL["set_state"], principal.tenant_id, collection_id, model_id, state)


async def state(connection: Any, principal: Principal, collection_id: UUID, model_id: int) -> State | None:
    found: State | None = await connection.fetchval(SQL["state"], principal.tenant_id, collection_id, model_id)
    return found


async def last_retired(connection: Any, principal: Principal, collection_id: UUID) -> EmbeddingModel | None:
    row = await connection.fetchrow(SQL["last_retired"], principal.tenant_id, collection_id)
    return EmbeddingModel(**row) if row else None


async def serve(connection: Any, principal: Principal, collection_id: UUID, old: int, new: int) -> None:
    """Let `new` serve from the commit on; `old` is kept up to date for a roll-back. Needs `lock`."""
    await set_state(connection, principal, collection_id, old, "retired")
    await set_state(connection, principal, collection_id, new, "serving")
    await connection.execute(SQL["serve"], principal.tenant_id, collection_id, new)
    await cache.forget(connection, collection_id)


async def count_missing(connection: Any, principal: Principal, collection_id: UUID, model_id: int) -> int:
    """Chunks without a vector of the model."""
    return int(await connection.fetchval(SQL["missing"], principal.tenant_id, collection_id, model_id))


async def next_missing(
    connection: Any, principal: Principal, collection_id: UUID, model_id: int, serving: int, limit: int
) -> list[MissingVectors]:
    rows = await connection.fetch(SQL["next_missing"], principal.tenant_id, collection_id, model_id, serving, limit)
    return [MissingVectors(**dict(row)) for row in rows]


async def add_vectors(
    connection: Any, principal: Principal, model_id: int, made: Sequence[tuple[UUID, bytes, HalfVector]]
) -> None:
    """Store vectors (chunk, hash of its text, vector) of chunks that are still there."""
    columns = [list(column) for column in zip(*made, strict=True)]
    await connection.execute(SQL["add_vectors"], principal.tenant_id, model_id, *columns)


async def place(connection: Any, principal: Principal, collection_id: UUID, model_id: int) -> None:
    """See that the vectors of a model are in the index where those of the collection belong. Needs `lock`."""
    await connection.execute(SQL["place"], principal.tenant_id, collection_id, model_id)


async def forget(connection: Any, principal: Principal, collection_id: UUID, model_id: int) -> None:
    """Delete its vectors in the collection. Needs `lock`."""
    await connection.execute(SQL["forget"], principal.tenant_id, collection_id, model_id)
    await connection.execute(SQL["forget_vectors"], principal.tenant_id, collection_id, model_id)
    await collections.touch(connection, principal, collection_id)  # for who searches by that model
    await cache.forget(connection, collection_id)
