"""What becomes of each file that was handed over: on its way, its place in the queue, being read, there, or why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from nicegui import ui

from cairn.domain.job import Job, WaitingFile
from cairn.errors import CairnError
from cairn.interfaces.web.frame import Page
from cairn.interfaces.web.parts import BAD, LINE, Repetition, beside_rows, bytes_of, icon_button
from cairn.service.jobs import get_job, list_waiting_files

LOOK_SECONDS: Final = 1.0
"""Between two looks at jobs under way."""
SHOWN: Final = 12
"""Files; those that want to be seen come first."""
_ICONS: Final = {
    "sending": "upload", "waiting": "schedule", "reading": "auto_stories", "indexing": "manage_search", "failed": "error_outline",
    "left_out": "error_outline",
}  # fmt: skip
_WORKING: Final = frozenset({"sending", "reading", "indexing"})
_UNDER_WAY: Final = (*_WORKING, "waiting")
_ENDS: Final = ("added", "replaced", "updated", "unchanged", "failed", "left_out")


@dataclass(slots=True)
class _File:
    """`state`: sending, waiting, reading, indexing, or how it ended; `place`: in the queue, from 1; `share`: how much is read,
    then of a large one embedded, 0 to 1."""

    name: str
    size: int
    state: str = "sending"
    place: int = 0
    note: str = ""
    share: float | None = None


@dataclass(slots=True)
class _Batch:
    """Files that were sent together. `share` of them is sent; `job_id` None: they are on their way, or were not taken."""

    files: dict[str, _File]
    share: float = 0.0
    job_id: UUID | None = None

    @property
    def under_way(self) -> bool:
        return any(one.state in _UNDER_WAY for one in self.files.values())


@dataclass
class UploadList:
    """Draws itself where it is made; `changed` is called when documents were added."""

    page: Page
    changed: Callable[[], Awaitable[None]]
    _batches: dict[str, _Batch] = field(default_factory=dict)
    _drawn: object = None
    _shares: dict[str, ui.label] = field(default_factory=dict)

    def draw(self) -> None:
        text = self.page.text
        with ui.card().classes("w-full p-3 gap-2").props("role=status aria-atomic=false") as self._card:
            with ui.row().classes("w-full items-center no-wrap gap-2"):
                self._summary = ui.label().classes("grow font-medium break-words min-w-0")
                icon_button("close", text("documents.dismiss"), self._dismiss)
            self._bar = ui.linear_progress(0, show_value=False).props("aria-hidden=true rounded")
            self._rows = ui.column().classes("w-full gap-0").props("role=list")
        self._card.set_visibility(False)
        self._looking = Repetition(LOOK_SECONDS, self._look)

    # --- what the browser tells -------------------------------------------------------------------------------------------

    def begin(self, key: str, files: Sequence[tuple[str, int]]) -> None:
        """Files are on their way."""
        self._batches[key] = _Batch({name: _File(name, size) for name, size in files})
        self._show()

    def note_sent(self, key: str, share: float) -> None:
        if batch := self._batches.get(key):
            batch.share = min(1.0, share)
            self._show()

    def take(self, key: str, job_id: UUID) -> None:
        """They arrived, and a job has them."""
        if batch := self._batches.get(key):
            batch.job_id = job_id
            for one in batch.files.values():
                one.state = "waiting"
            self._looking.run(on=True)
            self._show()

    def refuse(self, key: str, why: str) -> None:
        """They were not taken."""
        if batch := self._batches.get(key):
            for one in batch.files.values():
                one.state, one.note = "failed", why
            self._show()

    def leave_out(self, names: Sequence[str], why: str) -> None:
        """They were not even sent."""
        files = {name: _File(name, 0, "left_out", note=why) for name in names}
        self._batches[f"left-{len(self._batches)}"] = _Batch(files)
        self._show()

    def _dismiss(self) -> None:
        self._batches = {key: batch for key, batch in self._batches.items() if batch.under_way}
        self._show()

    # --- what jobs tell -----------------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        looked = {batch.job_id: batch for batch in self._batches.values() if batch.job_id and batch.under_way}
        if not looked:
            self._looking.run(on=False)
            return
        try:
            services = await self.page.session.services("read")
            waiting = await list_waiting_files(services, list(looked))
            ended = [await get_job(services, job_id) for job_id in looked.keys() - {one.job_id for one in waiting}]
        except CairnError as error:  # the next look may go better
            self._summary.text = error.detail
            return
        for one in waiting:
            _follow(looked[one.job_id].files, one)
        for job in ended:
            if job.ended:
                _end(self.page, looked[job.id].files, job)
        self._show()
        await self.changed()

    # --- what is shown ------------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        files = [one for batch in self._batches.values() for one in batch.files.values()]
        self._card.set_visibility(bool(files))
        under_way = [one for one in files if one.state in _UNDER_WAY]
        told = [one for one in files if one.note]
        shown = sorted([*under_way, *(one for one in told if one not in under_way)], key=_by_interest)
        drawn = [(one.name, one.state, one.place, one.note) for one in shown[:SHOWN]], len(shown), len(files)
        self._bar.set_visibility(bool(under_way))
        sending = [batch.share for batch in self._batches.values() if batch.job_id is None and batch.under_way]
        done = len(files) - len(under_way) + sum(one.share or 0 for one in under_way if one.state == "indexing")
        self._bar.value = sending[0] if sending else done / max(1, len(files))
        for one in shown[:SHOWN]:
            if label := self._shares.get(one.name):
                label.text = "" if one.share is None else f"{one.share:.0%}"
        if drawn == self._drawn:
            return  # else what is read would be torn away
        self._drawn = drawn
        self._summary.text = self._say(files, len(under_way))
        self._rows.clear()
        self._shares.clear()
        with self._rows:
            for one in shown[:SHOWN]:
                self._draw_file(one)
            if len(shown) > SHOWN:
                with beside_rows():
                    ui.label(self.page.text.count("search.more_dropped", len(shown) - SHOWN)).classes("text-sm muted")

    def _say(self, files: Sequence[_File], under_way: int) -> str:
        text = self.page.text
        if under_way:
            return text("documents.files_done", done=len(files) - under_way, total=len(files))
        counts = Counter(one.state for one in files)
        return ", ".join(
            text(f"documents.{state}_{'one' if counts[state] == 1 else 'many'}", count=counts[state])
            for state in _ENDS if counts[state]
        )  # fmt: skip

    def _draw_file(self, one: _File) -> None:
        text, bad = self.page.text, BAD if one.state in ("failed", "left_out") else ""
        with ui.row().classes(f"w-full items-center gap-x-3 gap-y-0 py-1 no-wrap {LINE}").props("role=listitem"):
            if one.state in _WORKING:
                ui.spinner(size="xs").props("aria-hidden=true")
            else:
                ui.icon(_ICONS.get(one.state, "check")).classes(bad or "opacity-70").props("aria-hidden=true")
            with ui.column().classes("grow gap-0 min-w-0"):
                ui.label(one.name).classes("text-sm break-words max-w-full")
                if one.note:
                    ui.label(one.note).classes(f"text-xs break-words {bad or 'opacity-80'}")
            if one.size:
                ui.label(bytes_of(text, one.size)).classes("text-xs opacity-70 shrink-0 max-sm:hidden")
            ui.label(self._say_state(one)).classes(f"text-sm shrink-0 {bad}")
            if one.state in ("reading", "indexing"):  # not told aloud at each step
                said = "" if one.share is None else f"{one.share:.0%}"
                self._shares[one.name] = ui.label(said).classes("text-sm shrink-0 muted").props("aria-live=off")

    def _say_state(self, one: _File) -> str:
        text = self.page.text
        if one.state != "waiting":
            return text(f"documents.file_{one.state}")
        if not one.place:  # not looked for yet
            return text("documents.pending")
        return text("documents.file_next") if one.place == 1 else text("documents.file_waiting", place=one.place)


def _by_interest(one: _File) -> tuple[bool, bool, int]:
    """What failed, what is worked on, what waits in the order of the queue, the rest."""
    return one.state not in ("failed", "left_out"), one.state not in _WORKING, one.place


def _follow(files: Mapping[str, _File], told: WaitingFile) -> None:
    if (one := files.get(told.external_id)) is None:
        return
    one.share = told.share
    behind = told.place - 1 - (told.done if told.running else 0)
    if not told.running or behind > 0:
        one.state, one.place = "waiting", told.ahead + max(behind, 0) + 1
    elif told.status == "failed":
        one.state, one.note = "failed", told.error or ""
    else:
        one.state, one.place = "reading" if behind == 0 and told.status != "embedding" else "indexing", 0


def _end(page: Page, files: Mapping[str, _File], job: Job) -> None:
    result: Mapping[str, Any] = job.result or {}
    why = "" if job.status == "succeeded" else job.error or page.text(f"documents.{job.status}")
    for one in files.values():
        one.share = None
        one.state, one.note = ("failed", why) if why else ("unchanged", "")
    for failed in result.get("failed", ()):
        if found := files.get(failed["external_id"]):
            found.state, found.note = "failed", failed["error"]
    for done in result.get("uploaded", ()):
        if found := files.get(done["external_id"]):
            found.state = done["change"]
            found.note = page.text("documents.left", notes="; ".join(done["notes"])) if done.get("notes") else ""
