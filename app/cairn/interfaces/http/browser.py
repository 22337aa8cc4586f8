"""What keeps foreign web pages out: which host and origin a request may name, and what its answer lets a browser do.

A browser sends requests for any page that asks, with everything that the user may do: to a server on loopback, to one behind a
login. It says which page it was (Origin, Sec-Fetch-Site), and that is what decides here; cors.py has the pages that are let in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cairn.errors import InputError
from cairn.interfaces.http import cors, problems
from cairn.interfaces.http.policy import PAGE_FILES
from cairn.interfaces.http.running import Running

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
"""Answered for without keys where the settings name none: another name may be one that a foreign page bent to loopback."""
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
FOR_ANY_PAGE: Final = frozenset({"/widget.js"})
"""What any page may load: nothing in it is anybody's."""
_OWN_PAGES: Final = frozenset({"same-origin", "none"})
"""Sec-Fetch-Site of our own pages, and of what the user typed, bookmarked or opened from outside."""
_PORTS: Final = {"http": 80, "https": 443}
_SCHEMES: Final = {"ws": "http", "wss": "https"}
_POLICY_VIOLATION: Final = 1008
_HOST: Final = re.compile(r"[A-Za-z0-9.:_\[\]-]{1,255}")

Refusal = tuple[int, str]
"""A status and what to tell the caller."""


class BrowserMiddleware:
    """Refuses what a foreign page asks for, before anything else of the request is looked at."""

    def __init__(self, app: ASGIApp, running: Running, *, keys: bool, names: Sequence[str] = ()) -> None:
        """`keys`: callers need a key, which a foreign page has not; then any host is answered for, unless the settings name
        some. `names`: hosts that are answered for besides those."""
        self.app = app
        self.running = running
        self.any_host = keys
        self.names = tuple(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        shared = cors.shared_origin(scope, self.running.settings.current.api.allowed_origins) is not None
        refusal = self._refusal(scope, shared)
        if refusal is None:
            preflight = cors.answer_preflight(scope) if shared else None
            await (preflight or self.app)(scope, receive, send)
        elif scope["type"] == "http" or "websocket.http.response" in scope.get("extensions", {}):
            await problems.plain(scope, *refusal)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": refusal[1][:100]})

    def _refusal(self, scope: Scope, shared: bool) -> Refusal | None:
        api, headers = self.running.settings.current.api, Headers(scope=scope)
        allowed = (*(api.allowed_hosts or (("*",) if self.any_host else LOOPBACK_HOSTS)), *self.names)
        # a WebSocket can change nothing here, but its opener reads what comes: no CORS stands before it
        method = scope.get("method", "POST")
        unknown = refuse_host(headers.getlist("host"), allowed)
        if unknown or shared or (scope["path"] in FOR_ANY_PAGE and method in SAFE_METHODS):
            return unknown
        return refuse_origin(method, headers, scheme_of(scope, headers, api.trust_proxy)) or refuse_site(
            method, headers
        )


# --- what is refused ----------------------------------------------------------------------------------------------------


class Origin(NamedTuple):
    """Scheme, host in lower case and port: pages of one origin may do to each other what they like."""

    scheme: str
    host: str
    port: int


def origin_of(url: str) -> Origin | None:
    """None for what is no origin of a web page: `null`, `file://`, and what cannot be read."""
    try:
        parts = urlsplit(url.strip())
        scheme, host, port = parts.scheme.lower(), parts.hostname, parts.port
    except ValueError:
        return None
    if scheme not in _PORTS or not host or "@" in parts.netloc:
        return None
    return Origin(scheme, host, _PORTS[scheme] if port is None else port)


def scheme_of(scope: Scope, headers: Headers, trust_proxy: bool) -> str:
    """http or https: as the caller's browser sees it, where the proxy that says so is trusted."""
    forwarded = headers.get("x-forwarded-proto", "") if trust_proxy else ""
    scheme = forwarded.rpartition(",")[2].strip().lower() or scope.get(
        "scheme", "http"
    )  # the last one is our own proxy's
    return _SCHEMES.get(scheme, scheme)


def own_address(request: HTTPConnection, trust_proxy: bool) -> str:
    """By which the caller reaches this server: scheme, host and port. It goes into headers and to issuers, so a Host that
    has other characters is refused. Raises InputError."""
    host = request.headers.get("host", "")
    if _HOST.fullmatch(host) is None:
        raise InputError("the Host header must be a name or an address, with a port at most")
    return f"{scheme_of(request.scope, request.headers, trust_proxy)}://{host}"


def host_name(value: str) -> str:
    """A Host header without its port, in lower case: `[::1]:8000` is `[::1]`."""
    value = value.strip().lower()
    if value.startswith("["):
        return value.partition("]")[0] + "]"
    return value.partition(":")[0]


def refuse_host(given: Sequence[str], allowed: Sequence[str]) -> Refusal | None:
    """An unknown Host is a rebound DNS name: some web page that reaches for a server on loopback."""
    if len(given) != 1 or not given[0].strip():
        return 400, "the Host header is missing" if len(given) < 2 else "there is more than one Host header"
    if "*" in allowed or host_name(given[0]) in {name.lower() for name in allowed}:
        return None
    return (
        421,
        f"this server does not answer for the host {given[0][:200]}; add it to api.allowedHosts in settings.json",
    )


def refuse_origin(method: str, headers: Headers, scheme: str) -> Refusal | None:
    """A page may change something here if it came from here: from the same scheme, host and port."""
    given = headers.getlist("origin")
    if not given or method in SAFE_METHODS:
        return None
    own, foreign = origin_of(f"{scheme}://{headers.get('host', '')}"), origin_of(given[0])
    if len(given) == 1 and foreign is not None and foreign == own:
        return None
    detail = f"requests that change something are not accepted from pages of {given[0][:200]}, which api.allowedOrigins lacks"
    if foreign and own and (foreign.host, foreign.scheme) == (own.host, "https") and own.scheme == "http":
        detail += "; if a proxy speaks TLS for this server, let it set X-Forwarded-Proto and set api.trustProxy"
    return 403, detail


def refuse_site(method: str, headers: Headers) -> Refusal | None:
    """What a foreign page may do is link here. It may not send forms, and not embed, load or time our answers either."""
    site = headers.get("sec-fetch-site")
    if site is None or site in _OWN_PAGES:
        return None
    link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") in ("document", None)
    if method in SAFE_METHODS and link:
        return None
    return (
        403,
        f"a page of another origin asked for this (Sec-Fetch-Site: {site[:40]}); only links are followed from there",
    )


# --- what an answer lets a browser do -------------------------------------------------------------------------------------

NOTHING: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""Content-Security-Policy of data: whatever a document or an answer contains, opened in a browser it loads and runs nothing."""
PAGE: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Of a page: scripts, styles, requests and WebSockets of our own host; nothing from, and nothing to, another one. Styles may
stand in the page, since what draws it sets them; scripts may not."""
DRAWN: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Of the page that NiceGUI draws, which starts by a script in the page and compiles its templates there. Still nothing loads
from, or goes to, another host; texts of users are shown as text or sanitized."""
PAGES: Final[Mapping[str, str]] = {"/docs": PAGE, "/ui": DRAWN}
"""The policy of every path that is, or lies below, one of these. Everything else gets NOTHING."""

_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_POLICY: Final = b"content-security-policy"
_OWN: Final = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
_OWN_NAMES: Final = frozenset({_POLICY, *(name for name, _ in _OWN)})


_KEPT: Final = "public, max-age=3600"
"""Files of the page in browsers, an hour: a room has up to a dozen, which were sent at each visit."""


def content_policy(path: str) -> str:
    """The Content-Security-Policy of what is served there."""
    return next((policy for page, policy in PAGES.items() if path == page or path.startswith(f"{page}/")), NOTHING)


def secure(message: Message, scope: Scope, running: Running) -> None:
    """Give the beginning of a response the headers that every one has, errors too. Answers are not kept by caches unless they
    say so themselves: they are one caller's."""
    own = [*_OWN, (_POLICY, content_policy(scope["path"]).encode())]
    message["headers"] = [one for one in message["headers"] if one[0] not in _OWN_NAMES] + own
    headers = MutableHeaders(scope=message)
    cors.share(headers, scope, running.settings.current.api.allowed_origins)
    if scope["path"] in FOR_ANY_PAGE:
        headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    kept = message.get("status") == 200 and PAGE_FILES.match(scope["path"])
    headers.setdefault("Cache-Control", _KEPT if kept else "no-store")
