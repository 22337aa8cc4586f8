"""What a user can do with jobs, beside looking at one and cancelling it (app/service/actions.py); surfaces only render."""

from __future__ import annotations

from uuid import UUID

from app.domain.job import Job, JobStatus
from app.errors import ConflictError, InputError
from app.ingest.extraction import MODEL, enqueue
from app.service.actions import cancel_job, get_collection, get_job
from app.store import jobs
from app.wiring import Services

EXPIRY_BATCH = 1000
"""Jobs deleted per transaction: none of them waits long for a lock."""


async def list_jobs(
    services: Services, *, status: JobStatus | None = None, before: UUID | None = None, limit: int = 50
) -> list[Job]:
    """Newest first; `before`: the last id of the page before."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await jobs.list_(connection, services.principal, status=status, before=before, limit=limit)


async def retry_job(services: Services, job_id: UUID) -> Job:
    """Queue a parked or failed job again with all its attempts. Raises NotFoundError; ConflictError for a job that is
    neither, and where the same work is queued already."""
    async with services.database.transaction(services.principal) as connection:
        revived = await jobs.revive(connection, services.principal, job_id)
    if revived is None:
        found = await get_job(services, job_id)
        raise ConflictError(f"job {job_id} is {found.status}; only parked and failed jobs can be retried")
    return revived


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

    Raises NotFoundError; InputError where the settings do not allow it or no chat model is configured.
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
        return await enqueue(connection, services.principal, MODEL, found.id)


__all__ = ["cancel_job", "expire_jobs", "extract_with_model", "get_job", "list_jobs", "retry_job"]
