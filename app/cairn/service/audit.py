"""Who did what, when: reading the audit log, and recording what the settings file does to this process.

Other deeds are recorded where they are done, in the same transaction (cairn/store/audit.py).
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog

from cairn.domain.audit import AuditEvent
from cairn.errors import CairnError
from cairn.settings import Settings
from cairn.settings.store import changed_keys
from cairn.store import audit
from cairn.wiring import Services

log = structlog.get_logger(__name__)

KEYS_SHOWN = 50
"""Names of changed settings in one event; their number is there in any case."""


async def list_events(
    services: Services,
    *,
    action: str | None = None,
    caller: str | None = None,
    since: datetime | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[AuditEvent]:
    """Newest first. `action`: one, or all of a kind (`key`); `since`: not before it; `before`: time and id of the last event of
    the page before."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await audit.list_events(
            connection, services.principal, action=action, caller=caller, since=since, before=before, limit=limit
        )


async def follow_settings(services: Services) -> None:
    """Follow the settings file until cancelled, and record what became of each change of it: every process that follows the
    file records for itself, in the log of its own tenant."""
    seen = _Seen(services.settings.current, services.settings.problem)

    async def note_change() -> None:
        await seen.record(services)

    await services.settings.watch(on_reload=note_change)


@dataclass
class _Seen:
    """What was last known of the settings file."""

    settings: Settings
    problem: str | None

    async def record(self, services: Services) -> None:
        """What changed since. A database that is away costs the record, not the settings."""
        before, now, problem = self.settings, services.settings.current, services.settings.problem
        file, process = str(services.settings.path), f"{socket.gethostname()}:{os.getpid()}"
        deeds: list[tuple[str, dict[str, Any]]] = []
        if now != before:
            keys = changed_keys(before, now)
            detail = {"before": before.revision, "after": now.revision, "keys": keys[:KEYS_SHOWN], "changed": len(keys)}
            deeds.append(("settings.reload", {**detail, "process": process}))
        if problem is not None and problem != self.problem:
            deeds.append(("settings.refuse", {"problem": problem, "kept": now.revision, "process": process}))
        self.settings, self.problem = now, problem
        if not deeds:
            return
        try:
            async with services.database.transaction(services.principal) as connection:
                for action, detail in deeds:
                    await audit.record(connection, services.principal, action, file, detail)
        except CairnError as error:
            log.warning("audit.lost", actions=[action for action, _ in deeds], problem=error.detail)
