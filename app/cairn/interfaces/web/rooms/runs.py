"""The room of runs: searches and questions as they were carried out, listed with filters, and one step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from nicegui import ui

from cairn.domain.trace import RunSummary
from cairn.interfaces.web.badge import show_worth
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import (
    BAD,
    LINE,
    beside_rows,
    cost_of,
    icon_button,
    keep_address,
    list_shown_names,
    read_address,
    show_empty,
    show_facts,
)
from cairn.interfaces.web.run_detail import RunDetail
from cairn.service import runs

SHOWN: Final = 25
LOOK_SECONDS: Final = 1.0
"""Between two looks at the list, while one of its runs is under way."""
IDLE_SECONDS: Final = 4.0
"""Between two looks while none is: one that others begin appears by itself."""
TROUBLED_SECONDS: Final = 30.0
"""Until the next look after one that failed."""
_AGAIN: Final = {"query": "runs.again", "search": "runs.search_again"}
COLORS: Final = {"ok": "positive", "error": "negative", "running": "primary", "cancelled": "grey"}


async def show(page: Page) -> None:
    """Draw it into the open frame."""
    await page.session.services("read")
    wanted = read_address("run")
    if wanted:
        await _show_one(page, wanted)
    else:
        await _Room(page).draw()


async def _show_one(page: Page, wanted: str) -> None:
    ui.link(page.text("runs.all"), "/runs")
    try:
        run_id = UUID(wanted)
    except ValueError:
        show_empty("timeline", page.text("runs.none_title"), page.text("runs.no_id", id=wanted[:80]))
        return
    await RunDetail(page, run_id).draw()


@dataclass
class _Room:
    """`names`: what people call the collections, by name."""

    page: Page
    names: dict[str, str] = field(default_factory=dict)
    found: list[RunSummary] = field(default_factory=list)
    shown: int = SHOWN

    async def draw(self) -> None:
        text = self.page.text
        self.names = await list_shown_names(await self.page.session.services("read"))
        with ui.row().classes("w-full items-center gap-2"):
            self.words = ui.input(text("runs.words"), value=read_address("words"), on_change=self._filter)
            self.words.props("clearable dense debounce=300")
            kinds = {"": text("runs.any_kind"), "query": text("runs.query"), "search": text("runs.search")}
            self.kind = self._choice("kind", text("runs.kind"), kinds)
            outcomes = {"": text("runs.any_outcome"), **{one: text(f"runs.{one}") for one in COLORS}}
            self.outcome = self._choice("outcome", text("runs.outcome"), outcomes)
            days = {"1": text("runs.day"), "7": text("runs.week"), "30": text("runs.month")}
            self.days = self._choice("days", text("runs.since"), days)
        self.rows = ui.column().classes("w-full gap-0").props("role=list")
        await self.refresh()
        self.timer = ui.timer(IDLE_SECONDS, self._look, immediate=False)

    def _choice(self, name: str, label: str, options: dict[str, str]) -> ui.select:
        value = read_address(name)
        chosen = value if value in options else next(iter(options))
        return ui.select(options, label=label, value=chosen, on_change=self._filter).props("dense").classes("min-w-32")

    async def _filter(self) -> None:
        self.shown = SHOWN
        keep_address(
            {"words": self.words.value, "kind": self.kind.value, "outcome": self.outcome.value, "days": self.days.value}
        )
        await self.refresh()

    async def _look(self) -> None:
        """What did not change is left as it is, with the focus of a reader in it."""
        before = self.found
        self.timer.interval = TROUBLED_SECONDS  # where reading fails
        with shown_errors():
            self.found = await self._read()
            if self.found != before:
                self._show()
            self.timer.interval = LOOK_SECONDS if any(run.outcome == "running" for run in self.found) else IDLE_SECONDS

    async def refresh(self) -> None:
        """Read again what is shown."""
        with shown_errors():
            self.found = await self._read()
        self._show()

    async def _read(self) -> list[RunSummary]:
        services = await self.page.session.services("read")
        return await runs.list_runs(
            services, kind=self.kind.value or None, outcome=self.outcome.value or None,
            words=self.words.value or "", days=int(self.days.value), limit=self.shown + 1,
        )  # fmt: skip

    def _show(self) -> None:
        text = self.page.text
        self.rows.clear()
        with self.rows:
            for run in self.found[: self.shown]:
                self._draw_run(run)
            if len(self.found) > self.shown:
                with beside_rows():
                    ui.button(text("documents.more"), on_click=self._show_more).props("flat no-caps")
            if not self.found:
                with beside_rows():
                    show_empty("timeline", text("runs.none_title"), text("runs.none_hint"))

    async def _show_more(self) -> None:
        self.shown += 2 * SHOWN
        await self.refresh()

    def _draw_run(self, run: RunSummary) -> None:
        text = self.page.text
        facts = (
            run.started_at, text(f"runs.{run.kind}"), run.strategy and text.say("ways", run.strategy),
            ", ".join(self.names.get(one, one) for one in run.collections),
            f"{text.number(run.timings_ms['total'], 0)} ms" if "total" in run.timings_ms else "",
            cost_of(text, run.usage),
        )  # fmt: skip
        with ui.row().classes(f"w-full items-center gap-x-3 gap-y-0 py-1 no-wrap {LINE}").props("role=listitem"):
            # where it is narrow, what became of it stands below: beside it the question had room for a word
            with ui.row().classes("grow min-w-0 sm:items-center max-sm:flex-col gap-x-3 gap-y-1 no-wrap"):
                with ui.column().classes("grow gap-0 min-w-0 w-full"):
                    ui.link(run.question or text("runs.no_words"), f"/runs?run={run.id}").classes(
                        "break-words line-clamp-2"
                    )
                    show_facts(*facts)
                    if problem := run.error or "; ".join(run.degraded):
                        ui.label(problem).classes(f"text-sm break-words line-clamp-2 {BAD}")
                self._draw_badge(run)
            if run.question:
                icon_button("replay", text(_AGAIN[run.kind]), partial(_ask_again, run))

    def _draw_badge(self, run: RunSummary) -> None:
        """What became of it: what the answer is worth, as where it was given, or that there is none."""
        text = self.page.text
        if run.outcome != "ok":
            ui.badge(text(f"runs.{run.outcome}"), color=COLORS[run.outcome]).props("outline")
        elif run.answered == "no":
            ui.badge(text("ask.answered_no"), color="grey").props("outline")
        else:
            show_worth(self.page, run.answered, run.grounded, run.confidence_word)


def _ask_again(run: RunSummary) -> None:
    """Where it is asked, with its words."""
    first = {"collection": run.collections[0]} if run.collections else {}
    if run.kind == "search":
        ui.navigate.to(f"/search?{urlencode({'q': run.question, **first})}")
    else:
        ui.navigate.to(f"/?{urlencode({'question': run.question, **first})}")
