"""The outermost layer of the application: every request passes here first and leaves here last.

It names the request, refuses what must not be read, counts and logs, and turns what nobody foresaw into a 500 that says
nothing but the request id. A plain ASGI middleware, because Starlette's BaseHTTPMiddleware hides disconnects.
"""

from __future__ import annotations

import re
import time

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cairn import telemetry
from cairn.domain.ids import new_id
from cairn.domain.secrets import strike_secrets
from cairn.interfaces.http import problems
from cairn.interfaces.http.browser import secure
from cairn.interfaces.http.rate_limits import RESPONSE_HEADERS
from cairn.interfaces.http.running import Running

log = structlog.get_logger(__name__)

MAX_SOCKETS = 200
"""WebSockets that are open at once."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_UNCOUNTED = ("/health/", "/metrics")


class RequestMiddleware:
    def __init__(self, app: ASGIApp, running: Running) -> None:
        self.app = app
        self.running = running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) and strike_secrets(given) == given else str(new_id())
        scope.setdefault("state", {})["request_id"] = request_id
        traced = telemetry.current_trace_id()
        with structlog.contextvars.bound_contextvars(
            request_id=request_id, **({"otel_trace": traced} if traced else {})
        ):
            await _Exchange(self, scope, receive, send, headers).run()

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["request_id"] = str(new_id())

        async def secured(message: Message) -> None:
            if message["type"] == "websocket.http.response.start":
                secure(message, scope, self.running)
            await send(message)

        if self.running.sockets < MAX_SOCKETS:
            self.running.sockets += 1
            try:
                await self.app(scope, receive, secured)
            finally:
                self.running.sockets -= 1
            return
        detail = f"{MAX_SOCKETS} WebSockets are open; try again"
        if "websocket.http.response" in scope.get("extensions", {}):
            await problems.plain(scope, 503, detail, code="overloaded")(scope, receive, secured)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": detail})


def _is_readable_head(scope: Scope) -> bool:
    """A HEAD is answered as its GET would be, and the server leaves the body out. Not for streams: they would run to their end
    for nobody."""
    return scope["method"] == "HEAD" and problems.takes_head(scope["path"])


class _Exchange:
    """One request and its response."""

    def __init__(self, edge: RequestMiddleware, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        self.edge, self.running, self.scope, self.headers = edge, edge.running, scope, headers
        self._receive, self._send = receive, send
        self.status = 0
        self._inner = {**scope, "method": "GET"} if _is_readable_head(scope) else scope

    async def run(self) -> None:
        started = time.monotonic()
        counted = not self.scope["path"].startswith(_UNCOUNTED)
        self.running.requests += counted
        self.running.metrics.in_flight.set(self.running.requests)
        try:
            await self.edge.app(self._inner, self._receive, self.send)
        except ClientDisconnect:
            pass
        except Exception:
            log.exception("request.bug", method=self.scope["method"], path=self.scope["path"])
            if self.status:
                raise  # the server cuts the connection: the client must not take a torso for the whole
            detail = f"something went wrong that should not; report it with the request id {self._id}"
            await problems.plain(self.scope, 500, detail)(self.scope, self._receive, self.send)
        finally:
            self.running.requests -= counted
            self.running.metrics.in_flight.set(self.running.requests)
            self._note(time.monotonic() - started)

    @property
    def _id(self) -> str:
        return problems.request_id_of(self.scope)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            secure(message, self.scope, self.running)
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = self._id
            for name, value in self.scope["state"].get(RESPONSE_HEADERS, {}).items():
                headers.setdefault(name, value)
        await self._send(message)

    def _route(self) -> str:
        """As it is declared; all that the page loads counts as the page."""
        if declared := getattr(self._inner.get("route"), "path", None):
            return str(declared)
        page = self.running.page
        return page if page and self.scope["path"].startswith(f"{page}/") else "unmatched"

    def _note(self, seconds: float) -> None:
        route = self._route()
        status = str(self.status) if self.status else "cancelled"
        self.running.metrics.request(self.scope["method"], route, status, seconds)
        log.info(
            "request", method=self.scope["method"], route=route, path=self.scope["path"][:300], status=status,
            ms=round(seconds * 1000, 1),
        )  # fmt: skip
