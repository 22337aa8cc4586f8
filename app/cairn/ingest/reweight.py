"""What follows a run: BM25 weights renewed when the average passage length has drifted and an
index of its own ordered for a collection that has grown large.

Small languages are renewed at once. Large ones by a job in batches, so that no writer waits long: the new average goes on
record first, and writers use it from then on; rows carry the average that they were weighted with, so what is left to do
stands in the table and a job that died goes on where it stopped. A search between two batches sees scores of two averages,
and bounds that hold for both: its list equals that of a full scan at every moment.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from cairn.domain.principal import Principal
from cairn.settings import LexicalSettings, Settings, VectorSettings
from cairn.store import collections, jobs, lexical, vector_indexes
from cairn.store.session import Database

KIND = "reweight"
BATCH = 200
"""Passages weighted under one hold of the collection's lock, about a tenth of a second."""
PLAN_INDEXES = "vector_indexes"
"""Kind of the job in cairn/jobs/vector_indexes.py."""

Report = Callable[[int, int], Awaitable[None]]
"""Told how many passages are done, of how many."""


async def reweight_if_drifted(database: Database, principal: Principal, collection_id: UUID, settings: Settings) -> int:
    """Weight the languages whose average moved by more than `lexical.reweightDrift`; returns how many passages.

    Those with more than `lexical.reweightInline` passages are left to a job and not counted.
    """
    ratio, inline, principal = settings.lexical.reweight_drift, settings.lexical.reweight_inline, principal.house
    async with database.transaction(principal) as connection:
        drifted = await lexical.find_drifted(connection, principal, collection_id, ratio)
        for config, passages in drifted:
            if passages > inline:
                await jobs.enqueue(
                    connection, principal, KIND, {"collection_id": str(collection_id), "config": config},
                    max_attempts=settings.jobs.max_attempts, dedupe_key=f"{KIND}:{collection_id}:{config}",
                )  # fmt: skip
        if all(passages > inline for _, passages in drifted):
            return 0
        await collections.touch(connection, principal, collection_id)
        # read again: another writer may have renewed them while this one waited for the lock
        drifted = await lexical.find_drifted(connection, principal, collection_id, ratio)
        small = [(config, passages) for config, passages in drifted if passages <= inline]
        for config, _ in small:
            await lexical.reweight(connection, principal, collection_id, config)
        return sum(passages for _, passages in small)


async def reweight_in_batches(
    database: Database,
    principal: Principal,
    collection_id: UUID,
    config: str,
    settings: LexicalSettings,
    report: Report,
    batch: int = BATCH,
) -> int:
    """Bring a language up to date, also if it drifts on meanwhile; returns how many passages were weighted."""
    done = 0
    await _renew(database, principal, collection_id, config, settings)
    while True:
        async with database.transaction(principal, readonly=True) as connection:
            total = done + await lexical.stale_count(connection, principal, collection_id, config)
        place, count = lexical.START, batch
        while count == batch:
            async with database.transaction(principal) as connection:
                if not await lexical.lock(connection, principal, collection_id):
                    return done
                count, place = await lexical.reweight_batch(connection, principal, collection_id, config, place, batch)
            done += count
            if count:
                await report(done, max(done, total))
        if not await _renew(database, principal, collection_id, config, settings):
            break
    async with database.transaction(principal) as connection:
        await collections.touch(connection, principal, collection_id)  # cached results have old scores
    return done


async def _renew(
    database: Database, principal: Principal, collection_id: UUID, config: str, settings: LexicalSettings
) -> bool:
    """Put the new average on record if the old one is off; whether it was."""
    async with database.transaction(principal) as connection:
        if not await lexical.lock(connection, principal, collection_id):
            return False
        drifted = await lexical.find_drifted(connection, principal, collection_id, settings.reweight_drift)
        if config not in {name for name, _ in drifted}:
            return False
        await lexical.renew_average(connection, principal, collection_id, config)
        return True


async def order_index_if_due(
    database: Database, principal: Principal, collection_id: UUID, settings: VectorSettings
) -> bool:
    """Enqueue the job that plans vector indexes when the collection crossed a threshold; whether it did. By the house: all
    chunks of the collection are counted, and a job of the caller's would tell them when the threshold was crossed."""
    principal = principal.house
    async with database.transaction(principal) as connection:
        due = await vector_indexes.due(connection, principal, collection_id, settings)
        if due:
            await jobs.enqueue(connection, principal, PLAN_INDEXES, {}, max_attempts=3, dedupe_key=PLAN_INDEXES)
    return due
