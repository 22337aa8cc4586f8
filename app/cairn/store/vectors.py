"""Embedding models, reuse of vectors, and the statements of the vector leg."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from pgvector import HalfVector

from cairn.db.queries import load_queries
from cairn.domain.plan import Conditions
from cairn.domain.principal import Principal
from cairn.errors import DatabaseUnavailableError
from cairn.settings import VectorSettings

SQL = load_queries("vectors")

Regime = Literal["exact", "dedicated", "shared"]
"""How neighbours are found: every vector compared, an HNSW index of the collection's own, or that of all collections."""

MAX_INDEXED_DIMENSIONS = 4000
"""What HNSW takes of a halfvec; longer vectors are always scanned."""


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A registered model: the key of its vectors and their length."""

    id: int
    name: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A question to the index: the `limit` nearest chunks of these collections, of one of them in regime dedicated."""

    model: EmbeddingModel
    collections: Sequence[UUID]
    vector: HalfVector
    limit: int
    filters: Mapping[str, Any] | None = None
    conditions: Conditions | None = None


async def model(connection: Any, name: str) -> EmbeddingModel | None:
    row = await connection.fetchrow(SQL["model"], name)
    return EmbeddingModel(**row) if row else None


async def models(connection: Any, ids: Iterable[int]) -> dict[int, EmbeddingModel]:
    """Models by id."""
    return {row["id"]: EmbeddingModel(**row) for row in await connection.fetch(SQL["models"], list(ids))}


async def reuse(
    connection: Any,
    principal: Principal,
    model: EmbeddingModel,
    hashes: Sequence[bytes],
    readers: Sequence[str] | None,
) -> dict[bytes, HalfVector]:
    """Vectors that the tenant already has for these inputs (SHA-256), in documents that everybody may read, or just these
    `readers`; None: everybody."""
    known = None if readers is None else list(readers)
    rows = await connection.fetch(SQL["reuse"], principal.tenant_id, model.id, list(hashes), known)
    return {bytes(row["content_hash"]): row["embedding"] for row in rows}


async def keep_ahead(
    connection: Any,
    principal: Principal,
    collection_id: UUID,
    external_id: str,
    model: EmbeddingModel,
    made: Mapping[bytes, HalfVector],
) -> None:
    """Vectors of a document before it is published; `reuse` finds them."""
    await connection.execute(
        SQL["keep_ahead"], principal.tenant_id, collection_id, external_id, model.id, list(made), list(made.values())
    )


async def drop_ahead(connection: Any, principal: Principal, document_id: UUID) -> None:
    """They are not needed any more: it is published."""
    await connection.execute(SQL["drop_ahead"], principal.tenant_id, document_id)


async def count_visible_chunks(
    connection: Any, collections: Sequence[UUID], filters: Mapping[str, Any], enough: int
) -> dict[UUID, int]:
    """Chunks of the documents that match the filters, by collection; more than `enough` of one are not counted to the end."""
    rows = await connection.fetch(SQL["visible"], list(collections), filters, enough)
    return {row["id"]: row["chunks"] for row in rows}


async def count_chunks_under(
    connection: Any,
    principal: Principal,
    counts: Mapping[UUID, int],
    conditions: Conditions,
    filters: Mapping[str, Any] | None,
) -> dict[UUID, int]:
    """Chunks, of `counts` by collection, of the passages that conditions and filters leave."""
    asked = conditions.as_json(filtered=bool(filters))
    rows = await connection.fetch(SQL["count_scope"], principal.tenant_id, list(counts), asked, filters)
    found: dict[UUID, int] = {row["id"]: row["chunks"] for row in rows}
    if asked["inclusive"]:
        return {key: found.get(key, 0) for key in counts}
    return {key: total - found.get(key, 0) for key, total in counts.items()}


async def configure(connection: Any, limit: int, chunks: int, settings: VectorSettings) -> int:
    """Set the breadth of HNSW searches for `limit` of so many chunks in this transaction; returns the hnsw.ef_search in force.

    Raises DatabaseUnavailableError when it is not what was asked for: PostgreSQL only warns of that.
    """
    row = await connection.fetchrow(SQL["configure"], settings.ef_search, limit, chunks, settings.max_scan_tuples)
    if row["ef_search"] != row["breadth"]:
        raise DatabaseUnavailableError(f"hnsw.ef_search is {row['ef_search']}, not {row['breadth']}")
    return int(row["ef_search"])


async def find_nearest(connection: Any, principal: Principal, regime: Regime, query: Neighbours) -> Sequence[Any]:
    """Rows (chunk_id, passage_id, document_id, score), nearest first. HNSW regimes need `configure` before; conditions are
    for the exact one only."""
    name, arguments = _statement(regime, principal, query)
    statement = SQL[name].format(
        model=query.model.id,
        dimensions=query.model.dimensions,
        tenant=principal.tenant_id,
        collection=query.collections[0],
        filter=SQL["filter"] if query.filters else "",
    )
    rows: Sequence[Any] = await connection.fetch(statement, *arguments)
    return rows


def _statement(regime: Regime, principal: Principal, query: Neighbours) -> tuple[str, list[Any]]:
    """Name of the statement, and its arguments."""
    nearest = [list(query.collections), query.vector, query.limit]
    if query.conditions is not None:
        if regime != "exact":
            raise ValueError("no index knows the conditions of a query")
        scope = query.conditions.as_json(filtered=bool(query.filters))
        return "search_exact_chosen" if scope["inclusive"] else "search_exact_scoped", [
            principal.tenant_id, *nearest, scope, query.filters,
        ]  # fmt: skip
    if regime == "exact":
        return "search_exact", [*nearest, query.filters]
    return f"search_{regime}", [principal.tenant_id, *nearest, *([query.filters] if query.filters else [])]


async def sample(
    connection: Any, principal: Principal, collection_id: UUID, model: EmbeddingModel, size: int
) -> list[tuple[UUID, HalfVector]]:
    """Stored vectors with their chunks, at random."""
    rows = await connection.fetch(SQL["sample"], principal.tenant_id, collection_id, model.id, size)
    return [(row["chunk_id"], row["embedding"]) for row in rows]


async def fill_passages(connection: Any, principal: Principal, after: UUID, portion: int) -> tuple[UUID | None, int]:
    """Write the passage beside those vectors of the next `portion` chunks that lack it: the last chunk looked at (None: there
    are no more), and how many vectors were filled."""
    row = await connection.fetchrow(SQL["fill_passages"], principal.tenant_id, after, portion)
    return row["last"], row["filled"]
