"""Embedding models, reuse of vectors, and the vector leg."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from app.db.queries import load_queries
from app.domain.condition import Conditions
from app.domain.passage import Hit, LegResult
from app.domain.principal import Principal
from app.settings import VectorSettings

SQL = load_queries("vectors")


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A registered model: the key of its vectors and their length."""

    id: int
    name: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """What the vector leg looks for: `wanted` passages out of `visible` chunks."""

    collections: Sequence[UUID]
    vector: HalfVector
    wanted: int
    visible: int
    filters: Mapping[str, Any] | None
    conditions: Conditions | None = None


async def model(connection: Any, name: str) -> EmbeddingModel | None:
    row = await connection.fetchrow(SQL["model"], name)
    return EmbeddingModel(row["id"], name, row["dimensions"]) if row else None


async def reuse(
    connection: Any, principal: Principal, model: EmbeddingModel, hashes: Sequence[bytes]
) -> dict[bytes, HalfVector]:
    """Vectors that the tenant already has for these inputs (SHA-256)."""
    rows = await connection.fetch(SQL["reuse"], principal.tenant_id, model.id, list(hashes))
    return {bytes(row["content_hash"]): row["embedding"] for row in rows}


async def visible(connection: Any, collections: Sequence[UUID], filters: Mapping[str, Any]) -> int:
    """Chunks of the documents that match the filters."""
    return int(await connection.fetchval(SQL["visible"], list(collections), filters))


async def visible_under(
    connection: Any,
    principal: Principal,
    collections: Sequence[UUID],
    conditions: Conditions,
    filters: Mapping[str, Any] | None,
    total: int,
) -> int:
    """Chunks, of `total`, of the passages that conditions and filters leave."""
    asked = conditions.as_json(filtered=bool(filters))
    count = await connection.fetchval(SQL["count_scope"], principal.tenant_id, list(collections), asked, filters)
    return int(count) if asked["inclusive"] else total - int(count)


async def search(
    connection: Any, principal: Principal, model: EmbeddingModel, query: VectorQuery, settings: VectorSettings
) -> LegResult:
    """Nearest chunks, each passage with its best one: always min(wanted, visible) passages.

    Small sets are scanned exactly. Larger ones use the HNSW index with iterative scan; where that yields fewer rows than
    there are to be had, the exact scan takes over (facts: filtered search on a shared index under-returns).
    """
    chunks = max(settings.candidates, query.wanted)
    exact = query.visible <= settings.exact_below
    while True:
        rows = await _nearest(connection, principal, model, query, settings, chunks, exact)
        if not exact and len(rows) < min(chunks, query.visible):
            exact = True
            continue
        hits = _best_per_passage(rows)
        if len(hits) >= query.wanted or len(rows) < chunks:
            break
        chunks *= 4  # many chunks of few passages: look further
    confidence = max(0.0, min(1.0, hits[0].score)) if hits else 0.0
    return LegResult("vector", hits, confidence, exact, complete=len(rows) < chunks)


async def _nearest(
    connection: Any,
    principal: Principal,
    model: EmbeddingModel,
    query: VectorQuery,
    settings: VectorSettings,
    chunks: int,
    exact: bool,
) -> Sequence[Any]:
    statement, restriction = _statement(query, exact)
    if not exact:
        breadth = min(1000, max(settings.ef_search, chunks))
        await connection.execute(SQL["configure"], str(breadth), str(settings.max_scan_tuples))
    arguments = [principal.tenant_id, list(query.collections), query.vector, chunks, *restriction]
    rows: Sequence[Any] = await connection.fetch(
        statement.format(model=model.id, dimensions=model.dimensions), *arguments
    )
    return rows


def _statement(query: VectorQuery, exact: bool) -> tuple[str, list[Any]]:
    """The statement, and its arguments after the fourth."""
    name = "search_exact" if exact else "search_index"
    if query.conditions is not None:
        asked = query.conditions.as_json(filtered=bool(query.filters))
        chosen = exact and asked["inclusive"]
        return SQL[f"{name}_chosen" if chosen else f"{name}_scoped"], [asked, query.filters]
    return (SQL[f"{name}_filtered"], [query.filters]) if query.filters else (SQL[name], [])


def _best_per_passage(rows: Sequence[Any]) -> tuple[Hit, ...]:
    best: dict[UUID, Hit] = {}
    for row in rows:  # nearest first
        best.setdefault(row["passage_id"], Hit(row["passage_id"], row["document_id"], row["score"], row["chunk_id"]))
    return tuple(best.values())
