"""rag.jobs: row in, domain value out. Who calls what, and when, is decided by cairn/jobs/worker.py and the API.

Every function takes a connection inside a transaction of the principal's tenant, except `claim`, `queue_state`,
`expire` and `wakeups`, which concern all tenants and take a bare connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.document import Source
from cairn.domain.ids import new_id
from cairn.domain.job import Job, JobProgress, JobStatus, QueueState, Signal, Upload, WaitingFile
from cairn.domain.principal import ALL_SCOPES, LOCAL, Caller, KeyLimits, Principal
from cairn.errors import ConflictError
from cairn.language.text import normalise
from cairn.store import persons

CHANNEL = "cairn_jobs"
UNIQUE_VIOLATION = "23505"
"""SQLSTATE."""
ORDERED_BY = "ordered_by"
"""Name in the payload of a job."""
_COUNTED = ("tokens_per_day", "cost_per_day")
_NOW = timedelta(0)
_SQL = load_queries("jobs")


def _job(row: Any) -> Job:
    fields = {name: row[name] for name in Job.__dataclass_fields__}
    known = {name: value for name, value in row["progress"].items() if name in JobProgress.__dataclass_fields__}
    return Job(**{**fields, "progress": JobProgress(**known)})  # a newer process on the same queue may say more


def _optional(row: Any) -> Job | None:
    return None if row is None else _job(row)


async def enqueue(
    connection: Any,
    principal: Principal,
    kind: str,
    payload: Mapping[str, Any],
    *,
    max_attempts: int,
    dedupe_key: str | None = None,
    delay: timedelta = _NOW,
) -> Job:
    """A new job that exists when the caller's transaction commits, not before `delay` has passed; a negative one puts it before
    jobs that were enqueued so much earlier.

    What it costs is counted on the key of the principal, if it has one.
    While an unfinished job has the same `dedupe_key`, that one is returned. Raises ConflictError in the improbable
    case that jobs with the key keep ending and starting while this one is being written.
    """
    if principal.caller != LOCAL and (mark := await persons.forgotten_as(connection, principal)):
        principal = replace(principal, caller=replace(principal.caller, id=mark, name=""))
    for _ in range(5):
        arguments = (new_id(), kind, {**payload, **_ordered_by(principal)}, dedupe_key, delay, max_attempts)
        row = await connection.fetchrow(_SQL["enqueue"], principal.tenant_id, *arguments)
        row = row or await connection.fetchrow(_SQL["unfinished"], principal.tenant_id, dedupe_key)
        if row is not None:
            return _job(row)
    raise ConflictError(f"other jobs keep taking the key {dedupe_key!r}; try again")


def _ordered_by(principal: Principal) -> dict[str, Any]:
    """Who orders a job, what of documents it reads, and what its key may spend in a day, as they stand in the payload;
    nothing where it is the house itself."""
    caller = principal.caller
    if caller == LOCAL:
        return {}
    limits = {name: getattr(caller.limits, name) for name in _COUNTED}
    return {
        ORDERED_BY: {
            "id": caller.id,
            "name": caller.name,
            "key_id": caller.key_id and str(caller.key_id),
            "limits": limits,
            "groups": sorted(caller.groups),
            "reads_all": caller.reads_all,
        }
    }


def _caller(job: Job) -> Caller:
    """Who ordered it, with the limits and groups that it had then; the house, where that is not on record."""
    found = job.payload.get(ORDERED_BY)
    if found is None:
        return Caller()
    return Caller(
        found["id"],
        found["name"],
        ALL_SCOPES if found.get("reads_all", True) else ALL_SCOPES - {"admin"},
        key_id=found["key_id"] and UUID(found["key_id"]),
        limits=KeyLimits(**found["limits"]),
        groups=frozenset(found.get("groups", ())),
    )


async def get(connection: Any, principal: Principal, job_id: UUID) -> Job | None:
    return _optional(await connection.fetchrow(_SQL["get"], principal.tenant_id, job_id))


async def list_of_key(connection: Any, principal: Principal, dedupe_key: str, limit: int) -> list[Job]:
    """The last jobs with the key, newest first, as long as they are kept."""
    return [_job(row) for row in await connection.fetch(_SQL["of_key"], principal.tenant_id, dedupe_key, limit)]


async def list_(
    connection: Any,
    principal: Principal,
    *,
    status: JobStatus | None = None,
    before: UUID | None = None,
    limit: int = 50,
) -> list[Job]:
    """Newest first; `before` is the id of the last job of the previous page."""
    rows = await connection.fetch(_SQL["list"], principal.tenant_id, status, before, limit)
    return [_job(row) for row in rows]


async def release_lost(connection: Any, principal: Principal) -> bool:
    """Put jobs back into the queue whose workers died; whether there were any."""
    return bool(await connection.fetch(_SQL["release_lost"], principal.tenant_id))


async def request_cancel(connection: Any, principal: Principal, job_id: UUID) -> Job | None:
    """Queued and parked jobs end at once, running ones soon; an ended one stays as it is. None: no such job."""
    row = await connection.fetchrow(_SQL["request_cancel"], principal.tenant_id, job_id)
    return _job(row) if row else await get(connection, principal, job_id)


async def revive(connection: Any, principal: Principal, job_id: UUID) -> Job | None:
    """Queue a parked or failed job again with all its attempts; None when it is neither.

    Raises ConflictError, which ends the transaction, when an unfinished job has the same dedupe key.
    """
    try:
        return _optional(await connection.fetchrow(_SQL["revive"], principal.tenant_id, job_id))
    except Exception as error:
        if getattr(error, "sqlstate", None) == UNIQUE_VIOLATION:
            raise ConflictError(f"what job {job_id} is to do is queued or running as another job already") from None
        raise


# --- for the worker that owns the job ---------------------------------------------------------------------------------


def _fence(principal: Principal, job: Job) -> tuple[Any, ...]:
    return principal.tenant_id, job.id, job.worker, job.attempts


def _document(progress: JobProgress | None) -> dict[str, Any] | None:
    if progress is None:
        return None
    shares = {normalise(name): share for name, share in progress.shares.items()}
    return {**asdict(progress), "message": normalise(progress.message), "shares": shares}


async def heartbeat(
    connection: Any, principal: Principal, job: Job, lease: timedelta, progress: JobProgress | None = None
) -> Signal:
    """Renew the lease from now on and store the progress, if given."""
    cancel = await connection.fetchval(_SQL["heartbeat"], *_fence(principal, job), lease, _document(progress))
    return "lost" if cancel is None else "cancel" if cancel else "go_on"


async def _end(
    connection: Any,
    principal: Principal,
    job: Job,
    status: JobStatus,
    *,
    result: Mapping[str, Any] | None = None,
    error: str | None = None,
    progress: JobProgress | None = None,
) -> bool:
    values = (status, result and dict(result), error and normalise(error), _document(progress))
    return await connection.fetchval(_SQL["end"], *_fence(principal, job), *values) is not None


async def finish(
    connection: Any, principal: Principal, job: Job, result: Mapping[str, Any], progress: JobProgress | None = None
) -> bool:
    """Succeeded. False, here and below: the job is no longer this worker's, and nothing was changed."""
    return await _end(connection, principal, job, "succeeded", result=result, progress=progress)


async def fail(
    connection: Any, principal: Principal, job: Job, error: str, *, retry_in: timedelta | None = None
) -> bool:
    """Failed for good, or queued again after `retry_in`."""
    if retry_in is None:
        return await _end(connection, principal, job, "failed", error=error)
    return await _requeue(connection, principal, job, 0, retry_in, normalise(error))


async def park(connection: Any, principal: Principal, job: Job, error: str) -> bool:
    """Set aside for a human, with its uploads."""
    return await _end(connection, principal, job, "parked", error=error)


async def end_cancelled(connection: Any, principal: Principal, job: Job) -> bool:
    return await _end(connection, principal, job, "cancelled")


async def release(
    connection: Any, principal: Principal, job: Job, *, delay: timedelta = _NOW, reason: str | None = None
) -> bool:
    """Back into the queue as if it had not been claimed: its worker was asked to stop, or cannot do it for a `reason`."""
    return await _requeue(connection, principal, job, 1, delay, reason)


async def _requeue(
    connection: Any, principal: Principal, job: Job, given_back: int, delay: timedelta, error: str | None
) -> bool:
    row = await connection.fetchrow(_SQL["requeue"], *_fence(principal, job), given_back, delay, error)
    return row is not None


# --- over all tenants -------------------------------------------------------------------------------------------------


async def claim(connection: Any, worker: str, kinds: Sequence[str], lease: timedelta) -> tuple[Principal, Job] | None:
    """The job that is now this worker's for the length of `lease`, with its tenant and who ordered it; None when nothing is due.

    One transaction, begun without a tenant: a claim that could not be read is not made, and costs no attempt.
    """
    async with connection.transaction():
        claimed = await claim_any(connection, worker, kinds, lease)
        return claimed and await load_claimed(connection, *claimed)


async def claim_any(connection: Any, worker: str, kinds: Sequence[str], lease: timedelta) -> tuple[int, UUID] | None:
    """The same, unread: ids of tenant and job. It is read where the rows of its tenant are."""
    row = await connection.fetchrow(_SQL["claim"], worker, list(kinds), lease)
    return row and (row["tenant_id"], row["id"])


async def load_claimed(connection: Any, tenant_id: int, job_id: UUID) -> tuple[Principal, Job]:
    """In a transaction, which is the tenant's from then on."""
    await connection.execute(_SQL["enter_tenant"], str(tenant_id))
    name = await connection.fetchval(_SQL["tenant_name"], tenant_id)
    job = _job(await connection.fetchrow(_SQL["get"], tenant_id, job_id))
    return Principal(tenant_id, name, _caller(job)), job


async def queue_state(connection: Any) -> QueueState:
    return QueueState(**await connection.fetchrow(_SQL["queue_state"]))


async def expire(connection: Any, days: int, limit: int) -> int:
    """Delete up to `limit` jobs that ended more than `days` days ago, with the uploads they kept; how many."""
    return len(await connection.fetch(_SQL["expire"], days, limit))


@asynccontextmanager
async def wakeups(connection: Any) -> AsyncIterator[asyncio.Event]:
    """An event that is set when a job was enqueued. Notifications can be lost: look at the queue regularly as well."""
    news = asyncio.Event()

    def wake(*_: Any) -> None:
        news.set()

    await connection.add_listener(CHANNEL, wake)
    try:
        yield news
    finally:
        await connection.remove_listener(CHANNEL, wake)


# --- files that wait for a worker -------------------------------------------------------------------------------------

_SOURCE = ("external_id", "name", "content", "title", "media_type", "metadata")


async def add_upload(
    connection: Any, principal: Principal, *, job_id: UUID, collection_id: UUID, source: Source
) -> UUID:
    """Keep the bytes for the job; in the transaction that enqueues it, so that neither exists without the other."""
    upload_id = new_id()
    texts = (source.external_id, source.name, source.title, source.media_type)
    await connection.execute(
        _SQL["add_upload"],
        *(principal.tenant_id, upload_id, collection_id, job_id, *texts, dict(source.metadata), source.content),
        None if source.access is None else list(source.access),
    )
    return upload_id


async def get_upload(connection: Any, principal: Principal, upload_id: UUID) -> Upload | None:
    row = await connection.fetchrow(_SQL["get_upload"], principal.tenant_id, upload_id)
    if row is None:
        return None
    access = None if row["access"] is None else tuple(row["access"])
    source = Source(**{name: row[name] for name in _SOURCE}, access=access)
    return Upload(row["id"], row["job_id"], row["collection_id"], source)


async def waits_already(connection: Any, principal: Principal, collection_id: UUID, external_ids: list[str]) -> bool:
    """Whether a file of one of these documents waits for a worker: a newer one must not overtake it."""
    found: bool = await connection.fetchval(_SQL["waits_already"], principal.tenant_id, collection_id, external_ids)
    return found


async def queue_of_files(connection: Any, principal: Principal, job_ids: Sequence[UUID]) -> list[WaitingFile]:
    """The files of these jobs that did not end, in the order in which a worker takes them."""
    rows = await connection.fetch(_SQL["queue_of_files"], principal.tenant_id, list(job_ids))
    return [WaitingFile(**dict(row)) for row in rows]


async def list_uploads(connection: Any, principal: Principal, job_id: UUID) -> list[UUID]:
    """Ids of the files of the job, small ones first; without their bytes. They go when the job ends."""
    return [row["id"] for row in await connection.fetch(_SQL["list_uploads"], principal.tenant_id, job_id)]
