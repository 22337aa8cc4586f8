"""MCP at `/mcp`: streamable HTTP without sessions, so that any process answers any request.

An answer is one JSON document; a stream of events where the client asked for progress. The layers of the API stand in front as
they do for every route: host and origin, keys, bodies, requests per minute. What a tool may do asks the tool (toolbox.py).
The SDK is imported at the first request: it takes a second and more of processor time, which only who uses it pays.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, cast

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from cairn.distribution import require_part
from cairn.interfaces.http.running import check_media_type, services_of, until_gone
from cairn.interfaces.mcp import protected
from cairn.settings import OidcIssuer

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH: Final = "/mcp"
STREAM: Final = "text/event-stream"
UNLIMITED: Final = 2**40
"""Bytes: cairn/interfaces/http/bodies.py has the limit."""
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
"""As JSON-RPC 2.0 has them."""

router = APIRouter(route_class=protected.ProtectedRoute, include_in_schema=False)


class McpDoor:
    """The transports of one application, for as long as `serve` runs."""

    def __init__(self) -> None:
        self._wanted = asyncio.Event()
        self._ready = asyncio.Event()
        self._managers: dict[bool, StreamableHTTPSessionManager] = {}

    async def serve(self) -> None:
        """Until it is cancelled; nothing happens before the first request."""
        await self._wanted.wait()
        self._managers = await asyncio.to_thread(_make_managers)
        try:
            async with AsyncExitStack() as stack:
                for manager in self._managers.values():
                    await stack.enter_async_context(manager.run())
                self._ready.set()
                await asyncio.Event().wait()
        finally:
            self._ready.clear()

    async def manager(self, *, streaming: bool) -> StreamableHTTPSessionManager:
        self._wanted.set()
        await self._ready.wait()
        return self._managers[streaming]


def _make_managers() -> dict[bool, StreamableHTTPSessionManager]:
    """Of answers in one piece, and of streams. Hosts and origins are checked before (cairn/interfaces/http/browser.py)."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from cairn.interfaces.mcp.server import make_server

    server = make_server(lambda request: services_of(cast(Request, request)))
    return {
        streaming: StreamableHTTPSessionManager(
            server, json_response=not streaming, stateless=True, max_request_body_size=UNLIMITED
        )
        for streaming in (False, True)
    }


def install(app: FastAPI, *, issuer: OidcIssuer | None) -> McpDoor:
    """The route; what it returns must be served beside the requests. `issuer`: where agents get tokens for it."""
    protected.install(app, issuer)
    app.include_router(router)
    app.state.mcp = McpDoor()
    return cast(McpDoor, app.state.mcp)


@router.post(PATH)
async def exchange(request: Request) -> Response:
    """One message of a client, and its answer. Raises MissingPartError."""
    require_part("mcp", "MCP")
    check_media_type(request, "application/json")
    body = await request.body()
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return refusal(PARSE_ERROR, "the body is not valid JSON")
    if (wrong := what_is_wrong(message)) is not None:
        return refusal(INVALID_REQUEST, wrong, message)
    streaming = STREAM in request.headers.get("accept", "") and wants_progress(message)
    return _Exchange(request, body, await request.app.state.mcp.manager(streaming=streaming))


def what_is_wrong(message: Any) -> str | None:
    """Why it is no message of JSON-RPC 2.0, in words; None where it is one. The SDK would say it in those of its validation."""
    if isinstance(message, list):
        return "batches are not supported: send one message at a time"
    if not isinstance(message, dict):
        return "a message is a JSON object with jsonrpc, method and, where an answer is expected, id"
    if message.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    if "id" in message and id_of(message) is None:
        return "id must be a string or a whole number"
    if "method" not in message and ("result" in message or "error" in message):
        return None  # the answer of a client, which nobody waits for here
    if not isinstance(message.get("method"), str):
        return "method must be a string, such as tools/list"
    if not isinstance(message.get("params"), dict | None):
        return "params must be a JSON object"
    return None


def id_of(message: Any) -> str | int | None:
    """By which its sender knows the answer; None where there is none that could be."""
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def refusal(code: int, reason: str, message: Any = None) -> Response:
    """An error of JSON-RPC for a body that is no message."""
    told = {"jsonrpc": "2.0", "id": id_of(message), "error": {"code": code, "message": reason}}
    return JSONResponse(told, status_code=400)


def wants_progress(message: Any) -> bool:
    """Whether a message carries a token for progress."""
    try:
        return message["params"]["_meta"]["progressToken"] is not None
    except (KeyError, TypeError):
        return False


class _Exchange(Response):
    """What the SDK answers. A client that leaves ends what it asked for."""

    def __init__(self, request: Request, body: bytes, manager: StreamableHTTPSessionManager) -> None:
        super().__init__()
        self._request, self._content, self._manager = request, body, manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        read = False

        async def again() -> Message:
            nonlocal read
            if read:
                await asyncio.Event().wait()  # who watches for the end of the client is `until_gone`
            read = True
            return {"type": "http.request", "body": self._content, "more_body": False}

        work: Any = self._manager.handle_request(scope, again, send)
        await until_gone(self._request, work)
