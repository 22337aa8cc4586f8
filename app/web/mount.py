"""The page on the application: NiceGUI mounted at /ui, and the cookie by which a browser presents its key.

NiceGUI is an extra. Where it is not installed, or the settings want no page, `/` says so and everything else is as ever.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from fastapi import APIRouter, FastAPI
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.api.authenticate import COOKIE, PAGE
from app.api.running import Running, TypedRoute
from app.errors import UnauthenticatedError
from app.web import uploads

MONTH: Final = 30 * 24 * 3600

router = APIRouter(route_class=TypedRoute, include_in_schema=False)


class SignIn(BaseModel):
    key: str = Field(min_length=1, max_length=8192)


def is_available() -> bool:
    return find_spec("nicegui") is not None


def install(app: FastAPI, running: Running) -> str:
    """Mount the page; its path. Once per process: NiceGUI has one application. It takes a second to import, which only who
    serves a page pays."""
    from nicegui import ui

    from app.web.pages import add_pages

    app.include_router(router)
    app.include_router(uploads.router)
    app.add_api_route("/", _to_page, methods=["GET", "HEAD"], include_in_schema=False)
    add_pages(running)
    ui.run_with(
        app, title="Cairn", mount_path=PAGE, dark=None, binding_refresh_interval=None, show_welcome_message=False,
        reconnect_timeout=10,
    )  # fmt: skip
    return PAGE


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
    secure = request.headers.get("x-forwarded-proto", request.url.scheme) == "https"
    response.set_cookie(
        COOKIE, body.key.strip(), max_age=MONTH, path=PAGE, httponly=True, secure=secure, samesite="strict"
    )
    return response


@router.delete("/session")
async def sign_out() -> Response:
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path=PAGE, httponly=True, samesite="strict")
    return response
