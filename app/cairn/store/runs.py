"""Resumable runs: row in, domain value out. Each function runs inside a transaction of the principal's tenant."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Literal, get_args
from uuid import UUID

from pydantic import TypeAdapter

from cairn.db.queries import load_queries
from cairn.domain.answer import Citation
from cairn.domain.event import (
    TERMINAL,
    Answered,
    Cancelled,
    Event,
    Failed,
    Judgement,
    Numbered,
    Progress,
    RunState,
    RunStatus,
    SourcesFound,
    Surface,
)
from cairn.domain.passage import Passage
from cairn.domain.principal import Principal
from cairn.domain.question import Question
from cairn.domain.secrets import Mask
from cairn.errors import CairnError, RunLostError, TextDeletedError
from cairn.store import documents, persons, traces

SQL = load_queries("runs")
PAGE = 200
"""Events per reading."""
LOST = Failed(RunLostError("the process that ran it is gone; ask again"))

Signal = Literal["go_on", "cancel"]


async def open_run(
    connection: Any, principal: Principal, question: Question, surface: Surface, owner: UUID, lease: timedelta
) -> Mapping[str, Any] | None:
    """The `session_id` of the run, which is of no conversation where that is withheld from who asks; None: the run id is taken.
    Raises ConflictError."""
    await persons.require_kept(connection, principal)
    arguments = (question.run_id, surface, question.session_id, owner, lease, principal.caller.id)
    row: Mapping[str, Any] | None = await connection.fetchrow(SQL["open"], principal.tenant_id, *arguments)
    return row


async def asked_by(connection: Any, principal: Principal, run_id: UUID) -> str | None:
    """Who asked a resumable run; None where that is not known."""
    found: str | None = await connection.fetchval(SQL["asked_by"], principal.tenant_id, run_id)
    return found


async def asked_as(connection: Any) -> tuple[str, ...]:
    """Names of the caller that access lists of the tenant name: who has them all may read as much."""
    return tuple(await connection.fetchval(SQL["asked_as"]))


async def is_withheld(connection: Any) -> bool:
    """Whether something of the tenant may be withheld from the caller."""
    return bool(await connection.fetchval(SQL["is_withheld"]))


async def append(
    connection: Any,
    principal: Principal,
    run_id: UUID,
    owner: UUID,
    lease: timedelta,
    stored: int,
    events: Sequence[Event],
    mask: Mask | None = None,
) -> Signal | None:
    """Add events after the `stored` ones before them, and renew the lease; without events only that. `mask`: covers the keys
    that stood in the question. `connection` may see more than the `principal`, who asked. None: the run is not the
    owner's any more, or these events are stored already.

    What they quote from a document that is gone by now is not kept.
    """
    quoted = set().union(*map(documents_in, events))
    gone = bool(quoted - await documents.hold(connection, principal, quoted))
    texts = [event_to_text(event, mask) for event in events]
    cancel = await connection.fetchval(
        SQL["append"], principal.tenant_id, run_id, owner, lease, stored, [kind for kind, _ in texts],
        [isinstance(event, TERMINAL) for event in events], [data for _, data in texts], _status(events), gone,
        list(quoted), list(principal.names),
    )  # fmt: skip
    if cancel is None:
        return None
    if gone:
        await connection.execute(SQL["blank"], principal.tenant_id, run_id)
    return "cancel" if cancel else "go_on"


def _status(events: Sequence[Event]) -> RunStatus | None:
    """What the last of them makes of the run."""
    match events[-1] if events else None:
        case Answered():
            return "ok"
        case Failed():
            return "error"
        case Cancelled():
            return "cancelled"
    return None


async def get(connection: Any, principal: Principal, run_id: UUID) -> RunState | None:
    row = await connection.fetchrow(SQL["get"], principal.tenant_id, run_id)
    if row is None:
        return None
    progress = row["progress"] and event_from_text("Progress", row["progress"], terminal=False)
    assert progress is None or isinstance(progress, Progress)
    return RunState(**{**dict(row), "progress": progress})


async def events(
    connection: Any, principal: Principal, run_id: UUID, after: int, limit: int = PAGE
) -> tuple[list[Numbered], int]:
    """The next events that still say something, and the place of the last one that was looked at."""
    rows = await connection.fetch(SQL["events"], principal.tenant_id, run_id, after, limit)
    found = [(row["seq"], event_from_text(row["kind"], row["data"], terminal=row["terminal"])) for row in rows]
    return [Numbered(seq, event) for seq, event in found if event is not None], rows[-1]["seq"] if rows else after


async def source_changed(connection: Any, principal: Principal, run_id: UUID) -> bool:
    """Whether the answer of the run cites text of an earlier version of a document; by its trace or its last event."""
    traced = await connection.fetchval(SQL["citations"], principal.tenant_id, run_id)
    if traced is not None:
        cited = {UUID(one["document_id"]): int(one["version"]) for one in traced}
    else:
        data = await connection.fetchval(SQL["last_answer"], principal.tenant_id, run_id)
        event = data and event_from_text("Answered", data, terminal=True)
        cited = {one.document_id: one.version for one in event.answer.citations} if isinstance(event, Answered) else {}
    now = await documents.find_versions(connection, principal, cited)
    return any(now[document] > cited[document] for document in now)


async def request_cancel(connection: Any, principal: Principal, run_id: UUID) -> None:
    """The owner learns of it when it next renews its lease."""
    await connection.execute(SQL["request_cancel"], principal.tenant_id, run_id)


async def bury(connection: Any, principal: Principal, run_id: UUID | None = None) -> None:
    """End a run, or all of the tenant, whose process died: as failed, with a last event that says so."""
    await connection.execute(SQL["bury"], principal.tenant_id, run_id, *event_to_text(LOST), traces.LOST)


async def find_run(
    connection: Any, principal: Principal, run_id: UUID
) -> tuple[datetime, str | None, RunStatus] | None:
    """When a run began, traced or resumable, its conversation, and what became of it; None where there is none."""
    row = await connection.fetchrow(SQL["known"], principal.tenant_id, run_id)
    return None if row is None else (row["started_at"], row["session_id"], row["status"])


async def expire(connection: Any, keep_days: int, keep_traces_days: int, limit: int) -> int:
    """Of all tenants: delete up to `limit` runs that began more than `keep_days` ago, and feedback on runs whose traces
    are gone; how many runs."""
    return len(await connection.fetch(SQL["expire"], keep_days, keep_traces_days, limit))


# --- events as text and back; kinds are the names of the classes in cairn/domain/event.py -------------------------------

KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}
GONE = "a document that this run quotes, or its conversation, was deleted since, and its text with it; ask again"


def event_to_text(event: Event, mask: Mask | None = None) -> tuple[str, str]:
    """Kind and fields. Plain ASCII, so that NUL and lone surrogates of a model's reply can be stored."""
    kind, fields = type(event).__name__, {}
    if isinstance(event, Failed):
        error = event.error
        fields = {"code": error.code, "detail": error.detail, "extra": error.extra}
    else:
        fields = _adapter(kind).dump_python(event, mode="json")
    return kind, json.dumps(fields if mask is None else mask.value(fields), default=str)


def event_from_text(kind: str, data: str | None, *, terminal: bool) -> Event | None:
    """The event; None where its text is gone, unless it ends the run: that it does is never lost."""
    if data is None:
        return Failed(TextDeletedError(GONE)) if terminal else None
    fields = json.loads(data)
    if kind == "Failed":
        return Failed(_error(**fields))
    event: Event = _adapter(kind).validate_python(fields)
    return event


def documents_in(event: Event) -> set[UUID]:
    """Documents that an event shows or quotes."""
    match event:
        case SourcesFound(passages):
            return {passage.document_id for passage in passages if passage.url is None}
        case Answered(answer):
            told: tuple[Citation | Passage, ...] = (*answer.citations, *answer.sources)
            return {one.document_id for one in told if one.url is None} | {*answer.drew_on}
        case Progress(documents=documents):
            return set(documents)
    return set()


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(KINDS[kind])


def _error(code: str, detail: str, extra: dict[str, Any]) -> CairnError:
    """An error of the class that has the code."""
    waiting = [CairnError]
    while waiting:
        kind = waiting.pop()
        if kind.code == code:
            return kind(detail, **extra)
        waiting.extend(kind.__subclasses__())
    return CairnError(detail, **extra)


# --- what users think of answers --------------------------------------------------------------------------------------


async def put_feedback(
    connection: Any,
    principal: Principal,
    run_id: UUID,
    started_at: datetime,
    session_id: str | None,
    rating: int,
    comment: str | None,
) -> Judgement:
    """Judge a run, or replace what was said of it. Raises ConflictError."""
    await persons.require_kept(connection, principal)
    row = await connection.fetchrow(
        SQL["put_feedback"], principal.tenant_id, run_id, started_at, session_id, rating, comment, principal.caller.id
    )
    return Judgement(**dict(row))


async def list_feedback(connection: Any, principal: Principal, run_ids: Sequence[UUID]) -> list[Judgement]:
    """What was said of these runs; one at most of each."""
    rows = await connection.fetch(SQL["list_feedback"], principal.tenant_id, list(run_ids))
    return [Judgement(**dict(row)) for row in rows]
