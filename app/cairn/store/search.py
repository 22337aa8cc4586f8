"""A search of one collection in one statement: its state, both legs, and the passages that will most likely be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from pgvector import HalfVector

from cairn.db.queries import load_queries
from cairn.domain.lazy import Rows
from cairn.domain.passage import Fused, Hit, Leg, LegResult, Passage
from cairn.domain.principal import Principal
from cairn.errors import QueryTimeoutError
from cairn.settings import Settings
from cairn.store.arrays import PackedIds, PackedNumbers, PackedPlaces
from cairn.store.passages import passage
from cairn.store.vectors import MAX_INDEXED_DIMENSIONS, EmbeddingModel

SQL = load_queries("search")

LEGS: Final[tuple[Leg, ...]] = ("vector", "lexical")

MAX_CHUNKS = 2**31 - 1
"""More than any collection has: below it all are scanned."""


@dataclass(frozen=True, slots=True)
class SearchedCollection:
    """The collection as the statement saw it, the legs that were asked for, fused, and rows of the best passages by id.

    `served` False: another model serves the collection, and nothing was searched. `milliseconds` by leg.
    """

    collection_id: UUID
    epoch: int
    passage_count: int
    served: bool
    vector: LegResult | None
    lexical: LegResult | None
    fused: Sequence[Fused]
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
                vector_share, rrf_k, top, principal.principals,
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
            if found == chunks and len(PackedIds(head["vector_passages"])) < least:
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


class FusedLists(Rows[Fused]):
    """What the statement fused, best first, as the lists in which it came.

    By ranks a retriever has a share of what it holds only; one that did not run has none (as in cairn/retrieve/fuse.py).
    """

    __slots__ = ("parts", "passage_ids", "scores")

    def __init__(
        self,
        passage_ids: PackedIds,
        places: Mapping[Leg, PackedPlaces],
        scores: PackedNumbers,
        parts: Mapping[Leg, PackedNumbers],
        rest: Mapping[Leg, float],
        ran: Sequence[Leg] | None,
    ) -> None:
        """In one order: `passage_ids` and `scores`, and by retriever `places` in its own list, from 1. `parts`: what it gave
        to scores, in the order of its own list, and `rest` what it gave to those of others. `ran`: the retrievers that have a
        share of everything; None: each of what it holds."""
        self.passage_ids, self.scores, self.parts = passage_ids, scores, parts
        new, near, words = tuple.__new__, parts["vector"], parts["lexical"]

        def make(passage_id: UUID, v: int | None, w: int | None, score: float) -> Fused:
            ranks: dict[Leg, int] = {}
            shares: dict[Leg, float] = {}
            if w is not None:
                ranks["lexical"], shares["lexical"] = w, words[w - 1]
            elif ran is not None and "lexical" in ran:
                shares["lexical"] = rest["lexical"]
            if v is not None:
                ranks["vector"], shares["vector"] = v, near[v - 1]
            elif ran is not None and "vector" in ran:
                shares["vector"] = rest["vector"]
            return new(Fused, (passage_id, score, ranks, shares))  # as the constructor, which takes three times as long

        super().__init__(make, passage_ids, places["vector"], places["lexical"], scores)


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
        {row["id"]: row for row in rows if row["id"] is not None},
        {"vector": head["vector_ms"] or 0.0, "lexical": head["lexical_ms"] or 0.0},
    )  # fmt: skip


def _vector(head: Any, model: EmbeddingModel, chunks: int, *, scanned: bool) -> LegResult:
    if (regime := head["regime"]) is None:  # there is nothing to search
        return LegResult("vector", (), 0.0, exact=True, complete=True, how={"parts": []})
    hits = _hits(head, "vector", PackedIds(head["vector_chunks"]))
    told = regime != "readable"
    how = {
        "regime": regime,
        "model": model.name,
        "collections": 1,
        "visible_chunks": head["chunk_count"],
        "ef_search": head["breadth"] if regime in ("dedicated", "shared") else None,
        "fell_back": scanned and told,
    }
    confidence = max(0.0, min(1.0, hits[0].score)) if hits else 0.0
    exact, complete = regime == "exact" or (scanned and told), head["chunks_found"] < chunks
    return LegResult("vector", hits, confidence, exact, complete, {"parts": [how]})


def _lexical(head: Any, wanted: int) -> LegResult:
    count = len(PackedNumbers(head["lexical_scores"]))
    hits = _hits(head, "lexical", (None,) * count)
    confidence = min(1.0, head["lexical_coverage"]) if count else 0.0
    return LegResult("lexical", hits, confidence, head["lexical_exact"] is not False, complete=count < wanted)


def _hits(head: Any, leg: Leg, chunks: Sequence[UUID | None]) -> Sequence[Hit]:
    if not chunks:
        return ()
    ids, documents = PackedIds(head[f"{leg}_passages"]), PackedIds(head[f"{leg}_documents"])
    return Rows(Hit, ids, documents, PackedNumbers(head[f"{leg}_scores"]), chunks)


def _fused(head: Any, vector: LegResult | None, lexical: LegResult | None, *, by_ranks: bool) -> Sequence[Fused]:
    if not (scores := PackedNumbers(head["fused_scores"])):
        return []
    both = bool(vector and lexical)
    ran: Sequence[Leg] | None = None if by_ranks else LEGS if both else ("vector",) if vector else ("lexical",)
    return FusedLists(
        PackedIds(head["fused_passages"]),
        {leg: PackedPlaces(head[f"fused_{leg}"]) for leg in LEGS},
        scores,
        {leg: PackedNumbers(head[f"{leg}_parts"]) for leg in LEGS},
        {leg: head[f"{leg}_rest"] for leg in LEGS},
        ran,
    )
