"""Signing in at an OpenID Connect issuer: the way there, and the way back.

Why it comes back to a small page and not to a redirect: the cookie of a session is for requests that begin here
(SameSite=Strict), and a redirect from the issuer is one that began there. The way back leads below /ui, whatever an address says.
"""

from __future__ import annotations

import html
import re
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from cairn.domain.sign_in import SignInAttempt
from cairn.errors import CairnError, DatabaseUnavailableError, SignInError
from cairn.interfaces.http.authenticate import PAGE
from cairn.interfaces.http.browser import own_address
from cairn.interfaces.http.running import Running, TypedRoute, running_of
from cairn.interfaces.web.session import set_session
from cairn.service.authenticate import CodeFlow

BEGIN: Final = "/session/oidc"
CALLBACK: Final = f"{BEGIN}/callback"
ATTEMPT: Final = "cairn_sign_in"
"""Cookie: the secret of the attempt, and the room where it began."""
ATTEMPT_SECONDS: Final = 600
FAILURE: Final = "sign_in"
"""In the query of a room: why its reader was not signed in."""
MAX_ROOM: Final = 1000
"""Characters of the address of a room; a longer one is forgotten, since browsers keep 4,096 of a cookie."""
MAX_TOKEN: Final = 3900
_ROOM: Final = re.compile(r"[a-z]*")

router = APIRouter(route_class=TypedRoute, include_in_schema=False)


def begin_address(room: str) -> str:
    """Where a link leads that signs in and comes back to the room, an address below /ui."""
    return f"{BEGIN}?{urlencode({'room': room})}"


def room_address(room: str, failure: str = "") -> str:
    """The address of a room of the page, with its query; the first room for what is none. `failure`: why its reader is not
    signed in."""
    path, _, query = room[:MAX_ROOM].partition("?")
    if len(room) > MAX_ROOM or _ROOM.fullmatch(path) is None:
        path, query = "", ""
    asked = [(name, value) for name, value in parse_qsl(query) if name != FAILURE]
    asked += [(FAILURE, failure)] if failure else []
    return f"{PAGE}/{path}{'?' if asked else ''}{urlencode(asked)}"


@router.get(BEGIN)
async def begin(request: Request) -> Response:
    """To the issuer."""
    room, callback, attempt = request.query_params.get("room", ""), _callback(request), SignInAttempt()
    try:
        address = await _flow(running_of(request)).begin(attempt, callback)
    except CairnError as error:
        return _land(room_address(room, _failure(error)))
    response = RedirectResponse(address, 303)
    kept = f"{attempt.secret}.{quote(room if len(room) <= MAX_ROOM else '', safe='')}"
    response.set_cookie(
        ATTEMPT, kept, max_age=ATTEMPT_SECONDS, path=BEGIN, httponly=True, secure=_is_https(callback), samesite="lax"
    )
    return response


@router.get(CALLBACK)
async def come_back(request: Request) -> Response:
    """From the issuer, with a code or with why there is none."""
    running, callback = running_of(request), _callback(request)
    secret, _, room = request.cookies.get(ATTEMPT, "").partition(".")
    room = unquote(room)
    try:
        token = await _flow(running).complete(SignInAttempt(secret), callback, dict(request.query_params.items()))
        assert running.authenticator is not None
        await running.authenticator.authenticate(token)
        if len(token) > MAX_TOKEN:
            raise SignInError("too_long")
        response = _land(room_address(room))
        set_session(response, token, secure=_is_https(callback))
    except CairnError as error:
        response = _land(room_address(room, _failure(error)))
    response.delete_cookie(ATTEMPT, path=BEGIN, httponly=True, samesite="lax")
    return response


def _land(address: str) -> Response:
    """A page that goes on to a room at once."""
    there = html.escape(address)
    return HTMLResponse(
        f'<!doctype html><html><head><meta charset="utf-8"><title>Cairn</title>'
        f'<meta http-equiv="refresh" content="0;url={there}"></head><body><a href="{there}">Cairn</a></body></html>'
    )


def _failure(error: CairnError) -> str:
    if isinstance(error, SignInError):
        return error.reason
    return "away" if isinstance(error, DatabaseUnavailableError) else "unavailable"


def _flow(running: Running) -> CodeFlow:
    assert running.code_flow is not None, "these routes are there only where there is an issuer"
    return running.code_flow


def _callback(request: Request) -> str:
    return f"{own_address(request, running_of(request).settings.current.api.trust_proxy)}{CALLBACK}"


def _is_https(address: str) -> bool:
    return address.startswith("https:")
