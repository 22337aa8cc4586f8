"""What is around every room: the way to the others, dark or light, words in the reader's language, and errors as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import structlog
from nicegui import ui

from cairn.errors import CairnError, UnauthenticatedError
from cairn.interfaces.web.session import Session
from cairn.interfaces.web.texts import Texts

log = structlog.get_logger(__name__)

ROOMS: Final = {
    "ask": ("/", "forum"), "search": ("/search", "search"), "documents": ("/documents", "description"),
    "graph": ("/graph", "hub"), "runs": ("/runs", "timeline"), "operation": ("/operation", "monitor_heart"),
}  # fmt: skip
"""Room -> path below the mount, and icon."""
DARK: Final = "cairn_dark"
"""Cookie of a reader who chose: 1 dark, 0 light. None: as the system has it."""
_CSS: Final = """
.q-page { max-width: 90rem; margin: 0 auto; }
.skip { position: absolute; left: -999px; } .skip:focus { left: 1rem; top: 1rem; z-index: 9999; }
mark, .spot { background: #fde68a; color: inherit; } .body--dark mark { background: #854d0e; }
.spot { position: absolute; mix-blend-mode: multiply; border-radius: 2px; }
.room { display: flex; align-items: center; gap: .35rem; padding: .35rem .6rem; border-radius: .5rem; color: inherit;
  text-decoration: none; }
.room:hover, .room:focus-visible { background: rgba(127, 127, 127, .25); }
.room[aria-current] { background: rgba(127, 127, 127, .35); }
.question { background: #dbeafe; max-width: 85%; } .body--dark .question { background: #1e3a5f; }
.ask { min-height: calc(100vh - 6rem); } .ask .middle { flex-grow: 1; }
.form { background: #fff; } .body--dark .form { background: var(--q-dark-page); }
.turn { scroll-margin-top: 4rem; }
@media (min-width: 1024px) { .conversations { position: sticky; top: 4rem; max-height: calc(100vh - 5rem); overflow-y: auto;
  flex-wrap: nowrap; } }
.conversation:hover, .conversation:focus-within { background: rgba(127, 127, 127, .15); }
.conversation button { opacity: 0; } .conversation:hover button, .conversation:focus-within button { opacity: 1; }
@media (hover: none) { .conversation button { opacity: 1; } }
.source { border: 1px solid rgba(127, 127, 127, .35) !important; }
.answer > :first-child { margin-top: 0; } .body--dark .answer a { color: #93c5fd; }
.answer pre { overflow-x: auto; } .answer table { display: block; overflow-x: auto; } .answer a { font-weight: 600; }
.preview { display: -webkit-box; -webkit-line-clamp: 3; -webkit-box-orient: vertical; overflow: hidden; white-space: normal; }
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
    set_language(text)
    ui.link(text("frame.skip"), "#content").classes("skip")
    dark = remembered_dark()
    with ui.header(elevated=True).classes("items-center gap-1 py-1").props("role=banner"):
        drawer_button = ui.button(icon="menu").props(f'flat color=white round aria-label="{text("frame.menu")}"')
        drawer_button.classes("md:hidden")
        ui.label(text("frame.title")).classes("text-lg font-bold mr-4")
        with ui.row().classes("gap-1 max-md:hidden").props("role=navigation"):
            _links(page, room)
        ui.space()
        _switch(dark, text)
        if page.session.credential is not None:
            ui.button(icon="logout", on_click=_sign_out).props(
                f'flat color=white round aria-label="{text("frame.sign_out")}"'
            )
    with ui.left_drawer(value=False, bordered=True).classes("md:hidden").props("overlay") as drawer, ui.column():
        _links(page, room)
    drawer_button.on_click(drawer.toggle)
    with ui.column().classes("w-full p-2 md:p-4 gap-4").props("id=content tabindex=-1"):
        yield


def _links(page: Page, room: str) -> None:
    for name, (path, icon) in ROOMS.items():
        with ui.link(target=path).classes("room") as link:
            ui.icon(icon, size="sm").props("aria-hidden=true")
            ui.label(page.text(f"frame.{name}"))
        if name == room:
            link.props("aria-current=page")


def set_language(text: Texts) -> None:
    """Tell the browser in which language the page is; screen readers pronounce by it."""
    ui.add_head_html(f'<script>document.documentElement.lang = "{text.language}"</script>')


def remembered_dark() -> ui.dark_mode:
    """As the reader chose in this browser, else as the system has it."""
    request = ui.context.client.request
    chosen = request.cookies.get(DARK) if request else None
    return ui.dark_mode(None if chosen not in ("0", "1") else chosen == "1")


def _switch(dark: ui.dark_mode, text: Texts) -> None:
    async def switch() -> None:
        dark.set_value(await ui.run_javascript(_SWITCH, timeout=10))

    button = ui.button(icon="contrast", on_click=switch).props("flat color=white round")
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
