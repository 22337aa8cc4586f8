"""rag.audit_events: who did what, when. The serving role can add to it and read it, and do nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.audit import AuditEvent
from cairn.domain.ids import new_id
from cairn.domain.principal import LOCAL, Principal
from cairn.store.session import Database

SQL = load_queries("audit")

TEXT_CHARS = 500
"""Longer names of targets and longer texts in details are cut; the table takes 2,000 and 16,000 bytes."""

ReadWay = Literal["text", "file", "passage", "search", "answer", "proof", "export"]
"""How a restricted document was read."""
READ_RESTRICTED: Final = "document.read_restricted"
OthersWay = Literal["messages", "continued", "trace", "events", "proof", "export"]
"""How somebody read what others had asked."""
READ_OTHERS: Final = "conversation.read_others"
MOST_READ: Final = 300
"""Ids of documents in one line of the audit log; it says how many there were."""


async def record(
    connection: Any, principal: Principal, action: str, target: str, detail: Mapping[str, Any] | None = None
) -> None:
    """Add a deed, in the transaction that does it: what is rolled back was not done, what was done is recorded. `action` is
    `<what>.<deed>` in lower case. Keep secrets and texts of documents out of `detail`."""
    who = principal.caller
    kept = {name: _cut(value) if isinstance(value, str) else value for name, value in (detail or {}).items()}
    arguments = (new_id(), who.id, who.name, action, _cut(target), kept)
    await connection.execute(SQL["record"], principal.tenant_id, *arguments)


async def record_restricted_reads(
    database: Database, principal: Principal, way: ReadWay, documents: Collection[UUID], target: UUID | None = None
) -> None:
    """Add a line (`document.read_restricted`) where the caller was shown text or files of documents by the scope admin alone:
    their access lists do not name it. `target`: the search or run that showed them; None: the document itself. Nothing is
    recorded of who has no name: a server without keys, the command line, the library."""
    if not documents or not leaves_record(principal):
        return
    async with database.transaction(principal, readonly=True) as connection:
        meant = (principal.tenant_id, list(documents), list(principal.caller.names))
        read = [str(row["id"]) for row in await connection.fetch(SQL["read_by_right_alone"], *meant)]
    if read:
        detail = {"way": way, "documents": read[:MOST_READ], "count": len(read)}
        async with database.transaction(principal) as connection:
            await record(connection, principal, READ_RESTRICTED, str(target or read[0]), detail)


async def record_read_of_others(
    database: Database, principal: Principal, way: OthersWay, target: str, asked_by: Collection[str]
) -> None:
    """Add a line (`conversation.read_others`) where the caller, by the scope admin, is to be shown what others have asked and
    were answered. `target`: the conversation or run; `asked_by`: who asked there, nobody where that is not known."""
    if leaves_record(principal) and set(asked_by) != {principal.caller.id}:
        async with database.transaction(principal) as connection:
            await record(connection, principal, READ_OTHERS, target, {"way": way})


def leaves_record(principal: Principal) -> bool:
    """Whether what it reads by the scope admin is recorded: of who has no name, nothing is."""
    return principal.caller.reads_all and principal.caller.id != LOCAL.id


def _cut(text: str) -> str:
    return text[:TEXT_CHARS].replace("\x00", "")


async def list_events(
    connection: Any,
    principal: Principal,
    *,
    action: str | None = None,
    caller: str | None = None,
    since: datetime | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[AuditEvent]:
    """Newest first. `action`: one, or all of a kind (`key`); `before`: time and id of the last event of the page before."""
    moment, last = before or (None, None)
    rows = await connection.fetch(SQL["list"], principal.tenant_id, action, caller, since, moment, last, limit)
    return [AuditEvent(**dict(row)) for row in rows]


async def expire(connection: Any, keep_days: int) -> int:
    """Delete what is older, of all tenants; how many."""
    return int(await connection.fetchval(SQL["expire"], keep_days))
