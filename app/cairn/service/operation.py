"""Operating Cairn: is it well, its daily upkeep, and its worker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog

from cairn.domain.job import QueueState
from cairn.domain.principal import Principal
from cairn.domain.replicas import ReplicasState
from cairn.errors import CairnError
from cairn.ingest import box
from cairn.jobs.outcome import describe
from cairn.plugins import broken_extensions
from cairn.providers.circuit import Circuit
from cairn.providers.metered import TOKENS_USED
from cairn.providers.protocols import ServedModel
from cairn.service.audit import follow_settings
from cairn.service.documents import end_abandoned
from cairn.service.jobs import expire_jobs, order_checks, order_plan
from cairn.service.restart import restart_warnings
from cairn.service.runs import bury_runs, expire_runs
from cairn.service.sources import keep_schedule
from cairn.store import audit, idempotency, jobs, upkeep
from cairn.wiring import Services

log = structlog.get_logger(__name__)

ANSWER_SECONDS = 5.0
"""A database that takes longer than this to answer a trivial statement does not serve."""
WATCH_SECONDS = 5.0
"""Between two looks at analysts' sessions."""
CHAT_SECONDS = 15.0
"""Between two looks at a chat model that does not answer."""
GRACE_SECONDS = 4.0
"""For the current job to end by itself after the end was asked for; then it is handed back."""
STANDBY_SECONDS = 5.0
"""Between two looks whether a standby was promoted."""
PARTITION_DAYS = 7
"""Trace partitions are made so many days ahead, so that a week without maintenance does no harm."""


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """What real statements on a real connection said. `problem`: why the database cannot serve; None where it can. The other
    fields are None where it did not answer. `scan`: hnsw.iterative_scan in force; `revision` of the tables; `read_only`: it is
    a standby."""

    problem: str | None
    answer_ms: float | None = None
    scan: str | None = None
    revision: str | None = None
    queue: QueueState | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class DiskState:
    """What the database takes, and what is free there; None where this process cannot know it."""

    byte_size: int
    free_bytes: int | None


@dataclass(frozen=True, slots=True)
class ServiceState:
    """What this process works with. `warnings`: what is degraded, in words. `estimated_tokens`: the embedding model's own
    tokenizer could not be had. `tokens_by_model`: of models of providers, since the process began."""

    embedding_model: str
    chat_model: str | None
    reranker: str | None
    circuits: tuple[Circuit, ...]
    warnings: tuple[str, ...]
    traces_dropped: int
    estimated_tokens: bool
    replicas: ReplicasState
    tokens_by_model: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What one daily upkeep did."""

    partitions_made: int
    partitions_dropped: int
    jobs_expired: int


async def check_database(services: Services) -> DatabaseState:
    """Never raises."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            async with services.probe.connection() as connection:
                queue = await jobs.queue_state(connection)
                revision = await upkeep.schema_revision(connection)
                read_only = await upkeep.is_standby(connection)
            async with services.probe.transaction(services.principal, readonly=True) as connection:
                scan = await upkeep.iterative_scan(connection)
    except Exception as error:  # whatever it is, this process cannot serve
        known = services.embedded.problem() if services.embedded else None
        reason = known or describe(error)
        log.warning("database.unready", problem=reason)
        return DatabaseState(f"the database does not answer: {reason}")
    wrong_scan = f"hnsw.iterative_scan is {scan}, not {upkeep.EXPECTED_SCAN}: vector search would miss rows"
    problem = None if scan == upkeep.EXPECTED_SCAN else wrong_scan
    return DatabaseState(problem, round((time.monotonic() - started) * 1000, 1), scan, revision, queue, read_only)


async def measure_disk(services: Services) -> DiskState:
    """Raises DatabaseUnavailableError."""
    async with services.probe.connection() as connection:
        size = await upkeep.database_bytes(connection)
    return DiskState(size, services.embedded.free_bytes() if services.embedded else None)


def describe_service(services: Services) -> ServiceState:
    """Asks nobody."""
    settings, search = services.settings, services.search_deps
    chat, circuits = services.chat_for(settings.current), tuple(services.circuits.all())
    warnings = [f"settings: {settings.problem}; the next start would fail"] if settings.problem else []
    warnings += [f"settings: {note}" for note in settings.notes]
    warnings += restart_warnings(services)
    if services.embedded and (low := services.embedded.warning()):
        warnings.append(low)
    warnings += [warning for circuit in circuits if (warning := _failing(circuit))]
    problem = chat.problem if isinstance(chat, ServedModel) else None
    if problem and not any(circuit.reason and circuit.reason.detail == problem for circuit in circuits):
        warnings.append(f"the chat model does not answer: {problem}")
    warnings += [str(broken) for broken in broken_extensions()]
    warnings += box.missing()
    replicas = services.database.replicas()
    warnings += [f"replica {one.name} is not used: {one.problem}" for one in replicas.replicas if one.problem]
    return ServiceState(
        search.model.name,
        chat.name if chat else None,
        search.reranker.name,
        circuits,
        tuple(warnings),
        services.traces.dropped,
        search.embedder.tokens.name == "estimate-v1",
        replicas,
        TOKENS_USED,
    )


def _failing(circuit: Circuit) -> str | None:
    """Of a model of a provider, where the last call of it failed by a fault of its server or of the settings."""
    if circuit.reason is None:
        return None
    waits = f"; not asked again for {circuit.retry_in:.0f} s" if circuit.state == "open" else ""
    return f"{circuit.name} failed {circuit.failed_ago:.0f} s ago: {circuit.reason.detail}{waits}"


async def do_upkeep(services: Services) -> Upkeep:
    """What is to be done once a day, for all tenants. Raises CairnError when the database is away."""
    async with services.database.connection() as connection:
        made = await upkeep.ensure_partitions(connection, PARTITION_DAYS)
        dropped = await upkeep.drop_partitions(connection, services.settings.current.trace.retention_days)
        await audit.expire(connection, services.settings.current.audit.retention_days)
        await idempotency.expire(connection, services.settings.current.api.idempotency_hours)
    expired = await expire_jobs(services)
    await expire_runs(services)
    await order_plan(services)
    async with services.database.connection() as connection:
        tenants = await upkeep.tenant_ids(connection)
    for tenant_id in tenants:
        of_tenant = replace(services, principal=Principal(tenant_id, ""))
        await bury_runs(of_tenant)
        await end_abandoned(of_tenant)
        await order_checks(of_tenant)
    return Upkeep(made, dropped, expired)


async def watch_chat(services: Services) -> None:
    """See whether the chat model answers, for as long as the server runs: at the start, when the settings name another, and again
    and again while it does not. A list of its models is all that it is asked for."""
    told: str | None = None
    looked: object = None
    while True:
        chat = services.chat_for(services.settings.current)
        if isinstance(chat, ServedModel) and (chat is not looked or chat.problem):
            await chat.look()
            looked = chat
            if chat.problem and chat.problem != told:
                log.warning("chat.not_answering", problem=chat.problem)
            elif told and not chat.problem:
                log.info("chat.answers", model=chat.name)
            told = chat.problem
        await asyncio.sleep(CHAT_SECONDS)


async def watch_analysts(services: Services) -> None:
    """End what sessions of analysts do for too long, for as long as the server runs: time-outs of a login can be lifted by its
    sessions."""
    known = 0
    while True:
        limits = services.settings.current.analysts
        try:
            async with services.database.connection() as connection:
                ended, unwatched = await upkeep.end_overdue_analysts(
                    connection, limits.statement_seconds, limits.idle_seconds
                )
        except CairnError as error:
            log.warning("analysts.unwatched", problem=error.detail)
        else:
            if ended:
                log.warning("analysts.ended", sessions=ended)
            if unwatched > known:
                log.warning("analysts.unwatched", sessions=unwatched, hint="rag.grant_analyst says what is missing")
            known = unwatched
        await asyncio.sleep(WATCH_SECONDS)


async def wait_for_primary(services: Services, stop: asyncio.Event) -> None:
    """Until the database can be written to, or `stop` is set: a standby may be promoted some day."""
    told = False
    while not stop.is_set():
        try:
            async with services.database.connection() as connection:
                if not await upkeep.is_standby(connection):
                    return
        except CairnError:
            return  # whatever is wrong, the worker will say so
        if not told:
            log.info("worker.waits", reason="the database is a standby, where nothing can be written")
            told = True
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), STANDBY_SECONDS)


async def run_worker(services: Services, stop: asyncio.Event, *, grace_seconds: float = GRACE_SECONDS) -> None:
    """Run jobs, with settings as their file changes, until told to stop; the current job gets time to end."""
    watching = asyncio.create_task(follow_settings(services))
    try:
        await do_jobs(services, stop, grace_seconds)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def do_jobs(services: Services, stop: asyncio.Event, grace_seconds: float) -> None:
    """The same, with settings as they are."""
    await wait_for_primary(services, stop)
    worker = services.worker(grace_seconds=grace_seconds)
    log.info("worker.started", worker=worker.name)
    schedule = asyncio.create_task(keep_schedule(services, stop))
    try:
        await worker.run(stop)
    finally:
        schedule.cancel()
        await asyncio.gather(schedule, return_exceptions=True)
