"""rag.retrieval_cache: results of searches in and out.

Each function runs inside the caller's tenant transaction, except `look_up`, which takes a bare connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from cairn.db.queries import load_queries
from cairn.domain.document import Landmark
from cairn.domain.graph import (
    ContextCommunity,
    ContextEntity,
    ContextRelation,
    GraphContext,
)
from cairn.domain.passage import CacheAddress, CacheCounts, CacheHit, CacheStats, Passage, SearchResult, WeightsUsed
from cairn.domain.principal import EVERYTHING, Principal
from cairn.settings import CacheSettings

SQL = load_queries("cache")

LOOK_UP_SECONDS = 1.0
"""A cache that makes a search wait longer is none."""

_IDS = ("passage_id", "document_id", "chunk_id")


@dataclass(frozen=True, slots=True)
class Similar:
    """An entry of nearly the same query; `counted`: whether its use is."""

    key: str
    query: str
    result: SearchResult
    counted: bool


async def look_up(
    connection: Any, principal: Principal, address: CacheAddress, settings: CacheSettings, run_id: UUID
) -> tuple[list[int | None], SearchResult | None, bool]:
    """Ids of the models that serve the collections of the address, in order of name (None for one that none serves yet),
    and the result stored under its key, as that of `run_id`, if it is as true now as when it was found; whether its
    use is counted, which nobody's is who can read more than everybody."""
    row = await connection.fetchrow(
        SQL["look_up"], principal.tenant_id, address.key, list(address.collections), settings.ttl_seconds,
        [EVERYTHING] if principal.caller.reads_all else list(principal.caller.names), timeout=LOOK_UP_SECONDS,
    )  # fmt: skip
    found = None if row["result"] is None else _result(row["result"], run_id, row["age"])
    return row["serving"] or [], found, bool(row["counted"])


async def look_up_similar(
    connection: Any,
    principal: Principal,
    address: CacheAddress,
    vector: HalfVector,
    settings: CacheSettings,
    run_id: UUID,
) -> list[Similar]:
    """Up to five true results of queries near this one, nearest first, with equal guards."""
    rows = await connection.fetch(
        SQL["look_up_similar"], principal.tenant_id, address.scope, list(address.collections), settings.ttl_seconds,
        list(address.guards), vector, settings.semantic_threshold,
    )  # fmt: skip
    return [
        Similar(row["key"], row["query"], _result(row["result"], run_id, row["age"], row["similarity"]), row["counted"])
        for row in rows
    ]


async def store(
    connection: Any,
    principal: Principal,
    address: CacheAddress,
    result: SearchResult,
    vector: HalfVector | None,
    settings: CacheSettings,
) -> bool:
    """Keep the result, and drop what is too much. False: its collections have changed, or are changing just now, or
    who asked was forgotten."""
    ids = sorted(result.snapshot)
    stored: bool = await connection.fetchval(
        SQL["store"], principal.tenant_id, address.key, address.scope, address.query, vector, list(address.guards),
        ids, [result.snapshot[key] for key in ids], _document(result), settings.capacity, settings.ttl_seconds,
        principal.caller.id,
    )  # fmt: skip
    return stored


async def forget(connection: Any, collection_id: UUID) -> int:
    """Remove what was found in a collection; how many entries. Part of what changes the collection."""
    return int(await connection.fetchval(SQL["forget"], collection_id))


async def clear(connection: Any, principal: Principal) -> int:
    """Remove all entries of the tenant; how many."""
    return int(await connection.fetchval(SQL["clear"], principal.tenant_id))


async def stats(connection: Any, principal: Principal, settings: CacheSettings) -> CacheStats:
    counters = await connection.fetchrow(SQL["counters"], principal.tenant_id)
    return CacheStats(
        size=await connection.fetchval(SQL["size"], principal.tenant_id, settings.ttl_seconds),
        counts=CacheCounts(**dict(counters)) if counters else CacheCounts(),
        query_embeddings=await connection.fetchval(SQL["embeddings_size"], principal.tenant_id),
    )


async def count(connection: Any, principal: Principal, counts: CacheCounts) -> None:
    await connection.execute(
        SQL["count"], principal.tenant_id, counts.hits, counts.semantic_hits, counts.misses, counts.bypassed
    )


async def touch(connection: Any, principal: Principal, uses: Mapping[str, tuple[int, Any]]) -> None:
    """Add uses of entries: key to (how often, when last)."""
    hits, times = [hits for hits, _ in uses.values()], [used_at for _, used_at in uses.values()]
    await connection.execute(SQL["touch"], principal.tenant_id, list(uses), hits, times)


# --- a result as JSON -----------------------------------------------------------------------------------------------


def _document(result: SearchResult) -> dict[str, Any]:
    """What outlasts the run. Candidates of the legs do not: they stand in the trace of the run that found them."""
    return {
        "run_id": str(result.trace_id),
        "passages": [_passage_document(passage) for passage in result.passages],
        "legs_used": list(result.legs_used),
        "exact": result.exact,
        "confidence": dict(result.confidence),
        "epochs": dict(result.epochs),
        "visible_passages": result.visible_passages,
        "reranker": result.reranker,
        "weights": result.weights and asdict(result.weights),
        "graph": result.graph and _context_document(result.graph),
    }


def _passage_document(passage: Passage) -> dict[str, Any]:
    fields = asdict(passage)
    return {**fields, **{name: fields[name] and str(fields[name]) for name in _IDS}}


def _result(stored: Mapping[str, Any], run_id: UUID, age: float, similarity: float | None = None) -> SearchResult:
    return SearchResult(
        passages=tuple(map(_passage, stored["passages"])),
        trace_id=run_id,
        legs_used=tuple(stored["legs_used"]),
        legs_failed={},
        exact=stored["exact"],
        degraded=(),
        timings_ms={},
        confidence=stored["confidence"],
        epochs=stored["epochs"],
        visible_passages=stored["visible_passages"],
        reranker=stored["reranker"],
        hit=CacheHit(UUID(stored["run_id"]), age, similarity),
        weights=stored["weights"] and WeightsUsed(**stored["weights"]),
        graph=stored["graph"] and _context(stored["graph"]),
    )


def _passage(fields: Mapping[str, Any]) -> Passage:
    read: dict[str, Any] = {
        **fields,
        **{name: fields[name] and UUID(fields[name]) for name in _IDS},
        "headings": tuple(fields["headings"]),
        "landmarks": _landmarks(fields["landmarks"]),
        "matched": fields["matched"] and tuple(fields["matched"]),
    }
    return Passage(**read)


def _landmarks(stored: Sequence[Mapping[str, Any]]) -> tuple[Landmark, ...]:
    return tuple(Landmark(mark["start"], mark["page"], tuple(mark["headings"])) for mark in stored)


def _context_document(context: GraphContext) -> dict[str, Any]:
    stored = asdict(context)
    for one in (*stored["entities"], *stored["relations"]):
        one["passages"] = list(map(str, one["passages"]))
    return stored


def _context(stored: Mapping[str, Any]) -> GraphContext:
    return GraphContext(
        tuple(ContextEntity(**_with_ids(one)) for one in stored["entities"]),
        tuple(ContextRelation(**_with_ids(one)) for one in stored["relations"]),
        tuple(ContextCommunity(**one) for one in stored["communities"]),
    )


def _with_ids(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {**fields, "passages": tuple(map(UUID, fields["passages"]))}
