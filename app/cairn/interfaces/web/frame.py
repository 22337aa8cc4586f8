"""What is around every room: the way to the others, dark or light, words in the reader's language, and errors as they are."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import structlog
from nicegui import ui

from cairn.errors import CairnError, UnauthenticatedError
from cairn.interfaces.web.session import Session
from cairn.interfaces.web.texts import Texts
from cairn.interfaces.web.theme import mark, style

if TYPE_CHECKING:
    from nicegui.language import Language

log = structlog.get_logger(__name__)

ROOMS: Final = {
    "ask": ("/", "forum"), "search": ("/search", "search"), "documents": ("/documents", "description"),
    "graph": ("/graph", "hub"), "runs": ("/runs", "timeline"), "operation": ("/operation", "monitor_heart"),
}  # fmt: skip
"""Room -> path below the mount, and icon."""
DARK: Final = "cairn_dark"
"""Cookie of a reader who chose: 1 dark, 0 light. None: as the system has it."""


@dataclass(frozen=True, slots=True)
class Page:
    """An open page: whom it works for, and in which words."""

    session: Session
    text: Texts


@contextmanager
def framed(page: Page, room: str) -> Iterator[None]:
    """Draw the frame; the room goes into the block."""
    text = page.text
    add_style()
    ui.page_title(f"{text(f'frame.{room}')} · {text('frame.title')}")
    set_language(text)
    dark = remembered_dark()
    with ui.header().classes("items-center gap-1 py-2 px-3 no-wrap").props("role=banner"):
        ui.link(text("frame.skip"), "#content").classes("skip")  # the first that the Tab key leads to
        drawer_button = ui.button(icon="menu").props(f'flat round aria-label="{text("frame.menu")}"')
        drawer_button.classes("lg:hidden")
        draw_brand(text)
        _draw_rooms(text, room, "flex gap-1 max-lg:hidden no-wrap")
        ui.space()
        _switch(dark, text)
        if page.session.credential is not None:
            ui.button(icon="logout", on_click=_sign_out).props(f'flat round aria-label="{text("frame.sign_out")}"')
    with ui.left_drawer(value=False, bordered=True).classes("lg:hidden").props("overlay") as drawer:
        _draw_rooms(text, room, "flex flex-col items-start gap-4")
    drawer_button.on_click(drawer.toggle)
    with ui.column().classes("w-full p-2 md:p-4 gap-4").props("id=content tabindex=-1"):
        ui.label(text(f"frame.{room}")).classes("sr-only").props("role=heading aria-level=1")
        yield


def add_style() -> None:
    """The design, before anything is drawn."""
    ui.add_head_html(style())


def draw_brand(text: Texts) -> None:
    """The mark and the name, which lead to the first room."""
    name = html.escape(text("frame.title"))  # where it is narrow, the mark stands alone
    link = f'<a class="brand" href="./" aria-label="{name}">{mark()}<span class="max-sm:hidden">{name}</span></a>'
    ui.html(link, sanitize=False)  # our own


def _draw_rooms(text: Texts, room: str, classes: str) -> None:
    """The way to every room, as one element: each that NiceGUI makes costs as much as the HTML of them all. Their addresses are
    relative, for proxies that add a path."""
    links = (
        f'<a class="room" href="./{path.removeprefix("/")}"{" aria-current=page" if name == room else ""}>'
        f'<i class="q-icon notranslate material-icons" aria-hidden="true">{icon}</i>'
        f"<span>{html.escape(text(f'frame.{name}'))}</span></a>"
        for name, (path, icon) in ROOMS.items()
    )
    ui.html("".join(links), sanitize=False, tag="nav").classes(classes)


def set_language(text: Texts) -> None:
    """Tell the browser in which language the page is: screen readers pronounce by it, and the framework says in it that the
    connection is lost, or that a picker finds nothing."""
    client = ui.context.client
    client.page = copy(client.page)  # that of the path, which other readers have as well
    client.page.language = cast("Language", "en-US" if text.language == "en" else text.language)


def remembered_dark() -> ui.dark_mode:
    """As the reader chose in this browser, else as the system has it."""
    request = ui.context.client.request
    chosen = request.cookies.get(DARK) if request else None
    return ui.dark_mode(None if chosen not in ("0", "1") else chosen == "1")


def _switch(dark: ui.dark_mode, text: Texts) -> None:
    async def switch() -> None:
        dark.set_value(await ui.run_javascript(_SWITCH, timeout=10))

    button = ui.button(icon="contrast", on_click=switch).props("flat round")
    button.props["aria-label"] = text("frame.dark")


_SWITCH: Final = f"""
const dark = !document.body.classList.contains('body--dark');
const place = location.pathname.replace(/\\/ui\\/.*$/, '/ui');
document.cookie = `{DARK}=${{dark ? 1 : 0}}; path=${{place}}; max-age=31536000; samesite=strict`;
return dark;
"""


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
    except UnauthenticatedError:
        ui.navigate.reload()  # the page of a key that has ended is the one where a reader signs in
    except CairnError as error:
        ui.notify(error.detail, type="negative", multi_line=True, close_button=True, timeout=10_000)
