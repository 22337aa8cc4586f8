"""What a running application holds, and how routes get at it."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

from fastapi import Depends, Query
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import ParamTypes
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response

from cairn.domain.principal import Principal
from cairn.errors import InputError
from cairn.interfaces.http.authorize import Authenticator, check_scope, principal_of
from cairn.interfaces.http.conditional import answer_if_changed
from cairn.interfaces.http.direct import answer_directly, is_plain
from cairn.interfaces.http.idempotency import answer_once
from cairn.interfaces.http.metrics import Metrics
from cairn.interfaces.http.policy import policy_of
from cairn.interfaces.http.rate_limits import Take, take_permit
from cairn.interfaces.http.shapes import COMPATIBILITY, shape_of
from cairn.interfaces.http.unknown_names import check_parameters
from cairn.language.text import normalise
from cairn.service.authenticate import CodeFlow
from cairn.service.tenant_databases import TenantDatabases
from cairn.settings import SettingsStore
from cairn.wiring import Services

T = TypeVar("T")
NOT_STARTED: Final = "the application was not started (no lifespan)"


@dataclass
class Running:
    """State of one application. `services` of the default database, and `databases`, all of them, exist between start-up and
    shutdown. `workers`: by the name of a database, the monotonic time when its worker last got on, where this process has one.
    `authenticator`: who reads keys, where callers need one. `code_flow`: how people sign in at an issuer, where they can.
    `outdated`: by number and name of a tenant (each database numbers its own), until when is told what was counted of documents
    that an earlier release read, and that.
    `stopping_since`: the monotonic time when a signal asked for the end. `page`: the path of the page, "" where there is none."""

    settings: SettingsStore
    metrics: Metrics = field(default_factory=Metrics)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    stopping_since: float = 0.0
    services: Services | None = None
    databases: TenantDatabases | None = None
    workers: dict[str, Callable[[], float]] = field(default_factory=dict)
    requests: int = 0
    sockets: int = 0
    authenticator: Authenticator | None = None
    code_flow: CodeFlow | None = None
    page: str = ""
    outdated: dict[tuple[int, str], tuple[float, list[str]]] = field(default_factory=dict)

    def serving(self, principal: Principal) -> Services:
        """Everything of the database where the caller's tenant lives. Raises DatabaseUnavailableError while that is not open."""
        assert self.databases is not None, NOT_STARTED
        return self.databases.find(principal.tenant)


def running_of(request: HTTPConnection) -> Running:
    running: Running = request.app.state.running
    return running


def services_of(request: HTTPConnection) -> Services:
    """Everything a route needs, working for the caller. Raises UnauthenticatedError where there is none, and
    DatabaseUnavailableError."""
    principal = principal_of(request)
    return replace(running_of(request).serving(principal), principal=principal)


def process_services(request: HTTPConnection) -> Services:
    """The same of the default database, working for the tenant of the process: for what concerns no tenant."""
    services = running_of(request).services
    assert services is not None, NOT_STARTED
    return services


def databases_of(request: HTTPConnection) -> TenantDatabases:
    """All that the process works with."""
    databases = running_of(request).databases
    assert databases is not None, NOT_STARTED
    return databases


def permits_of(request: HTTPConnection) -> Take:
    """Counts a request in the database of whoever makes it."""
    running = running_of(request)
    return lambda principal: running.serving(principal).permits.take(principal)


async def _running(request: Request) -> Running:
    return running_of(request)  # a coroutine: FastAPI would run a plain function in a thread, at a cost


async def _services(request: Request) -> Services:
    return services_of(request)


RunningDep = Annotated[Running, Depends(_running)]
ServicesDep = Annotated[Services, Depends(_services)]
Limit = Annotated[int, Query(ge=1, le=200, description="Items per page.", examples=[50])]
Cursor = Annotated[str | None, Query(max_length=4000, description="`next_cursor` of the page before, as it came.")]


class TypedRoute(APIRoute):
    """Has a policy (policy.py), which is asked before a body is read, and takes a body only under the one media type
    that the route declares (a form of a foreign web page cannot pretend to be JSON). Parameters that the route does not
    know are refused, except where the protocol is not ours. Raises LookupError without a policy."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self.policy = policy_of(min(options["methods"]), path)
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Any:
        handle = super().get_route_handler()
        if is_plain(self):
            handle = answer_directly(self, {_running: running_of, _services: services_of}, handle)
        policy, media_type, parameters = self.policy, self._media_type(), self._parameters()

        async def checked(request: Request) -> Any:
            check_scope(request, policy)
            await take_permit(request, policy, permits_of(request))
            if parameters is not None:
                check_parameters(request, parameters)
            if media_type:
                check_media_type(request, media_type)
            if policy.tagged:
                return await answer_if_changed(request, handle)
            return _without_type(await answer_once(request, policy, services_of, handle))

        return checked

    def _parameters(self) -> frozenset[str] | None:
        """Names of all that the query may have; None where anything may stand in it: probes and scrapers add what they like."""
        if self.policy.scope is None or self.path == "/metrics" or shape_of(self.path) or COMPATIBILITY in self.tags:
            return None
        params = get_flat_params(self.dependant)
        return frozenset(one.alias for one in params if getattr(one.field_info, "in_", None) == ParamTypes.query)

    def _media_type(self) -> str | None:
        if self.body_field is None:
            return None
        form = type(self.body_field.field_info).__name__ in ("File", "Form")
        return "multipart/form-data" if form else "application/json"


def _without_type(response: Response) -> Response:
    """What has no body has no type of one, which the framework gives it all the same."""
    if response.status_code == 204 and "content-type" in response.headers:
        del response.headers["content-type"]
    return response


def check_media_type(request: Request, expected: str) -> None:
    """Raises HTTPException (415)."""
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent == expected:
        return
    empty = " ({} where there is nothing to say)" if expected == "application/json" else ""
    raise HTTPException(415, f"send the body as {expected}{'' if sent else empty}, not as {sent[:100] or 'nothing'}")


def encode_cursor(key: str) -> str:
    """Opaque to callers, so that its meaning can change."""
    return base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> str:
    """The key after which the page begins. Raises InputError for what encode_cursor did not make."""
    if not cursor:
        return ""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return normalise(base64.b64decode(padded, altchars=b"-_", validate=True).decode())
    except (UnicodeError, binascii.Error):
        raise InputError("the cursor is not one that this API gave out; start again without it") from None


def decode_id(cursor: str | None) -> UUID | None:
    """The same of a list whose keys are ids; None for its first page."""
    try:
        return UUID(decode_cursor(cursor)) if cursor else None
    except ValueError:
        raise InputError("the cursor is not one that this list gave out; start again without it") from None


async def until_gone(request: Request, work: Awaitable[T]) -> T:
    """The result of the awaitable; it is cancelled when the client goes away. Raises ClientDisconnect then."""
    task, gone, over = asyncio.current_task(), False, False
    assert task is not None

    def leave(_: object) -> None:
        nonlocal gone
        if not over:
            gone = True
            task.cancel()

    watching = asyncio.create_task(_disconnected(request))
    watching.add_done_callback(leave)
    try:
        return await work
    except asyncio.CancelledError:
        if gone and not task.uncancel():
            raise ClientDisconnect from None
        raise  # somebody else wants it to end
    finally:
        over = True
        watching.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
