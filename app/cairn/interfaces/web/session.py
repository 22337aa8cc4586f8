"""Whom a page works for: the key, or the token of an issuer, is in a cookie that scripts cannot read, and is asked again at each
use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final

from starlette.requests import HTTPConnection
from starlette.responses import Response

from cairn.domain.principal import Principal, Scope
from cairn.errors import ForbiddenError, UnauthenticatedError
from cairn.interfaces.http.authenticate import COOKIE, PAGE
from cairn.interfaces.http.authorize import principal_of
from cairn.interfaces.http.running import Running
from cairn.wiring import Services

MONTH: Final = 30 * 24 * 3600
"""Seconds that a browser keeps the cookie; what is in it may count for less, and then the page says that it has ended."""


def set_session(response: Response, credential: str, *, secure: bool) -> None:
    """Let the browser present a key or token wherever the page is, and nowhere else. `secure`: it came by HTTPS."""
    response.set_cookie(
        COOKIE, credential, max_age=MONTH, path=PAGE, httponly=True, secure=secure, samesite="strict"
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Session:
    """One open page. `credential`: its key or token; None where callers need none."""

    running: Running
    principal: Principal
    credential: str | None

    @classmethod
    def of(cls, running: Running, request: HTTPConnection) -> Session:
        """Raises UnauthenticatedError, and what else kept the caller from being known."""
        principal = principal_of(request)
        return cls(running, principal, request.cookies.get(COOKIE) if running.authenticator else None)

    async def watch(self, end: Callable[[], None]) -> Callable[[], None]:
        """`end` is called when the key is revoked or expires, until what is returned is called. Raises as `services`."""
        watching = ExitStack()
        if self.running.authenticator is not None and self.credential is not None:
            grant = await self.running.authenticator.authenticate(self.credential)
            watching.enter_context(self.running.authenticator.watch(grant, end))
        return watching.close

    def may(self, scope: Scope) -> bool:
        """For what is shown; what is done asks `services`."""
        return scope in self.principal.caller.scopes

    async def services(self, scope: Scope) -> Services:
        """Everything a room needs, working for the caller, who must still have the scope. Raises UnauthenticatedError,
        ForbiddenError, OverloadedError, DatabaseUnavailableError."""
        principal = self.principal
        if self.running.authenticator is not None:
            if self.credential is None:
                raise UnauthenticatedError("sign in with a key", presented=False)
            principal = (await self.running.authenticator.authenticate(self.credential)).principal
            if principal != self.principal:  # another tenant
                raise UnauthenticatedError("the key of this page changed; load it again")
        if scope not in principal.caller.scopes:
            raise ForbiddenError(scope)
        services = self.running.serving(principal)
        await services.permits.take(principal)
        return replace(services, principal=principal)
