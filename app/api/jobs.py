"""Jobs: work that outlives its request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Response
from starlette.requests import Request

from app import actions
from app.api.models import ID_EXAMPLE, JobOut, job_out
from app.api.running import ServicesDep, TypedRoute
from app.api.sse import Frame, describe, event_stream
from app.domain.job import Job
from app.wiring import Services

router = APIRouter(tags=["jobs"], route_class=TypedRoute)

LOOK_SECONDS = 0.4
"""How often a stream looks at its job; progress is written at most twice a second."""

JobId = Annotated[UUID, Path(description="Id of the job.", examples=[ID_EXAMPLE])]

_STREAM_EXAMPLE = (
    'event: progress\ndata: {"status": "running", "progress": {"done": 1, "total": 3, "message": "a.pdf"}}\nid: 1\n\n'
    'event: done\ndata: {"status": "succeeded", "result": {"uploaded": [], "failed": []}}\nid: 2\n\n'
)


@router.get("/jobs/{job_id}", summary="Look at a job")
async def get_job(job_id: JobId, services: ServicesDep) -> JobOut:
    return job_out(await actions.get_job(services, job_id))


@router.post("/jobs/{job_id}/cancel", summary="Cancel a job")
async def cancel_job(job_id: JobId, services: ServicesDep) -> JobOut:
    """A queued job ends at once, a running one at its next step; documents already indexed stay."""
    return job_out(await actions.cancel_job(services, job_id))


@router.get(
    "/jobs/{job_id}/events",
    summary="Follow a job",
    response_class=Response,  # FastAPI takes functions under EventSourceResponse for generators
    responses={200: {"content": describe(("progress", "done", "error"), _STREAM_EXAMPLE)}},
)
async def job_events(job_id: JobId, services: ServicesDep, request: Request) -> Response:
    """`progress` events with the whole job whenever it changed, then one `done`, also for a job that has ended already.
    Every event says everything, so Last-Event-ID is not needed."""
    job = await actions.get_job(services, job_id)
    return event_stream(request, _frames(services, job))


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
        job = await actions.get_job(services, job.id)
