"""Running the legs inside one snapshot. A leg that fails is reported, never hidden, and does not fail the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

import structlog

from app.domain.passage import Leg, LegResult, SearchRequest
from app.domain.plan import Conditions
from app.domain.principal import Principal
from app.language.identifiers import identifier_terms
from app.retrieve import vector
from app.retrieve.context import Stopwatch
from app.settings import Settings
from app.store import lexical
from app.store.session import savepoint

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LegQuery:
    """One search as the legs see it: its text without operators, which are the conditions that every leg keeps to.

    `vector` is None where embedding failed.
    """

    request: SearchRequest
    collections: Sequence[UUID]
    vector: vector.VectorQuery | None
    conditions: Conditions | None = None


@lru_cache(maxsize=64)  # asked for by the leg and by the trace
def lexical_text(query: str) -> str:
    """What the lexical leg looks for: the query, and the forms of its identifiers that the parser does not see."""
    return f"{query} {identifier_terms(query)}".rstrip()


class LegFailedError(Exception):
    """A leg failed and took its transaction with it; in a guarded one the others can still run."""


async def run_legs(
    connection: Any,
    principal: Principal,
    query: LegQuery,
    depth: int,
    settings: Settings,
    stopwatch: Stopwatch,
    *,
    guarded: bool = True,
) -> tuple[dict[Leg, LegResult], dict[Leg, str]]:
    """Results of the legs that worked, and why the others did not. `depth`: passages wanted from each.

    `guarded`: each leg within a savepoint, so that an error in one leaves the snapshot usable. Otherwise raises
    LegFailedError, which saves two round trips for each leg.
    """
    results: dict[Leg, LegResult] = {}
    failed: dict[Leg, str] = {}
    for leg in query.request.legs:
        if leg == "vector" and query.vector is None:
            continue  # reported by the caller, who knows why
        if leg == "graph":
            continue  # begins with what the others found: app/retrieve/graph.py
        try:
            async with savepoint(connection) if guarded else nullcontext():
                work = _leg(connection, principal, query, leg, depth, settings)
                results[leg] = await stopwatch.measure(leg, work)
        except Exception as error:
            if connection.is_closed():
                raise
            if not guarded:
                raise LegFailedError from error
            log.exception("search.leg_failed", leg=leg)
            failed[leg] = f"{type(error).__name__}: {error}"
    return results, failed


async def _leg(
    connection: Any,
    principal: Principal,
    query: LegQuery,
    leg: Leg,
    depth: int,
    settings: Settings,
) -> LegResult:
    filters: Mapping[str, Any] | None = query.request.filters or None
    if leg == "lexical":
        text = lexical_text(query.request.query)
        wanted = max(depth, settings.lexical.candidates)
        conditions = query.conditions
        return await lexical.search(connection, query.collections, text, wanted, settings.lexical, filters, conditions)
    assert query.vector is not None
    return await vector.search(connection, principal, query.vector, depth, settings.vector)
