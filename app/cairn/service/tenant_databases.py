"""The databases that a process works with at once: the default one, and those of its map of tenants.

Each has services of its own, and with them its pool, worker, runs, caches, limits and places (admission), so that one that is
away holds up nobody but its tenants. The default one is there from the start; another is opened as soon as it can be.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from cairn.domain.replicas import ReplicasState
from cairn.errors import CairnError, DatabaseUnavailableError, named_reason
from cairn.runs.limits.admission import Gate
from cairn.service.audit import follow_settings
from cairn.service.operation import GRACE_SECONDS, DatabaseState, check_database, do_jobs
from cairn.settings import DEFAULT
from cairn.wiring import Services

log = structlog.get_logger(__name__)

Beside = Callable[[str, Services], AbstractAsyncContextManager[None]]
"""What runs beside the requests of one database, by its name, while it is open."""

START_SECONDS: Final = 10.0
"""The start waits so long for databases of the map: who is asked at once should find them open."""
CLOSE_SECONDS: Final = 1.0
"""At the end, for their connections to be closed."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 30.0
"""Between two attempts to open one."""
OTHERS_SECONDS: Final = 2.0
"""Readiness waits so long for other databases once one has answered."""
AWAY: Final = (
    "the database of this tenant cannot be used now: try again; /health/ready tells who operates the server why"
)


@dataclass(slots=True)
class _Course:
    """Of one database: `tried`: it was opened, or could not be. `left`: what ran beside its requests has ended."""

    tried: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)


class TenantDatabases:
    """All of a process. `default`: the services of the default one."""

    def __init__(self, default: Services) -> None:
        self._map = default.environment.tenant_map
        self._default = default
        self._open: dict[str, Services] = {DEFAULT: default}
        self._asked: set[asyncio.Task[DatabaseState]] = set()
        self._problems: dict[str, str] = dict.fromkeys(self._map.databases, "it is being opened")

    def find(self, tenant: str) -> Services:
        """Of the database where the tenant lives. Raises DatabaseUnavailableError while that is not open."""
        found = self._open.get(self._map.place_of(tenant))
        if found is None:
            raise DatabaseUnavailableError(AWAY)
        return found

    @property
    def open(self) -> Mapping[str, Services]:
        """Those that are open, by name."""
        return self._open

    async def check(self, *, others_seconds: float = OTHERS_SECONDS) -> dict[str, DatabaseState]:
        """How each is, the default one first. As soon as one is well, the others have so long to answer: a probe that waited for
        what hangs would take this process from the tenants of the others. Never raises."""

        async def check(name: str) -> DatabaseState:
            services = self._open.get(name)
            return await check_database(services) if services else DatabaseState(self._problems[name])

        asked = {name: asyncio.create_task(check(name)) for name in self._map.names}
        self._asked.update(asked.values())
        waiting, clock, until = set(asked.values()), asyncio.get_running_loop().time, None
        while waiting and (until is None or clock() < until):
            left = None if until is None else until - clock()
            done, waiting = await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            self._asked -= done
            if until is None and any(task.result().problem is None for task in done):
                until = clock() + others_seconds
        for task in waiting:  # ends by itself; its answer comes too late
            task.add_done_callback(self._asked.discard)
        late = DatabaseState("the database does not answer: it takes longer than others")
        return {name: task.result() if task.done() else late for name, task in asked.items()}

    def gates(self) -> dict[str, list[Gate]]:
        """Of all that are open, by kind of work: a database that holds up what waits for it holds up nobody else."""
        kinds = self._default.admission.gates
        return {kind: [one.admission.gates[kind] for one in self._open.values()] for kind in kinds}

    def replicas(self, name: str) -> ReplicasState:
        """Of one database. Those of the map are numbered: who operates one tenant need not know the servers of others."""
        services = self._open.get(name)
        found = services.database.replicas() if services else ReplicasState((), 0)
        if name == DEFAULT:
            return found
        numbered = (replace(one, name=f"{name} {number}") for number, one in enumerate(found.replicas, 1))
        return ReplicasState(tuple(numbered), found.primary_reads)

    def all_replicas(self) -> ReplicasState:
        """Of all databases together."""
        found = [self.replicas(name) for name in self._open]
        replicas = tuple(one for state in found for one in state.replicas)
        return ReplicasState(replicas, sum(state.primary_reads for state in found))

    @property
    def traces_dropped(self) -> int:
        """Since the start."""
        return sum(services.traces.dropped for services in self._open.values())

    @asynccontextmanager
    async def opened(self, beside: Beside) -> AsyncIterator[None]:
        """Within the block those of the map are open as soon as they can be, each with what runs beside it."""
        over = asyncio.Event()
        courses = {name: _Course() for name in self._map.databases}
        tasks = {name: asyncio.create_task(self._keep(name, beside, one, over)) for name, one in courses.items()}
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(START_SECONDS):
                    await asyncio.gather(*(one.tried.wait() for one in courses.values()))
            yield
        finally:
            over.set()
            for name, task in tasks.items():
                if name not in self._open:
                    task.cancel()
                    courses[name].left.set()
            await asyncio.gather(*(one.left.wait() for one in courses.values()))
            if tasks:  # one that hangs keeps the default one from being closed no longer than this
                await asyncio.wait(tasks.values(), timeout=CLOSE_SECONDS)

    async def _keep(self, name: str, beside: Beside, course: _Course, over: asyncio.Event) -> None:
        """Open it, and try again where that fails, until all is over."""
        structlog.contextvars.bind_contextvars(database=name)  # of this task, and of those that begin in it
        pause = FIRST_PAUSE_SECONDS
        while not over.is_set():
            try:
                async with self._default.open_database(name) as services:
                    await self._stay(name, services, beside, course, over)
            except Exception as error:  # whatever it is, the others are served
                foreseen = error if isinstance(error, CairnError) else CairnError(named_reason(error))
                # the log has the reason, which may name servers; tenants' administrators see the kind
                self._problems[name] = f"{foreseen.title} (database.not_opened in the log says why)"
                unforeseen = foreseen is not error
                log.warning("database.not_opened", problem=foreseen.detail, retry_seconds=pause, exc_info=unforeseen)
            course.tried.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _stay(self, name: str, services: Services, beside: Beside, course: _Course, over: asyncio.Event) -> None:
        course.left.clear()
        try:
            async with beside(name, services):
                self._open[name] = services
                log.info("database.opened")
                course.tried.set()
                await over.wait()
        finally:
            self._open.pop(name, None)
            course.left.set()


async def run_workers(services: Services, stop: asyncio.Event, *, grace_seconds: float = GRACE_SECONDS) -> None:
    """Run the jobs of all databases, one at a time in each, with settings as their file changes, until told to stop; current
    jobs get time to end."""

    @asynccontextmanager
    async def working(_: str, services: Services) -> AsyncIterator[None]:
        task = asyncio.create_task(do_jobs(services, stop, grace_seconds))
        try:
            yield
        finally:
            await task

    watching = asyncio.create_task(follow_settings(services))
    try:
        async with TenantDatabases(services).opened(working):
            await do_jobs(services, stop, grace_seconds)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
