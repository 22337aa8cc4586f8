"""The page on the application: NiceGUI mounted at /ui, and the cookie by which a browser presents its key.

NiceGUI is an extra. Where it is not installed, or the settings want no page, `/` says so and everything else is as ever.
"""

from __future__ import annotations

import asyncio
import gc
from contextlib import AsyncExitStack
from contextvars import Context

from fastapi import APIRouter, FastAPI
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from cairn.distribution import is_installed
from cairn.errors import UnauthenticatedError
from cairn.interfaces.http.authenticate import COOKIE, PAGE
from cairn.interfaces.http.browser import scheme_of
from cairn.interfaces.http.running import Running, TypedRoute
from cairn.interfaces.web import issuer as issuer_routes
from cairn.interfaces.web import uploads
from cairn.interfaces.web.session import set_session
from cairn.settings import OidcIssuer

router = APIRouter(route_class=TypedRoute, include_in_schema=False)


class SignIn(BaseModel):
    key: str = Field(min_length=1, max_length=8192)


def is_available() -> bool:
    return is_installed("web")


def install(app: FastAPI, running: Running, *, issuer: OidcIssuer | None) -> LazyPage:
    """Mount the page. Once per process: NiceGUI has one application. `issuer`: where people may sign in, if it knows us."""
    page = LazyPage(running)
    app.include_router(router)
    app.include_router(uploads.router)
    if issuer is not None and issuer.client_id:
        app.include_router(issuer_routes.router)
    app.add_api_route("/", _to_page, methods=["GET", "HEAD"], include_in_schema=False)
    app.mount(PAGE, page)
    running.page = PAGE
    return page


class LazyPage:
    """All below /ui. NiceGUI is loaded when a browser first asks: it takes half a second and 10 to 30 MB, which a server that
    nobody looks at does not pay."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._opened = AsyncExitStack()
        self._loading: asyncio.Task[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._loading is None:
            # in a context of its own: what NiceGUI starts outlives the request
            self._loading = asyncio.create_task(self._load(), context=Context())
        page = await asyncio.shield(self._loading)
        await page(scope, receive, send)

    async def _load(self) -> ASGIApp:
        try:
            shell, page = await asyncio.to_thread(_assemble, self._running)
            await self._opened.enter_async_context(shell.router.lifespan_context(shell))
            if gc.get_freeze_count():  # a server that serves for long: collections leave out what stays (server.py)
                gc.collect()
                gc.freeze()
        except BaseException:
            self._loading = None  # the next who asks tries again
            raise
        return page

    async def close(self) -> None:
        """End what NiceGUI runs, if it was loaded."""
        if self._loading is not None:
            await asyncio.wait([self._loading])
        await self._opened.aclose()


def _assemble(running: Running) -> tuple[FastAPI, ASGIApp]:
    """An application whose lifespan is that of NiceGUI's, and NiceGUI's."""
    from nicegui import core, ui

    from cairn.interfaces.web.pages import add_pages
    from cairn.interfaces.web.sockets import tie_events_to_pages
    from cairn.interfaces.web.theme import mark

    shell = FastAPI(openapi_url=None)
    add_pages(running)
    # no bar at the top while something is fetched: what takes long says so where it is shown
    core.app.config.quasar_config["loadingBar"] = {"skipHijack": True}
    ui.run_with(
        shell, title="Cairn", mount_path=PAGE, dark=None, binding_refresh_interval=None, show_welcome_message=False,
        reconnect_timeout=10, favicon=mark(colored=True),
    )  # fmt: skip
    core.app.config.socket_io_js_transports = ["websocket"]
    tie_events_to_pages(core.sio)
    return shell, core.app


async def _to_page() -> Response:
    return RedirectResponse(f"{PAGE[1:]}/", 307)


@router.post("/session")
async def sign_in(body: SignIn, request: Request) -> Response:
    """Keep the key in a cookie, if it counts."""
    running: Running = request.app.state.running
    if running.authenticator is None:
        raise UnauthenticatedError("this server asks for no keys")
    await running.authenticator.authenticate(body.key.strip())
    response = Response(status_code=204)
    scheme = scheme_of(request.scope, request.headers, running.settings.current.api.trust_proxy)
    set_session(response, body.key.strip(), secure=scheme == "https")
    return response


@router.delete("/session")
async def sign_out() -> Response:
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path=PAGE, httponly=True, samesite="strict")
    return response
