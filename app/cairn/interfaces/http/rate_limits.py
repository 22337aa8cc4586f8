"""Requests per minute of the caller's key: counted before a body is read, told in header fields of every answer."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import HTTPConnection

from cairn.domain.principal import Principal
from cairn.domain.usage import RateStanding
from cairn.errors import rate_limit_fields
from cairn.interfaces.http.authorize import principal_of
from cairn.interfaces.http.policy import RoutePolicy

RESPONSE_HEADERS: Final = "response_headers"
"""Name in the state of a request: header fields that its answer gets, whatever that is (cairn/interfaces/http/middleware.py)."""
MINUTE: Final = 60

Take = Callable[[Principal], Awaitable[RateStanding | None]]


async def take_permit(connection: HTTPConnection, policy: RoutePolicy, take: Take) -> None:
    """Count a request or a WebSocket, but of routes that are anybody's. Raises RateLimitedError."""
    if policy.scope is None:
        return
    standing = await take(principal_of(connection))
    if standing is not None:
        seconds = math.ceil(standing.seconds)
        fields = rate_limit_fields("requests", standing.limit, standing.remaining, seconds, MINUTE)
        connection.scope.setdefault("state", {})[RESPONSE_HEADERS] = fields
