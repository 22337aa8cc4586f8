"""Where an agent gets a token for /mcp: metadata of the protected resource (RFC 9728), and a header of refusals that leads there.

Both are there only where tokens of an issuer count. So a client that knows no more than the address of /mcp finds the issuer, and
signs its user in there.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from cairn.errors import UnauthenticatedError
from cairn.interfaces.http.browser import own_address
from cairn.interfaces.http.running import TypedRoute, running_of
from cairn.settings import OidcIssuer

METADATA: Final = "/.well-known/oauth-protected-resource"

router = APIRouter(route_class=TypedRoute, include_in_schema=False)


class ProtectedRoute(TypedRoute):
    """Tells who is refused where tokens are described."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        handle = super().get_route_handler()

        async def led(request: Request) -> Any:
            try:
                return await handle(request)
            except UnauthenticatedError as error:
                if request.app.state.issuer is None:
                    raise
                told = copy(error)  # requests that came together share the error of one look-up
                address = f"{_own_address(request)}{METADATA}{request.url.path}"
                challenge = f'{error.headers["WWW-Authenticate"]}, resource_metadata="{address}"'
                told.headers = {**error.headers, "WWW-Authenticate": challenge}
                raise told from None

        return led


def install(app: FastAPI, issuer: OidcIssuer | None) -> None:
    """The routes of the metadata, where there is an issuer."""
    app.state.issuer = issuer
    if issuer is not None:
        app.include_router(router)


@router.get(METADATA)
async def describe_server(request: Request) -> Response:
    return _describe(request, _own_address(request))


@router.get(f"{METADATA}/mcp")
async def describe_mcp(request: Request) -> Response:
    return _describe(request, f"{_own_address(request)}/mcp")


def _describe(request: Request, resource: str) -> Response:
    """`resource`: what the address of the metadata belongs to; a client compares the two (RFC 9728, 3.3)."""
    issuer: OidcIssuer = request.app.state.issuer
    scopes = [scope for scope in issuer.scopes if scope != "openid"]  # that one is for who signs people in
    return JSONResponse(
        {
            "resource": resource, "resource_name": "Cairn", "authorization_servers": [issuer.issuer],
            "bearer_methods_supported": ["header"], **({"scopes_supported": scopes} if scopes else {}),
        }
    )  # fmt: skip


def _own_address(request: Request) -> str:
    return own_address(request, running_of(request).settings.current.api.trust_proxy)
