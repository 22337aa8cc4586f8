"""A search of one collection in one statement: its state, both legs, and the passages that will most likely be shown."""

from __future__ import annotations

from collections.abc import Mapping
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


@dataclass(frozen=True, slots=True)
class SearchedCollection:
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


async def search_collection(
    connection: Any,
    principal: Principal,
    settings: Settings,
    *,
    collection: str,
    model: EmbeddingModel,
    vector: HalfVector | None,
    text: str | None,
    chunks: int,
    depth: int,
    hits: int,
    vector_share: float,
    rrf_k: int | None,
    top: int,
) -> SearchedCollection | None:
    """Search one collection, by name. `vector` or `text` None: without that leg. `depth` passages are wanted from the vector
    leg, of `chunks` at first, and `hits` from the lexical one; `top` are fetched whole. `vector_share` is the weight of the
    vector leg in fusion, which is by reciprocal ranks with `rrf_k`, or (None) by relative scores.

    Needs a connection without a transaction. None: there is no such collection. Raises QueryTimeoutError, and what the
    database raises when a leg fails; which one it was has to be found out by other means.
    """
    near, words, retrieve = settings.vector, settings.lexical, settings.retrieve
    seconds = retrieve.statement_timeout_ms / 1000
    try:
        rows = await connection.fetch(
            SQL["collection"], principal.tenant_id, collection, model.id,
            vector, chunks, depth, near.exact_below, MAX_INDEXED_DIMENSIONS, near.ef_search, MAX_EF_SEARCH,
            near.max_scan_tuples,
            text, hits, words.candidate_budget, words.candidate_cap,
            vector_share, rrf_k, top,
            timeout=seconds,
        )  # fmt: skip
    except TimeoutError as error:
        raise QueryTimeoutError(f"the search took longer than {seconds:g} s") from error
    if not rows:
        return None
    row, served = rows[0], rows[0]["served"]
    return SearchedCollection(
        row["collection_id"], row["epoch"], row["passage_count"], served,
        _vector(row, model) if served and vector is not None else None,
        _lexical(row, hits) if served and text is not None else None,
        {found["id"]: found for found in rows[1:]},
        {"vector": row["vector_ms"] or 0.0, "lexical": row["lexical_ms"] or 0.0},
    )  # fmt: skip


async def passages_at(
    connection: Any,
    principal: Principal,
    collection_id: UUID,
    epoch: int,
    name: str,
    wanted: Mapping[UUID, Fused],
    chunks: Mapping[UUID, UUID | None],
    timeout_ms: int,
) -> list[Passage] | None:
    """Passages of one state of a collection, whole, by another statement without a transaction; `chunks`: what was matched in
    each. Missing ones are left out. None: the collection has another epoch now. Raises QueryTimeoutError."""
    if not wanted:
        return []
    given = (principal.tenant_id, collection_id, epoch, list(wanted), [chunks.get(key) for key in wanted])
    try:
        rows = await connection.fetch(SQL["whole"], *given, timeout=timeout_ms / 1000)
    except TimeoutError as error:
        raise QueryTimeoutError(f"reading passages took longer than {timeout_ms} ms") from error
    return [passage(row, name, wanted[row["id"]]) for row in rows] or None


def _vector(row: Any, model: EmbeddingModel) -> LegResult:
    if row["vector_regime"] is None:  # there is nothing to search
        return LegResult("vector", (), 0.0, exact=True, complete=True, how={"parts": []})
    columns = (row["vector_passages"], row["vector_documents"], row["vector_scores"], row["vector_chunks"])
    hits = tuple(map(Hit, *columns)) if columns[0] else ()
    exact = row["vector_regime"] == "exact" or row["vector_fell_back"]
    how = {
        "regime": row["vector_regime"],
        "model": model.name,
        "collections": 1,
        "visible_chunks": row["chunk_count"],
        "ef_search": row["vector_ef_search"],
        "fell_back": row["vector_fell_back"],
    }
    confidence = max(0.0, min(1.0, hits[0].score)) if hits else 0.0
    return LegResult("vector", hits, confidence, exact, row["vector_complete"], {"parts": [how]})


def _lexical(row: Any, wanted: int) -> LegResult:
    columns = (row["lexical_passages"], row["lexical_documents"], row["lexical_scores"])
    hits = tuple(map(Hit, *columns)) if columns[0] else ()
    confidence = min(1.0, row["lexical_coverage"]) if hits else 0.0
    return LegResult("lexical", hits, confidence, row["lexical_exact"] is not False, complete=len(hits) < wanted)
