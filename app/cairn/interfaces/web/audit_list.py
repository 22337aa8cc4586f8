"""The audit log: who did what, newest first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from nicegui import ui

from cairn.domain.audit import AuditEvent
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import LINE, show_facts
from cairn.service.audit import list_events
from cairn.wiring import Services

SHOWN: Final = 50
"""Deeds at first, and more at each demand."""


async def show_audit(page: Page, services: Services) -> None:
    await _AuditList(page).draw(services)


@dataclass
class _AuditList:
    """`last`: time and id of the last deed that is shown."""

    page: Page
    last: tuple[datetime, UUID] | None = None

    async def draw(self, services: Services) -> None:
        self.rows = ui.column().classes("w-full gap-0").props("role=list")
        self.more = ui.button(self.page.text("documents.more"), on_click=self._show_more).props("flat no-caps")
        await self._add(services)
        if self.last is None:
            ui.label(self.page.text("operation.no_deeds")).classes("opacity-80")

    async def _show_more(self) -> None:
        with shown_errors():
            await self._add(await self.page.session.services("admin"))

    async def _add(self, services: Services) -> None:
        found = await list_events(services, before=self.last, limit=SHOWN + 1)
        with self.rows:
            for event in found[:SHOWN]:
                _draw_event(event)
                self.last = (event.occurred_at, event.id)
        self.more.set_visibility(len(found) > SHOWN)


def _draw_event(event: AuditEvent) -> None:
    with ui.column().classes(f"w-full gap-0 py-1 {LINE}").props("role=listitem"):
        ui.label(f"{event.action} {event.target}").classes("break-all")
        show_facts(event.occurred_at, event.caller_name or event.caller)
        if event.detail:
            ui.label(json.dumps(dict(event.detail), ensure_ascii=False)).classes("text-xs opacity-70 break-all")
