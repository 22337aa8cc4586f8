"""What a schedule runs in: a database of its own, two processes that serve it (pools of their own), two tenants; and a memory of
what each was told, by which is judged what is there in the end."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg

from cairn.domain.document import Indexed, Source
from cairn.domain.event import TERMINAL, Event
from cairn.domain.ids import new_id
from cairn.domain.principal import Principal
from cairn.domain.question import Question
from cairn.errors import (
    ConflictError,
    DatabaseUnavailableError,
    NotFoundError,
    QueryTimeoutError,
)
from cairn.service import conversations, documents, jobs, models, runs, search
from cairn.service.ask import start
from cairn.settings import Environment, SettingsStore, parse_settings, read_environment
from cairn.wiring import Services, open_services
from tests.documents import find, text_source
from tests.faults.by_seed.killed_worker import kill_worker
from tests.faults.by_seed.migration import migrate_struck
from tests.faults.by_seed.plan import Schedule, Step
from tests.faults.by_seed.rim import Operation, Outside
from tests.waiting import hang_guard, until

FIRST: Final = ("d0", "d1", "d2")
"""Documents that each tenant has at the beginning; an earlier release read the first one."""
COLLECTION: Final = "seeded"
PACKAGES: Final = "models"
"""Folder of the home with the package of embedding models."""
MODELS: Final = ("hashed:one", "hashed:two")
SETTINGS: Final = b"""{
  "jobs": {"leaseSeconds": 600, "heartbeatSeconds": 60, "pollSeconds": 0.05, "retrySeconds": 0, "maxAttempts": 50},
  "runs": {"leaseSeconds": 600},
  "chunking": {"passageSize": 200, "passageOverlap": 20, "chunkSize": 100, "chunkOverlap": 10},
  "graph": {"communities": {"inlinePassages": 6, "delaySeconds": 0, "changedShare": 0}}
}"""
WORDS: Final = (
    "granite",
    "basalt",
    "marble",
    "quartz",
    "trail",
    "summit",
    "ridge",
    "valley",
    "glacier",
    "path",
    "marker",
)
PEOPLE: Final = ("Anna Kowalski", "Ben Okafor", "Clara Jensen", "David Moreau", "Eva Lindqvist")
PLACES: Final = ("Silver Lake", "Old Mill", "Mount Harrow")
QUESTIONS: Final = ("Who met Anna Kowalski?", "What lies on the ridge?", "Where did they build a granite marker?")
OUTAGES: Final = (DatabaseUnavailableError, QueryTimeoutError)

Name = tuple[int, str]
"""Of a document: tenant and external id."""


class Violation(AssertionError):
    """What must hold did not. `invariant`: its name."""

    def __init__(self, invariant: str, told: object) -> None:
        super().__init__(f"{invariant}: {told}")
        self.invariant, self.told = invariant, told


@dataclass
class Write:
    """Something that an operation tries to store; None: a deletion. `known`: it was acknowledged."""

    text: str | None
    known: bool = False


@dataclass
class Memory:
    """What may be stored of each document, and what else was promised. `writes` of the round under way; `files` that wait for a
    worker, by job; `runs` that can be read again."""

    may_be: dict[Name, set[str | None]] = field(default_factory=dict)
    writes: dict[Name, list[Write]] = field(default_factory=dict)
    files: dict[UUID, list[tuple[Name, str]]] = field(default_factory=dict)
    runs: dict[UUID, int] = field(default_factory=dict)
    answered: dict[UUID, tuple[int, str]] = field(default_factory=dict)
    """Runs of conversations whose end was told, with tenant and conversation."""
    forgotten: set[tuple[int, str]] = field(default_factory=set)
    """Conversations that somebody tried to delete."""
    wrong: list[tuple[str, str]] = field(default_factory=list)
    turned_down: dict[str, int] = field(default_factory=dict)

    @contextlib.contextmanager
    def writing(self, name: Name, text: str | None) -> Iterator[Write]:
        write = Write(text)
        self.writes.setdefault(name, []).append(write)
        yield write

    def is_deleted_now(self, name: Name) -> bool:
        """Whether an operation of this round tries to delete it: what is indexed meanwhile is refused, and stays deleted."""
        return any(one.text is None for one in self.writes.get(name, ()))

    def end_round(self) -> None:
        """One that was acknowledged replaced what was there before; one that was not may have."""
        for name, tried in self.writes.items():
            before = set() if any(one.known for one in tried) else self.may_be.get(name, {None})
            self.may_be[name] = before | {one.text for one in tried}
        self.writes.clear()

    def texts(self, tenant: int) -> dict[str, set[str | None]]:
        """By external id, all that may be found of it now."""
        found: dict[str, set[str | None]] = {}
        for (owner, name), allowed in self.may_be.items():
            if owner == tenant:
                found.setdefault(name, set()).update(allowed)
        for (owner, name), tried in self.writes.items():
            if owner == tenant:
                found.setdefault(name, set()).update(one.text for one in tried)
        return found


def write_text(tenant: int, name: str, turn: int) -> str:
    """Unlike every other; with people and places for the graph, and some of it in all of a tenant."""
    chance = random.Random(f"{tenant} {name} {turn}")
    parts = [f"Version {turn} of {name} of tenant {tenant}."]
    for _ in range(chance.randint(1, 6)):
        first, second = chance.sample(PEOPLE, 2)
        parts.append(f"{first} met {second} at {chance.choice(PLACES)} and they built a {chance.choice(WORDS)} marker.")
        parts.append("The " + " ".join(chance.choices(WORDS, k=chance.randint(5, 20))) + ".")
    return " ".join(parts)


class World:
    """`tenants[process][tenant]`: the services of both processes for both tenants."""

    def __init__(
        self, schedule: Schedule, dsn: str, owner: asyncpg.Connection, outside: Outside, processes: list[list[Services]]
    ) -> None:
        self.schedule, self.dsn, self.owner, self.outside, self.tenants = schedule, dsn, owner, outside, processes
        self.memory = Memory({(tenant, name): {write_text(tenant, name, 0)} for tenant in (0, 1) for name in FIRST})
        self.struck: list[str] = []
        self.sent: list[tuple[str, int]] = []
        """Operations that nothing struck, with how many statements each sent."""

    # --- running ------------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """All rounds; raises Violation."""
        for steps in self.schedule.rounds:
            operations = [self._operation(step) for step in steps]
            try:
                async with hang_guard(30):
                    await asyncio.gather(*(self._step(step, one) for step, one in zip(steps, operations, strict=True)))
                    await until(self._is_quiet)
            except (TimeoutError, AssertionError) as error:
                told = [(one.name, one.struck, one.sent) for one in operations]
                raise Violation("nothing hangs", f"{error!r} {told} {await self._busy()}") from None
            for step, one in zip(steps, operations, strict=True):
                one.faults.clear()  # what goes on behind it, such as traces and counters, is struck no more
                self.struck += [f"{one.name}: {what}" for what in one.struck]
                if not one.struck:
                    self.sent.append((step.kind, one.sent))
            self.memory.end_round()
            if self.memory.wrong:
                raise Violation(*self.memory.wrong[0])

    def _operation(self, step: Step) -> Operation:
        if step.kind in ("migrate", "killed worker"):
            return Operation(f"{step.kind} {step.turn}", {}, self.outside)
        awaited = next((fault.at for fault in step.faults if fault.kind == "cancel at await"), None)
        faults = {fault.at: fault.kind for fault in step.faults if fault.kind != "cancel at await"}
        return Operation(f"{step.kind} {step.turn}", faults, self.outside, awaited)

    async def _step(self, step: Step, operation: Operation) -> None:
        services = self.tenants[step.process][step.tenant]
        work = _WORK[step.kind]
        task = asyncio.create_task(operation.run(lambda: work(self, services, step)))
        await asyncio.wait([task])
        if task.cancelled():
            if not operation.struck:
                self.memory.wrong.append(("nothing is cancelled by itself", operation.name))
            return
        error = task.exception()
        if error is None or isinstance(error, NotFoundError | ConflictError):
            return
        kind = type(error).__name__
        self.memory.turned_down[kind] = self.memory.turned_down.get(kind, 0) + 1
        if not isinstance(error, (*OUTAGES, TimeoutError)):
            told = f"{operation.name}: {kind}: {error} {getattr(error, 'detail', '')} after {operation.struck}"
            self.memory.wrong.append(("errors are those that a caller can act on", told))
        elif not self._may_fail():
            told = f"{operation.name}: {kind} {getattr(error, 'detail', '')}"
            self.memory.wrong.append(("nothing is refused without a fault", told))

    def _may_fail(self) -> bool:
        """Whether something was to strike this schedule: what it holds, others wait for."""
        return any(step.faults for steps in self.schedule.rounds for step in steps)

    async def _is_quiet(self) -> bool:
        return not await self._busy()

    async def _busy(self) -> list[str]:
        """Runs that are under way in the processes, and statements of theirs in the server."""
        live = [f"run {run_id}" for process in self.tenants for one in process for _, run_id in one.runs._live]
        rows = await self.owner.fetch(
            "SELECT pid, state, wait_event, query FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND application_name LIKE 'cairn%' AND state <> 'idle'"
        )
        return live + [f"{row['state']} {row['wait_event']}: {row['query'][:100]}" for row in rows]

    # --- rest ---------------------------------------------------------------------------------------------------------------

    async def rest(self) -> None:
        """Leases of the dead are over, every job is done, upkeep has run; by a process that nothing strikes. Raises Violation."""
        try:
            async with hang_guard(60):
                await self.owner.execute("UPDATE rag.documents SET updated_at = updated_at - interval '1 hour'")
                for _ in range(50):
                    await self.outside.free_leases()
                    for services in self.tenants[0]:
                        await runs.bury_runs(services)
                        await documents.end_abandoned(services)
                    if not await self.tenants[0][0].worker().run_until_idle():
                        break
                for process in self.tenants:
                    await process[0].traces.flush()
                await until(self._is_quiet)
        except (TimeoutError, AssertionError) as error:
            raise Violation(
                "no session keeps a transaction open, and no job comes again for ever", repr(error)
            ) from error

    async def settle(self) -> None:
        """What is stored is what was acknowledged. Raises Violation."""
        ended = {row["id"]: row for row in await self.owner.fetch("SELECT id, kind, status, error FROM rag.jobs")}
        badly = [dict(row) for row in ended.values() if row["status"] not in ("succeeded", "cancelled")]
        badly = [row for row in badly if "has given up the model" not in (row["error"] or "")]  # somebody forgot it
        if badly:
            raise Violation("every job that was ordered is done", badly[:3])
        for job_id, files in self.memory.files.items():
            if job_id not in ended:
                raise Violation("every job that was ordered is done", f"{job_id} is gone, of {files[0][0]}")
            for name, text in files:
                self.memory.may_be[name] = {text} if ended[job_id]["status"] == "succeeded" else {None, text}
        stored = await self.stored_texts()
        for name, allowed in self.memory.may_be.items():
            if stored.get(name) not in allowed:
                told = f"{name}: {_short(stored.get(name))}, and was told {[_short(one) for one in allowed]}"
                raise Violation("what was acknowledged is there", told)
        if strange := set(stored) - set(self.memory.may_be):
            raise Violation("nothing is there that nobody stored", strange)

    async def check_conversations(self) -> None:
        """An answer that was handed out without a word of not being saved is in its conversation, unless that was deleted. Raises
        Violation."""
        said = {
            row["run_id"] for row in await self.owner.fetch("SELECT run_id FROM rag.messages WHERE role = 'assistant'")
        }
        for run_id, place in self.memory.answered.items():
            if place not in self.memory.forgotten and run_id not in said:
                raise Violation("an answer that was told is in its conversation", f"{run_id} of {place}")

    async def stored_texts(self) -> dict[Name, str]:
        rows = await self.owner.fetch(
            "SELECT t.name AS tenant, d.external_id, x.text FROM rag.documents d JOIN rag.tenants t ON t.id = d.tenant_id "
            "JOIN rag.document_texts x ON x.tenant_id = d.tenant_id AND x.document_id = d.id"
        )
        return {(int(row["tenant"] == "two"), row["external_id"]): row["text"] for row in rows}

    # --- what operations do ---------------------------------------------------------------------------------------------------

    async def ingest(self, services: Services, step: Step) -> None:
        with contextlib.ExitStack() as stack:
            writes = {
                name: stack.enter_context(
                    self.memory.writing((step.tenant, name), write_text(step.tenant, name, step.turn))
                )
                for name in step.names
            }

            def told(outcome: Any) -> None:
                if isinstance(outcome, Indexed):
                    writes[outcome.external_id].known = True
                elif not self.memory.is_deleted_now((step.tenant, outcome.external_id)):
                    self.memory.wrong.append(("a fault rejects no document", str(outcome)))

            sources = [_source(step.tenant, name, step.turn) for name in step.names]
            await documents.index_now(services, COLLECTION, sources, told)

    async def delete(self, services: Services, step: Step) -> None:
        [name] = step.names
        found = await documents.find_document_id(services, COLLECTION, name)
        with self.memory.writing((step.tenant, name), None) as write:
            await documents.delete_document(services, COLLECTION, found)
            write.known = True

    async def upload(self, services: Services, step: Step) -> None:
        names = {(step.tenant, name): write_text(step.tenant, name, step.turn) for name in step.names}
        self.memory.may_be |= {name: {None, text} for name, text in names.items()}
        sources = [_source(step.tenant, name, step.turn) for name in step.names]
        job = await documents.index_later(services, COLLECTION, sources)
        self.memory.files[job.id] = list(names.items())

    async def work(self, services: Services, step: Step) -> None:
        await services.worker().run_until_idle()

    async def reindex(self, services: Services, step: Step) -> None:
        await models.start_reindex(services, COLLECTION, force=True)

    async def reread(self, services: Services, step: Step) -> None:
        await models.start_reread(services, COLLECTION)

    async def backfill(self, services: Services, step: Step) -> None:
        await models.start_backfill(services, COLLECTION, MODELS[step.turn % 2])

    async def flip(self, services: Services, step: Step) -> None:
        await models.flip_model(services, COLLECTION, MODELS[step.turn % 2])

    async def forget(self, services: Services, step: Step) -> None:
        await models.forget_model(services, COLLECTION, MODELS[step.turn % 2])

    async def search(self, services: Services, step: Step) -> None:
        """Twice, so that the second one may come from the cache."""
        query = QUESTIONS[step.turn % len(QUESTIONS)]
        for _ in range(2):
            found = await find(services, query, COLLECTION, top_k=30)
            self._judge(step, found.passages)

    def _judge(self, step: Step, passages: Any) -> None:
        """Each passage is of its tenant, and of a text that its document has, or may have had meanwhile."""
        allowed = self.memory.texts(step.tenant)
        for one in passages:
            texts = allowed.get(one.external_id, set())
            if not any(text is not None and text[one.start : one.end] == one.content for text in texts):
                told = f"{step.kind} {step.turn}: {one.external_id} {one.content[:60]!r}"
                self.memory.wrong.append(("what is found is not stale, foreign or mixed", told))

    async def ask(self, services: Services, step: Step) -> None:
        await self._ask(services, step, resumable=False)

    async def resumable(self, services: Services, step: Step) -> None:
        await self._ask(services, step, resumable=True)

    async def cancel_run(self, services: Services, step: Step) -> None:
        await self._ask(services, step, resumable=True, cancelled=True)

    async def _ask(self, services: Services, step: Step, *, resumable: bool, cancelled: bool = False) -> None:
        session = f"talk {step.turn % 2}"
        question = Question(QUESTIONS[step.turn % len(QUESTIONS)], COLLECTION, new_id(), session_id=session)
        if resumable:
            self.memory.runs[question.run_id] = step.tenant
        task = await start(services, question, resumable=resumable)
        events: list[Event] = []
        async for item in task.events():
            events.append(item.event)
            if cancelled and len(events) == 2:
                await runs.cancel_run(services, question.run_id)
        ends = [event for event in events if isinstance(event, TERMINAL)]
        if len(ends) != 1 or events[-1] is not ends[0]:
            self.memory.wrong.append(
                ("exactly one terminal event", f"{step.kind}: {[type(one).__name__ for one in events]}")
            )
        degraded = getattr(getattr(ends[0], "answer", None), "degraded", ()) if ends else ()
        if not any("could not be saved" in one for one in degraded) and type(ends[0]).__name__ == "Answered":
            self.memory.answered[question.run_id] = (step.tenant, session)

    async def cancel_job(self, services: Services, step: Step) -> None:
        for job in await jobs.list_jobs(services):
            if not job.ended:
                await jobs.cancel_job(services, job.id)
                return

    async def communities(self, services: Services, step: Step) -> None:
        await documents.refresh_communities(services, COLLECTION, force=True)

    async def upkeep(self, services: Services, step: Step) -> None:
        await runs.bury_runs(services)
        await documents.end_abandoned(services)
        await runs.expire_runs(services)
        await jobs.expire_jobs(services)

    async def clear(self, services: Services, step: Step) -> None:
        await search.clear_cache(services)

    async def forget_conversation(self, services: Services, step: Step) -> None:
        session = f"talk {step.turn % 2}"
        self.memory.forgotten.add((step.tenant, session))
        await conversations.delete_history(services, session)

    async def migrate(self, services: Services, step: Step) -> None:
        """A database of its own, in which nothing else is at work."""
        name = f"{urlsplit(self.dsn).path[1:]}_{step.turn}"
        owner = await asyncpg.connect(self.dsn)
        try:
            struck = await migrate_struck(owner, self.dsn, name, step.faults)
            self.struck += [f"migrate {step.turn}: {what}" for what in struck]
        except AssertionError as error:
            self.memory.wrong.append(("a migration is finished by the next one", str(error)))
        finally:
            await owner.close()

    async def killed_worker(self, services: Services, step: Step) -> None:
        """A process of its own is killed."""
        [fault] = step.faults
        if await kill_worker(self.dsn, services.environment.home, services.environment.home / PACKAGES, fault.at):
            self.struck.append(f"{step.kind} {step.turn}: {fault}")


_WORK: Final[dict[str, Callable[[World, Services, Step], Awaitable[None]]]] = {
    "ingest": World.ingest, "replace": World.ingest, "delete": World.delete, "upload": World.upload, "work": World.work,
    "reindex": World.reindex, "reread": World.reread, "backfill": World.backfill, "flip": World.flip, "forget": World.forget,
    "search": World.search, "ask": World.ask, "resumable": World.resumable, "cancel run": World.cancel_run,
    "cancel job": World.cancel_job, "communities": World.communities, "upkeep": World.upkeep, "clear": World.clear,
    "forget conversation": World.forget_conversation, "migrate": World.migrate,
    "killed worker": World.killed_worker,
}  # fmt: skip


def _short(text: str | None) -> str | None:
    return text and text[:40]


def _environment(dsn: str, home: Path) -> Environment:
    return read_environment(
        {"CAIRN_DATABASE_URL": dsn, "CAIRN_HOME": str(home), "CAIRN_TENANT": "one", "CAIRN_EMBEDDING_MODEL": MODELS[0]}
    )


@contextlib.asynccontextmanager
async def open_process(dsn: str, home: Path) -> AsyncIterator[list[Services]]:
    """Services of one process for both tenants."""
    environment = _environment(dsn, home)
    async with open_services(environment, SettingsStore(initial=parse_settings(SETTINGS))) as one:
        async with one.database.connection() as connection:
            tenant = await connection.fetchval("SELECT rag.ensure_tenant('two')")
        yield [one, replace(one, principal=Principal(tenant, "two"), environment=replace(environment, tenant="two"))]


async def fill_template(dsn: str, home: Path) -> None:
    """Make a database that schedules begin with: its tables, the models, both tenants with their documents."""
    async with open_process(dsn, home) as tenants:
        for tenant, services in enumerate(tenants):
            await documents.index_now(services, COLLECTION, [_source(tenant, name, 0) for name in FIRST])
        for name in MODELS:
            await models.add_model(tenants[0], name)
        await tenants[0].worker().run_until_idle()
    owner = await asyncpg.connect(dsn)
    await owner.execute("UPDATE rag.documents SET loader_revision = 1 WHERE external_id = $1", FIRST[0])
    await owner.close()


@contextlib.asynccontextmanager
async def open_world(schedule: Schedule, dsn: str, home: Path) -> AsyncIterator[World]:
    """On a copy of the template, that nothing else uses."""
    async with contextlib.AsyncExitStack() as stack:
        owner, other = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
        stack.push_async_callback(owner.close)
        stack.push_async_callback(other.close)
        processes = [await stack.enter_async_context(open_process(dsn, home)) for _ in range(2)]
        yield World(schedule, dsn, owner, Outside(dsn, other), processes)


def _source(tenant: int, name: str, turn: int) -> Source:
    return text_source(name, write_text(tenant, name, turn))


__all__ = ["Violation", "World", "fill_template", "open_world"]
