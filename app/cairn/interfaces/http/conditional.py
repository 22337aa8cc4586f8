"""ETag and If-None-Match (RFC 9110): who has an answer already is told that it is still the same, with nothing to read."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from cairn.interfaces.http.policy import POLICIES

HEADER: Final = "If-None-Match"
_KEEP: Final = "private, no-cache"
"""An answer is one caller's: only the browser itself may keep it, and asks each time whether it still holds."""


def etag_of(*parts: object) -> str:
    """An entity tag of what these say."""
    return '"' + hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:32] + '"'


def is_known(request: Request, etag: str) -> bool:
    """Whether the caller has this very answer."""
    given = [tag.strip().removeprefix("W/") for tag in ",".join(request.headers.getlist(HEADER)).split(",")]
    return etag in given or "*" in given


def headers_of(etag: str) -> dict[str, str]:
    """With an answer that has this tag, and with the word that it is the same."""
    return {"ETag": etag, "Cache-Control": _KEEP}


def unchanged(etag: str) -> Response:
    return Response(status_code=304, headers=headers_of(etag))


async def answer_if_changed(request: Request, handle: Callable[[Request], Awaitable[Response]]) -> Response:
    """The answer of a route with its tag: one that the route gave, before it did the work, else one of what the body says."""
    response = await handle(request)
    if response.status_code != 200 or "etag" in response.headers:
        return response
    etag = etag_of(hashlib.sha256(response.body).hexdigest())
    if is_known(request, etag):
        return unchanged(etag)
    response.headers.update(headers_of(etag))
    return response


def describe(schema: dict[str, Any]) -> None:
    """Declare tags, the header and 304 where there are some."""
    header = {
        "name": HEADER, "in": "header", "required": False, "schema": {"type": "string", "maxLength": 1000},
        "description": "ETag of the answer that the caller has; 304 where it still holds.",
    }  # fmt: skip
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            if POLICIES[f"{method.upper()} {path}"].tagged:
                operation.setdefault("parameters", []).append(header)
                tag = {"description": "Another one means another answer.", "schema": {"type": "string"}}
                operation["responses"]["200"].setdefault("headers", {})["ETag"] = tag
                operation["responses"]["304"] = {"description": "What the caller has still holds."}
