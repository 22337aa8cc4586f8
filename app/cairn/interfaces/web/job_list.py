"""Jobs of the tenant, newest first, to be cancelled and tried again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nicegui import ui

from cairn.domain.job import Job
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import BAD, LINE, Repetition, icon_button, show_facts
from cairn.service.jobs import cancel_job, list_jobs, retry_job

SHOWN: Final = 30
LOOK_SECONDS: Final = 2.0
"""How often it is read again while it is open and a job has not ended."""
_COLORS: Final = {"succeeded": "positive", "failed": "negative", "parked": "negative", "running": "primary"}


@dataclass
class JobList:
    page: Page
    _jobs: list[Job] | None = None

    def draw(self) -> None:
        text = self.page.text
        with ui.expansion(text("documents.jobs"), icon="construction").classes("w-full") as panel:
            with ui.row().classes("w-full items-center no-wrap"):
                ui.label(text("documents.jobs_hint")).classes("text-sm opacity-70 grow")
                icon_button("refresh", text("documents.refresh"), self.refresh)
            self._rows = ui.column().classes("w-full gap-1")
        self._looking = Repetition(LOOK_SECONDS, self.refresh)
        panel.on_value_change(lambda event: self._open(shown=event.value))

    async def _open(self, *, shown: bool) -> None:
        self._looking.run(on=False)
        if shown:
            await self.refresh()

    async def refresh(self) -> None:
        with shown_errors():
            jobs = await list_jobs(await self.page.session.services("read"), limit=SHOWN)
            self._looking.run(on=any(not job.ended for job in jobs))
            if jobs == self._jobs:
                return  # else a button would go away under the pointer
            self._jobs = jobs
            self._rows.clear()
            with self._rows:
                for job in jobs:
                    self._draw_job(job)
                if not jobs:
                    ui.label(self.page.text("documents.no_jobs"))

    def _draw_job(self, job: Job) -> None:
        text = self.page.text
        with ui.row().classes(f"job w-full items-center gap-x-3 gap-y-0 {LINE} py-1"):
            ui.badge(text(f"documents.{job.status}"), color=_COLORS.get(job.status, "grey")).props("outline")
            with ui.column().classes("grow gap-0 min-w-0"):
                said = f"{text.say('work', job.kind)} {job.payload.get('collection', '')}".strip()
                ui.label(said).classes("break-words")
                show_facts(job.created_at, self._describe(job))
                if job.error:
                    ui.label(job.error).classes(f"text-xs {BAD} break-words")
            if self.page.session.may("write"):
                if job.status in ("failed", "parked"):
                    icon_button("replay", text("documents.retry"), lambda: self._act(job, retry=True))
                if not job.ended or job.status == "parked":
                    icon_button("cancel", text("documents.cancel_job"), lambda: self._act(job, retry=False))

    def _describe(self, job: Job) -> str:
        tried = self.page.text("documents.attempts", attempt=job.attempts, most=job.max_attempts)
        progress = job.progress
        done = f" · {progress.done}/{progress.total} {progress.message}" if progress.total else ""
        shares = "".join(f" · {name} {share:.0%}" for name, share in progress.shares.items())
        return f"{tried}{done}{shares}"

    async def _act(self, job: Job, *, retry: bool) -> None:
        with shown_errors():
            services = await self.page.session.services("write")
            await (retry_job if retry else cancel_job)(services, job.id)
        await self.refresh()
