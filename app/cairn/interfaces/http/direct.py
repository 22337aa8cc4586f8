"""The short way to a route: to any whose path leaves nothing open, and through the framework's handling of the request to those
that take one JSON body and give one JSON answer, such as POST /search.

The framework looks through all routers for a path, and solves anew at every request which parameters a function has. Here both
are known from the start. A path that is not found here is looked for there, and a body that is not as it should be is left to
it, so that there is one way to say what is wrong. Why: docs/adr/0075-thin-edge.md.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Final

from fastapi.datastructures import DefaultPlaceholder
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Provider = Callable[[Request], Any]

READ_HERE: Final = 1 << 20
"""Bytes of JSON that are parsed and checked at once; more in a thread, so that others have their turn between the steps of it."""


class DirectRoute(BaseRoute):
    """Stands before all routers and leads to a route of theirs, where the path is that of the route, letter by letter."""

    def __init__(self, route: APIRoute) -> None:
        self.route, self.path_format, self.methods = route, route.path_format, frozenset(route.methods or ())
        self._found = {"route": route, "endpoint": route.endpoint, "path_params": {}}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http" and scope["path"] == self.path_format and scope["method"] in self.methods:
            return Match.FULL, self._found
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.route.app(scope, receive, send)


def direct_routes(routes: Iterable[BaseRoute]) -> list[DirectRoute]:
    """Of the routes whose paths leave nothing open."""
    return [DirectRoute(route) for route in routes if isinstance(route, APIRoute) and not route.param_convertors]


def is_plain(route: APIRoute) -> bool:
    """Whether the function takes a body of JSON and what the application provides, and returns a model."""
    known = route.dependant
    elsewhere = known.path_params or known.query_params or known.header_params or known.cookie_params
    more = known.response_param_name or known.background_tasks_param_name or known.security_scopes_param_name
    bodies = [field.field_info.annotation for field in known.body_params]
    return bool(
        not elsewhere
        and not more
        and len(bodies) == 1
        and _is_model(bodies[0])
        and _is_model(route.response_model)
        and isinstance(route.response_class, DefaultPlaceholder)
        and inspect.iscoroutinefunction(route.endpoint)
    )


def answer_directly(route: APIRoute, provided: Mapping[Callable[..., Any], Provider], handle: Handler) -> Handler:
    """`handle`, which is the framework's, without what it does in vain for a plain route. `provided`: the dependencies that a
    function may have. Raises LookupError for another one."""
    model, name = route.dependant.body_params[0].field_info.annotation, route.dependant.body_params[0].name
    assert isinstance(model, type)
    assert issubclass(model, BaseModel)
    arguments: dict[str, Provider] = {}
    for one in route.dependant.dependencies:
        if one.name is None or one.call is None or one.call not in provided:
            raise LookupError(f"{route.path} depends on {one.call}, which nothing provides on the short way")
        arguments[one.name] = provided[one.call]
    if route.dependant.request_param_name:
        arguments[route.dependant.request_param_name] = lambda request: request
    endpoint, to_json = route.endpoint, TypeAdapter(route.response_model).dump_json

    def read(content: bytes) -> BaseModel:
        return model.model_validate(json.loads(content))

    async def answer(request: Request) -> Response:
        content = await request.body()
        try:
            body = read(content) if len(content) < READ_HERE else await asyncio.to_thread(read, content)
        except (ValueError, RecursionError):
            return await handle(request)
        result = await endpoint(**{name: body}, **{one: provide(request) for one, provide in arguments.items()})
        if isinstance(result, Response):
            return result
        return Response(to_json(result, by_alias=True), route.status_code or 200, media_type="application/json")

    return answer


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
