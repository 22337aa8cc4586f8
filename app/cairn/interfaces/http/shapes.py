"""Errors of protocols that are not ours, in the shape that their clients read: by the path alone, so that every layer that
refuses a request says it in the same one.

Elsewhere an error is a problem (cairn/interfaces/http/problems.py), and what is here is made of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, Field

from cairn.interfaces.http.models import example

MEDIA_TYPE: Final = "application/json"
COMPATIBILITY: Final = "compatibility"
"""Tag of the routes whose answers have shapes of other programs; `/docs` shows the group folded."""


class OpenAIErrorDetail(BaseModel):
    message: str
    type: str
    param: str | None = Field(description="The parameter that it is about.")
    code: str | None


class OpenAIErrorOut(BaseModel):
    """An error as the OpenAI API has it."""

    model_config = example(
        {
            "error": {
                "message": "no collection named handbook; see GET /v1/models", "type": "invalid_request_error",
                "param": None, "code": "model_not_found",
            }
        }
    )  # fmt: skip

    error: OpenAIErrorDetail


class DifyErrorOut(BaseModel):
    """An error as Dify shows it. 1001: there is no Authorization header with a Bearer key; 1002: the key does not count; 2001:
    there is no such knowledge; of everything else the HTTP status."""

    model_config = example({"error_code": 2001, "error_msg": "no collection named handbook; see GET /collections"})

    error_code: int
    error_msg: str


class McpErrorDetail(BaseModel):
    code: int
    message: str
    data: dict[str, Any] = Field(description="The problem, as other routes tell it.")


class McpErrorOut(BaseModel):
    """An error of JSON-RPC: of a request that was refused before it was read, so without its id."""

    jsonrpc: str
    id: None
    error: McpErrorDetail


@dataclass(frozen=True, slots=True)
class Shape:
    """`show` makes the body of a problem's members; `statuses` that the protocol has another one for."""

    name: str
    model: type[BaseModel]
    show: Callable[[Mapping[str, Any]], dict[str, Any]]
    statuses: Mapping[int, int]

    def status(self, status: int) -> int:
        return self.statuses.get(status, status)


_TYPES: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES: Final = {
    "unauthenticated": "invalid_api_key",
    "not-found": "model_not_found",
    "unknown-route": "unknown_url",
    "rate-limited": "rate_limit_exceeded",
}


def _as_openai(problem: Mapping[str, Any]) -> dict[str, Any]:
    status, code = problem["status"], problem["code"]
    wrong: Mapping[str, Any] = next(iter(problem.get("errors") or ()), {})
    param = problem.get("param") or str(wrong.get("location", "")).removeprefix("body.").removeprefix("body")
    return {
        "error": {
            "message": problem["detail"],
            "type": _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error"),
            "param": param or None,
            "code": _CODES.get(code, code.replace("-", "_")),
        }
    }


def _as_dify(problem: Mapping[str, Any]) -> dict[str, Any]:
    codes = {"unauthenticated": 1001 if "expected" in problem else 1002, "not-found": 2001}
    return {"error_code": codes.get(problem["code"], problem["status"]), "error_msg": problem["detail"]}


_INVALID_REQUEST, _INTERNAL_ERROR = -32600, -32603
"""Codes of JSON-RPC."""


def _as_mcp(problem: Mapping[str, Any]) -> dict[str, Any]:
    code = _INTERNAL_ERROR if problem["status"] >= 500 else _INVALID_REQUEST
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": problem["detail"], "data": dict(problem)}}


_OPENAI: Final = Shape("OpenAIErrorOut", OpenAIErrorOut, _as_openai, {422: 400})
_DIFY: Final = Shape("DifyErrorOut", DifyErrorOut, _as_dify, {})
_MCP: Final = Shape("McpErrorOut", McpErrorOut, _as_mcp, {})


def shape_of(path: str) -> Shape | None:
    """None where errors are problems."""
    if path == "/v1" or path.startswith("/v1/"):
        return _OPENAI
    return {"/retrieval": _DIFY, "/mcp": _MCP}.get(path)


def describe(schemas: dict[str, Any], path: str, responses: dict[str, Any], problem: str) -> None:
    """Declare in OpenAPI that errors of a path have its shape, where it has one. `problem`: media type of what they are
    declared as."""
    shape = shape_of(path)
    if shape is None:
        return
    made = shape.model.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(made.pop("$defs", {}))
    schemas[shape.name] = made
    for status in [status for status in responses if shape.status(int(status)) != int(status)]:
        responses.setdefault(str(shape.status(int(status))), responses[status])
        del responses[status]
    for response in responses.values():
        if problem in response.get("content", {}):
            response["content"] = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{shape.name}"}}}
