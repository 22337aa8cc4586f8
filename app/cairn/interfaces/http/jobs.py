"""Jobs: work that outlives its request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field
from starlette.requests import Request

from cairn.domain.job import Job, JobStatus
from cairn.interfaces.http import problems
from cairn.interfaces.http.models import ID_EXAMPLE, JOB_EXAMPLE, JobOut, example, job_out
from cairn.interfaces.http.running import Cursor, Limit, ServicesDep, TypedRoute, decode_id, encode_cursor
from cairn.interfaces.http.sse import Frame, describe, event_stream
from cairn.service import jobs as job_service
from cairn.wiring import Services

router = APIRouter(tags=["jobs"], route_class=TypedRoute)

LOOK_SECONDS = 0.4
"""How often a stream looks at its job; progress is written at most twice a second."""

JobId = Annotated[UUID, Path(description="Id of the job.", examples=[ID_EXAMPLE])]

_STREAM_EXAMPLE = (
    'event: progress\ndata: {"status": "running", "progress": {"done": 1, "total": 3, "message": "a.pdf"}}\nid: 1\n\n'
    'event: done\ndata: {"status": "succeeded", "result": {"uploaded": [], "failed": []}}\nid: 2\n\n'
)


class JobPage(BaseModel):
    model_config = example({"items": [JOB_EXAMPLE], "next_cursor": None})

    items: list[JobOut]
    next_cursor: str | None = Field(description="For the next page; null on the last one.")


@router.get("/jobs", summary="List jobs")
async def list_jobs(
    services: ServicesDep,
    status: Annotated[JobStatus | None, Query(description="Only jobs in this state.", examples=["parked"])] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> JobPage:
    """Newest first. Ended jobs are kept for `jobs.retentionDays` days."""
    found = await job_service.list_jobs(services, status=status, before=decode_id(cursor), limit=limit + 1)
    more = encode_cursor(str(found[limit - 1].id)) if len(found) > limit else None
    return JobPage(items=[job_out(job) for job in found[:limit]], next_cursor=more)


@router.get("/jobs/{job_id}", summary="Look at a job")
async def get_job(job_id: JobId, services: ServicesDep) -> JobOut:
    return job_out(await job_service.get_job(services, job_id))


@router.post("/jobs/{job_id}/cancel", summary="Cancel a job")
async def cancel_job(job_id: JobId, services: ServicesDep) -> JobOut:
    """A queued job ends at once, a running one at its next step; documents already indexed stay."""
    return job_out(await job_service.cancel_job(services, job_id))


@router.post("/jobs/{job_id}/retry", responses=problems.declare(409), summary="Try a job again")
async def retry_job(job_id: JobId, services: ServicesDep) -> JobOut:
    """Queues a parked or failed job with all its attempts, once its cause is removed; the files of an upload are still
    there. 409 for a job in another state, and where the same work is queued or running already."""
    return job_out(await job_service.retry_job(services, job_id))


@router.get(
    "/jobs/{job_id}/events",
    summary="Follow a job",
    response_class=Response,  # FastAPI takes functions under EventSourceResponse for generators
    responses={200: {"content": describe(("progress", "done", "error"), _STREAM_EXAMPLE)}},
)
async def follow_job(job_id: JobId, services: ServicesDep, request: Request) -> Response:
    """`progress` events with the whole job whenever it changed, then one `done`, also for a job that has ended already.
    Every event says everything, so Last-Event-ID is not needed."""
    job = await job_service.get_job(services, job_id)
    return event_stream(request, _frames(services, job), lambda frame: [frame])


async def _frames(services: Services, job: Job) -> AsyncGenerator[Frame, None]:
    shown: JobOut | None = None
    while True:
        body = job_out(job)
        if job.ended:
            yield Frame("done", body, terminal=True)
            return
        if body != shown:
            yield Frame("progress", body)
            shown = body
        await asyncio.sleep(LOOK_SECONDS)
        job = await job_service.get_job(services, job.id)
