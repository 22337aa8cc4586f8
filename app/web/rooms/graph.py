"""The room: graph."""

from __future__ import annotations

from nicegui import ui

from app.web.frame import Page


async def show(page: Page) -> None:
    """Draw it into the open frame."""
    ui.label(page.text("frame.graph")).classes("text-2xl")
