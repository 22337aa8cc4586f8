"""Traces: writing in the background, reading back."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from itertools import compress
from typing import Any
from uuid import UUID

import structlog
from pydantic_core import to_json

from cairn.db.queries import load_queries
from cairn.domain.principal import Principal
from cairn.domain.secrets import Mask, may_have_secrets
from cairn.domain.trace import BELOW_TOP_K, DayOfAnswers, LegTrace, RunSummary, RunTrace, StageVerdict
from cairn.errors import ReadOnlyError, RunLostError
from cairn.store import documents
from cairn.store.arrays import send_ids, send_numbers, send_texts
from cairn.store.session import Database

SQL = load_queries("traces")
ALIVE_SECONDS = 30.0
"""How long a run is taken to be under way after it was last traced so; it is traced more often than that."""
_RUN_COLUMNS = tuple(field.name for field in fields(RunTrace) if field.name not in ("tenant_id", "legs"))
_LEG_LISTS = tuple(field.name for field in fields(LegTrace) if field.name != "leg")
LOST = f"{RunLostError.code}: the process that ran it is gone; this is how far it had come"
log = structlog.get_logger(__name__)


async def insert(connection: Any, traces: Sequence[RunTrace]) -> None:
    """Write traces of the transaction's tenant, in one statement however many there are. Those of runs under way are replaced
    by later ones of the same run.

    Runs travel as JSON; lists of candidates, hundreds of elements in a trace, as bytes: for a plain search those that its
    statement gave.

    A run of a conversation is traced after its messages were saved. Where the conversation is gone by then, somebody has
    deleted it, and the run loses its text like those that were written before. The same with cited documents.
    """
    tenant_id, traces = traces[0].tenant_id, _latest(traces)
    deleted = await _deleted_sessions(connection, traces)
    await documents.hold(connection, Principal(tenant_id, ""), {key for trace in traces for key in trace.document_ids})
    await _insert(connection, traces, alone=False)
    if citing := [trace.id for trace in traces if trace.document_ids]:
        await connection.execute(SQL["forget_stale"], tenant_id, citing)
    if deleted:
        ended = [trace.id for trace in traces if trace.outcome != "running"]
        await connection.execute(SQL["blank_sessions"], sorted(deleted), ended)


async def insert_alone(connection: Any, traces: Sequence[RunTrace]) -> None:
    """The same of one tenant's traces that refer to nothing, outside a transaction: one round trip. What is written may be lost
    in a crash of the server."""
    assert not any(map(_refers, traces))
    await _insert(connection, _latest(traces), alone=True)


async def _insert(connection: Any, traces: Sequence[RunTrace], *, alone: bool) -> None:
    await connection.execute(SQL["insert"], traces[0].tenant_id, alone, _runs(traces), ALIVE_SECONDS, *_legs(traces))


def _refers(trace: RunTrace) -> bool:
    """Whether it quotes what somebody may have deleted meanwhile."""
    return bool(trace.document_ids) or trace.session_id is not None


def _latest(traces: Sequence[RunTrace]) -> list[RunTrace]:
    """One for each run: that of its end, where there is one."""
    latest: dict[UUID, RunTrace] = {}
    for trace in traces:
        if trace.id not in latest or latest[trace.id].outcome == "running":
            latest[trace.id] = trace
    return list(latest.values())


async def bury(connection: Any, principal: Principal) -> None:
    """End the traces of runs whose process died, as failed."""
    await connection.execute(SQL["bury"], principal.tenant_id, LOST)


async def _deleted_sessions(connection: Any, traces: Sequence[RunTrace]) -> set[str]:
    # a conversation begins with the end of its first run: until then it is not there, but not deleted either
    named = {trace.session_id for trace in traces if trace.session_id is not None and trace.outcome != "running"}
    if not named:
        return set()
    held = await connection.fetch(SQL["hold_sessions"], traces[0].tenant_id, list(named))
    return named - {row["id"] for row in held}


def _runs(traces: Sequence[RunTrace]) -> str:
    """Rows of rag.runs."""
    rows = [{name: getattr(trace, name) for name in _RUN_COLUMNS} for trace in traces]
    written: str = to_json(rows, fallback=dict).decode()
    if not may_have_secrets(written):
        return written
    return to_json([_masked(row) for row in rows], fallback=dict).decode()


def _masked(row: dict[str, Any]) -> dict[str, Any]:
    """Without keys that somebody typed into the question, or that a model or an error repeated."""
    mask = Mask.of(*_texts(row))
    return row if mask is None else {name: mask.value(value, derived=name == "plan") for name, value in row.items()}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _legs(traces: Sequence[RunTrace]) -> list[Any]:
    """Arguments of rag.insert_traces, from `started` on: columns of rag.run_legs."""
    rows = [
        (trace.started_at, trace.id, leg.leg, send_ids(leg.passage_ids), send_ids(leg.chunk_ids),
         send_numbers(leg.scores), send_numbers(leg.shares), send_texts(_told(leg.fates)))
        for trace in traces for leg in trace.legs
    ]  # fmt: skip
    return [list(column) for column in zip(*rows, strict=True)] or [[]] * 8


def _told(fates: Sequence[str]) -> Sequence[str]:
    """Without the many at the end that say the same."""
    end = len(fates)
    while end and fates[end - 1] == BELOW_TOP_K:
        end -= 1
    return fates[:end]


async def get(connection: Any, principal: Principal, run_id: UUID, *, as_it_ended: bool = False) -> RunTrace | None:
    """Candidates that are gone are left out for those from whom something may be withheld. `as_it_ended`: without what
    documents became since."""
    row = await connection.fetchrow(SQL["get"], principal.tenant_id, run_id, LOST)
    if row is None:
        return None
    legs = await connection.fetch(SQL["legs"], principal.tenant_id, run_id)
    gone = {row["id"] for row in await connection.fetch(SQL["gone"], principal.tenant_id, run_id)}
    values: dict[str, Any] = _values(row)
    if not as_it_ended:
        values["answer"] = await _with_changes(connection, principal, values["answer"])
    return RunTrace(**values, legs=tuple(_without(gone, _leg(**_values(leg))) for leg in legs))


def _without(gone: set[UUID], leg: LegTrace) -> LegTrace:
    if gone.isdisjoint(leg.passage_ids):
        return leg
    kept = [passage not in gone for passage in leg.passage_ids]
    lists: dict[str, Any] = {name: tuple(compress(getattr(leg, name), kept)) for name in _LEG_LISTS}
    return LegTrace(leg.leg, **lists)


def _leg(*, leg: str, passage_ids: Sequence[UUID], fates: tuple[str, ...], **lists: Any) -> LegTrace:
    if leg.startswith(("fused", "merged")):
        fates += (BELOW_TOP_K,) * (len(passage_ids) - len(fates))
    return LegTrace(leg, passage_ids, fates=fates, **lists)


async def page(
    connection: Any,
    principal: Principal,
    *,
    kind: str | None,
    outcome: str | None,
    words: str | None,
    days: int | None,
    before: tuple[datetime, UUID] | None,
    limit: int,
) -> list[RunSummary]:
    """Newest first. `before`: beginning and id of the last run of the page before."""
    moment, last = before or (None, None)
    rows = await connection.fetch(
        SQL["page"], principal.tenant_id, kind, outcome, words, days, moment, last, limit, LOST
    )
    return [RunSummary(**_values(row)) for row in rows]


async def days(connection: Any, principal: Principal, count: int, zone: str) -> list[DayOfAnswers]:
    """What became of the questions of so many days, by day of an IANA time zone, the oldest first."""
    return [DayOfAnswers(**dict(row)) for row in await connection.fetch(SQL["days"], principal.tenant_id, count, zone)]


async def explain(connection: Any, run_id: UUID, passage_id: UUID) -> list[StageVerdict]:
    """Why a run of the transaction's tenant, which there is, returned a passage or not."""
    return [StageVerdict(**dict(row)) for row in await connection.fetch(SQL["explain"], run_id, passage_id)]


async def _with_changes(connection: Any, principal: Principal, answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The traced answer, with `source_changed` where it cites what has a later version by now, and `changed` there; whether that
    supports it nobody has checked."""
    cited = answer.get("citations") or ()
    now = await documents.find_versions(connection, principal, {UUID(one["document_id"]) for one in cited})
    marked = [{**one, "changed": now.get(UUID(one["document_id"]), 0) > one["version"]} for one in cited]
    if not any(one["changed"] for one in marked):
        return answer
    return {**answer, "source_changed": True, "grounded": None, "citations": marked}


def _values(row: Any) -> dict[str, Any]:
    """A row as arguments: arrays become tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


async def forget_collection(connection: Any, principal: Principal, collection_id: UUID) -> None:
    """Blank what traced answers quote from the documents of a collection; part of its deletion."""
    await connection.execute(SQL["forget_collection"], principal.tenant_id, collection_id)


class TraceWriter:
    """Writes traces in batches beside the requests. The queue is bounded: what does not fit is dropped and counted.

    Traces wait a moment for company: most of what writing one costs is its transaction. A batch is made in one go, some 5 ms in
    which no request is served, so it is no larger than that.
    """

    BATCH = 50
    LINGER_SECONDS = 1.0

    def __init__(self, database: Database, queue_size: int) -> None:
        self._database = database
        self._queue: asyncio.Queue[RunTrace] = asyncio.Queue(maxsize=queue_size)
        self._task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._flushing = 0
        self.dropped = 0

    def record(self, trace: RunTrace) -> None:
        """Never waits and never raises."""
        try:
            self._queue.put_nowait(trace)
        except asyncio.QueueFull:
            self.dropped += 1
            return
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain())
        if self._queue.qsize() >= self.BATCH:
            self._hurry.set()

    async def flush(self) -> None:
        """Wait until everything recorded so far is in the database (or dropped)."""
        self._flushing += 1
        self._hurry.set()
        try:
            await self._queue.join()
        finally:
            self._flushing -= 1

    async def _drain(self) -> None:
        while not self._queue.empty():
            if not self._flushing and self._queue.qsize() < self.BATCH:
                self._hurry.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._hurry.wait(), self.LINGER_SECONDS)
            batch = [self._queue.get_nowait() for _ in range(min(self.BATCH, self._queue.qsize()))]
            try:
                await self._write(batch)
            except ReadOnlyError:
                pass  # a standby keeps none, which health says
            except Exception:
                self.dropped += len(batch)
                log.exception("traces.dropped", count=len(batch))
            finally:
                for _ in batch:
                    self._queue.task_done()

    async def _write(self, batch: list[RunTrace]) -> None:
        by_tenant: dict[int, list[RunTrace]] = defaultdict(list)
        for trace in batch:
            by_tenant[trace.tenant_id].append(trace)
        for tenant_id, traces in by_tenant.items():
            principal = Principal(tenant_id, "")
            if any(map(_refers, traces)):
                async with self._database.transaction(principal, config={"synchronous_commit": "off"}) as connection:
                    await insert(connection, traces)
            else:
                async with self._database.autocommit(principal) as connection:
                    await insert_alone(connection, traces)

    async def close(self) -> None:
        await self.flush()
