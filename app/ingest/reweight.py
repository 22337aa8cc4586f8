"""Renewing BM25 weights when the average passage length has drifted (performance.md B5)."""

from __future__ import annotations

from uuid import UUID

from app.domain.principal import Principal
from app.settings import LexicalSettings
from app.store import collections, lexical
from app.store.session import Database


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
