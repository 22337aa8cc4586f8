"""What follows a run: BM25 weights renewed when the average passage length has drifted (performance.md B5), and an
index of its own ordered for a collection that has grown large."""

from __future__ import annotations

from uuid import UUID

from app.domain.principal import Principal
from app.settings import LexicalSettings, VectorSettings
from app.store import collections, jobs, lexical, vector_indexes
from app.store.session import Database

PLAN_INDEXES = "vector_indexes"
"""Kind of the job in app/jobs/vector_indexes.py."""


async def reweight_if_drifted(
    database: Database, principal: Principal, collection_id: UUID, settings: LexicalSettings
) -> int:
    """Weight the languages whose average moved by more than `lexical.reweightDrift`; returns how many passages.

    One transaction under the collection's lock: readers see old or new weights, other writers wait.
    """
    async with database.transaction(principal) as connection:
        drifted = await lexical.drifted(connection, principal, collection_id, settings.reweight_drift)
        if not drifted:
            return 0
        await collections.touch(connection, principal, collection_id)
        # read again: another writer may have renewed them while this one waited for the lock
        drifted = await lexical.drifted(connection, principal, collection_id, settings.reweight_drift)
        for config, _ in drifted:
            await lexical.reweight(connection, principal, collection_id, config)
        return sum(passages for _, passages in drifted)


async def order_index_if_due(
    database: Database, principal: Principal, collection_id: UUID, settings: VectorSettings
) -> bool:
    """Enqueue the job that plans vector indexes when the collection crossed a threshold; whether it did."""
    async with database.transaction(principal) as connection:
        due = await vector_indexes.due(connection, principal, collection_id, settings)
        if due:
            await jobs.enqueue(connection, principal, PLAN_INDEXES, {}, max_attempts=3, dedupe_key=PLAN_INDEXES)
    return due
