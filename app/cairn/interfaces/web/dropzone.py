"""Where files are dropped, and what becomes of each batch of them: sent, waiting, indexed, with reasons for what failed.

The browser sends the files to a route (uploads.py), which makes a job of each batch; the page only looks at those jobs,
and only while there are some under way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from nicegui import events, ui

from cairn.domain.job import Job
from cairn.errors import CairnError
from cairn.interfaces.web.frame import Page
from cairn.interfaces.web.parts import BAD, bytes_of, icon_button
from cairn.interfaces.web.scripts import read_script
from cairn.service.files import describe_formats
from cairn.service.jobs import get_job

LOOK_SECONDS: Final = 1.0
"""Between two looks at jobs under way."""
FAILURES_SHOWN: Final = 20


@dataclass
class _Batch:
    """Files that were sent together. `job_id` None: they are on their way; `ended`: nothing more will happen."""

    line: ui.label
    bar: ui.linear_progress
    reasons: ui.column
    job_id: UUID | None = None
    ended: bool = False


@dataclass
class DropZone:
    """Draws itself, and calls `changed` when documents were added. `target`: the name of the collection that files go to."""

    page: Page
    target: str
    batch_bytes: int
    file_bytes: int
    changed: Callable[[], Awaitable[None]]
    _batches: dict[str, _Batch] = field(default_factory=dict)

    def draw(self) -> None:
        text = self.page.text
        ui.add_head_html(read_script("upload.js"))
        self._zone = ui.column().classes(
            "w-full items-center gap-2 p-4 rounded border-2 border-dashed border-gray-400 text-center"
        )
        self.aim(self.target)
        with self._zone:
            ui.icon("upload_file", size="2rem").props("aria-hidden=true")
            ui.label(text("documents.drop")).classes("text-lg")
            with ui.row().classes("justify-center"):
                self._chooser("description", text("documents.choose_files"), "multiple")
                self._chooser("folder", text("documents.choose_folder"), "webkitdirectory")
            formats = text("documents.formats", formats=describe_formats(), most=bytes_of(self.file_bytes))
            ui.label(formats).classes("text-xs opacity-70 max-w-3xl")
        self._zone.on("dragover.prevent", js_handler="() => {}")
        self._zone.on("drop.prevent", js_handler="(event) => cairnUpload.dropped(event)")
        self._list = ui.column().classes("w-full gap-2").props("role=status")
        self._timer = ui.timer(LOOK_SECONDS, self._look, active=False)
        ui.on("upload_begun", self._begin)
        ui.on("upload_sent", self._note_sent)
        ui.on("upload_answered", self._note_answer)
        ui.on("upload_large", self._note_large)

    def aim(self, collection: str) -> None:
        """Files dropped from now on go there."""
        self.target = collection
        self._zone.props["data-url"] = f"/ui/collections/{collection}/documents"
        self._zone.props["data-batch-bytes"] = self.batch_bytes
        self._zone.props["data-file-bytes"] = self.file_bytes
        self._zone.update()

    def _chooser(self, icon: str, label: str, kind: str) -> None:
        chooser = ui.element("input").props(f"type=file {kind}").classes("hidden")
        chooser.props["aria-label"] = label
        chooser.on("change", js_handler="(event) => cairnUpload.chosen(event)")
        opening = f"() => document.getElementById({chooser.html_id!r}).click()"
        ui.button(label, icon=icon).props("outline no-caps").on("click", js_handler=opening)

    # --- what the browser tells -------------------------------------------------------------------------------------------

    def _begin(self, event: events.GenericEventArguments) -> None:
        told, text = _told(event), self.page.text
        first, count = str(told.get("first", ""))[:200], int(told.get("files", 1))
        line = text("documents.sending", count=count, first=first)
        self._add(str(told["key"]), line if count > 1 else text("documents.sending_one", first=first))

    def _add(self, key: str, line: str) -> _Batch:
        with self._list, ui.card().classes("w-full p-3 gap-1") as card:
            with ui.row().classes("w-full items-center no-wrap"):
                label = ui.label(line).classes("grow break-words min-w-0")
                icon_button("close", self.page.text("documents.dismiss"), lambda: self._dismiss(key, card))
            bar = ui.linear_progress(0, show_value=False).props("aria-hidden=true")
            reasons = ui.column().classes("w-full gap-0 text-sm")
        self._batches[key] = _Batch(label, bar, reasons)
        return self._batches[key]

    def _dismiss(self, key: str, card: ui.card) -> None:
        self._batches.pop(key, None)
        card.delete()

    def _note_sent(self, event: events.GenericEventArguments) -> None:
        told = _told(event)
        if batch := self._batches.get(str(told.get("key"))):
            batch.bar.value = min(1.0, float(told.get("share", 0)))

    def _note_answer(self, event: events.GenericEventArguments) -> None:
        told, text = _told(event), self.page.text
        batch = self._batches.get(str(told.get("key")))
        if batch is None:
            return
        if told.get("status") == 202 and told.get("job"):
            batch.job_id, batch.bar.value = UUID(str(told["job"])), 0
            batch.line.text = text("documents.waiting")
            self._timer.activate()
            return
        detail = str(told.get("detail") or "")[:1000]
        batch.line.text = (
            text("documents.refused", detail=detail) if told.get("status") else text("documents.unreachable")
        )
        batch.line.classes(BAD)
        batch.ended = True
        batch.bar.set_visibility(False)

    def _note_large(self, event: events.GenericEventArguments) -> None:
        told = _told(event)
        names = ", ".join(str(name)[:200] for name in told.get("names", ())[:20])
        line = self.page.text("documents.too_large", count=told.get("count", 0), names=names)
        batch = self._add(f"large-{len(self._batches)}", line)
        batch.line.classes(BAD)
        batch.ended = True
        batch.bar.set_visibility(False)

    # --- what jobs tell -----------------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        under_way = [batch for batch in self._batches.values() if batch.job_id and not batch.ended]
        if not under_way:
            self._timer.deactivate()
            return
        try:
            services = await self.page.session.services("read")
            for batch in under_way:
                assert batch.job_id is not None
                self._show(batch, await get_job(services, batch.job_id))
        except CairnError as error:  # the next look may go better
            under_way[0].line.text = error.detail
            return
        await self.changed()

    def _show(self, batch: _Batch, job: Job) -> None:
        text, progress = self.page.text, job.progress
        batch.ended = job.ended
        if job.ended:
            self._show_end(batch, job)
        elif job.status == "running" and progress.total:
            batch.bar.value = progress.done / progress.total
            batch.line.text = text(
                "documents.working", done=progress.done, total=progress.total, message=progress.message
            )
        else:
            batch.line.text = text("documents.waiting")

    def _show_end(self, batch: _Batch, job: Job) -> None:
        text, result = self.page.text, job.result or {}
        counts = {"added": 0, "replaced": 0, "updated": 0, "unchanged": 0, "failed": 0, **result.get("counts", {})}
        batch.bar.value = 1
        batch.line.text = (
            text("documents.done", **counts) if job.status == "succeeded" else str(job.error or job.status)
        )
        batch.line.classes(BAD if job.status != "succeeded" else "")
        with batch.reasons:
            for failed in result.get("failed", ())[:FAILURES_SHOWN]:
                ui.label(f"{failed['external_id']}: {failed['error']}").classes(f"{BAD} break-words")
            for done in result.get("uploaded", ())[:FAILURES_SHOWN]:
                if done.get("notes"):
                    notes = text("documents.not_read", name=done["external_id"], notes="; ".join(done["notes"]))
                    ui.label(notes).classes("opacity-80 break-words")


def _told(event: events.GenericEventArguments) -> Mapping[str, Any]:
    """What the browser says, which may be anything."""
    args = event.args[0] if isinstance(event.args, list) and event.args else event.args
    return args if isinstance(args, dict) else {}
