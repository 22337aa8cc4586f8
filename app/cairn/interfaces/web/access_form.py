"""Who may read documents: said beside them, and changed by who operates."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from nicegui import ui

from cairn.domain.access import AccessRule
from cairn.domain.document import Document
from cairn.errors import CairnError, InputError
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import LINE, icon_button
from cairn.interfaces.web.texts import Texts
from cairn.service.access import list_access_rules, remove_folder_access, set_folder_access
from cairn.service.editing import change_document


def say_readers(text: Texts, access: Sequence[str]) -> str:
    """Whom an access list names, in words."""
    return ", ".join(_say_one(text, one) for one in access) if access else text("access.everybody")


def _say_one(text: Texts, entry: str) -> str:
    kind, _, name = entry.partition(":")
    return text(f"access.{kind}", name=name)


def say_restriction(text: Texts, document: Document) -> str:
    """Who alone may read a document, and which folder says so; "" where everybody may."""
    if not document.access:
        return ""
    said = text("access.only", names=say_readers(text, document.access))
    if document.access_from is None:
        return said
    return f"{said} ({text('access.as_folder', folder=_say_folder(text, document.access_from))})"


def say_rules(text: Texts, rules: Sequence[AccessRule]) -> str:
    """What the rules say of a collection in a few words; "" without any."""
    whole = next((one for one in rules if not one.prefix), None)
    if whole:
        return text("access.only", names=say_readers(text, whole.access))
    return text.count("access.folders", len(rules)) if rules else ""


def _say_folder(text: Texts, prefix: str) -> str:
    return f"{prefix}/" if prefix else text("access.whole")


def list_readers(written: str) -> list[str]:
    """Of an access list as it is typed: one a line."""
    return [line.strip() for line in written.splitlines() if line.strip()]


async def edit_document_access(page: Page, collection: str, document: Document) -> bool:
    """Ask who may read it, until that is taken or the reader gives up; whether it was changed."""
    text = page.text

    async def save() -> None:
        with shown_errors():
            services = await page.session.services("write")
            await change_document(services, collection, document.id, access=list_readers(readers.value or ""))
            dialog.submit(True)

    own = document.access if document.access and document.access_from is None else ()
    with ui.dialog() as dialog, ui.card().classes("w-[32rem] max-w-full"):
        dialog.props["aria-label"] = text("access.title")
        ui.label(text("access.title")).classes("text-lg font-medium").props("role=heading aria-level=2")
        ui.label(document.external_id).classes("text-sm opacity-70 break-all")
        if document.access_from is not None:
            ui.label(say_restriction(text, document)).classes("text-sm break-words")
        readers = ui.textarea(text("access.readers"), value="\n".join(own)).classes("w-full font-mono")
        readers.props("autogrow autofocus")
        ui.label(text("access.readers_hint")).classes("text-xs opacity-70")
        with ui.row().classes("w-full justify-end"):
            ui.button(text("documents.cancel"), on_click=lambda: dialog.submit(False)).props("flat no-caps")
            ui.button(text("documents.save"), on_click=save).props("no-caps")
    changed = bool(await dialog)
    dialog.delete()
    return changed


async def edit_collection_access(page: Page, collection: str) -> bool:
    """Show the rules of a collection, to be changed until the reader is done; whether one was. What is refused is said in the
    form, which keeps what was typed."""
    text, changed = page.text, False

    async def act(deed: Callable[[], Awaitable[None]]) -> None:
        nonlocal changed
        try:
            await deed()
        except CairnError as error:
            readers.error = error.detail
        else:
            readers.error, changed = None, True
            await show()

    async def save() -> None:
        named = list_readers(readers.value or "")
        if bool(named) == bool(everybody.value):  # a second click on what was just emptied must open nothing
            raise InputError(text("access.say_who"))
        services = await page.session.services("admin")
        done = await set_folder_access(services, collection, folder.value or "", named)
        said = text("access.changed", count=text.number(done.changed)) if done.documents else text("access.nowhere")
        ui.notify(said)
        folder.value, readers.value, everybody.value = "", "", False

    async def remove(prefix: str) -> None:
        await remove_folder_access(await page.session.services("admin"), collection, prefix)

    async def show() -> None:
        rules = await list_access_rules(await page.session.services("read"), collection)
        listed.clear()
        with listed:
            for one in rules:
                _draw_rule(text, one, partial(act, partial(remove, one.prefix)))

    with ui.dialog() as dialog, ui.card().classes("w-[32rem] max-w-full"):
        dialog.props["aria-label"] = text("access.collection")
        ui.label(text("access.collection")).classes("text-lg font-medium").props("role=heading aria-level=2")
        listed = ui.column().classes("w-full gap-0").props("role=list")
        folder = ui.input(text("access.folder")).classes("w-full")
        readers = ui.textarea(text("access.readers")).classes("w-full font-mono").props("autogrow")
        everybody = ui.checkbox(text("access.everybody"))
        ui.label(text("access.rule_hint")).classes("text-xs opacity-70")
        with ui.row().classes("w-full justify-end"):
            ui.button(text("documents.dismiss"), on_click=lambda: dialog.submit(None)).props("flat no-caps")
            ui.button(text("documents.save"), on_click=partial(act, save)).props("no-caps")
    with shown_errors():
        await show()
    await dialog
    dialog.delete()
    return changed


def _draw_rule(text: Texts, rule: AccessRule, remove: Callable[[], Awaitable[None]]) -> None:
    place = _say_folder(text, rule.prefix)
    with ui.row().classes(f"w-full items-center gap-2 no-wrap py-1 {LINE}").props("role=listitem"):
        ui.icon("lock" if rule.access else "lock_open").props("aria-hidden=true")
        with ui.column().classes("grow gap-0 min-w-0"):
            ui.label(place).classes("font-medium break-all")
            ui.label(say_readers(text, rule.access)).classes("text-sm opacity-70 break-words")
        icon_button("delete", text("access.remove", folder=place), remove)
