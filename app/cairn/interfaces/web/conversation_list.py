"""The conversations beside the room where one asks: found again by their words, renamed, deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from nicegui import ui

from cairn.domain.question import Conversation
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import beside_rows, confirm, icon_button
from cairn.service import conversations

SHOWN: Final = 30
"""Conversations at first, and more at each demand."""


@dataclass
class ConversationList:
    """`current` and `collection` tell which conversation is open, and what is asked there."""

    page: Page
    current: Callable[[], str]
    collection: Callable[[], str]
    words: str = ""

    def draw(self) -> None:
        """A column; on a narrow screen it is folded below a button."""
        text = self.page.text
        fold = ui.button(text("ask.conversations"), icon="history").props("flat no-caps dense aria-expanded=false")
        fold.classes("lg:hidden")
        with ui.column().classes("conversations w-64 max-lg:w-full max-lg:hidden shrink-0 gap-1") as column:
            column.props("role=navigation").props["aria-label"] = text("ask.conversations")
            ui.button(text("ask.new"), icon="add", on_click=self._begin).props("outline no-caps").classes("w-full")
            find = ui.input(on_change=lambda event: self._find(event.value or ""))
            find.props("dense clearable debounce=300 maxlength=200").classes("w-full")
            find.props["aria-label"] = find.props["placeholder"] = text("ask.find")
            self.rows = ui.column().classes("w-full gap-0").props("role=list")

        def toggle() -> None:
            column.classes(toggle="max-lg:hidden")
            fold.props(f"aria-expanded={str('max-lg:hidden' not in column.classes).lower()}")

        fold.on_click(toggle)

    async def refresh(self) -> None:
        """Show those that there are now."""
        services = await self.page.session.services("read")
        found = await conversations.list_conversations(services, text=self.words, limit=SHOWN + 1)
        self.rows.clear()
        with self.rows:
            if not found:
                told = "ask.none_found" if self.words else "ask.none_yet"
                with beside_rows():
                    ui.label(self.page.text(told)).classes("text-sm opacity-70 p-2")
            self._draw_some(found)

    def _draw_some(self, found: list[Conversation]) -> None:
        for one in found[:SHOWN]:
            self._draw(one)
        if len(found) > SHOWN:
            last = found[SHOWN - 1]
            with beside_rows() as last_row:
                more = ui.button(self.page.text("ask.more")).props("flat dense no-caps")

            async def read_on() -> None:
                with shown_errors():
                    older = await self._read((last.last_used_at, last.session_id))
                    last_row.delete()
                    with self.rows:
                        self._draw_some(older)

            more.on_click(read_on)

    async def _read(self, before: tuple[datetime, str]) -> list[Conversation]:
        services = await self.page.session.services("read")
        return await conversations.list_conversations(services, text=self.words, before=before, limit=SHOWN + 1)

    def _draw(self, one: Conversation) -> None:
        text, title = self.page.text, one.title or one.session_id
        address = urlencode({"conversation": one.session_id, "collection": one.collection or self.collection()})
        with ui.row().classes("w-full items-center gap-0 no-wrap conversation rounded").props("role=listitem"):
            link = ui.link(title, f"/?{address}").classes("grow min-w-0 truncate p-2 text-sm text-inherit no-underline")
            link.props["title"] = title
            if one.session_id == self.current():
                link.props("aria-current=page").classes("font-bold")
            if self.page.session.may("ask"):
                icon_button("edit", f"{text('ask.rename')}: {title}", lambda: self._rename(one)).props("size=sm")
                icon_button("delete", f"{text('ask.delete')}: {title}", lambda: self._delete(one)).props("size=sm")

    async def _find(self, words: str) -> None:
        self.words = words
        with shown_errors():
            await self.refresh()

    def _begin(self) -> None:
        ui.navigate.to(f"/?{urlencode({'collection': self.collection()})}")

    async def _rename(self, one: Conversation) -> None:
        text = self.page.text
        with ui.dialog() as dialog, ui.card().classes("w-96 max-w-full"):
            title = ui.input(text("ask.rename_to"), value=one.title).props("autofocus maxlength=200").classes("w-full")
            title.on("keydown.enter", lambda: dialog.submit(title.value))
            with ui.row().classes("w-full justify-end"):
                ui.button(text("ask.cancel"), on_click=lambda: dialog.submit(None)).props("flat no-caps")
                ui.button(text("ask.rename"), on_click=lambda: dialog.submit(title.value)).props("no-caps")
        wanted = await dialog
        dialog.delete()
        if wanted is None:
            return
        with shown_errors():
            services = await self.page.session.services("ask")
            await conversations.rename_conversation(services, one.session_id, wanted)
            await self.refresh()

    async def _delete(self, one: Conversation) -> None:
        text = self.page.text
        if not await confirm(text("ask.delete_question"), text("ask.delete"), text("ask.cancel")):
            return
        with shown_errors():
            await conversations.delete_history(await self.page.session.services("ask"), one.session_id)
            if one.session_id == self.current():
                self._begin()
            else:
                await self.refresh()
