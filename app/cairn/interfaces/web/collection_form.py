"""A new collection, and what people call one that is there."""

from __future__ import annotations

from typing import Final

from nicegui import ui

from cairn.domain.document import Collection
from cairn.errors import CairnError
from cairn.interfaces.web.frame import Page
from cairn.service import documents

_MODELS: Final = ("auto", "e5", "minilm")
"""What a new collection may be served by, as `POST /collections` takes it; others are for who writes settings."""


async def create_collection(page: Page) -> Collection | None:
    """Ask until one is made; None where the reader gives up. What is refused is said in the form, which keeps what was typed."""
    text = page.text

    async def create() -> None:
        try:
            services = await page.session.services("write")
            wanted = (name.value or "").strip()
            dialog.submit(await documents.create_collection(services, None, model.value, wanted))
        except CairnError as error:
            name.error = error.detail

    with ui.dialog() as dialog, ui.card().classes("w-[28rem] max-w-full"):
        dialog.props["aria-label"] = text("documents.new")
        ui.label(text("documents.new")).classes("text-lg font-medium").props("role=heading aria-level=2")
        name = ui.input(text("documents.collection_name"), placeholder=text("documents.new_hint")).classes("w-full")
        name.props("autofocus maxlength=200").on("keydown.enter", create)
        called = ui.label().classes("text-xs opacity-70")
        name.on_value_change(lambda event: called.set_text(_called(page, event.value or "")))
        ui.label(text("documents.model")).classes("mt-2").props("id=model-of-collection")
        model = ui.radio({one: text(f"documents.model_{one}") for one in _MODELS}, value=_MODELS[0]).classes("w-full")
        model.props("dense aria-labelledby=model-of-collection")
        with ui.row().classes("w-full justify-end"):
            ui.button(text("documents.cancel"), on_click=lambda: dialog.submit(None)).props("flat no-caps")
            ui.button(text("documents.create"), on_click=create).props("unelevated no-caps")
    made = await dialog
    dialog.delete()
    return made if isinstance(made, Collection) else None


def _called(page: Page, words: str) -> str:
    name = documents.name_from(words) if words.strip() else ""
    return page.text("documents.called", name=name) if name and name != words.strip() else ""


async def rename_collection(page: Page, collection: Collection) -> Collection | None:
    """The same for what people call one."""
    text = page.text

    async def rename() -> None:
        try:
            services = await page.session.services("write")
            wanted = (name.value or "").strip() or None
            dialog.submit(await documents.rename_collection(services, collection.name, wanted))
        except CairnError as error:
            name.error = error.detail

    with ui.dialog() as dialog, ui.card().classes("w-[28rem] max-w-full"):
        dialog.props["aria-label"] = text("documents.rename")
        ui.label(text("documents.rename")).classes("text-lg font-medium").props("role=heading aria-level=2")
        name = ui.input(text("documents.collection_name"), value=collection.shown_name).classes("w-full")
        name.props("autofocus maxlength=200").on("keydown.enter", rename)
        ui.label(text("documents.called", name=collection.name)).classes("text-xs opacity-70")
        with ui.row().classes("w-full justify-end"):
            ui.button(text("documents.cancel"), on_click=lambda: dialog.submit(None)).props("flat no-caps")
            ui.button(text("documents.save"), on_click=rename).props("unelevated no-caps")
    renamed = await dialog
    dialog.delete()
    return renamed if isinstance(renamed, Collection) else None
