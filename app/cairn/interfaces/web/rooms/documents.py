"""The room of documents: add them, see what became of each, filter, delete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from nicegui import ui

from cairn.domain.document import Document, Status
from cairn.domain.document_list import DocumentFilter, DocumentSort
from cairn.errors import NotFoundError
from cairn.interfaces.web.access_form import (
    edit_collection_access,
    edit_document_access,
    say_restriction,
    say_rules,
)
from cairn.interfaces.web.collection_form import create_collection, rename_collection
from cairn.interfaces.web.document_form import edit_document
from cairn.interfaces.web.dropzone import DropZone
from cairn.interfaces.web.followed_sources import FollowedSources
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.job_list import JobList
from cairn.interfaces.web.parts import (
    BAD,
    LINE,
    beside_rows,
    bytes_of,
    choose_from,
    confirm,
    file_address,
    icon_button,
    keep_address,
    list_shown_names,
    read_address,
    show_empty,
    show_facts,
)
from cairn.interfaces.web.upload_list import UploadList
from cairn.interfaces.web.viewer import ShownPlace, open_document
from cairn.service import documents, models
from cairn.service.access import list_access_rules
from cairn.service.editing import delete_documents
from cairn.settings import Settings

SHOWN: Final = 25
"""Documents at first, and more at each demand."""
_COLORS: Final = {"indexed": "positive", "failed": "negative"}
_STATES: Final[Mapping[str, tuple[Status, ...]]] = {
    "indexed": ("indexed",), "under_way": ("pending", "parsing", "embedding"), "failed": ("failed",),
}  # fmt: skip
_SORTS: Final[Mapping[DocumentSort, str]] = {
    "external_id": "by_name", "-updated_at": "by_newest", "-byte_size": "by_largest",
}  # fmt: skip


async def show(page: Page) -> None:
    """Draw it into the open frame."""
    services = await page.session.services("read")
    settings = services.settings.current
    names = await list_shown_names(services)
    room = _Room(page, choose_from(list(names), read_address("collection"), settings.rag.collection_name))
    room.draw(names | {room.collection: names.get(room.collection, room.collection)}, settings)
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
    seen: object = None
    """What is drawn, to be drawn again only where it changed."""

    def draw(self, names: dict[str, str], settings: Settings) -> None:
        self.uploads = UploadList(self.page, self.refresh)
        if self.page.session.may("write"):
            most_bytes, file_bytes = settings.api.max_body_bytes // 2, settings.ingest.max_file_bytes
            self.zone = DropZone(self.page, self.collection, most_bytes, file_bytes, self.uploads)
            with self.zone.area():
                self._draw_room(names)
        else:
            self._draw_room(names)

    def _draw_room(self, names: dict[str, str]) -> None:
        text, may_write = self.page.text, self.page.session.may("write")
        with ui.row().classes("w-full items-center gap-2"):
            self.picker = ui.select(names, value=self.collection, label=text("documents.collection"), with_input=True)
            self.picker.classes("min-w-56 max-sm:grow").on_value_change(lambda event: self._choose(event.value))
            if may_write:
                icon_button("create_new_folder", text("documents.new"), self._create)
                self.rename = icon_button("drive_file_rename_outline", text("documents.rename"), self._rename)
            if self.page.session.may("admin"):
                self.access = icon_button("lock", text("access.collection"), self._edit_collection_access)
            with ui.column().classes("gap-0 ml-2"):
                self.counts = ui.label().classes("text-sm opacity-80")
                self.model = ui.label().classes("text-xs opacity-70")
                with ui.row().classes("items-center gap-1 no-wrap text-xs") as self.restricted:
                    ui.icon("lock").props("aria-hidden=true")
                    self.restricted_said = ui.label().classes("break-words min-w-0")
        with ui.row().classes("notice") as self.outdated:
            ui.icon("update").props("aria-hidden=true")
            self.outdated_said = ui.label().classes("grow break-words min-w-0")
            if may_write:
                ui.button(text("documents.reread_all"), on_click=self._reread).props("flat no-caps dense")
        self.outdated.set_visibility(False)
        if may_write:
            self.zone.draw()
            self.uploads.draw()
        else:
            ui.label(text("documents.read_only")).classes("opacity-70")
        with ui.row().classes("w-full items-center gap-2") as self.filters:
            self._draw_filters()
        self.rows = ui.column().classes("w-full gap-0").props("role=list")
        if self.page.session.may("admin"):
            self.sources = FollowedSources(self.page, self.collection, self.refresh)
            self.sources.draw()
        self.jobs = JobList(self.page)
        self.jobs.draw()

    def _draw_filters(self) -> None:
        text = self.page.text
        found = ui.input(text("documents.search"), on_change=lambda event: self._filter(words=event.value or ""))
        found.props("clearable dense debounce=300").classes("max-sm:w-full")
        states = {"": text("documents.any_status"), **{one: text(f"documents.{one}") for one in _STATES}}
        ui.select(
            states, value="", label=text("documents.status"), on_change=lambda event: self._filter(status=event.value)
        ).props("dense").classes("min-w-40 max-sm:min-w-0 max-sm:grow")  # fmt: skip
        sorts = {key: text(f"documents.{name}") for key, name in _SORTS.items()}
        ui.select(sorts, label=text("documents.sort")).bind_value(self, "sort").on_value_change(self.refresh).props(
            "dense"
        ).classes("min-w-40 max-sm:min-w-0 max-sm:grow")
        self.delete_selected = ui.button(icon="delete", on_click=self._delete_selected).props("flat no-caps dense")
        self.delete_selected.set_visibility(False)

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
        if self.page.session.may("admin"):
            await self.sources.aim(name)

    async def _filter(self, *, words: str | None = None, status: str | None = None) -> None:
        self.words = self.words if words is None else words
        self.status = self.status if status is None else status
        self.shown = SHOWN
        await self.refresh()

    async def _create(self) -> None:
        if made := await create_collection(self.page):
            self.picker.set_options({**dict(self.picker.options), made.name: made.shown_name}, value=made.name)

    async def _rename(self) -> None:
        with shown_errors():
            found = await documents.get_collection(await self.page.session.services("read"), self.collection)
            if renamed := await rename_collection(self.page, found):
                self.picker.set_options(
                    {**dict(self.picker.options), renamed.name: renamed.shown_name}, value=renamed.name
                )

    async def _reread(self, document: Document | None = None) -> None:
        with shown_errors():
            services = await self.page.session.services("write")
            await models.start_reread(services, self.collection, document.id if document else None)
            ui.notify(self.page.text("documents.reread_begun"))

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
            count = (await models.count_outdated(services, self.collection))[found.name]
            old = await models.which_outdated(services, [one.id for one in listed]) if count else set()
            self._tell_outdated(count)
            shown = (listed, old, found.document_count > 0)
            if shown != self.seen:  # else a menu that is open would go away
                self.seen = shown
                self._show(listed, old, any_at_all=bool(found.document_count or listed))
            self._tell_restricted(say_rules(self.page.text, await list_access_rules(services, self.collection)))
            serving = (await models.get_embedding(services, self.collection)).get(self.collection)
            self.model.text = serving.model.partition(":")[0] if serving and serving.model else ""
            text = self.page.text
            passages = text.count("documents.passages", found.passage_count)
            self.counts.text = f"{text.count('documents.documents', found.document_count)} · {passages}"

    def _tell_restricted(self, said: str) -> None:
        self.restricted_said.text = said
        self.restricted.set_visibility(bool(said))

    def _tell_outdated(self, count: int) -> None:
        said = "documents.outdated_one" if count == 1 else "documents.outdated_many"
        self.outdated_said.text = self.page.text(said, count=self.page.text.number(count))
        self.outdated.set_visibility(count > 0)

    def _step_back(self, *, back: bool) -> None:
        """The place for files, where there are documents; what looks for some, where there are none."""
        if self.page.session.may("write"):
            self.zone.step_back(back=back)
            self.rename.set_visibility(self.seen is not None)
        if self.page.session.may("admin"):
            self.access.set_visibility(self.seen is not None)
        self.filters.set_visibility(back)

    def _show_missing(self) -> None:
        text = self.page.text
        self.counts.text = self.model.text = ""
        self.seen = None
        self._tell_outdated(0)
        self._tell_restricted("")
        self._step_back(back=False)
        self.rows.clear()
        with self.rows, beside_rows():
            self._say_empty("inventory_2", text("documents.no_collection_title"), text("documents.no_collection_hint"))

    def _say_empty(self, icon: str, title: str, hint: str) -> None:
        """In a line where the large place for files stands above it, which says the same."""
        if self.page.session.may("write"):
            ui.label(f"{title}. {hint}").classes("w-full text-center text-sm muted")
        else:
            show_empty(icon, title, hint)

    def _show(self, listed: list[Document], old: set[UUID], *, any_at_all: bool) -> None:
        text = self.page.text
        self._step_back(back=any_at_all)
        self.rows.clear()
        with self.rows:
            for document in listed[: self.shown]:
                self._draw_document(document, outdated=document.id in old)
            if len(listed) > self.shown:
                with beside_rows():
                    ui.button(text("documents.more"), on_click=self._show_more).props("flat no-caps")
            if listed:
                return
            with beside_rows():
                if any_at_all or self.words or self.status:
                    ui.label(text("documents.none_found")).classes("py-6 opacity-80")
                else:
                    self._say_empty("description", text("documents.empty_title"), text("documents.empty_hint"))

    async def _show_more(self) -> None:
        self.shown += 2 * SHOWN
        await self.refresh()

    def _draw_document(self, document: Document, *, outdated: bool) -> None:
        text, name = self.page.text, document.external_id
        with ui.row().classes(f"w-full items-center gap-x-3 gap-y-0 {LINE} py-1 no-wrap").props("role=listitem"):
            if self.page.session.may("write"):
                box = ui.checkbox(value=document.id in self.selected).props("dense")
                box.props["aria-label"] = text("documents.select", name=name)
                box.on_value_change(lambda event: self._select(document.id, chosen=event.value))
            with ui.column().classes("grow gap-0 min-w-0"):
                title = ui.label(document.title).classes("font-medium break-words max-w-full")
                if document.status == "indexed":
                    title.classes("cursor-pointer hover:underline").props("role=link tabindex=0")
                    title.on("click", partial(self._open, document)).on("keydown.enter", partial(self._open, document))
                if document.title != name:
                    ui.label(name).classes("text-sm opacity-70 break-all")
                size, passages = bytes_of(text, document.byte_size), document.passage_count
                about = text.count("documents.size", passages, size=size) if passages else size
                show_facts(
                    about, text("viewer.version", version=document.version) if document.version > 1 else None,
                    (text("documents.updated"), document.updated_at), text("documents.is_outdated") if outdated else None,
                )  # fmt: skip
                if said := say_restriction(text, document):
                    with ui.row().classes("items-center gap-1 no-wrap text-xs"):
                        ui.icon("lock").props("aria-hidden=true")
                        ui.label(said).classes("break-words min-w-0")
                if document.error:
                    ui.label(document.error).classes(f"text-sm {BAD} break-words")
            if document.status != "indexed":
                color = _COLORS.get(document.status, "primary")
                ui.badge(text(f"documents.{document.status}"), color=color).props("outline")
            self._draw_menu(document, outdated=outdated)

    def _draw_menu(self, document: Document, *, outdated: bool) -> None:
        """Drawn when it is first opened: a list has many of them, of which hardly one is."""
        button = ui.button(icon="more_vert").props("flat round dense aria-haspopup=menu")
        button.props["aria-label"] = self.page.text("documents.actions", name=document.external_id)

        def open_first() -> None:
            if not button.default_slot.children:  # a menu that is there opens without the server
                with button:
                    self._make_menu(document, outdated=outdated).open()

        button.on_click(open_first)

    def _make_menu(self, document: Document, *, outdated: bool) -> ui.menu:
        text, may_write = self.page.text, self.page.session.may("write")
        with ui.menu() as menu:
            if document.status == "indexed":
                ui.menu_item(text("documents.open"), partial(self._open, document))
            if document.has_file:
                file = ui.menu_item(text("documents.download")).props("tag=a download")
                file.props["href"] = file_address(document, self.collection).lstrip("/")  # behind any proxy
            if may_write and outdated:
                ui.menu_item(text("documents.reread_one"), partial(self._reread, document))
            if may_write:
                ui.menu_item(text("documents.edit"), partial(self._edit, document))
            if may_write and self.page.session.may("admin"):
                ui.menu_item(text("access.edit"), partial(self._edit_access, document))
            if may_write:
                ui.menu_item(text("documents.delete"), partial(self._delete, [document])).classes(BAD)
        return menu

    async def _open(self, document: Document) -> None:
        await open_document(self.page, ShownPlace(document.id))

    async def _edit(self, document: Document) -> None:
        if await edit_document(self.page, self.collection, document):
            await self.refresh()

    async def _edit_access(self, document: Document) -> None:
        if await edit_document_access(self.page, self.collection, document):
            await self.refresh()

    async def _edit_collection_access(self) -> None:
        if await edit_collection_access(self.page, self.collection):
            await self.refresh()

    # --- what is deleted ----------------------------------------------------------------------------------------------------

    def _select(self, document_id: UUID, *, chosen: bool) -> None:
        (self.selected.add if chosen else self.selected.discard)(document_id)
        self._show_selected()

    def _show_selected(self) -> None:
        self.delete_selected.text = self.page.text.count("documents.selected", len(self.selected))
        self.delete_selected.set_visibility(bool(self.selected))

    async def _delete_selected(self) -> None:
        await self._delete_ids(list(self.selected), self.page.text.count("documents.delete_some", len(self.selected)))

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
