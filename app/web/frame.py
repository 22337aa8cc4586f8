"""What is around every room: the way to the others, dark or light, words in the reader's language, and errors as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import structlog
from nicegui import ui

from app.errors import CairnError
from app.web.session import Session
from app.web.texts import Texts

log = structlog.get_logger(__name__)

ROOMS: Final = {
    "ask": ("/", "forum"), "search": ("/search", "search"), "documents": ("/documents", "description"),
    "graph": ("/graph", "hub"), "runs": ("/runs", "timeline"), "operation": ("/operation", "monitor_heart"),
}  # fmt: skip
"""Room -> path below the mount, and icon."""
_CSS: Final = """
.q-page { max-width: 90rem; margin: 0 auto; }
.skip { position: absolute; left: -999px; } .skip:focus { left: 1rem; top: 1rem; z-index: 9999; }
mark { background: #fde68a; color: inherit; } .body--dark mark { background: #854d0e; }
"""


@dataclass(frozen=True, slots=True)
class Page:
    """An open page: whom it works for, and in which words."""

    session: Session
    text: Texts


@contextmanager
def framed(page: Page, room: str) -> Iterator[None]:
    """Draw the frame; the room goes into the block."""
    text = page.text
    ui.add_css(_CSS)
    ui.page_title(f"{text(f'frame.{room}')} · {text('frame.title')}")
    ui.link(text("frame.skip"), "#content").classes("skip")
    dark = ui.dark_mode(None)
    with ui.header(elevated=True).classes("items-center gap-1 py-1").props("role=banner"):
        drawer_button = ui.button(icon="menu").props(f'flat color=white round aria-label="{text("frame.menu")}"')
        drawer_button.classes("md:hidden")
        ui.label(text("frame.title")).classes("text-lg font-bold mr-4")
        with ui.row().classes("gap-1 max-md:hidden").props("role=navigation"):
            _links(page, room)
        ui.space()
        ui.button(icon="contrast", on_click=lambda: dark.set_value(not dark.value)).props(
            f'flat color=white round aria-label="{text("frame.dark")}"'
        )
        if page.session.credential is not None:
            ui.button(icon="logout", on_click=_sign_out).props(
                f'flat color=white round aria-label="{text("frame.sign_out")}"'
            )
    with ui.left_drawer(value=False, bordered=True).classes("md:hidden").props("overlay") as drawer, ui.column():
        _links(page, room)
    drawer_button.on_click(drawer.toggle)
    with ui.column().classes("w-full p-2 md:p-4 gap-4").props("id=content tabindex=-1 role=main"):
        yield


def _links(page: Page, room: str) -> None:
    for name, (path, icon) in ROOMS.items():
        button = ui.button(page.text(f"frame.{name}"), icon=icon, on_click=lambda path=path: ui.navigate.to(path))
        button.props("flat no-caps dense" + (" aria-current=page unelevated" if name == room else ""))
        button.classes("text-inherit" + (" underline" if name == room else ""))


async def _sign_out() -> None:
    await ui.run_javascript(
        "await fetch(location.pathname.replace(/\\/ui\\/.*$/, '/session'), {method: 'DELETE'}); location.reload()",
        timeout=10,
    )


@contextmanager
def shown_errors() -> Iterator[None]:
    """What went wrong in the block is shown to the reader, and the page stays usable."""
    try:
        yield
    except CairnError as error:
        ui.notify(error.detail, type="negative", multi_line=True, close_button=True, timeout=10_000)
