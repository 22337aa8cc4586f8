"""Errors as RFC 9457 problem+json: one shape and one content type on every route and for every status, but of protocols that
are not ours (cairn/interfaces/http/shapes.py)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from cairn.domain.secrets import strike_secrets
from cairn.errors import CairnError
from cairn.interfaces.http import shapes
from cairn.interfaces.http.policy import POLICIES, policy_for
from cairn.interfaces.http.problem_codes import MEANINGS
from cairn.interfaces.http.unknown_names import explain, fields_at
from cairn.language.text import normalise

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
_STREAMS = "/events"
RETRY_SECONDS = 2
"""What Retry-After says with a 503: outages and overload are looked at again soon."""

HTTP_CODES: dict[int, tuple[str, str]] = {
    400: ("bad-request", "Bad request"),
    401: ("unauthenticated", "Not authenticated"),
    403: ("foreign-origin", "Foreign origin"),
    404: ("unknown-route", "No such route"),
    405: ("method-not-allowed", "Method not allowed"),
    408: ("request-timeout", "Request took too long"),
    409: ("conflict", "Conflict"),
    410: ("text-deleted", "Text deleted"),
    413: ("too-large", "Too large"),
    415: ("unsupported-type", "Unsupported type"),
    421: ("unknown-host", "Unknown host"),
    422: ("invalid-input", "Invalid input"),
    429: ("rate-limited", "Too many requests"),
    500: ("internal", "Internal error"),
    502: ("provider-failed", "Model provider failed"),
    503: ("unavailable", "Unavailable"),
    504: ("provider-timeout", "Model provider timed out"),
}
"""Code and title of errors by status, where nothing more particular is known."""


class FieldError(BaseModel):
    """One thing that is wrong with the request: where, and what."""

    location: str = Field(description="Path of the value, such as body.top_k.")
    message: str
    type: str


class Problem(BaseModel):
    """An error. `code` is stable and meant for programs, `detail` for people."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "/problems/not-found",
                    "title": "Not found",
                    "status": 404,
                    "detail": "no collection named handbook; see GET /collections",
                    "instance": "/collections/handbook",
                    "code": "not-found",
                    "request_id": "01932f4e-5c1a-7b3e-9f00-2b1c3d4e5f60",
                }
            ]
        },
    )

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    request_id: str
    errors: list[FieldError] | None = None


def request_id_of(scope: Mapping[str, Any]) -> str:
    """The id that the edge gave to this request."""
    return str(scope.get("state", {}).get("request_id", ""))


def body_of(error: CairnError, *, instance: str, request_id: str) -> dict[str, Any]:
    """The members of a problem, for a response or an `error` event."""
    return _body(error.status, error.code, error.title, error.detail, instance, request_id, dict(error.extra))


def _body(
    status: int, code: str, title: str, detail: str, instance: str, request_id: str, extra: dict[str, Any]
) -> dict[str, Any]:
    members = {
        "type": f"/problems/{code}", "title": title, "status": status, "detail": strike_secrets(normalise(detail)),
        "instance": strike_secrets(normalise(instance)), "code": code, "request_id": request_id,
    }  # fmt: skip
    return {**members, **{name: value for name, value in extra.items() if name not in members}}


def response_of(scope: Mapping[str, Any], error: CairnError) -> Response:
    """The response for an expected error."""
    body = body_of(error, instance=scope["path"], request_id=request_id_of(scope))
    return _response(body, error.headers)


def plain(
    scope: Mapping[str, Any], status: int, detail: str, *, headers: Mapping[str, str] | None = None, **extra: Any
) -> Response:
    """The response for an error that HTTP itself names."""
    code, title = HTTP_CODES.get(status) or HTTP_CODES[400 if status < 500 else 500]
    code = extra.pop("code", code)
    body = _body(status, code, title, detail, scope["path"], request_id_of(scope), extra)
    return _response(body, headers or {})


def shown(body: dict[str, Any]) -> tuple[int, dict[str, Any], str]:
    """Status, body and media type of a problem as clients of its path read it (cairn/interfaces/http/shapes.py)."""
    shape = shapes.shape_of(body["instance"])
    if shape is None:
        return body["status"], body, MEDIA_TYPE
    return shape.status(body["status"]), shape.show(body), shapes.MEDIA_TYPE


def _response(body: dict[str, Any], headers: Mapping[str, str]) -> Response:
    status, content, media_type = shown(body)
    retry = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}
    encoded = json.dumps(content, ensure_ascii=False, default=str).encode("utf-8", "replace")
    return Response(encoded, status, {**retry, **headers}, media_type)


# --- handlers ---------------------------------------------------------------------------------------------------------


def install(app: FastAPI) -> None:
    """Turn what routes raise into problems. What nobody foresaw is caught by cairn.interfaces.http.middleware."""
    app.add_exception_handler(CairnError, _expected)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)


async def _expected(request: Request, error: Exception) -> Response:
    assert isinstance(error, CairnError)
    if error.status >= 500:
        log.warning("request.failed", code=error.code, detail=error.detail)
    return response_of(request.scope, error)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = str(error.detail)
    if error.status_code == 404:
        detail = f"there is no route {request.url.path}; see /docs"
    elif error.status_code == 405:
        allowed = ", ".join(sorted(methods_of(request.scope["path"]))) or (error.headers or {}).get("Allow", "GET")
        detail = f"{request.method} is not possible here, but {allowed}; see /docs"
        return plain(request.scope, 405, detail, headers={"Allow": allowed})
    return plain(request.scope, error.status_code, detail, headers=error.headers)


def methods_of(path: str) -> set[str]:
    """What a path can be asked with: several routes have it, of which the framework names the first one's."""
    known = (name.partition(" ") for name in POLICIES)
    found = {method for method, _, template in known if method != "WS" and compile_path(template)[0].match(path)}
    return found | {"HEAD"} if "GET" in found and not path.endswith(_STREAMS) else found


def takes_head(path: str) -> bool:
    return policy_for("GET", path) is not None and not path.endswith(_STREAMS)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if broken := next((item for item in found if item["type"] == "json_invalid"), None):
        reason = f"the body is not valid JSON: {broken['ctx']['error']} at character {broken['loc'][-1]}"
        return plain(request.scope, 400, reason)
    errors = [_field_error(item, request) for item in found[:20]]
    detail = "; ".join(f"{item['location']}: {item['message']}" for item in errors)
    return plain(request.scope, 422, detail, errors=errors)


def _field_error(item: Mapping[str, Any], request: Request) -> dict[str, str]:
    # never the input itself: it may be megabytes, or what JSON cannot say
    location: Sequence[Any] = item["loc"]
    said = str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "extra_forbidden" and location[0] == "body":
        body = getattr(request.scope.get("route"), "body_field", None)
        known = fields_at(body.field_info.annotation, location[1:-1]) if body else []
        said = explain(str(location[-1]), known)
    return {
        "location": strike_secrets(normalise(".".join(str(part)[:100] for part in location))),
        "message": strike_secrets(normalise(said))[:500],
        "type": item["type"],
    }


# --- reference --------------------------------------------------------------------------------------------------------


def known_problems() -> dict[str, dict[str, Any]]:
    """All codes with status, title and meaning."""
    http = {**{code: (status, title) for status, (code, title) in HTTP_CODES.items()}, "not-ready": (503, "Not ready")}
    found = {code: {"code": code, "status": status, "title": title, "meaning": MEANINGS.get(code, title)}
             for code, (status, title) in http.items()}  # fmt: skip
    waiting = [CairnError]
    while waiting:
        error = waiting.pop(0)
        waiting.extend(error.__subclasses__())
        meaning = " ".join((error.__doc__ or "").split()) if "__doc__" in vars(error) else ""
        meaning = MEANINGS.get(error.code) or meaning or error.title
        entry = {"code": error.code, "status": error.status, "title": error.title, "meaning": meaning}
        found.setdefault(error.code, entry)
    return found


def describe(schema: dict[str, Any]) -> None:
    """Declare in an OpenAPI schema what every operation may answer besides its success."""
    schemas = schema.setdefault("components", {}).setdefault("schemas", {})
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(problem.pop("$defs", {}))
    schemas["Problem"] = problem
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            responses = operation["responses"]
            statuses = {400, 401, 403, 408, 413, 421, 429, 500, 503} | ({404} if operation.get("parameters") else set())
            if "requestBody" in operation:
                statuses |= {404, 415}
            if "requestBody" in operation or "422" in responses:
                responses.pop("422", None)
                statuses |= {422}
            if any(parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", ())):
                statuses |= {409, 422}
            for status in sorted(statuses):
                responses.setdefault(str(status), *declare(status).values())
            shapes.describe(schemas, path, responses, MEDIA_TYPE)


def declare(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """`responses` of a route for errors that not every route has."""
    reference = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {status: {"description": HTTP_CODES[status][1], "content": {MEDIA_TYPE: reference}} for status in statuses}
