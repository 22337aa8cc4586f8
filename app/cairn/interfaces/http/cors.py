"""Cross-origin resource sharing: pages of other origins that the settings name may ask, with a key in a header.

Browsers send no cookie that they were not told to send, and they are never told here; the page of our own, which has one, is
shared with nobody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Scope

from cairn.interfaces.http.authenticate import PAGE

METHODS: Final = "GET, HEAD, POST, PUT, PATCH, DELETE"
MOST_REQUEST_HEADERS: Final = 64
"""That one preflight may ask for: the OpenAI client for browsers sends some fifteen."""
RESPONSE_HEADERS: Final = (
    "Content-Disposition", "ETag", "Idempotency-Replayed", "Location", "RateLimit", "RateLimit-Policy", "Retry-After",
    "WWW-Authenticate", "X-Collection-Epoch", "X-Request-ID", "X-Run-ID", "X-Session-ID",
)  # fmt: skip
"""That a page may read, besides those that any may."""
PREFLIGHT_SECONDS: Final = 600
"""So long a browser need not ask again; shorter than an operator waits who takes an origin from the list."""
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
"""A token (RFC 9110), of a length that headers have."""


def shared_origin(scope: Scope, allowed: Sequence[str]) -> str | None:
    """The origin of the page that asks, where it is one of those; browsers write an origin in one way, so it is compared as it
    is."""
    if not allowed or _is_own(scope["path"]):
        return None
    given = Headers(scope=scope).getlist("origin")
    return given[0] if len(given) == 1 and given[0] in allowed else None


def answer_preflight(scope: Scope) -> Response | None:
    """What a browser asks before a request of an allowed origin; None where it is no such question. The request may have the
    headers that it names: who asks is an origin of the operator's, and libraries send headers of their own."""
    if scope["type"] != "http" or scope["method"] != "OPTIONS":
        return None
    headers = Headers(scope=scope)
    if "access-control-request-method" not in headers:
        return None
    told = {"Access-Control-Allow-Methods": METHODS, "Access-Control-Max-Age": str(PREFLIGHT_SECONDS)}
    wanted = [name.strip() for line in headers.getlist("access-control-request-headers") for name in line.split(",")]
    if names := [name for name in wanted if _HEADER_NAME.fullmatch(name)][:MOST_REQUEST_HEADERS]:
        told["Access-Control-Allow-Headers"] = ", ".join(names)
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
