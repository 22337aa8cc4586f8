"""Whether the caller may do what a route does. Who it is was found by authenticate.py, which left it in the state of
the request: a principal, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from starlette.requests import HTTPConnection

from cairn.domain.key import Grant
from cairn.domain.principal import Principal
from cairn.errors import CairnError, ForbiddenError, UnauthenticatedError
from cairn.interfaces.http.policy import RoutePolicy

PRINCIPAL, REFUSAL = "principal", "refusal"
"""Names in the state of a request: for whom it works, and else the CairnError that says why for nobody."""


class Authenticator(Protocol):
    """Reads what callers present."""

    async def authenticate(self, credential: str) -> Grant:
        """Raises UnauthenticatedError, and other CairnErrors where it cannot be told now."""
        ...

    def watch(self, grant: Grant, end: Callable[[], None]) -> AbstractContextManager[None]:
        """Within the block, `end` is called when the grant is over: revoked or expired."""
        ...

    def forget(self) -> None:
        """A key was revoked, or got other groups, here and now."""
        ...


def principal_of(request: HTTPConnection) -> Principal:
    """For whom the request works. Raises UnauthenticatedError, or what else kept the caller from being known."""
    state: dict[str, Any] = request.scope.get("state", {})
    principal: Principal | None = state.get(PRINCIPAL)
    if principal is None:
        refusal: CairnError | None = state.get(REFUSAL)
        raise refusal or UnauthenticatedError(
            "this needs a key: send the header Authorization: Bearer cairn_...", presented=False
        )
    return principal


def check_scope(request: HTTPConnection, policy: RoutePolicy) -> None:
    """Raises UnauthenticatedError, ForbiddenError."""
    if policy.scope is None:
        return
    if not is_allowed(principal_of(request), policy):
        raise ForbiddenError(str(policy.scope))


def is_allowed(principal: Principal, policy: RoutePolicy) -> bool:
    """Whether a caller whom a route has to know may use it."""
    return policy.scope == "any" or policy.scope in principal.caller.scopes


def is_admin(request: HTTPConnection) -> bool:
    """Whether the caller may see how the process is doing."""
    principal: Principal | None = request.scope.get("state", {}).get(PRINCIPAL)
    return principal is not None and "admin" in principal.caller.scopes
