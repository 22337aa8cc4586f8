"""Cross-origin resource sharing: pages of other origins that the settings name may ask, with a key in a header.

Browsers send no cookie that they were not told to send, and they are never told here; the page of our own, which has one, is
shared with nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Scope

from cairn.interfaces.http.authenticate import PAGE

METHODS: Final = "GET, HEAD, POST, PUT, PATCH, DELETE"
REQUEST_HEADERS: Final = (
    "Accept", "Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "Last-Event-ID", "Mcp-Protocol-Version",
    "Traceparent", "X-Request-ID", "X-Session-ID",
)  # fmt: skip
RESPONSE_HEADERS: Final = (
    "ETag", "Idempotency-Replayed", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Collection-Epoch",
    "X-Request-ID", "X-Run-ID", "X-Session-ID",
)  # fmt: skip
"""That a page may read, besides those that any may."""
PREFLIGHT_SECONDS: Final = 600
"""So long a browser need not ask again; shorter than an operator waits who takes an origin from the list."""


def shared_origin(scope: Scope, allowed: Sequence[str]) -> str | None:
    """The origin of the page that asks, where it is one of those; browsers write an origin in one way, so it is compared as it
    is."""
    if not allowed or _is_own(scope["path"]):
        return None
    given = Headers(scope=scope).getlist("origin")
    return given[0] if len(given) == 1 and given[0] in allowed else None


def answer_preflight(scope: Scope) -> Response | None:
    """What a browser asks before a request of an allowed origin; None where it is no such question."""
    if scope["type"] != "http" or scope["method"] != "OPTIONS":
        return None
    if "access-control-request-method" not in Headers(scope=scope):
        return None
    told = {
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Allow-Headers": ", ".join(REQUEST_HEADERS),
        "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
    }
    return Response(status_code=204, headers=told)


def share(headers: MutableHeaders, scope: Scope, allowed: Sequence[str]) -> None:
    """Let the page that asks read the answer, errors too, where its origin is allowed."""
    if not allowed or _is_own(scope["path"]):
        return
    headers.add_vary_header("Origin")
    if (origin := shared_origin(scope, allowed)) is not None:
        headers["Access-Control-Allow-Origin"] = origin
        headers["Access-Control-Expose-Headers"] = ", ".join(RESPONSE_HEADERS)


def _is_own(path: str) -> bool:
    """Where a cookie says who asks."""
    return path == PAGE or path.startswith(f"{PAGE}/")
