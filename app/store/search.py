"""A search of one collection in one statement: its state, both legs, and the passages that will most likely be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from app.db.queries import load_queries
from app.domain.lazy import Rows
from app.domain.passage import Fused, Hit, Leg, LegResult, Passage
from app.domain.principal import Principal
from app.errors import QueryTimeoutError
from app.settings import Settings
from app.store.passages import passage
from app.store.vectors import MAX_INDEXED_DIMENSIONS, EmbeddingModel

SQL = load_queries("search")

MAX_CHUNKS = 2**31 - 1
"""More than any collection has: below it all are scanned."""


@dataclass(frozen=True, slots=True)
class SearchedCollection:
    """The collection as the statement saw it, the legs that were asked for, fused, and rows of the best passages by id.

    `served` False: another model serves the collection, and nothing was searched. `documents` by passage, `milliseconds` by leg.
    """

    collection_id: UUID
    epoch: int
    passage_count: int
    served: bool
    vector: LegResult | None
    lexical: LegResult | None
    fused: Sequence[Fused]
    documents: Mapping[UUID, UUID]
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
    least: int,
    hits: int,
    vector_share: float,
    rrf_k: int | None,
    top: int,
) -> SearchedCollection | None:
    """Search one collection, by name. `vector` or `text` None: without that leg. The vector leg looks at
    `chunks` at first, and at more where they lie in fewer than `least` passages; the lexical one gives `hits`; `top` passages
    are fetched whole. `vector_share` is the weight of the
    vector leg in fusion, which is by reciprocal ranks with `rrf_k`, or (None) by relative scores.

    Needs a connection without a transaction. None: there is no such collection. Raises QueryTimeoutError, and what the
    database raises when a leg fails; which one it was has to be found out by other means.
    """
    near, words, retrieve = settings.vector, settings.lexical, settings.retrieve
    seconds = retrieve.statement_timeout_ms / 1000
    exact_below = near.exact_below if model.dimensions <= MAX_INDEXED_DIMENSIONS else MAX_CHUNKS
    scan = False
    while True:
        try:
            rows = await connection.fetch(
                SQL["collection"], principal.tenant_id, collection, model.id,
                vector, chunks, scan, exact_below, near.ef_search, near.max_scan_tuples,
                text, hits, words.candidate_budget, words.candidate_cap,
                vector_share, rrf_k, top,
                timeout=seconds,
            )  # fmt: skip
        except TimeoutError as error:
            raise QueryTimeoutError(f"the search took longer than {seconds:g} s") from error
        if not rows:
            return None
        head = rows[0]
        if head["served"] and head["regime"] is not None:
            found = head["chunks_found"]
            if head["regime"] != "exact" and not scan and found < min(chunks, head["chunk_count"]):
                scan = True  # the index yields fewer rows than there are
                continue
            if found == chunks and len(head["vector_passages"] or ()) < least:
                chunks *= 4  # many chunks of few passages: look further
                continue
        return _searched(rows, model, chunks, hits, vector, text, by_ranks=rrf_k is not None, scanned=scan)


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


def _searched(
    rows: Sequence[Any],
    model: EmbeddingModel,
    chunks: int,
    hits: int,
    vector: HalfVector | None,
    text: str | None,
    *,
    by_ranks: bool,
    scanned: bool,
) -> SearchedCollection:
    head, served = rows[0], rows[0]["served"]
    near = _vector(head, model, chunks, scanned=scanned) if served and vector is not None else None
    words = _lexical(head, hits) if served and text is not None else None
    return SearchedCollection(
        head["collection_id"], head["epoch"], head["passage_count"], served, near, words,
        _fused(head, near, words, by_ranks=by_ranks),
        {**_by_passage(head, "vector"), **_by_passage(head, "lexical")},
        {row["id"]: row for row in rows if row["id"] is not None},
        {"vector": head["vector_ms"] or 0.0, "lexical": head["lexical_ms"] or 0.0},
    )  # fmt: skip


def _vector(head: Any, model: EmbeddingModel, chunks: int, *, scanned: bool) -> LegResult:
    if (regime := head["regime"]) is None:  # there is nothing to search
        return LegResult("vector", (), 0.0, exact=True, complete=True, how={"parts": []})
    scores = head["vector_scores"]
    how = {
        "regime": regime,
        "model": model.name,
        "collections": 1,
        "visible_chunks": head["chunk_count"],
        "ef_search": None if regime == "exact" else head["breadth"],
        "fell_back": scanned,
    }
    confidence = max(0.0, min(1.0, scores[0])) if scores else 0.0
    exact, complete = regime == "exact" or scanned, head["chunks_found"] < chunks
    hits = _hits(head, "vector", head["vector_chunks"])
    return LegResult("vector", hits, confidence, exact, complete, {"parts": [how]})


def _lexical(head: Any, wanted: int) -> LegResult:
    count = len(head["lexical_scores"] or ())
    confidence = min(1.0, head["lexical_coverage"]) if count else 0.0
    hits = _hits(head, "lexical", (None,) * count)
    return LegResult("lexical", hits, confidence, head["lexical_exact"] is not False, complete=count < wanted)


def _hits(head: Any, leg: Leg, chunks: Sequence[UUID | None]) -> Sequence[Hit]:
    if not head[f"{leg}_scores"]:
        return ()
    return Rows(Hit, head[f"{leg}_passages"], head[f"{leg}_documents"], head[f"{leg}_scores"], chunks)


def _by_passage(head: Any, leg: Leg) -> dict[UUID, UUID]:
    """The document of each passage that the leg found."""
    return dict(zip(head[f"{leg}_passages"] or (), head[f"{leg}_documents"] or (), strict=True))


def _fused(head: Any, vector: LegResult | None, lexical: LegResult | None, *, by_ranks: bool) -> Sequence[Fused]:
    """As app/retrieve/fuse.py makes them: by ranks, a leg has a share of what it holds only."""
    if not head["fused_scores"]:
        return []
    near, words, both = head["vector_passages"], head["lexical_passages"], bool(vector and lexical)
    new = tuple.__new__

    def make(v: int | None, w: int | None, score: float, v_share: float, w_share: float) -> Fused:
        places: dict[Leg, int] = {}
        if w is not None:
            places["lexical"] = w
        if v is not None:
            places["vector"] = v
        shares: dict[Leg, float] = {"lexical": w_share, "vector": v_share}
        if by_ranks or not both:
            ran = places if by_ranks else ("vector",) if vector else ("lexical",)
            shares = {leg: share for leg, share in shares.items() if leg in ran}
        passage_id = near[v - 1] if v is not None else words[places["lexical"] - 1]
        return new(Fused, (passage_id, score, places, shares))  # as the constructor, which takes three times as long

    columns = ("fused_vector", "fused_lexical", "fused_scores", "vector_shares", "lexical_shares")
    return Rows(make, *(head[column] for column in columns))
