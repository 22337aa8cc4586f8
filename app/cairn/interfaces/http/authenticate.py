"""Who is calling: the layer that reads the Authorization header, once for HTTP and WebSockets.

It refuses nobody itself: routes that anybody may ask for work without a key, and every other one asks authorize.py.
A request, stream or socket that is under way when its key ends is ended too; a browser that opens an address of the page is then
shown where to sign in.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cairn.domain.key import Grant
from cairn.errors import CairnError, SettingsError, UnauthenticatedError
from cairn.interfaces.http import problems
from cairn.interfaces.http.authorize import PRINCIPAL, REFUSAL
from cairn.interfaces.http.policy import PAGE_FILES, policy_for, policy_of
from cairn.interfaces.http.running import Running
from cairn.settings import Environment

SUBPROTOCOL: Final = "cairn"
BEARER_PROTOCOL: Final = "cairn.bearer."
"""Browsers let nobody set headers of a WebSocket: a page asks for the subprotocols `cairn` and `cairn.bearer.<key>`."""
PAGE: Final = "/ui"
"""Below it, and nowhere else, a cookie presents the key: what a browser sends by itself opens no route of the API."""
COOKIE: Final = "cairn_key"
MAX_CREDENTIAL: Final = 8192
"""Characters of a key or token that are looked at; longer ones are refused unread."""
_NEVER_ASKED: Final = frozenset({"/health/live"})
"""Whether the process lives is told without asking the database who asks."""
_POLICY_VIOLATION: Final = 1008


class AuthenticateMiddleware:
    """Leaves the principal in the state of the request, or why there is none."""

    def __init__(self, app: ASGIApp, running: Running, *, keys: bool) -> None:
        """`keys`: callers need a key. Otherwise everybody is the process's principal."""
        self.app = app
        self.running = running
        self.keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        if not self.keys:
            if self.running.services is not None:
                state[PRINCIPAL] = self.running.services.principal
            await self.app(scope, receive, send)
            return
        grant = None
        try:
            grant = await self._authenticate(scope)
        except CairnError as error:
            state[REFUSAL] = error
        if grant is None:
            await self.app(_asked_by_nobody(scope), receive, send)
            return
        state[PRINCIPAL] = grant.principal
        await _Exchange(self, scope, receive, send).run(grant)

    async def _authenticate(self, scope: Scope) -> Grant | None:
        """None where nothing is presented, or nothing is asked. Raises CairnError."""
        path = scope["path"]
        credential = None if path in _NEVER_ASKED or PAGE_FILES.match(path) else credential_of(scope)
        if credential is None:
            return None
        if self.running.authenticator is None:
            raise UnauthenticatedError("this server does not read keys yet; try again")
        return await self.running.authenticator.authenticate(credential)


class _Exchange:
    """One request of a known caller: it ends when its grant does."""

    def __init__(self, layer: AuthenticateMiddleware, scope: Scope, receive: Receive, send: Send) -> None:
        self.layer, self.scope, self.receive, self._send = layer, scope, receive, send
        self.started = self.ended = self.is_stream = self.cut = False
        self.opens = _opens_page(scope)
        self.asked = dict(scope) if self.opens else scope  # before the routes write into it

    async def run(self, grant: Grant) -> None:
        authenticator = self.layer.running.authenticator
        task = asyncio.current_task()
        assert authenticator is not None
        assert task is not None

        def end() -> None:
            # what is sent of a room already is sent to its end, or nobody could run the script that loads it again
            if not self.cut and not (self.started and self.opens and _is_room(self.scope["path"])):
                self.cut = True
                task.cancel()

        try:
            with authenticator.watch(grant, end):
                await self.layer.app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:
            if not self.cut or task.uncancel():
                raise
            await self._say_why()

    async def send(self, message: Message) -> None:
        kind = message["type"]
        self.started = self.started or kind in ("http.response.start", "websocket.accept")
        self.ended = self.ended or (kind == "http.response.body" and not message.get("more_body"))
        if kind == "http.response.start":
            self.is_stream = Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
        await self._send(message)

    async def _say_why(self) -> None:
        error = UnauthenticatedError("the key was revoked or expired while this was under way")
        if self.ended:
            return
        if self.scope["type"] == "websocket":
            await self._send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": error.detail})
        elif not self.started and self.opens:
            state = self.asked["state"]
            del state[PRINCIPAL]
            state[REFUSAL] = error
            await self.layer.app(_asked_by_nobody(self.asked), self.receive, self._send)
        elif not self.started:
            await problems.response_of(self.scope, error)(self.scope, self.receive, self._send)
        elif self.is_stream:
            request_id = problems.request_id_of(self.scope)
            body = problems.body_of(error, instance=self.scope["path"], request_id=request_id)
            frame = f"event: error\ndata: {json.dumps(problems.shown(body)[1])}\n\n".encode()
            await self._send({"type": "http.response.body", "body": frame, "more_body": False})
        else:
            raise ClientDisconnect  # the server cuts the connection: a torso must not be taken for the whole


def credential_of(scope: Scope) -> str | None:
    """The key or token that a request presents; None: none. Raises UnauthenticatedError for a header of another form."""
    headers = Headers(scope=scope)
    given = headers.getlist("authorization")
    if not given and (scope["path"] == PAGE or scope["path"].startswith(f"{PAGE}/")):
        given = [f"Bearer {value}" for value in [HTTPConnection(scope).cookies.get(COOKIE)] if value]
    if scope["type"] == "websocket" and not given:
        offered = [name.strip() for name in headers.get("sec-websocket-protocol", "").split(",")]
        given = [f"Bearer {name.removeprefix(BEARER_PROTOCOL)}" for name in offered if name.startswith(BEARER_PROTOCOL)]
    if not given:
        return None
    scheme, _, credential = given[0].strip().partition(" ")
    credential = credential.strip()
    if len(given) > 1 or scheme.lower() != "bearer" or not credential or len(credential) > MAX_CREDENTIAL:
        raise UnauthenticatedError("the Authorization header must be one: Bearer cairn_...", readable=False)
    return credential


def _opens_page(scope: Scope) -> bool:
    """Whether somebody opens an address of the page in a browser, and is to be shown something for people."""
    if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(f"{PAGE}/"):
        return False
    return "text/html" in Headers(scope=scope).get("accept", "")


def _is_room(path: str) -> bool:
    """Whether the page itself lies there; below it are also files and the like, which are routes with a policy."""
    return policy_for("GET", path) is None


def _asked_by_nobody(scope: Scope) -> Scope:
    """A request without a caller: a link of the page to a file leads to where people sign in. The browser keeps the address, and
    loads it again after that."""
    if not _opens_page(scope) or _is_room(scope["path"]):
        return scope
    return {**scope, "path": f"{PAGE}/", "raw_path": f"{PAGE}/".encode()}


def describe_keys(schema: dict[str, Any]) -> None:
    """Say in an OpenAPI schema which operations ask for a key, and for which scope."""
    schemes = schema.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes["key"] = {
        "type": "http", "scheme": "bearer", "bearerFormat": "cairn_...",
        "description": "A key of `cairn keys create` or `POST /keys`, or an access token of the configured issuer.",
    }  # fmt: skip
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            scope = policy_of(method.upper(), path).scope
            if scope is None:
                continue
            operation["security"] = [{"key": []}]
            operation["description"] = f"{operation.get('description', '')}\n\nScope: `{scope}`.".strip()
            for status in (401, 403):
                operation["responses"].setdefault(str(status), problems.declare(status)[status])


# --- where the process listens ------------------------------------------------------------------------------------------


def check_listen(environment: Environment) -> None:
    """Without keys, listen on loopback only. Raises SettingsError otherwise."""
    if environment.auth == "keys" or environment.allow_open or is_loopback(environment.host):
        return
    raise SettingsError(
        f"CAIRN_HOST={environment.host} would let everybody on the network in, and CAIRN_AUTH is off; set CAIRN_AUTH=keys and "
        "make keys with `cairn keys create`, listen on 127.0.0.1, or set CAIRN_ALLOW_OPEN=1 behind something that authenticates"
    )


def is_loopback(host: str) -> bool:
    """Whether a name or address never leaves the machine. An empty host listens everywhere."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
