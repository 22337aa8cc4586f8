"""A place for each request before it is worked on, and a quick no where there is none (cairn/runs/limits/admission.py).

Three layers. The outer one refuses what would find its queue full, before anything else is done for it: refusing must cost next
to nothing, or refusing many costs those that are served. The second, behind keys, refuses unread whose key has made all its
requests of a minute; routes count them (rate_limits.py). The inner one, behind keys and bodies, waits for the place and holds
it until the answer is on its way. Questions take their place where their run begins (cairn/service/ask.py), since a run may
outlive its request; until then the inner layer has them counted, so that of hundreds that come at once only those that find
room are worked on. Not in the outer layer: who has no key, or sends no body, must not take room. Health, metrics and what
problems mean are always answered.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cairn.domain.ids import new_id
from cairn.domain.principal import Principal
from cairn.errors import CairnError, OverloadedError
from cairn.interfaces.http import problems
from cairn.interfaces.http.authorize import PRINCIPAL, is_allowed
from cairn.interfaces.http.browser import secure
from cairn.interfaces.http.policy import Kind, RoutePolicy, policy_for
from cairn.interfaces.http.running import Running
from cairn.wiring import Services

log = structlog.get_logger(__name__)

_LOG_SECONDS: Final = 1.0
"""Refusals are counted in the metrics one by one, and logged together."""
_ALWAYS: Final = ("/health/", "/metrics", "/problems/")


def find_full(scope: Mapping[str, Any], running: Running) -> tuple[Kind, Callable[[], OverloadedError]] | None:
    """What kind of work a request would find full, and how to refuse it; None where it finds room, or is not counted."""
    if running.databases is None or (policy := _counted(scope)) is None:
        return None
    # whose request it is, and so which queue it would find full, is not known yet
    gates = [services.admission.gates[policy.kind] for services in running.databases.open.values()]
    return (policy.kind, gates[0].refusal) if all(gate.is_full for gate in gates) else None


class RefuseWhenFull:
    """The outermost layer. It refuses without waiting for anything, so that connections.py need not make a task of it."""

    def __init__(self, app: ASGIApp, running: Running) -> None:
        self.app = app
        self.running = running
        self._refused = 0
        self._logged = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if full := find_full(scope, self.running):
            kind, refusal = full
            await self._refuse(scope, kind, refusal(), send)
            return
        await self.app(scope, receive, send)

    async def _refuse(self, scope: Scope, kind: Kind, error: OverloadedError, send: Send) -> None:
        request_id = str(new_id())
        status, told, media_type = problems.shown(
            problems.body_of(error, instance=scope["path"], request_id=request_id)
        )
        body = json.dumps(told).encode()
        headers = [
            (b"content-type", media_type.encode()), (b"content-length", str(len(body)).encode()),
            (b"retry-after", error.headers["Retry-After"].encode()), (b"x-request-id", request_id.encode()),
        ]  # fmt: skip
        start = {"type": "http.response.start", "status": status, "headers": headers}
        secure(start, scope, self.running)
        await send(start)
        await send({"type": "http.response.body", "body": body})
        self._refused += 1
        if time.monotonic() - self._logged > _LOG_SECONDS:
            log.warning("requests.refused", refused=self._refused, kind=kind)
            self._refused, self._logged = 0, time.monotonic()


class RefuseUsedUp:
    """Behind keys, before bodies."""

    def __init__(self, app: ASGIApp, running: Running) -> None:
        self.app = app
        self.running = running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Principal | None = scope.get("state", {}).get(PRINCIPAL)
        policy = policy_for(scope["method"], scope["path"]) if scope["type"] == "http" and caller is not None else None
        if caller is not None and policy is not None and is_allowed(caller, policy):
            try:
                self.running.serving(caller).permits.check(caller)
            except CairnError as error:
                await problems.response_of(scope, error)(scope, receive, send)
                return
        await self.app(scope, receive, send)


class AdmissionMiddleware:
    """The innermost layer."""

    def __init__(self, app: ASGIApp, running: Running) -> None:
        self.app = app
        self.running = running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        services, policy = self.running.services, _counted(scope)
        if scope["type"] != "http" or services is None or policy is None:
            await self.app(scope, receive, send)
            return
        caller = scope["state"].get(PRINCIPAL)
        try:
            here = services if caller is None else self.running.serving(caller)
            if policy.kind == "answer":
                await self._lead(here, scope, receive, send)
                return
            release = await here.admission.gates[policy.kind].enter()
        except CairnError as error:
            await problems.response_of(scope, error)(scope, receive, send)
            return

        async def passing(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_stream(message):
                release()  # who follows something for long works on nothing
            await send(message)

        try:
            await self.app(scope, receive, passing)
        finally:
            release()

    async def _lead(self, here: Services, scope: Scope, receive: Receive, send: Send) -> None:
        """A question, counted by its gate until it is there. Raises OverloadedError before anything is done for it."""
        with here.admission.answer.expecting() as coming:

            async def passing(message: Message) -> None:
                if message["type"] == "http.response.start":
                    coming.over()  # also where none was needed: a question without its collection
                await send(message)

            await asyncio.sleep(0)  # who came in the same moment and is refused hears so before work begins
            await self.app(scope, receive, passing)


def _counted(scope: Mapping[str, Any]) -> RoutePolicy | None:
    if scope["type"] != "http" or scope["path"].startswith(_ALWAYS):
        return None
    policy = policy_for(scope["method"], scope["path"])
    return None if policy is None or policy.kind == "own" else policy


def _is_stream(message: Message) -> bool:
    return Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
