"""A search of one collection in one statement: its state, both legs, and the passages that will most likely be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from app.db.queries import load_queries
from app.domain.passage import Fused, Hit, LegResult, Passage
from app.domain.principal import Principal
from app.errors import QueryTimeoutError
from app.settings import Settings
from app.store.passages import passage
from app.store.vectors import MAX_EF_SEARCH, MAX_INDEXED_DIMENSIONS, EmbeddingModel

SQL = load_queries("search")


class MovedOnError(Exception):
    """A collection changed between two statements of one search."""


@dataclass(frozen=True, slots=True)
class CollectionQuery:
    """What is looked for. `vector` or `text` None: without that leg. `depth` passages are wanted from the vector leg,
    `hits` from the lexical one; `top` are fetched whole. `vector_share` is the weight of that leg in fusion."""

    collection: str
    model: EmbeddingModel
    vector: HalfVector | None
    text: str | None
    chunks: int
    depth: int
    hits: int
    vector_share: float
    top: int


@dataclass(frozen=True, slots=True)
class Searched:
    """The collection as the statement saw it, the legs that were asked for, and rows of passages by id.

    `served` False: another model serves the collection, and nothing was searched. `milliseconds` by leg.
    """

    collection_id: UUID
    epoch: int
    passage_count: int
    served: bool
    vector: LegResult | None
    lexical: LegResult | None
    rows: dict[UUID, Any]
    milliseconds: dict[str, float]


async def search(connection: Any, principal: Principal, asked: CollectionQuery, settings: Settings) -> Searched | None:
    """Needs a connection without a transaction. None: there is no such collection. Raises QueryTimeoutError, and what the
    database raises when a leg fails; which one it was has to be found out by other means."""
    vector, lexical, retrieve = settings.vector, settings.lexical, settings.retrieve
    seconds = retrieve.statement_timeout_ms / 1000
    try:
        rows = await connection.fetch(
            SQL["collection"], principal.tenant_id, asked.collection, asked.model.id,
            asked.vector, asked.chunks, asked.depth, vector.exact_below, MAX_INDEXED_DIMENSIONS, vector.ef_search,
            MAX_EF_SEARCH, vector.max_scan_tuples,
            asked.text, asked.hits, lexical.candidate_budget, lexical.candidate_cap,
            asked.vector_share, retrieve.rrf_k if retrieve.fusion == "rrf" else None, asked.top,
            timeout=seconds,
        )  # fmt: skip
    except TimeoutError as error:
        raise QueryTimeoutError(f"the search took longer than {seconds:g} s") from error
    return _searched(asked, rows[0], rows[1:]) if rows else None


async def whole(
    connection: Any, principal: Principal, found: Searched, name: str, best: Sequence[Fused], timeout_ms: int
) -> dict[UUID, Passage]:
    """Passages besides `found.rows`, of the same state of the collection, by another statement without a transaction.
    Missing ones are left out. Raises MovedOnError, QueryTimeoutError."""
    chunks = {hit.passage_id: hit.chunk_id for hit in (found.vector.hits if found.vector else ())}
    ids = [item.passage_id for item in best if item.passage_id not in found.rows]
    if not ids:
        return {}
    matched = [chunks.get(key) for key in ids]
    given = (principal.tenant_id, found.collection_id, found.epoch, ids, matched)
    try:
        rows = await connection.fetch(SQL["whole"], *given, timeout=timeout_ms / 1000)
    except TimeoutError as error:
        raise QueryTimeoutError(f"reading passages took longer than {timeout_ms} ms") from error
    if not rows:
        raise MovedOnError
    fused = {item.passage_id: item for item in best}
    return {row["id"]: passage(row, name, fused[row["id"]]) for row in rows}


def _searched(asked: CollectionQuery, row: Any, rest: Sequence[Any]) -> Searched:
    served = row["served"]
    return Searched(
        row["collection_id"], row["epoch"], row["passage_count"], served,
        _vector(asked, row) if served and asked.vector is not None else None,
        _lexical(asked, row) if served and asked.text is not None else None,
        {found["id"]: found for found in rest},
        {"vector": row["vector_ms"] or 0.0, "lexical": row["lexical_ms"] or 0.0},
    )  # fmt: skip


def _vector(asked: CollectionQuery, row: Any) -> LegResult:
    if row["vector_regime"] is None:  # there is nothing to search
        return LegResult("vector", (), 0.0, exact=True, complete=True, how={"parts": []})
    columns = (row["vector_passages"], row["vector_documents"], row["vector_scores"], row["vector_chunks"])
    hits = tuple(map(Hit, *columns)) if columns[0] else ()
    exact = row["vector_regime"] == "exact" or row["vector_fell_back"]
    how = {
        "regime": row["vector_regime"],
        "model": asked.model.name,
        "collections": 1,
        "visible_chunks": row["chunk_count"],
        "ef_search": row["vector_ef_search"],
        "fell_back": row["vector_fell_back"],
    }
    confidence = max(0.0, min(1.0, hits[0].score)) if hits else 0.0
    return LegResult("vector", hits, confidence, exact, row["vector_complete"], {"parts": [how]})


def _lexical(asked: CollectionQuery, row: Any) -> LegResult:
    columns = (row["lexical_passages"], row["lexical_documents"], row["lexical_scores"])
    hits = tuple(map(Hit, *columns)) if columns[0] else ()
    confidence = min(1.0, row["lexical_coverage"]) if hits else 0.0
    return LegResult("lexical", hits, confidence, row["lexical_exact"] is not False, complete=len(hits) < asked.hits)
