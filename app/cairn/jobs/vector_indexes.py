"""Jobs of the vector leg: HNSW indexes of large collections, how well they find (docs/adr/0012), and what old vectors lack.

`vector_indexes` makes what is there equal to what should be, for all tenants: run again after a crash, it goes on where
it was. `recall_check` compares what searches find in one collection with the exact scan.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol
from uuid import UUID

import structlog
from pgvector import HalfVector

from cairn.domain.job import PlannedIndex
from cairn.domain.principal import Principal
from cairn.ingest.reweight import PLAN_INDEXES as PLAN
from cairn.jobs.context import Handler, JobContext
from cairn.retrieve.vector import RegimeGroup, ServedCollection, choose_regimes
from cairn.settings import VectorSettings
from cairn.store import collections, jobs, lexical, vector_indexes, vectors
from cairn.store.session import Database

log = structlog.get_logger(__name__)

__all__ = [
    "CHECK",
    "FILL",
    "PLAN",
    "check_recall",
    "enqueue_check",
    "enqueue_plan",
    "fill_passages",
    "reconcile_indexes",
]

CHECK = "recall_check"
FILL = "fill_passages"
PORTION = 100
"""Chunks whose vectors are filled or moved in one transaction: each may cost an insertion into HNSW, some 5 ms, and its row is
held, or the lock of the collection."""
LOOKED_UP = 10_000
"""Vectors to be moved that are looked up at once."""
BUSY_SECONDS = 0.2
"""Wait for who is writing what is left to be moved."""
K = 10
"""Neighbours compared: recall@10 is what the literature and our goals name."""
SAME = 1e-6
"""Two chunks with the same text are equally near; either is right."""


class Ddl(Protocol):
    """The part of cairn.db.vector_indexes.VectorDdl that the job needs."""

    async def existing(self) -> dict[str, bool]: ...

    async def analyze(self) -> None: ...

    async def renew_shared(self, report: Report) -> list[str]: ...

    async def create(self, index: PlannedIndex, report: Report) -> None: ...

    async def make_search(self, name: str) -> None: ...

    async def drop(self, name: str) -> None: ...


Report = Callable[[int, int, str], Awaitable[None]]
"""Told how many blocks are done, of how many, of the named index; it may raise to stop."""
OpenDdl = Callable[[], AbstractAsyncContextManager[Ddl]]


async def enqueue_plan(connection: Any, principal: Principal) -> None:
    """At most one is waiting or running. For who reads everything, as the house does: others may not see the one that waits, and
    are told nothing by one of their own."""
    await jobs.enqueue(connection, principal, PLAN, {}, max_attempts=3, dedupe_key=PLAN)


async def enqueue_check(connection: Any, principal: Principal, collection_id: UUID) -> None:
    key = f"{CHECK}:{collection_id}"
    await jobs.enqueue(
        connection, principal, CHECK, {"collection_id": str(collection_id)}, max_attempts=3, dedupe_key=key
    )


# --- indexes ----------------------------------------------------------------------------------------------------------


def reconcile_indexes(database: Database, open_ddl: OpenDdl, settings: Callable[[], VectorSettings]) -> Handler:
    """The handler of `vector_indexes`. Result: names built and dropped of the tenant that has the job, and of the shared ones;
    the log has all. Progress is told in shares: how many there are of others is nobody's business."""

    async def handle(context: JobContext) -> dict[str, Any]:
        async with open_ddl() as ddl:
            async with database.connection() as connection:
                plan = await vector_indexes.plan(connection, settings())
            existing = await ddl.existing()
            wanted = {index.name: index for index in plan if index.wanted}
            missing = [index for index in wanted.values() if not (index.ready and existing.get(index.name))]
            surplus = [index for index in plan if not index.wanted]
            steps = len(missing) + len(surplus)
            for done, index in enumerate(surplus):
                await context.progress(_percent(done, steps), 100, "dropping a vector index")
                await _drop(database, ddl, index, context)
            orphans = [name for name in existing if name not in wanted and name not in {i.name for i in surplus}]
            for name in orphans:  # their collections are deleted
                await ddl.drop(name)
            for done, index in enumerate(missing, len(surplus)):
                await context.progress(_percent(done, steps), 100, "building a vector index")
                await _build(database, ddl, index, context, valid=existing.get(index.name))
            for index in wanted.values():  # what an older release has written beside this one
                await _move(database, index, context, own=True)
            await ddl.analyze()
            renewed = await ddl.renew_shared(_blocks(context))
            await context.progress(100, 100, "done")
        log.info(
            "vector.indexes",
            built=[*(index.name for index in missing), *renewed],
            dropped=[*(index.name for index in surplus), *orphans],
        )
        own = context.principal.tenant_id
        return {
            "built": [*(index.name for index in missing if index.tenant_id == own), *renewed],
            "dropped": [index.name for index in surplus if index.tenant_id == own],
        }

    return handle


def _percent(done: int, total: int) -> int:
    return min(100 * done // max(total, 1), 100)


def _blocks(context: JobContext) -> Report:
    """How far a build is, without the name of the index and the size of the table, which are of all tenants."""

    async def report(done: int, total: int, message: str) -> None:
        await context.progress(_percent(done, total), 100, "building a vector index")

    return report


async def _drop(database: Database, ddl: Ddl, index: PlannedIndex, context: JobContext) -> None:
    owner = Principal(index.tenant_id, "")
    async with database.transaction(owner) as connection:
        await lexical.lock(connection, owner, index.collection_id)
        await vector_indexes.mark_dropping(connection, index)
    await _move(database, index, context, own=False)
    async with database.transaction(owner) as connection:
        await lexical.lock(connection, owner, index.collection_id)
        await vector_indexes.mark_dropped(connection, index)
    await ddl.drop(index.name)


async def _build(database: Database, ddl: Ddl, index: PlannedIndex, context: JobContext, *, valid: bool | None) -> None:
    """`valid`: of an index by that name in the catalog, None where there is none."""
    owner = Principal(index.tenant_id, "")
    async with database.transaction(owner) as connection:
        await lexical.lock(connection, owner, index.collection_id)
        if not await vector_indexes.mark_building(connection, index):
            return  # the collection was deleted meanwhile
    if valid is False:
        await ddl.drop(index.name)  # an interrupted build left it, or an older release
    await _move(database, index, context, own=True)
    if not valid:
        await ddl.create(index, _blocks(context))
    await ddl.make_search(index.name)
    async with database.transaction(owner) as connection:
        await lexical.lock(connection, owner, index.collection_id)
        if await vector_indexes.mark_built(connection, index):
            await enqueue_check(connection, owner, index.collection_id)
            return
    await ddl.drop(index.name)


async def _move(database: Database, index: PlannedIndex, context: JobContext, *, own: bool) -> None:
    """Until all vectors of the collection are where its state says. New ones are there from the beginning, so there is an end."""
    owner, done = Principal(index.tenant_id, ""), 0
    while True:
        async with database.transaction(owner, readonly=True) as connection:
            found = await vector_indexes.list_misplaced(connection, index, own=own, most=LOOKED_UP)
        if not found:
            return
        before = done
        for start in range(0, len(found), PORTION):
            # the job is of all tenants: no number of one
            await context.progress(_percent(done, index.chunk_count), 100, "moving vectors")
            async with database.transaction(owner) as connection:
                await lexical.lock(connection, owner, index.collection_id)
                done += await vector_indexes.move(connection, index, found[start : start + PORTION], own=own)
        if done == before:
            await asyncio.sleep(BUSY_SECONDS)


# --- vectors from before revision 0022 ----------------------------------------------------------------------------------


def fill_passages(database: Database) -> Handler:
    """The handler of `fill_passages`, which the migration orders: passages beside the vectors that were there before. Result:
    vectors filled. Run again, it finds what is left."""

    async def handle(context: JobContext) -> dict[str, Any]:
        after: UUID | None = UUID(int=0)
        done = 0
        while after is not None:
            async with database.transaction(context.principal) as connection:
                after, filled = await vectors.fill_passages(connection, context.principal, after, PORTION)
            done += filled
            await context.progress(done, None, "writing passages beside vectors")
        return {"filled": done}

    return handle


# --- recall -----------------------------------------------------------------------------------------------------------


def check_recall(database: Database, settings: Callable[[], VectorSettings]) -> Handler:
    """The handler of `recall_check`. Result: the check, or {} where there is nothing to compare."""

    async def handle(context: JobContext) -> dict[str, Any]:
        collection_id, now = UUID(context.job.payload["collection_id"]), settings()
        async with database.transaction(context.principal, readonly=True, isolation="repeatable_read") as connection:
            part = await _part(connection, context.principal, collection_id, now)
            if part is None:
                return {}
            sample = await vectors.sample(connection, context.principal, collection_id, part.model, now.recall_sample)
            shares, breadth = [], now.ef_search
            for done, (chunk_id, vector) in enumerate(sample):
                await context.progress(done, len(sample), "comparing with the exact scan")
                share, breadth = await _share(connection, context.principal, part, chunk_id, vector, now)
                shares.append(share)
        if not shares:
            return {}
        recall = sum(shares) / len(shares)
        found: dict[str, Any] = {
            "regime": part.regime,
            "k": K,
            "sample": len(shares),
            "recall": recall,
            "ef_search": breadth,
        }
        async with database.transaction(context.principal) as connection:
            await vector_indexes.record_check(connection, context.principal, collection_id, part.model.id, **found)
        if recall < now.min_recall:
            log.warning("vector.low_recall", collection=str(collection_id), **found)
        return found

    return handle


async def _part(
    connection: Any, principal: Principal, collection_id: UUID, settings: VectorSettings
) -> RegimeGroup | None:
    """How a search of this collection alone would go."""
    found = await collections.by_id(connection, principal, collection_id)
    if found is None or found.model_id is None:
        return None
    model = (await vectors.models(connection, [found.model_id]))[found.model_id]
    places = await vector_indexes.places(connection, principal, [collection_id])
    return next(iter(choose_regimes([ServedCollection(found.id, found.chunk_count, model)], places, settings)), None)


async def _share(
    connection: Any,
    principal: Principal,
    part: RegimeGroup,
    chunk_id: UUID,
    vector: HalfVector,
    settings: VectorSettings,
) -> tuple[float, int]:
    """Share of the true K neighbours of a stored vector that a search finds, itself left out; hnsw.ef_search in force."""
    ask = vectors.Neighbours(part.model, part.collections, vector, max(settings.candidates, K + 1))
    breadth = await vectors.configure(connection, ask.limit, part.visible, settings)
    found = _scores(await vectors.find_nearest(connection, principal, part.regime, ask), chunk_id)
    true = _scores(await vectors.find_nearest(connection, principal, "exact", ask), chunk_id)
    if not true:
        return 1.0, breadth
    return sum(score >= true[-1] - SAME for score in found) / len(true), breadth


def _scores(rows: Sequence[Any], but: UUID) -> list[float]:
    return [row["score"] for row in rows if row["chunk_id"] != but][:K]
