"""A source for a collection is asked for, and what becomes of its documents when it goes."""

from __future__ import annotations

from typing import Final

from nicegui import ui

from cairn.domain.connected_source import ConnectedSource, SourceWish
from cairn.errors import CairnError
from cairn.interfaces.web.access_form import list_readers
from cairn.interfaces.web.frame import Page
from cairn.service import sources

_EVERY: Final = {"ten_minutes": 600, "hour": 3600, "day": 86_400, "asked": 0}
"""Seconds between two synchronisations that are offered; others are for the command line and the API."""


async def add_source(page: Page, collection: str) -> bool:
    """Ask until one is added; False where the reader gives up. What is refused is said in the form, which stays as it is."""
    text = page.text

    async def add() -> None:
        where = (address.value or "").strip()
        readers = list_readers(who.value or "")
        wish = SourceWish(
            where, (prefix.value or "").strip() or sources.default_prefix(where), interval_seconds=_EVERY[every.value],
            access={"": readers} if readers else {},
        )  # fmt: skip
        name = (secret_name.value or "").strip()
        secrets = {name: secret.value or ""} if name or secret.value else {}
        try:
            await sources.add_source(await page.session.services("admin"), collection, wish, secrets)
        except CairnError as error:
            refused.text = error.detail
            refused.set_visibility(True)
        else:
            dialog.submit(True)

    with ui.dialog() as dialog, ui.card().classes("w-[32rem] max-w-full gap-2"):
        dialog.props["aria-label"] = text("sources.add")
        ui.label(text("sources.add")).classes("text-lg font-medium").props("role=heading aria-level=2")
        address = ui.input(text("sources.address"), placeholder="https://docs.example.org/sitemap.xml").classes(
            "w-full"
        )
        address.props("autofocus")
        ui.label(text("sources.address_hint")).classes("text-xs opacity-70")
        prefix = ui.input(text("sources.prefix")).classes("w-full")
        offered = {name: text(f"sources.every_{name}") for name in _EVERY}
        every = ui.select(offered, value="hour", label=text("sources.every"))
        every.classes("w-full")
        with ui.row().classes("w-full gap-2"):
            secret_name = ui.input(text("sources.secret_name")).classes("grow basis-40").props("autocomplete=off")
            secret = ui.input(text("sources.secret"), password=True).classes("grow basis-40")
            secret.props("autocomplete=new-password")
        ui.label(text("sources.secret_hint")).classes("text-xs opacity-70")
        who = ui.textarea(text("access.readers")).classes("w-full font-mono").props("autogrow")
        ui.label(text("sources.readers_hint")).classes("text-xs opacity-70")
        refused = ui.label().classes("text-sm text-negative break-words w-full").props("role=alert")
        refused.set_visibility(False)
        with ui.row().classes("w-full justify-end"):
            ui.button(text("documents.cancel"), on_click=lambda: dialog.submit(False)).props("flat no-caps")
            ui.button(text("sources.follow"), on_click=add).props("unelevated no-caps")
    added = bool(await dialog)
    dialog.delete()
    return added


async def ask_what_stays(page: Page, source: ConnectedSource) -> bool | None:
    """Before a source is removed: whether its documents go, too; None where it stays."""
    text = page.text
    with ui.dialog() as dialog, ui.card().classes("w-[32rem] max-w-full"):
        dialog.props["aria-label"] = text("sources.remove", address=source.wish.address)
        ui.label(text("sources.remove_question", address=source.wish.address)).classes("break-words max-w-full")
        with ui.row().classes("w-full justify-end"):
            ui.button(text("documents.cancel"), on_click=lambda: dialog.submit(None)).props("flat no-caps autofocus")
            ui.button(text("sources.keep_documents"), on_click=lambda: dialog.submit(False)).props("flat no-caps")
            gone = ui.button(text("sources.delete_documents"), on_click=lambda: dialog.submit(True))
            gone.props("no-caps color=negative")
    answer = await dialog
    dialog.delete()
    return answer if isinstance(answer, bool) else None
