"""What a user can do with runs, once for all surfaces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Final, Literal
from uuid import UUID
from zoneinfo import available_timezones

from cairn.domain.event import (
    Judgement,
    Numbered,
    Progress,
    RunState,
    RunStatus,
    Surface,
)
from cairn.domain.trace import DayOfAnswers, RunSummary
from cairn.errors import ConflictError, InputError, NotFoundError
from cairn.language.text import normalise
from cairn.runs.log import follow, look
from cairn.runs.task import Task
from cairn.store import audit, runs, traces
from cairn.wiring import Services

ViewedStatus = Literal["running", "succeeded", "failed", "cancelled"]
_VIEWED: Final[Mapping[RunStatus, ViewedStatus]] = {
    "running": "running", "ok": "succeeded", "error": "failed", "cancelled": "cancelled",
}  # fmt: skip
"""A run is shown in the words of a job; store and traces have those of outcomes."""
MAX_COMMENT = 4000
"""Characters."""
EXPIRY_BATCH = 500
"""Runs deleted per transaction."""


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as its user sees it. `last_seq`: events stored of a resumable one, else None. `source_changed`: its answer cites a
    document that has other content by now."""

    id: UUID
    status: ViewedStatus
    resumable: bool
    started_at: datetime | None
    ended_at: datetime | None
    cancel_requested: bool
    progress: Progress | None
    last_seq: int | None
    surface: Surface = "query"
    source_changed: bool = False


async def check_free(services: Services, run_id: UUID) -> None:
    """Raises ConflictError for a run id that is, or was, in use."""
    state = await look(services.database.primary, services.principal, run_id)
    if state is not None:
        raise ConflictError(
            f"the run {run_id} exists already ({_VIEWED[state.status]}); read it at /runs/{run_id}/events",
            events_url=f"/runs/{run_id}/events", run_status=_VIEWED[state.status],
        )  # fmt: skip
    if services.runs.used(services.principal, run_id) or await _known(services, run_id):
        raise ConflictError(f"the run id {run_id} is in use; leave it out, or send a new one")


async def _find_task(services: Services, run_id: UUID) -> Task | None:
    """The run, while it is under way here and the caller may see it."""
    task = services.runs.find(services.principal, run_id)
    return task if task and await _may_watch(services, task) else None


async def _may_watch(services: Services, task: Task) -> bool:
    """What it will stand on is not known, so where something is withheld from the caller, or was when it began, it is only for
    who asked."""
    if task.asked_by == services.principal.caller.id:
        return True
    if task.asked_as and not services.principal.caller.reads_all:
        return False
    async with services.database.primary.transaction(services.principal, readonly=True) as connection:
        return not await runs.is_withheld(connection)


async def _known(services: Services, run_id: UUID) -> tuple[datetime, str | None, RunStatus] | None:
    async with services.database.primary.transaction(services.principal, readonly=True) as connection:
        return await runs.find_run(connection, services.principal, run_id)


# --- looking, following, cancelling ---------------------------------------------------------------------------------------


async def get_run(services: Services, run_id: UUID) -> RunView:
    """Resumable runs of any process, plain ones of this process, and those that are traced. Raises NotFoundError."""
    state = await look(services.database.primary, services.principal, run_id)
    if state is not None:
        return replace(_view(state), source_changed=state.status == "ok" and await _source_changed(services, run_id))
    task = await _find_task(services, run_id)
    if task and not task.resumable:  # what is stored of a resumable one decides who sees it
        return RunView(run_id, "running", False, None, None, False, task.progress, None)
    await services.traces.flush()
    if found := await _known(services, run_id):
        changed = await _source_changed(services, run_id)
        return RunView(run_id, _VIEWED[found[2]], False, found[0], None, False, None, None, source_changed=changed)
    raise NotFoundError(
        f"no run {run_id}; one that is not resumable is seen by the process that runs it, and when it ended"
    )


@cache
def _zones() -> frozenset[str]:
    """That PostgreSQL knows, too. Some six hundred files are looked at for them, once."""
    return frozenset(available_timezones()) - {"localtime", "Factory"}


async def count_days(services: Services, days: int = 30, zone: str = "UTC") -> list[DayOfAnswers]:
    """What became of the questions of so many days, by day of the reader's time zone, the oldest first; one that is not known is
    UTC."""
    await services.traces.flush()
    known = zone if zone in await asyncio.to_thread(_zones) else "UTC"
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await traces.days(connection, services.principal, days, known)


async def list_runs(
    services: Services,
    *,
    kind: Literal["search", "query"] | None = None,
    outcome: Literal["ok", "error", "cancelled", "running"] | None = None,
    words: str = "",
    days: int | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[RunSummary]:
    """Searches and questions that are traced, newest first. `words`: in the question, in any case; `days`: no older than that;
    `before`: beginning and id of the last run of the page before."""
    await services.traces.flush()
    wanted = normalise(words).strip() or None
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await traces.page(
            connection,
            services.principal,
            kind=kind,
            outcome=outcome,
            words=wanted,
            days=days,
            before=before,
            limit=limit,
        )


async def _source_changed(services: Services, run_id: UUID) -> bool:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await runs.source_changed(connection, services.principal, run_id)


def _view(state: RunState) -> RunView:
    return RunView(
        state.id, _VIEWED[state.status], True, state.started_at, state.ended_at, state.cancel_requested, state.progress,
        state.last_seq, state.surface,
    )  # fmt: skip


async def follow_run(services: Services, run_id: UUID, after: int) -> tuple[RunView, AsyncGenerator[Numbered]]:
    """The run and its events after a place, stored ones first, then as they come. Raises NotFoundError; ConflictError for a
    run that is not resumable; InputError for a place that it has not reached."""
    run = await get_run(services, run_id)
    if run.last_seq is None:
        raise ConflictError(f"run {run_id} is not resumable: its events are not stored; see GET /traces/{run_id}")
    if after > run.last_seq:
        raise InputError(f"run {run_id} has {run.last_seq} events so far; {after} is not one of them")
    if task := await _find_task(services, run_id):
        await record_watching(services, task)
        return run, task.events(after, services.principal)
    if audit.leaves_record(services.principal):
        async with services.database.primary.transaction(services.principal, readonly=True) as connection:
            asked_by = await runs.asked_by(connection, services.principal, run_id)
        await _record_reading(services, run_id, asked_by)
    return run, follow(services.database.primary, services.principal, run_id, after)


async def _watch(services: Services, task: Task) -> AsyncGenerator[Numbered]:
    """The events of a plain run, as long as the caller may see them: what is restricted meanwhile may stand in the next one.
    Raises NotFoundError."""
    async with aclosing(task.events()) as events:
        async for item in events:
            if not await _may_watch(services, task):
                raise NotFoundError(f"run {task.id} is not kept any more")
            yield item


async def _record_reading(services: Services, run_id: UUID, asked_by: str | None) -> None:
    askers = [asked_by] if asked_by else []
    await audit.record_read_of_others(services.database, services.principal, "events", str(run_id), askers)


async def record_watching(services: Services, task: Task) -> None:
    """Put on record that the caller watches a run under way, where somebody else asked it."""
    await _record_reading(services, task.id, task.asked_by)


async def watch_run(services: Services, run_id: UUID) -> AsyncGenerator[Numbered]:
    """Events of a resumable run, or of a plain one under way in this process, from the first on; watching changes nothing.
    Raises NotFoundError, and ConflictError for a plain run that has ended."""
    task = await _find_task(services, run_id)
    if task and not task.resumable:
        await record_watching(services, task)
        return _watch(services, task)
    return (await follow_run(services, run_id, 0))[1]


async def cancel_run(services: Services, run_id: UUID) -> RunView:
    """Ask for its end, whichever process runs a resumable one; what has ended stays as it is. Raises NotFoundError."""
    async with services.database.transaction(services.principal) as connection:
        await runs.request_cancel(connection, services.principal, run_id)
    if task := await _find_task(services, run_id):
        task.cancel()
    return await get_run(services, run_id)


# --- feedback -------------------------------------------------------------------------------------------------------------


async def rate_run(services: Services, run_id: UUID, rating: int, comment: str | None = None) -> Judgement:
    """Store what a user thinks of an answer: -1 bad, 0 neither, 1 good. Replaces what was said of the run before. Raises
    InputError, NotFoundError."""
    if rating not in (-1, 0, 1):
        raise InputError("the rating is -1 (bad), 0 (neither) or 1 (good)")
    comment = normalise(comment or "").strip() or None
    if comment and len(comment) > MAX_COMMENT:
        raise InputError(f"the comment has {len(comment):,} characters; at most {MAX_COMMENT:,} are kept")
    await services.traces.flush()
    found = await _known(services, run_id)
    if found is None:
        raise NotFoundError(f"no run {run_id} has ended; runs are kept for trace.retentionDays")
    async with services.database.transaction(services.principal) as connection:
        return await runs.put_feedback(connection, services.principal, run_id, found[0], found[1], rating, comment)


async def list_judgements(services: Services, run_ids: Sequence[UUID]) -> dict[UUID, Judgement]:
    """What users think of the answers of these runs, by run; none for a run that nobody judged."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await runs.list_feedback(connection, services.principal, run_ids)
    return {one.run_id: one for one in found}


# --- upkeep ---------------------------------------------------------------------------------------------------------------


async def bury_runs(services: Services) -> None:
    """End the tenant's runs whose processes died."""
    async with services.database.transaction(services.principal) as connection:
        await runs.bury(connection, services.principal)
        await traces.bury(connection, services.principal)


async def expire_runs(services: Services) -> int:
    """Delete runs of all tenants that are older than the settings keep; how many."""
    settings, total = services.settings.current, 0
    while True:
        async with services.database.connection() as connection:
            gone = await runs.expire(
                connection, settings.runs.retention_days, settings.trace.retention_days, EXPIRY_BATCH
            )
        total += gone
        if gone < EXPIRY_BATCH:
            return total
