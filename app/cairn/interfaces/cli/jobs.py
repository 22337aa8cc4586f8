"""`cairn jobs ...`: options in, cairn.service.jobs out. Imports nothing heavy, because `cairn --help` does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

if TYPE_CHECKING:
    from cairn.domain.job import Job

group = typer.Typer(rich_markup_mode=None, help="Jobs: work that outlives its request.")


class Status(StrEnum):
    queued = "queued"
    running = "running"
    succeeded = "succeeded"
    failed = "failed"
    parked = "parked"
    cancelled = "cancelled"


JobId = Annotated[UUID, typer.Argument(metavar="ID", help="As cairn jobs list shows it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@group.command("list")
def list_jobs(
    status: Annotated[Status | None, typer.Option(help="Only jobs in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, newest first.")] = 20,
    json: Json = False,
) -> int:
    """List jobs."""
    return _run(_list(status.value if status else None, limit, json))


@group.command()
def show(job_id: JobId, json: Json = False) -> int:
    """Look at a job."""
    return _run(_show(job_id, json))


@group.command()
def cancel(job_id: JobId) -> int:
    """Cancel a job: a queued one at once, a running one at its next step."""
    return _run(_change("cancel", job_id))


@group.command()
def retry(job_id: JobId) -> int:
    """Queue a parked or failed job again."""
    return _run(_change("retry", job_id))


def _run(work: Coroutine[Any, Any, int]) -> int:
    return asyncio.run(work)


async def _list(status: Any, limit: int, json: bool) -> int:
    from cairn.interfaces.cli.terminal import say, say_json, services
    from cairn.service import jobs as job_service

    async with services() as opened:
        found = await job_service.list_jobs(opened, status=status, limit=limit)
    if json:
        say_json([_document(job) for job in found])
        return 0
    for job in found:
        say("  ".join(_line(job)))
    if not found:
        say("No jobs." if status is None else f"No {status} jobs.")
    return 0


async def _show(job_id: UUID, json: bool) -> int:
    from cairn.interfaces.cli.terminal import say, say_json, services
    from cairn.service import jobs as job_service

    async with services() as opened:
        job = await job_service.get_job(opened, job_id)
    if json:
        say_json(_document(job))
        return 0
    for name, value in _document(job).items():
        if value not in (None, "", {}):
            say(f"{name}: {value}")
    return 0


async def _change(action: str, job_id: UUID) -> int:
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service import jobs as job_service

    async with services() as opened:
        job = await (job_service.cancel_job if action == "cancel" else job_service.retry_job)(opened, job_id)
    asked = ", cancellation asked for" if job.cancel_requested and not job.ended else ""
    say(f"job {job.id} is {job.status}{asked}")
    return 0


def _document(job: Job) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(job)


def _line(job: Job) -> list[str]:
    from cairn.interfaces.cli.terminal import shorten

    done, total = job.progress.done, job.progress.total
    about = str(job.payload.get("collection", ""))
    step = f"{done:,}/{total:,}" if total else ""
    why = shorten(job.error, 100) if job.error and job.ended else ""
    return [
        str(job.id),
        f"{job.created_at:%Y-%m-%d %H:%M:%S}",
        f"{job.status:9}",
        f"{job.kind:14}",
        *filter(None, (about, step, *(f"{name} {share:.0%}" for name, share in job.progress.shares.items()), why)),
    ]
