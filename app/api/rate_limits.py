"""Requests per minute of the caller's key: counted before a body is read, told in header fields of every answer."""

from __future__ import annotations

import math

from starlette.requests import HTTPConnection

from app.api.policy import RoutePolicy
from app.api.running import services_of
from app.errors import rate_limit_fields

MINUTE = 60


async def take_permit(connection: HTTPConnection, policy: RoutePolicy) -> None:
    """Count a request or a WebSocket, but of routes that are anybody's. Raises RateLimitedError."""
    if policy.scope is None:
        return
    services = services_of(connection)
    standing = await services.permits.take(services.principal)
    if standing is not None:
        fields = rate_limit_fields(
            "requests", standing.limit, standing.remaining, math.ceil(standing.seconds), window=MINUTE
        )
        connection.scope.setdefault("state", {})["response_headers"] = fields
