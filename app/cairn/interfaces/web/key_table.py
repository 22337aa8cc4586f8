"""Keys of the tenant: made, shown once, revoked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from nicegui import ui

from cairn.domain.key import ApiKey
from cairn.domain.principal import Scope
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import BAD, LINE, beside_rows, confirm, icon_button, show_facts
from cairn.service import keys
from cairn.wiring import Services

SHOWN: Final = 100
SCOPES: Final[tuple[Scope, ...]] = ("read", "ask", "write", "admin")


async def show_keys(page: Page, services: Services) -> None:
    table = _KeyTable(page)
    table.draw()
    await table.fill(services)


@dataclass
class _KeyTable:
    page: Page

    def draw(self) -> None:
        text = self.page.text
        if self.page.session.credential is None:
            ui.label(text("keys.not_asked")).classes("text-sm opacity-80")
        with ui.row().classes("w-full items-center gap-2"):
            self.name = ui.input(text("keys.name")).props("dense").classes("min-w-40")
            self.scopes = ui.select(
                list(SCOPES), multiple=True, value=["read", "ask"], label=text("keys.scopes")
            ).props("dense use-chips").classes("min-w-40")  # fmt: skip
            lasting = {0: text("keys.for_ever"), 30: text("keys.month"), 365: text("keys.year")}
            self.days = ui.select(lasting, value=0, label=text("keys.lasts")).props("dense").classes("min-w-32")
            ui.button(text("keys.create"), icon="add", on_click=self._create).props("no-caps")
        self.rows = ui.column().classes("w-full gap-0").props("role=list")

    async def fill(self, services: Services) -> None:
        found = await keys.list_keys(services, limit=SHOWN)
        self.rows.clear()
        with self.rows:
            for key in found:
                self._draw_key(key)
            if not found:
                with beside_rows():
                    ui.label(self.page.text("keys.none")).classes("opacity-80")

    def _draw_key(self, key: ApiKey) -> None:
        text = self.page.text
        facts = [
            f"{key.shown}…", ", ".join(sorted(key.scopes)), (text("keys.created"), key.created_at),
            (text("keys.used"), key.last_used_at) if key.last_used_at else text("keys.unused"),
            (text("keys.expires"), key.expires_at) if key.expires_at else None,
        ]  # fmt: skip
        with ui.row().classes(f"w-full items-center gap-2 no-wrap py-1 {LINE}").props("role=listitem"):
            with ui.column().classes("grow gap-0 min-w-0"):
                ui.label(key.name).classes("font-medium break-words")
                show_facts(*facts)
            if key.revoked_at:
                ui.label(text("keys.revoked")).classes(f"text-sm {BAD}")
            else:
                icon_button("block", text("keys.revoke"), partial(self._revoke, key))

    async def _create(self) -> None:
        text = self.page.text
        with shown_errors():
            services = await self.page.session.services("admin")
            lasts = timedelta(days=self.days.value) if self.days.value else None
            _, secret = await keys.create_key(services, self.name.value or "", self.scopes.value, expires_in=lasts)
            self.name.value = ""
            await self.fill(services)
            with ui.dialog().props("persistent") as dialog, ui.card():
                ui.label(text("keys.shown_once"))
                ui.label(secret).classes("font-mono break-all select-all").props("data-secret")
                ui.button(text("documents.dismiss"), on_click=dialog.close).props("flat").classes("self-end")
            dialog.on("hide", dialog.delete)
            dialog.open()

    async def _revoke(self, key: ApiKey) -> None:
        text = self.page.text
        if await confirm(text("keys.revoke_question", name=key.name), text("keys.revoke"), text("ask.cancel")):
            with shown_errors():
                services = await self.page.session.services("admin")
                await keys.revoke_key(services, key.id)
                await self.fill(services)
