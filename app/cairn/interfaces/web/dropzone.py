"""Where files are dropped: large while there is nothing yet, two buttons and the whole room afterwards.

The browser sends the files to a route (uploads.py), which makes jobs of them, a large file one of its own; the page only looks at
those jobs, and only while there are some under way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from nicegui import events, ui

from cairn.interfaces.web.frame import Page
from cairn.interfaces.web.parts import bytes_of
from cairn.interfaces.web.scripts import read_script
from cairn.interfaces.web.upload_list import UploadList
from cairn.service.files import name_formats

_CSS: Final = """
.dropping { outline: 3px dashed var(--q-primary); outline-offset: 4px; border-radius: 8px; }
"""


@dataclass
class DropZone:
    """`target`: the name of the collection that files go to; `uploads` is told what becomes of them."""

    page: Page
    target: str
    batch_bytes: int
    file_bytes: int
    uploads: UploadList

    def area(self) -> ui.column:
        """What takes files that are dropped: the room is drawn into it."""
        ui.add_head_html(read_script("upload.js"))
        ui.add_css(_CSS)
        self._area = ui.column().classes("w-full gap-4")
        self._area.on("dragover", js_handler="(event) => cairnUpload.over(event)")
        self._area.on("dragleave", js_handler="(event) => cairnUpload.left(event)")
        self._area.on("drop.prevent", js_handler="(event) => cairnUpload.dropped(event)")
        self.aim(self.target)
        ui.on("upload_begun", self._begin)
        ui.on("upload_sent", self._note_sent)
        ui.on("upload_answered", self._note_answer)
        ui.on("upload_large", self._note_large)
        return self._area

    def draw(self) -> None:
        """The large place, and the small one."""
        text = self.page.text
        formats = text("documents.formats", formats=name_formats(), most=bytes_of(self.page.text, self.file_bytes))
        large = ui.column().classes(
            "w-full items-center gap-2 px-4 py-8 rounded-lg border-2 border-dashed border-[var(--edge)] text-center"
        )
        with large:
            ui.icon("upload_file", size="2.5rem").props("aria-hidden=true").classes("opacity-70")
            ui.label(text("documents.drop")).classes("text-lg")
            with ui.row().classes("justify-center"):
                files = self._chooser("description", text("documents.choose_files"), "multiple")
                folder = self._chooser("folder", text("documents.choose_folder"), "webkitdirectory")
            ui.label(formats).classes("text-xs opacity-70 max-w-3xl")
        self._large = large
        with ui.row().classes("items-center gap-2") as self._small:
            add = ui.button(text("documents.add_files"), icon="add").props("unelevated no-caps")
            add.on("click", js_handler=files).tooltip(formats)
            ui.button(text("documents.add_folder"), icon="create_new_folder").props("flat no-caps").on(
                "click", js_handler=folder
            )
            ui.label(text("documents.drop_anywhere")).classes("text-sm opacity-70 max-md:hidden")
        self.step_back(back=False)

    def step_back(self, *, back: bool) -> None:
        """There are documents, which are what the room is for."""
        self._large.set_visibility(not back)
        self._small.set_visibility(back)

    def aim(self, collection: str) -> None:
        """Files dropped from now on go there."""
        self.target = collection
        self._area.props["data-url"] = f"/ui/collections/{collection}/documents"
        self._area.props["data-batch-bytes"] = self.batch_bytes
        self._area.props["data-file-bytes"] = self.file_bytes
        self._area.update()

    def _chooser(self, icon: str, label: str, kind: str) -> str:
        """What opens it, in the browser."""
        chooser = ui.element("input").props(f"type=file {kind}").classes("hidden")
        chooser.props["aria-label"] = label
        chooser.on("change", js_handler="(event) => cairnUpload.chosen(event)")
        opening = f"() => document.getElementById({chooser.html_id!r}).click()"
        ui.button(label, icon=icon).props("outline no-caps").on("click", js_handler=opening)
        return opening

    # --- what the browser tells -------------------------------------------------------------------------------------------

    def _begin(self, event: events.GenericEventArguments) -> None:
        told = _told(event)
        files = [one for one in told.get("files", ()) if isinstance(one, dict)]
        self.uploads.begin(str(told["key"]), [(str(one["name"])[:600], int(one["size"])) for one in files])

    def _note_sent(self, event: events.GenericEventArguments) -> None:
        told = _told(event)
        self.uploads.note_sent(str(told.get("key")), float(told.get("share", 0)))

    def _note_answer(self, event: events.GenericEventArguments) -> None:
        told, text = _told(event), self.page.text
        key, detail = str(told.get("key")), str(told.get("detail") or "")[:1000]
        if told.get("status") == 202 and told.get("job"):
            self.uploads.take(key, UUID(str(told["job"])))
        elif told.get("status"):
            self.uploads.refuse(key, text("documents.refused", detail=detail))
        else:
            self.uploads.refuse(key, text("documents.unreachable"))

    def _note_large(self, event: events.GenericEventArguments) -> None:
        names = [str(name)[:200] for name in _told(event).get("names", ())[:20]]
        self.uploads.leave_out(
            names, self.page.text("documents.too_large", most=bytes_of(self.page.text, self.file_bytes))
        )


def _told(event: events.GenericEventArguments) -> Mapping[str, Any]:
    """What the browser says, which may be anything."""
    args = event.args[0] if isinstance(event.args, list) and event.args else event.args
    return args if isinstance(args, dict) else {}
