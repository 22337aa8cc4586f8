"""From the order of the text legs to that with the graph: the last step of both ways to search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import structlog

from app.domain.passage import Fused, Leg, LegResult
from app.retrieve import graph
from app.retrieve.context import Asked
from app.retrieve.legs import LegFailedError
from app.retrieve.plan import joined
from app.store.search import MovedOnError
from app.store.session import savepoint

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Merged:
    """Passages as the legs that ran order them, `documents` by passage, and why other legs did not run. `linked`: over which
    entity the graph came to a passage."""

    fused: Sequence[Fused]
    legs: Mapping[Leg, LegResult]
    documents: Mapping[UUID, UUID]
    failed: Mapping[Leg, str] = field(default_factory=dict)
    linked: Mapping[UUID, UUID] = field(default_factory=dict)


async def follow(
    connection: Any,
    asked: Asked,
    collections: Sequence[UUID],
    text: Merged,
    *,
    guarded: bool,
    state: graph.State | None = None,
) -> Merged:
    """With what the graph adds. `guarded`: if it fails, the order stays and the failure is told; otherwise LegFailedError
    is raised, which saves two round trips. `state`: without a transaction; raises MovedOnError."""
    query = graph.GraphQuery(asked.request, collections, asked.conditions, state=state)
    try:
        async with savepoint(connection) if guarded else nullcontext():
            work = graph.search(connection, asked.principal, query, text.fused)
            found = await asked.stopwatch.measure("graph", work)
    except MovedOnError:
        raise
    except Exception as error:
        if connection.is_closed():
            raise
        if not guarded:
            raise LegFailedError from error
        log.exception("search.leg_failed", leg="graph")
        return replace(text, failed={**text.failed, "graph": f"{type(error).__name__}: {error}"})
    return Merged(
        joined(text.fused, text.legs, found.result, asked.request, asked.settings),
        {**text.legs, "graph": found.result},
        {**text.documents, **{hit.passage_id: hit.document_id for hit in found.result.hits}},
        text.failed,
        found.entities,
    )
