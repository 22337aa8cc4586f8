"""A run that writes very much: once it knows of vector.bulkAbove chunks its vectors are written without HNSW, and the index of
the collection is built at the end in one go, which costs a fraction of inserting them one by one.

The collection is marked as one whose index is being built, for as long as the run renews it: searches compare all vectors, and
the plan of indexes waits. At the end, or when the renewal has lapsed because the run died, the next plan builds the index, or
moves the vectors to the shared one where the collection has stayed small.
"""

from __future__ import annotations

from collections.abc import Sequence

from cairn.domain.job import PlannedIndex
from cairn.ingest.embed import ModelInUse, Target
from cairn.store import lexical, vector_indexes
from cairn.store.session import Database

LEASE_SECONDS = 90.0
"""A run that does not renew for this long is dead."""

LATE = 4
"""Times vector.dedicatedAbove: a collection that is so large and has no index of its own is one of too many."""


class BulkRun:
    """What a run knows of its own size. `renew` and `end` do nothing until it has become large, or after its end."""

    def __init__(self, database: Database, target: Target, used: Sequence[ModelInUse]) -> None:
        self._database = database
        self._principal, self._settings = target.principal, target.settings.vector
        self._indexes = [
            PlannedIndex(
                target.principal.tenant_id, target.collection_id, one.model.id, one.model.dimensions, 0, True, False
            )
            for one in used
        ]
        self._chunks = 0
        self._large = False

    async def count(self, chunks: int) -> None:
        """So many more are to be published."""
        self._chunks += chunks
        if not self._large and self._chunks > self._settings.bulk_above and self._settings.max_dedicated_indexes:
            self._large = True
            await self.renew()

    async def renew(self) -> None:
        if self._large:
            await self._set(LEASE_SECONDS)

    async def end(self) -> None:
        if self._large:
            self._large = False
            self._chunks = 0
            await self._set(None)

    async def _set(self, seconds: float | None) -> None:
        async with self._database.transaction(self._principal) as connection:
            for index in self._indexes:
                if not await lexical.lock(connection, self._principal, index.collection_id):
                    return  # deleted meanwhile
                if seconds is None:
                    await vector_indexes.end_bulk(connection, index)
                else:
                    await vector_indexes.begin_bulk(connection, index, seconds, LATE * self._settings.dedicated_above)
