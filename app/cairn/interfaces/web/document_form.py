"""The title and the metadata of a document, to be changed."""

from __future__ import annotations

import json
from typing import Any

from nicegui import ui

from cairn.domain.document import Document
from cairn.errors import InputError
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.service.editing import change_document, patch_between


async def edit_document(page: Page, collection: str, document: Document) -> bool:
    """Ask for them, until they are taken or the reader gives up; whether they were changed."""
    text = page.text

    async def save() -> None:
        with shown_errors():
            wanted = _read_object(metadata.value or "{}")
            services = await page.session.services("write")
            patch = patch_between(document.metadata, wanted)
            await change_document(services, collection, document.id, title=title.value or "", metadata=patch or None)
            dialog.submit(True)

    with ui.dialog() as dialog, ui.card().classes("w-[32rem] max-w-full"):
        dialog.props["aria-label"] = text("documents.edit")
        ui.label(document.external_id).classes("text-sm opacity-70 break-all")
        title = ui.input(text("documents.title"), value=document.title).classes("w-full").props("autofocus")
        title.on("keydown.enter", save)
        kept = json.dumps(dict(document.metadata), indent=2, ensure_ascii=False)
        metadata = ui.textarea(text("documents.metadata"), value=kept).classes("w-full font-mono").props("autogrow")
        ui.label(text("documents.edit_hint")).classes("text-xs opacity-70")
        with ui.row().classes("w-full justify-end"):
            ui.button(text("documents.cancel"), on_click=lambda: dialog.submit(False)).props("flat no-caps")
            ui.button(text("documents.save"), on_click=save).props("no-caps")
    changed = bool(await dialog)
    dialog.delete()
    return changed


def _read_object(text: str) -> dict[str, Any]:
    """Raises InputError."""
    try:
        read = json.loads(text)
    except ValueError as error:
        raise InputError(f"the metadata are not JSON: {error}") from None
    if not isinstance(read, dict):
        raise InputError('the metadata are a JSON object, {"name": value}')
    return read
