"""Evaluation runs: their measures as bars with intervals, and two of them compared query by query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from nicegui import ui

from cairn.domain.evaluation import EvalRun
from cairn.interfaces.web.answer_days import show_days
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import LINE, show_empty, show_facts
from cairn.interfaces.web.theme import DRAWN
from cairn.service import evaluation
from cairn.wiring import Services

SHOWN: Final = 50
MEASURES: Final = 8
"""In one drawing."""


async def show_evaluations(page: Page, services: Services) -> None:
    await show_days(page, services)
    ui.label(page.text("quality.evaluations")).classes("text-lg font-medium mt-4").props("role=heading aria-level=2")
    runs = await evaluation.list_runs(services, limit=SHOWN)
    if not runs:
        show_empty("query_stats", page.text("quality.empty_title"), page.text("quality.empty_hint"))
        return
    _Evaluations(page, runs).draw()


@dataclass
class _Evaluations:
    page: Page
    runs: Sequence[EvalRun]
    chosen: list[EvalRun] = field(default_factory=list)

    def draw(self) -> None:
        ui.label(self.page.text("quality.choose")).classes("text-sm opacity-70")
        self.stage = ui.column().classes("w-full gap-2").props("role=region aria-live=polite")
        with ui.column().classes("w-full gap-0").props("role=list"):
            for run in self.runs:
                self._draw_run(run)
        self.chosen = list(self.runs[:1])
        self._draw_bars()

    def _draw_run(self, run: EvalRun) -> None:
        measures = [f"{name} {value.mean:.3f}" for name, value in list(run.metrics.items())[:MEASURES]]
        with ui.row().classes(f"w-full items-center gap-2 no-wrap py-1 {LINE}").props("role=listitem"):
            box = ui.checkbox(value=run is self.runs[0]).props("dense")
            box.props["aria-label"] = self.page.text("documents.select", name=run.name or run.data_set)
            box.on_value_change(lambda event: self._choose(run, chosen=event.value))
            with ui.column().classes("grow gap-0 min-w-0"):
                ui.label(" ".join(filter(None, (run.name or run.data_set, run.mode)))).classes(
                    "font-medium break-words"
                )
                queries = self.page.text.count("quality.queries", run.query_count)
                show_facts(run.started_at, run.kind, run.collection, queries)
                ui.label(" · ".join(measures)).classes("text-sm break-words")

    async def _choose(self, run: EvalRun, *, chosen: bool) -> None:
        self.chosen = [one for one in self.chosen if one is not run] + ([run] if chosen else [])
        self.stage.clear()
        if not self.chosen:
            return
        self._draw_bars()
        if len(self.chosen) == 2:
            with shown_errors():
                await self._compare()

    def _draw_bars(self) -> None:
        names = list(dict.fromkeys(name for run in self.chosen for name in run.metrics))[:MEASURES]
        series: list[dict[str, Any]] = [
            {
                "type": "bar", "name": f"{run.name or run.data_set} {run.mode}".strip(),
                "data": [round(run.metrics[name].mean, 4) if name in run.metrics else None for name in names],
            }
            for run in self.chosen
        ]  # fmt: skip
        with self.stage:
            chart = ui.echart(
                {
                    "animation": False, "legend": {"textStyle": {"color": DRAWN["muted"]}, "type": "scroll", "top": 0},
                    "tooltip": {"trigger": "axis"}, "grid": {"left": 40, "right": 10, "bottom": 60},
                    "xAxis": {"type": "category", "data": names, "axisLabel": {"color": DRAWN["muted"], "rotate": 30}},
                    "yAxis": {"type": "value", "axisLabel": {"color": DRAWN["muted"]}}, "series": series,
                }
            ).classes("w-full h-72")  # fmt: skip
            chart.props["role"], chart.props["aria-label"] = "img", self.page.text("quality.picture")

    async def _compare(self) -> None:
        text = self.page.text
        services = await self.page.session.services("read")
        first, second = sorted(self.chosen, key=lambda run: run.started_at)
        found = await evaluation.compare_runs(services, str(first.id), str(second.id))
        with self.stage:
            if not found.same_data:
                ui.label(text("quality.other_data"))
            for name, one in found.metrics.items():
                gap = one.difference
                said = text("quality.clear") if one.clear else text("quality.unclear")
                numbers = f"{name}: {gap.mean:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}]"
                tally = text("quality.tally", wins=one.wins, losses=one.losses, ties=one.ties)
                ui.label(f"{numbers} · {tally} · {said}").classes("text-sm break-words")
            for name, (before, after) in found.changed.items():
                ui.label(f"{name}: {before} → {after}").classes("text-xs opacity-80 break-all")
