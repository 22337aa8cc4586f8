"""Sources that a collection follows: how each is, and what is done with it. For who operates."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from nicegui import ui

from cairn.domain.connected_source import COUNTED, ConnectedSource, FailedFile, SourceRun
from cairn.domain.job import JobProgress
from cairn.interfaces.web.access_form import say_readers
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import BAD, LINE, Fact, Repetition, beside_rows, icon_button, show_facts
from cairn.interfaces.web.source_form import add_source, ask_what_stays, edit_source
from cairn.interfaces.web.texts import Texts
from cairn.service import sources
from cairn.service.jobs import get_job
from cairn.service.sources import SourceChange
from cairn.wiring import Services

SHOWN_FAILED: Final = 20
"""Files that could not be read, of one source."""
LOOK_SECONDS: Final = 2.0
"""How often it is read again while it is open and a source is being read."""


@dataclass(frozen=True, slots=True)
class ShownSource:
    """What is drawn of one. `progress`: of the job that reads it, None where none does."""

    source: ConnectedSource
    progress: JobProgress | None
    failed: Sequence[FailedFile]


@dataclass
class FollowedSources:
    """`changed` is called when documents of the collection may have come or gone."""

    page: Page
    collection: str
    changed: Callable[[], Awaitable[None]]
    _seen: list[ShownSource] | None = None

    def draw(self) -> None:
        text = self.page.text
        with ui.expansion(text("sources.title"), icon="cloud_sync").classes("sources w-full") as self._panel:
            with ui.row().classes("w-full items-center gap-2"):
                ui.label(text("sources.hint")).classes("text-sm opacity-70 grow basis-64 break-words min-w-0")
                ui.button(text("sources.add"), icon="add", on_click=self._add).props("flat no-caps dense")
            self._rows = ui.column().classes("w-full gap-0").props("role=list")
            self._rows.props["aria-label"] = text("sources.title")
        self._looking = Repetition(LOOK_SECONDS, self.refresh)
        self._panel.on_value_change(self._open)

    async def aim(self, collection: str) -> None:
        """Show those of another collection."""
        self.collection, self._seen = collection, None
        await self._open()

    async def _open(self) -> None:
        self._looking.run(on=False)
        if self._panel.value:
            await self.refresh()

    async def refresh(self) -> None:
        """Read again what is shown."""
        with shown_errors():
            services = await self.page.session.services("admin")
            found = [await _look_at(services, one) for one in await sources.list_sources(services)
                     if one.collection == self.collection]  # fmt: skip
            before, self._seen = self._seen, found
            self._looking.run(on=any(one.source.running for one in found))
            if found == before:
                return  # else a button would go away under the pointer
            self._show(found)
            if before is not None:
                await self.changed()

    def _show(self, found: Sequence[ShownSource]) -> None:
        self._rows.clear()
        with self._rows:
            for one in found:
                self._draw_source(one)
            if not found:
                with beside_rows():
                    ui.label(self.page.text("sources.none")).classes("text-sm py-2 break-words")

    def _draw_source(self, shown: ShownSource) -> None:
        text, source = self.page.text, shown.source
        bad = source.last_error is not None and not (source.running or source.paused)
        with ui.row().classes(f"w-full items-start gap-x-3 gap-y-0 {LINE} py-1").props("role=listitem"):
            with ui.column().classes("grow gap-0 min-w-0 basis-64"):
                ui.label(source.wish.address).classes("font-medium break-all")
                show_facts(_say_state(text, shown), classes=f"text-sm {BAD if bad else ''}")
                if source.running and source.last_error:
                    ui.label(text("sources.failed", why=source.last_error)).classes(f"text-sm {BAD} break-words")
                if source.note and not source.paused:
                    ui.label(source.note).classes("text-sm break-words")
                show_facts(
                    text.count("sources.files", source.files),
                    _say_readers(text, source),
                    *_say_counts(text, source.counts),
                    _say_next(text, source),
                )
                if shown.failed:
                    self._draw_failed(shown)
                self._draw_runs(source)
            with ui.row().classes("gap-0 no-wrap"):
                self._draw_buttons(source)

    def _draw_failed(self, shown: ShownSource) -> None:
        text = self.page.text
        more = shown.source.failed - len(shown.failed)
        with ui.expansion(text.count("sources.unread", shown.source.failed)).classes("w-full").props("dense"):
            for file in shown.failed:
                with ui.column().classes("w-full gap-0 min-w-0"):
                    ui.label(file.path).classes("text-sm break-all")
                    ui.label(file.error).classes(f"text-xs {BAD} break-words max-w-full")
            if more > 0:
                ui.label(text("sources.more", count=text.number(more))).classes("text-xs opacity-70")

    def _draw_runs(self, source: ConnectedSource) -> None:
        text = self.page.text

        async def read() -> None:
            if not panel.value:
                return
            with shown_errors():
                runs = await sources.list_runs(await self.page.session.services("admin"), source.id)
                rows.clear()
                with rows:
                    for run in runs:
                        _draw_run(text, run)

        with ui.expansion(text("sources.runs"), on_value_change=read).classes("w-full").props("dense") as panel:
            rows = ui.column().classes("w-full gap-1 min-w-0")

    def _draw_buttons(self, source: ConnectedSource) -> None:
        text, address = self.page.text, source.wish.address
        if source.paused:
            icon_button("play_arrow", text("sources.resume", address=address), partial(self._pause, source, False))
        else:
            icon_button("sync", text("sources.sync", address=address), partial(self._sync, source))
            icon_button("pause", text("sources.pause", address=address), partial(self._pause, source, True))
        icon_button("edit", text("sources.edit", address=address), partial(self._edit, source))
        icon_button("delete", text("sources.remove", address=address), partial(self._remove, source))

    # --- what is done -----------------------------------------------------------------------------------------------------

    async def _add(self) -> None:
        if await add_source(self.page, self.collection):
            await self.refresh()
            await self.changed()  # the collection may be new

    async def _edit(self, source: ConnectedSource) -> None:
        with shown_errors():
            if await edit_source(self.page, source):
                await self.refresh()
                await self.changed()  # others may read its documents

    async def _sync(self, source: ConnectedSource) -> None:
        with shown_errors():
            await sources.sync(await self.page.session.services("admin"), source.id)
        await self.refresh()

    async def _pause(self, source: ConnectedSource, paused: bool) -> None:
        with shown_errors():
            services = await self.page.session.services("admin")
            await sources.change_source(services, source.id, SourceChange(paused=paused))
        await self.refresh()

    async def _remove(self, source: ConnectedSource) -> None:
        documents = await ask_what_stays(self.page, source)
        if documents is None:
            return
        with shown_errors():
            services = await self.page.session.services("admin")
            deleted = await sources.remove_source(services, source.id, documents=documents)
            ui.notify(self.page.text("sources.removed", count=self.page.text.number(deleted)))
        await self.refresh()


async def _look_at(services: Services, source: ConnectedSource) -> ShownSource:
    job = await get_job(services, source.job_id) if source.running and source.job_id else None
    failed = await sources.list_failed_files(services, source.id, SHOWN_FAILED) if source.failed else []
    return ShownSource(source, job.progress if job else None, failed)


def _say_state(text: Texts, shown: ShownSource) -> Fact:
    source, progress = shown.source, shown.progress
    if source.running:
        if progress is None or not progress.total:
            return text("sources.begun")
        return text("sources.reading", done=text.number(progress.done), total=text.number(progress.total))
    if source.paused:
        return text("sources.paused_why", why=source.note) if source.note else text("sources.paused")
    if source.last_error:
        return text("sources.failed", why=source.last_error)
    if source.last_finished_at is None:
        return text("sources.unseen")
    return text("sources.in_step"), source.last_finished_at


def _say_counts(text: Texts, counts: Mapping[str, int] | None) -> list[str]:
    """What a synchronisation did, without what it did not."""
    done = counts or {}
    return [text(f"sources.count_{one}", count=text.number(done[one])) for one in COUNTED if done.get(one)]


def _draw_run(text: Texts, run: SourceRun) -> None:
    """One synchronisation: when, how it ended, what it did, and why not more."""
    state = text("sources.paused") if run.state == "paused" else text(f"documents.{run.state}")
    took = (run.finished_at - run.started_at).total_seconds() if run.started_at and run.finished_at else None
    length = None if took is None else text("sources.took", seconds=text.number(took, 1))
    show_facts(run.started_at, state, length, *_say_counts(text, run.counts), classes="text-sm")
    if why := run.error or run.note:
        ui.label(why).classes(f"text-xs break-words max-w-full {BAD if run.error else ''}")


def _say_next(text: Texts, source: ConnectedSource) -> Fact | None:
    if source.running or source.paused:
        return None
    return (text("sources.next"), source.due_at) if source.due_at else text("sources.every_asked")


def _say_readers(text: Texts, source: ConnectedSource) -> str:
    """Who alone may read it, or folders of it; "" where everybody may."""
    access = source.wish.access
    if whole := access.get(""):
        return text("access.only", names=say_readers(text, whole))
    return text.count("access.folders", len(access)) if access else ""
