"""The room of documents: add them, see what became of each, filter, delete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from nicegui import ui

from cairn.domain.document import Document, Status
from cairn.domain.document_list import DocumentFilter, DocumentSort
from cairn.errors import NotFoundError
from cairn.interfaces.web.document_form import edit_document
from cairn.interfaces.web.dropzone import DropZone
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.job_list import JobList
from cairn.interfaces.web.parts import (
    BAD,
    LINE,
    bytes_of,
    choose_from,
    confirm,
    download_link,
    icon_button,
    keep_address,
    list_names,
    read_address,
    show_empty,
    show_facts,
)
from cairn.interfaces.web.viewer import ShownPlace, open_document
from cairn.service import documents, models
from cairn.service.editing import delete_documents

SHOWN: Final = 25
"""Documents at first, and more at each demand."""
_COLORS: Final = {"indexed": "positive", "failed": "negative"}
_STATES: Final[Mapping[str, tuple[Status, ...]]] = {
    "indexed": ("indexed",), "under_way": ("pending", "parsing", "embedding"), "failed": ("failed",),
}  # fmt: skip
_SORTS: Final[Mapping[DocumentSort, str]] = {
    "external_id": "by_name", "-updated_at": "by_newest", "-byte_size": "by_largest",
}  # fmt: skip
_MODELS: Final = ("auto", "e5", "minilm")
"""What a new collection may be served by, as `POST /collections` takes it; others are for who writes settings."""


async def show(page: Page) -> None:
    """Draw it into the open frame."""
    services = await page.session.services("read")
    names, settings = await list_names(services), services.settings.current
    room = _Room(page, choose_from(names, read_address("collection"), settings.rag.collection_name))
    room.draw(names, settings.api.max_body_bytes, settings.ingest.max_file_bytes)
    await room.refresh()
    if place := _named_place():
        await open_document(page, place)


def _named_place() -> ShownPlace | None:
    """What the address of the page says to open, as citations in other programs do."""
    try:
        document = UUID(read_address("document"))
    except ValueError:
        return None
    start, end, version, page = (int(said) if said.isdecimal() and len(said) < 10 else 0 for said in map(
        read_address, ("start", "end", "version", "page")
    ))  # fmt: skip
    return ShownPlace(document, (start, end) if end > start else None, version or None, page=page or None)


@dataclass
class _Room:
    page: Page
    collection: str
    shown: int = SHOWN
    words: str = ""
    status: str = ""
    sort: DocumentSort = "external_id"
    selected: set[UUID] = field(default_factory=set)

    def draw(self, names: list[str], most_bytes: int, file_bytes: int) -> None:
        text = self.page.text
        options = sorted({*names, self.collection})
        with ui.row().classes("w-full items-center gap-2"):
            picker = ui.select(options, value=self.collection, label=text("documents.collection"), with_input=True)
            picker.classes("min-w-48").on_value_change(lambda event: self._choose(event.value))
            if self.page.session.may("write"):
                icon_button("create_new_folder", text("documents.new"), lambda: self._create(picker))
            self.counts = ui.label().classes("opacity-70")
            self.model = ui.label().classes("opacity-70")
        self.outdated = ui.label().classes("opacity-80 break-words")
        if self.page.session.may("write"):
            self.zone = DropZone(self.page, self.collection, most_bytes // 2, file_bytes, self.refresh)
            self.zone.draw()
        else:
            ui.label(text("documents.read_only")).classes("opacity-70")
        with ui.row().classes("w-full items-center gap-2"):
            ui.input(text("documents.search"), on_change=lambda event: self._filter(words=event.value or "")).props(
                "clearable dense debounce=300"
            )
            states = {"": text("documents.any_status"), **{one: text(f"documents.{one}") for one in _STATES}}
            ui.select(
                states,
                value="",
                label=text("documents.status"),
                on_change=lambda event: self._filter(status=event.value),
            ).props("dense").classes("min-w-40")
            sorts = {key: text(f"documents.{name}") for key, name in _SORTS.items()}
            ui.select(sorts, label=text("documents.sort")).bind_value(self, "sort").on_value_change(self.refresh).props(
                "dense"
            ).classes("min-w-40")
            self.delete_selected = ui.button(icon="delete", on_click=self._delete_selected).props("flat no-caps dense")
            self.delete_selected.set_visibility(False)
        self.rows = ui.column().classes("w-full gap-0").props("role=list")
        self.jobs = JobList(self.page)
        self.jobs.draw()

    # --- what is looked at --------------------------------------------------------------------------------------------------

    async def _choose(self, name: str | None) -> None:
        if not name:
            return
        self.collection, self.shown = name, SHOWN
        self.selected.clear()
        keep_address({"collection": name})
        if self.page.session.may("write"):
            self.zone.aim(name)
        await self.refresh()

    async def _filter(self, *, words: str | None = None, status: str | None = None) -> None:
        self.words = self.words if words is None else words
        self.status = self.status if status is None else status
        self.shown = SHOWN
        await self.refresh()

    async def _create(self, picker: ui.select) -> None:
        text = self.page.text
        with ui.dialog() as dialog, ui.card():
            name = ui.input(text("documents.new"), placeholder=text("documents.new_hint")).classes("w-72")
            name.props("autofocus").on("keydown.enter", lambda: dialog.submit(name.value))
            ui.label(text("documents.model")).classes("mt-2").props("id=model-of-collection")
            model = ui.radio({one: text(f"documents.model_{one}") for one in _MODELS}, value=_MODELS[0]).classes("w-72")
            model.props("dense aria-labelledby=model-of-collection")
            with ui.row().classes("w-full justify-end"):
                ui.button(text("documents.cancel"), on_click=lambda: dialog.submit("")).props("flat")
                ui.button(text("documents.create"), on_click=lambda: dialog.submit(name.value))
        wanted = await dialog
        chosen = model.value
        dialog.delete()
        if not wanted:
            return
        with shown_errors():
            await documents.create_collection(await self.page.session.services("write"), wanted, chosen)
            picker.set_options(sorted({*picker.options, wanted}), value=wanted)

    async def refresh(self) -> None:
        """Read again what is shown."""
        with shown_errors():
            services = await self.page.session.services("read")
            try:
                found = await documents.get_collection(services, self.collection)
            except NotFoundError:
                self._show_missing()
                return
            wanted = DocumentFilter(contains=self.words or None, statuses=_STATES[self.status] if self.status else None)
            listed = await documents.list_documents(
                services, self.collection, wanted, sort=self.sort, limit=self.shown + 1
            )
            self._show(listed, any_at_all=found.document_count > 0)
            serving = (await models.get_embedding(services, self.collection)).get(self.collection)
            self.model.text = serving.model.partition(":")[0] if serving and serving.model else ""
            count = (await models.count_outdated(services, self.collection))[found.name]
            outdated = self.page.text("documents.outdated", count=f"{count:,}", collection=found.name)
            self._tell_outdated(outdated if count else "")
            self.counts.text = self.page.text(
                "documents.counts", documents=f"{found.document_count:,}", passages=f"{found.passage_count:,}"
            )

    def _tell_outdated(self, said: str) -> None:
        self.outdated.text = said
        self.outdated.set_visibility(bool(said))

    def _show_missing(self) -> None:
        text = self.page.text
        self.counts.text = self.model.text = ""
        self._tell_outdated("")
        self.rows.clear()
        with self.rows:
            show_empty("inventory_2", text("documents.no_collection_title"), text("documents.no_collection_hint"))

    def _show(self, listed: list[Document], *, any_at_all: bool) -> None:
        text = self.page.text
        self.rows.clear()
        with self.rows:
            for document in listed[: self.shown]:
                self._draw_document(document)
            if len(listed) > self.shown:
                ui.button(text("documents.more"), on_click=self._show_more).props("flat no-caps")
            if not listed and (any_at_all or self.words or self.status):
                ui.label(text("documents.none_found")).classes("py-6 opacity-80")
            elif not listed:
                show_empty("description", text("documents.empty_title"), text("documents.empty_hint"))

    async def _show_more(self) -> None:
        self.shown += 2 * SHOWN
        await self.refresh()

    def _draw_document(self, document: Document) -> None:
        text, name = self.page.text, document.external_id
        with ui.row().classes(f"w-full items-center gap-x-3 gap-y-0 {LINE} py-1 no-wrap").props("role=listitem"):
            if self.page.session.may("write"):
                box = ui.checkbox(value=document.id in self.selected).props("dense")
                box.props["aria-label"] = text("documents.select", name=name)
                box.on_value_change(lambda event: self._select(document.id, chosen=event.value))
            with ui.column().classes("grow gap-0 min-w-0"):
                ui.label(document.title).classes("font-medium break-words")
                if document.title != name:
                    ui.label(name).classes("text-sm opacity-70 break-all")
                about = text(
                    "documents.size", size=bytes_of(document.byte_size), passages=document.passage_count,
                    version=document.version,
                )  # fmt: skip
                show_facts(about, (text("documents.updated"), document.updated_at))
                if document.error:
                    ui.label(document.error).classes(f"text-sm {BAD} break-words")
            ui.badge(text(f"documents.{document.status}"), color=_COLORS.get(document.status, "primary")).props(
                "outline"
            )
            if document.status == "indexed":
                icon_button(
                    "open_in_full", text("documents.open"), lambda: open_document(self.page, ShownPlace(document.id))
                )
            if document.has_file:
                download_link(document, self.collection, text("documents.download"))
            if self.page.session.may("write"):
                icon_button("edit", text("documents.edit"), lambda: self._edit(document))
                icon_button("delete", text("documents.delete"), lambda: self._delete([document]))

    async def _edit(self, document: Document) -> None:
        if await edit_document(self.page, self.collection, document):
            await self.refresh()

    # --- what is deleted ----------------------------------------------------------------------------------------------------

    def _select(self, document_id: UUID, *, chosen: bool) -> None:
        (self.selected.add if chosen else self.selected.discard)(document_id)
        self._show_selected()

    def _show_selected(self) -> None:
        self.delete_selected.text = self.page.text("documents.selected", count=len(self.selected))
        self.delete_selected.set_visibility(bool(self.selected))

    async def _delete_selected(self) -> None:
        await self._delete_ids(list(self.selected), self.page.text("documents.delete_some", count=len(self.selected)))

    async def _delete(self, listed: list[Document]) -> None:
        await self._delete_ids(
            [one.id for one in listed], self.page.text("documents.delete_one", name=listed[0].external_id)
        )

    async def _delete_ids(self, ids: list[UUID], question: str) -> None:
        text = self.page.text
        if not await confirm(question, text("documents.delete"), text("documents.cancel")):
            return
        with shown_errors():
            services = await self.page.session.services("write")
            done = await delete_documents(services, self.collection, DocumentFilter(ids=ids))
            ui.notify(text("documents.deleted", count=done.deleted))
        self.selected.difference_update(ids)
        self._show_selected()
        await self.refresh()
