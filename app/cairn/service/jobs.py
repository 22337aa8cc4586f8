"""What a user can do with jobs, once for all surfaces."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from cairn.domain.job import Job, JobProgress, JobStatus, WaitingFile
from cairn.errors import ConflictError, ForbiddenError, InputError, NotFoundError
from cairn.ingest.model_jobs import ENRICH, MODEL, enqueue
from cairn.jobs import vector_indexes
from cairn.jobs.sources import SYNC_SOURCE
from cairn.service.documents import get_collection, require_reader_of_all
from cairn.store import jobs
from cairn.store import vector_indexes as vector_store
from cairn.wiring import Services

PLAN_INDEXES = vector_indexes.PLAN
"""Kind of the job that makes vector indexes of all tenants what they should be."""
LOOK_SECONDS = 0.5
"""How often a job that another worker has taken is looked at."""
EXPIRY_BATCH = 1000
"""Jobs deleted per transaction: none of them waits long for a lock."""


async def list_jobs(
    services: Services, *, status: JobStatus | None = None, before: UUID | None = None, limit: int = 50
) -> list[Job]:
    """Newest first; `before`: the last id of the page before."""

    async def read() -> list[Job]:
        async with services.database.transaction(services.principal, readonly=True) as connection:
            rows = await jobs.list_(connection, services.principal, status=status, before=before, limit=limit)
            return [_told(services, job) for job in rows]

    found = await read()
    return await read() if await _release_lost(services, found) else found


async def list_waiting_files(services: Services, job_ids: Sequence[UUID]) -> list[WaitingFile]:
    """The files of jobs that have not ended, in the order in which a worker takes them."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await jobs.queue_of_files(connection, services.principal, job_ids)


async def _release_lost(services: Services, seen: Sequence[Job]) -> bool:
    """Whoever looks at a running job whose worker died puts it back into the queue; whether that changed anything."""
    if not any(job.status == "running" for job in seen):
        return False
    async with services.database.transaction(services.principal) as connection:
        return await jobs.release_lost(connection, services.principal)


async def get_job(services: Services, job_id: UUID) -> Job:
    """Raises NotFoundError."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await jobs.get(connection, services.principal, job_id)
    if found is None:
        raise NotFoundError(f"no job {job_id}")
    return await get_job(services, job_id) if await _release_lost(services, [found]) else _told(services, found)


def _told(services: Services, job: Job) -> Job:
    """Addresses, files and their number are for who operates; others see that a source is synchronised, and how that went."""
    if job.kind != SYNC_SOURCE or services.principal.caller.reads_all:
        return job
    said = None if job.error is None else "its error is told by GET /sources, to the scope admin"
    return replace(job, result=None, progress=JobProgress(), error=said)


async def _require_master(services: Services, job_id: UUID) -> None:
    if not services.principal.caller.reads_all and (await get_job(services, job_id)).kind == SYNC_SOURCE:
        raise ForbiddenError("admin")


async def cancel_job(services: Services, job_id: UUID) -> Job:
    """A queued job ends at once, a running one at its next step. Raises NotFoundError; ForbiddenError for a synchronisation of a
    source, from who does not operate."""
    await _require_master(services, job_id)
    async with services.database.transaction(services.principal) as connection:
        found = await jobs.request_cancel(connection, services.principal, job_id)
    if found is None:
        raise NotFoundError(f"no job {job_id}")
    return _told(services, found)


async def retry_job(services: Services, job_id: UUID) -> Job:
    """Queue a parked or failed job again with all its attempts. Raises NotFoundError; ConflictError for a job that is
    neither, and where the same work is queued already; ForbiddenError as `cancel_job`."""
    await _require_master(services, job_id)
    async with services.database.transaction(services.principal) as connection:
        revived = await jobs.revive(connection, services.principal, job_id)
    if revived is None:
        found = await get_job(services, job_id)
        raise ConflictError(f"job {job_id} is {found.status}; only parked and failed jobs can be retried")
    return revived


async def work_until_ended(services: Services, job_id: UUID) -> Job:
    """The job, when it has ended: done here, or by another worker that has taken it. Raises NotFoundError."""
    worker = services.worker()
    while not (job := await get_job(services, job_id)).ended:
        if not await worker.run_until_idle():
            await asyncio.sleep(LOOK_SECONDS)
    return job


async def build_indexes(services: Services) -> None:
    """Carry out the plan of vector indexes that a run has ordered, unless another worker has begun it."""
    await services.worker(kinds={vector_indexes.PLAN}).run_until_idle()


async def order_plan(services: Services) -> None:
    """Enqueue the plan of vector indexes, which is one for all tenants, where there is something to be done."""
    house = services.principal.house
    async with services.database.transaction(house) as connection:
        if await vector_store.plan(connection, services.settings.current.vector):
            await vector_indexes.enqueue_plan(connection, house)


async def order_checks(services: Services) -> None:
    """Enqueue recall checks of the tenant's collections that are too large for the exact scan."""
    async with services.database.transaction(services.principal) as connection:
        settings = services.settings.current.vector
        for collection_id in await vector_store.list_unchecked(connection, services.principal, settings.exact_below):
            await vector_indexes.enqueue_check(connection, services.principal, collection_id)


async def expire_jobs(services: Services) -> int:
    """Delete jobs of all tenants that ended more than jobs.retentionDays ago; how many."""
    days, total = services.settings.current.jobs.retention_days, 0
    while True:
        async with services.database.connection() as connection:
            gone = await jobs.expire(connection, days, EXPIRY_BATCH)
        total += gone
        if gone < EXPIRY_BATCH:
            return total


async def extract_with_model(services: Services, collection: str | None = None) -> Job:
    """Order what a chat model adds to the graph; what it has read already costs nothing (docs/adr/0028).

    Raises NotFoundError; ForbiddenError where some of it is withheld from the caller; InputError where the settings do not
    allow it or no chat model is configured.
    """
    now = services.settings.current
    if not (now.graph.enabled and now.graph.model.enabled):
        raise InputError(
            "extraction with a model is switched off: set graph.enabled and graph.model.enabled in settings.json"
        )
    if services.extracting_chat(now) is None:
        raise InputError("extraction with a model needs a chat model: set OPENAI_API_KEY or OPENAI_BASE_URL")
    found = await get_collection(services, collection or now.rag.collection_name)
    async with services.database.transaction(services.principal) as connection:
        await require_reader_of_all(services, connection, found)
        return await enqueue(connection, services.principal, MODEL, found.id)


async def enrich_collection(services: Services, collection: str | None = None) -> Job:
    """Order contexts for the chunks of a collection; what was written already costs nothing (docs/adr/0053).

    Raises NotFoundError; ForbiddenError where some of it is withheld from the caller; InputError where the settings do not
    allow it or no chat model is configured.
    """
    now = services.settings.current
    if not now.rag.contextual_enrichment_enabled:
        raise InputError("enrichment is switched off: set rag.contextualEnrichmentEnabled in settings.json")
    if services.enriching_chat(now) is None:
        raise InputError("enrichment needs a chat model: set OPENAI_API_KEY or OPENAI_BASE_URL")
    found = await get_collection(services, collection or now.rag.collection_name)
    async with services.database.transaction(services.principal) as connection:
        await require_reader_of_all(services, connection, found)
        return await enqueue(connection, services.principal, ENRICH, found.id)
