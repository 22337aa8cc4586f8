"""Which paths there are, and what stands before each room: a known caller, a language, a frame."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Final, get_args

from nicegui import ui
from starlette.requests import Request

from cairn.domain.sign_in import SignInFailure
from cairn.errors import CairnError, UnauthenticatedError
from cairn.interfaces.http.authenticate import COOKIE, PAGE
from cairn.interfaces.http.rate_limits import RESPONSE_HEADERS
from cairn.interfaces.http.running import Running
from cairn.interfaces.web.frame import ROOMS, Page, add_style, draw_brand, framed, remembered_dark, set_language
from cairn.interfaces.web.issuer import FAILURE, begin_address
from cairn.interfaces.web.rooms import ask, documents, graph, operation, runs, search
from cairn.interfaces.web.session import Session
from cairn.interfaces.web.sockets import tie_to_reader
from cairn.interfaces.web.texts import Texts, choose_language, texts_in

Show = Callable[[Page], Awaitable[None]]

LONGEST: Final = 60
"""Seconds that a room may take to be drawn. The framework's own 3 are over on a machine that indexes meanwhile, and its reader
saw an error."""

SHOW: Final[dict[str, Show]] = {
    "ask": ask.show, "search": search.show, "documents": documents.show, "graph": graph.show, "runs": runs.show,
    "operation": operation.show,
}  # fmt: skip


def add_pages(running: Running) -> None:
    """Register every room with NiceGUI."""
    for room, (path, _) in ROOMS.items():
        ui.page(path, response_timeout=LONGEST)(_page_of(running, room))


def _page_of(running: Running, room: str) -> Callable[[Request], Awaitable[None]]:
    async def page(request: Request) -> None:
        text = texts_in(choose_language(request.headers.get("accept-language", "")))
        try:
            session = Session.of(running, request)
            client = ui.context.client
            tie_to_reader(client, session.principal)
            client.on_delete(
                await session.watch(client.delete)
            )  # its browser loads the page again, and is asked to sign in
        except CairnError as error:
            ui.context.client.status_code = error.status  # a file that cannot be had is not saved as this page
            request.scope["state"].setdefault(RESPONSE_HEADERS, {}).update(error.headers)
            _sign_in(running, text, request, _failure_of(running, request, error))
            return
        opened = Page(session, text)
        with framed(opened, room):
            try:
                await SHOW[room](opened)
            except CairnError as error:
                ui.label(error.detail).classes("text-lg text-negative").props("role=alert")

    return page


def _failure_of(running: Running, request: Request, error: CairnError) -> str | None:
    """Why the reader is not signed in, though they were or tried to; None: they have not tried yet."""
    told = request.query_params.get(FAILURE)
    if running.code_flow is not None and told in get_args(SignInFailure):
        return told
    if not isinstance(error, UnauthenticatedError):
        return "unavailable"
    return "over" if COOKIE in request.cookies else None


def _sign_in(running: Running, text: Texts, request: Request, failure: str | None) -> None:
    flow = running.code_flow
    add_style()
    set_language(text)
    remembered_dark()
    ui.page_title(f"{text('sign_in.title')} · {text('frame.title')}")
    with ui.card().classes("mx-auto mt-16 w-96 max-w-full"):
        draw_brand(text)
        ui.label(text("sign_in.title")).classes("text-xl").props("role=heading aria-level=1")
        if failure is not None:
            issuer = flow.issuer_name if flow is not None else ""
            ui.label(text(f"sign_in.{failure}", issuer=issuer)).classes("text-negative").props("role=alert")
        if flow is not None:
            room = request.url.path.removeprefix(f"{PAGE}/") + (f"?{request.url.query}" if request.url.query else "")
            there = ui.button(text("sign_in.with", issuer=flow.issuer_name)).classes("w-full").props("no-caps")
            there.props["href"] = begin_address(room)
            ui.label(text("sign_in.or")).classes("text-sm self-center")
        key = (
            ui.input(text("sign_in.key"), password=True)
            .classes("w-full")
            .props("" if flow is not None else "autofocus")
        )
        ui.markdown(text("sign_in.hint")).classes("text-sm")

        async def enter() -> None:
            taken = await ui.run_javascript(_ENTER % json.dumps(key.value or ""), timeout=10)
            if not taken:
                ui.notify(text("sign_in.refused"), type="negative")

        key.on("keydown.enter", enter)
        ui.button(text("sign_in.enter"), on_click=enter)


_ENTER: Final = """
const answer = await fetch(location.pathname.replace(/\\/ui\\/.*$/, '/session'), {
  method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({key: %s})});
if (answer.ok) location.reload();
return answer.ok;
"""
