"""Why a search returned a passage or not, in a dialog."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from app.domain.trace import StageVerdict
from app.web.frame import Page
from app.web.parts import LINE


def show_verdicts(page: Page, verdicts: Sequence[StageVerdict]) -> None:
    with ui.dialog() as dialog, ui.card().classes("max-w-2xl"):
        ui.label(page.text("search.why")).classes("text-lg").props("role=heading aria-level=2")
        for one in verdicts:
            with ui.column().classes(f"w-full gap-0 pb-1 {LINE}"):
                numbers = [f"#{one.rank}"] if one.rank is not None else []
                numbers += [f"{one.score:.4f}"] if one.score is not None else []
                ui.label(" · ".join((one.stage, *numbers))).classes("text-xs opacity-70")
                ui.label(one.verdict).classes("break-words")
        ui.button(page.text("documents.dismiss"), on_click=dialog.close).props("flat").classes("self-end")
    dialog.on("hide", dialog.delete)
    dialog.open()
