"""BM25: renewing weights, and search. The formulas are in sql/functions/bm25.sql."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.passage import Hit, LegResult
from cairn.domain.plan import Conditions
from cairn.domain.principal import Principal
from cairn.settings import LexicalSettings

SQL = load_queries("lexical")

Place = tuple[UUID, UUID]
"""Document and passage: where a re-weighting stands."""
START: Place = (UUID(int=0), UUID(int=0))


async def find_drifted(
    connection: Any, principal: Principal, collection_id: UUID, ratio: float
) -> list[tuple[str, int]]:
    """Languages (text search configuration, passages) whose stored weights use an average that is off by `ratio`."""
    rows = await connection.fetch(SQL["drifted"], principal.tenant_id, collection_id, ratio)
    return [(row["config"], row["passage_count"]) for row in rows]


async def find_dominant(connection: Any, principal: Principal, collection_id: UUID) -> str | None:
    """The text search configuration of most passages; None for an empty collection."""
    found: str | None = await connection.fetchval(SQL["dominant"], principal.tenant_id, collection_id)
    return found


async def lock(connection: Any, principal: Principal, collection_id: UUID) -> bool:
    """Take the lock between writers until the transaction ends; False when the collection is gone."""
    return await connection.fetchval(SQL["lock"], principal.tenant_id, collection_id) is not None


async def renew_average(connection: Any, principal: Principal, collection_id: UUID, config: str) -> None:
    """The average length of a language as it is now; passages written from here on use it. Needs the lock."""
    await connection.execute(SQL["renew_average"], principal.tenant_id, collection_id, config)


async def stale_count(connection: Any, principal: Principal, collection_id: UUID, config: str) -> int:
    """Passages of a language weighted with another average than the one on record."""
    return int(await connection.fetchval(SQL["stale_count"], principal.tenant_id, collection_id, config))


async def reweight_batch(
    connection: Any, principal: Principal, collection_id: UUID, config: str, after: Place, limit: int
) -> tuple[int, Place]:
    """Weight up to `limit` stale passages that come after a place; how many, and the place of the last. Needs the lock."""
    row = await connection.fetchrow(
        SQL["reweight_batch"], principal.tenant_id, collection_id, config, *after, limit
    )  # fmt: skip
    return (row["count"], (row["document_id"], row["passage_id"])) if row else (0, after)


async def reweight(connection: Any, principal: Principal, collection_id: UUID, config: str) -> None:
    """Weight all passages of a language with the current average length, at once. Needs the lock."""
    await renew_average(connection, principal, collection_id, config)
    await reweight_batch(connection, principal, collection_id, config, START, 2**31 - 1)


async def search(
    connection: Any,
    collections: Sequence[UUID],
    query: str,
    k: int,
    settings: LexicalSettings,
    filters: Mapping[str, Any] | None,
    conditions: Conditions | None = None,
) -> LegResult:
    """The k best passages by BM25 over the collections of the transaction's tenant, of those that meet the conditions."""
    asked = conditions.as_json(filtered=bool(filters)) if conditions else None
    budget, cap = settings.candidate_budget, settings.candidate_cap
    rows = await connection.fetch(SQL["search"], list(collections), query, k, budget, cap, filters, asked)
    hits = tuple(Hit(row["passage_id"], row["document_id"], row["score"]) for row in rows)
    confidence = min(1.0, rows[0]["coverage"]) if rows else 0.0
    return LegResult("lexical", hits, confidence, exact=all(row["exact"] for row in rows), complete=len(rows) < k)
