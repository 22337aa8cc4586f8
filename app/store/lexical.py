"""BM25: renewing weights, and search. The formulas are in sql/functions/lexical.sql."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from app.db.queries import load_queries
from app.domain.condition import Conditions
from app.domain.passage import Hit, LegResult
from app.domain.principal import Principal
from app.settings import LexicalSettings

SQL = load_queries("lexical")


async def drifted(connection: Any, principal: Principal, collection_id: UUID, ratio: float) -> list[tuple[str, int]]:
    """Languages (text search configuration, passages) whose stored weights use an average that is off by `ratio`."""
    rows = await connection.fetch(SQL["drifted"], principal.tenant_id, collection_id, ratio)
    return [(row["config"], row["passage_count"]) for row in rows]


async def reweight(connection: Any, principal: Principal, collection_id: UUID, config: str) -> None:
    """Weight all passages of a language with the current average length. Needs the collection's lock."""
    for name in ("renew_average", "reweight"):
        await connection.execute(SQL[name], principal.tenant_id, collection_id, config)


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
