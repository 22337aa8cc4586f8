"""How answers were, day by day: not sure, not in the documents, failed, and what readers thought of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from nicegui import ui

from cairn.domain.trace import DayOfAnswers
from cairn.interfaces.web.frame import Page
from cairn.interfaces.web.parts import LINE
from cairn.interfaces.web.texts import Texts
from cairn.interfaces.web.theme import DRAWN
from cairn.service import runs
from cairn.wiring import Services

DAYS: Final = 30
_ZONE: Final = "Intl.DateTimeFormat().resolvedOptions().timeZone"
_PARTS: Final[dict[str, tuple[str, Callable[[DayOfAnswers], int]]]] = {
    "other": (DRAWN["muted"], lambda day: day.questions - day.unsure - day.refused - day.failed),
    "unsure": (DRAWN["warn"], lambda day: day.unsure),
    "refused": (DRAWN["accent"], lambda day: day.refused),
    "failed": (DRAWN["bad"], lambda day: day.failed),
}
"""Of a bar, from below: colour, and how many."""
_COLUMNS: Final = ("questions", "unsure", "refused", "failed", "good", "bad")


async def show_days(page: Page, services: Services) -> None:
    """Draw them, by the days of the reader's time zone."""
    zone = await ui.run_javascript(_ZONE, timeout=10)
    days = await runs.count_days(services, DAYS, str(zone))
    ui.label(page.text("quality.by_day")).classes("text-lg font-medium").props("role=heading aria-level=2")
    if not days:
        ui.label(page.text("quality.no_answers")).classes("opacity-80")
        return
    _draw_bars(page.text, days)
    _draw_table(page.text, days)


def _draw_bars(text: Texts, days: Sequence[DayOfAnswers]) -> None:
    series: list[dict[str, Any]] = [
        {
            "type": "bar", "stack": "day", "name": text(f"quality.{name}"), "itemStyle": {"color": color},
            "data": [count(day) for day in days], "barMaxWidth": 32,
        }
        for name, (color, count) in _PARTS.items()
    ]  # fmt: skip
    chart = ui.echart(
        {
            "animation": False, "legend": {"textStyle": {"color": DRAWN["muted"]}, "type": "scroll", "top": 0},
            "tooltip": {"trigger": "axis"}, "grid": {"left": 40, "right": 10, "bottom": 30},
            "xAxis": {"type": "category", "data": [f"{day.day}" for day in days], "axisLabel": {"color": DRAWN["muted"]}},
            "yAxis": {"type": "value", "minInterval": 1, "axisLabel": {"color": DRAWN["muted"]}}, "series": series,
        }
    ).classes("w-full h-64")  # fmt: skip
    chart.props["role"], chart.props["aria-label"] = "img", text("quality.days_picture")


def _draw_table(text: Texts, days: Sequence[DayOfAnswers]) -> None:
    """The newest first."""
    with ui.element("div").classes("w-full overflow-x-auto"), ui.element("table").classes("text-sm days"):
        with ui.element("thead"), ui.element("tr"):
            for name in ("day", *_COLUMNS):
                with ui.element("th").classes(f"{'text-left' if name == 'day' else 'text-right'} p-2 font-medium"):
                    ui.label(text(f"quality.{name}"))
        with ui.element("tbody"):
            for day in reversed(days):
                with ui.element("tr").classes(LINE):
                    with ui.element("td").classes("p-2 whitespace-nowrap"):
                        ui.label(f"{day.day}")
                    for name in _COLUMNS:
                        with ui.element("td").classes("p-2 text-right"):
                            ui.label(text.number(getattr(day, name)))
