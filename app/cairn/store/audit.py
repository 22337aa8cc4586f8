"""rag.audit_events: who did what, when. The serving role can add to it and read it, and do nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.audit import AuditEvent
from cairn.domain.ids import new_id
from cairn.domain.principal import Principal

SQL = load_queries("audit")

TEXT_CHARS = 500
"""Longer names of targets and longer texts in details are cut; the table takes 2,000 and 16,000 bytes."""


async def record(
    connection: Any, principal: Principal, action: str, target: str, detail: Mapping[str, Any] | None = None
) -> None:
    """Add a deed, in the transaction that does it: what is rolled back was not done, what was done is recorded. `action` is
    `<what>.<deed>` in lower case. Keep secrets and texts of documents out of `detail`."""
    who = principal.caller
    kept = {name: _cut(value) if isinstance(value, str) else value for name, value in (detail or {}).items()}
    arguments = (new_id(), who.id, who.name, action, _cut(target), kept)
    await connection.execute(SQL["record"], principal.tenant_id, *arguments)


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
