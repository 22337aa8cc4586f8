"""Server-sent events: frames of what a generator gives, with keep-alive, an end on every path, and prompt cancellation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from pydantic import BaseModel
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from cairn.errors import CairnError, StoppingError
from cairn.interfaces.http import problems
from cairn.interfaces.http.running import running_of

log = structlog.get_logger(__name__)

GRACE_SECONDS = 2.0
"""What a stream may still do when the server has been asked to stop."""
_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


@dataclass(frozen=True, slots=True)
class Frame:
    """One event; without a name, and with data that is no JSON, where a protocol wants it so.

    `terminal` frames end the stream; whatever would follow is not sent. `id`: in a stream of its own ids."""

    event: str | None
    data: BaseModel | dict[str, Any] | str
    terminal: bool = False
    id: int | None = None


def describe(events: tuple[str, ...], example: str) -> dict[str, Any]:
    """A stream of these events, for the `content` of a response in OpenAPI."""
    item = {
        "type": "object",
        "properties": {
            "event": {"type": "string", "enum": list(events)},
            "data": {"type": "string", "contentMediaType": "application/json"},
            "id": {"type": "string"},
        },
        "required": ["event", "data"],
    }
    return {"text/event-stream": {"itemSchema": item, "example": example}}


def error_frame(request: HTTPConnection, error: CairnError) -> Frame:
    """A problem as the last event, since the status is 200 already."""
    request_id = problems.request_id_of(request.scope)
    body = problems.body_of(error, instance=request.url.path, request_id=request_id)
    return Frame("error", problems.shown(body)[1], terminal=True)


T = TypeVar("T")


class _Stream(EventSourceResponse):
    """A response that says when it is over, also where it never began."""

    def __init__(self, content: AsyncIterator[bytes], on_close: Callable[[], Awaitable[None]] | None) -> None:
        super().__init__(content, headers=_HEADERS)
        self._on_close = on_close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self._on_close:
                await self._on_close()


def event_stream(
    request: Request,
    items: AsyncGenerator[T],
    frames_of: Callable[[T], Sequence[Frame]],
    *,
    own_ids: bool = False,
    on_close: Callable[[], Awaitable[None]] | None = None,
) -> Response:
    """The response: the frames of each item. When a client leaves, `items` is closed, then `on_close` is called. `own_ids`:
    frames have ids to go on from, and what the stream itself says has none; otherwise they are counted."""
    return _Stream(_encoded(request, items, frames_of, own_ids), on_close)


async def _encoded(
    request: Request, items: AsyncGenerator[T], frames_of: Callable[[T], Sequence[Frame]], own_ids: bool
) -> AsyncIterator[bytes]:
    # a task of its own reads the items: waiting with a time limit for the next one would cancel that at each ping
    queue: asyncio.Queue[Frame] = asyncio.Queue(maxsize=16)
    tasks = [
        asyncio.create_task(_pump(request, items, frames_of, queue)), asyncio.create_task(_stop(request, queue))
    ]  # fmt: skip
    number, silence = 0, running_of(request).settings.current.api.ping_seconds
    try:
        while True:
            try:
                async with asyncio.timeout(silence):
                    frame = await queue.get()
            except TimeoutError:
                yield KEEPALIVE_COMMENT
                continue
            number += 1
            place = frame.id if own_ids else number
            yield format_sse_event(
                data_str=_json(frame.data), event=frame.event, id=None if place is None else str(place)
            )
            if frame.terminal:
                return
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pump(
    request: Request, items: AsyncGenerator[T], frames_of: Callable[[T], Sequence[Frame]], queue: asyncio.Queue[Frame]
) -> None:
    try:
        async with aclosing(items):
            async for item in items:
                for frame in frames_of(item):
                    await queue.put(frame)
                    if frame.terminal:
                        return
        lost: CairnError = CairnError("the stream ended without a result; report this with the request id")
    except CairnError as error:
        lost = error
    except Exception:
        log.exception("stream.bug", path=request.url.path)
        lost = CairnError("something went wrong that should not; report it with the request id")
    await queue.put(error_frame(request, lost))


async def _stop(request: Request, queue: asyncio.Queue[Frame]) -> None:
    await running_of(request).stopping.wait()
    await asyncio.sleep(GRACE_SECONDS)
    await queue.put(error_frame(request, StoppingError("the server is stopping; ask again")))


def _json(data: BaseModel | dict[str, Any] | str) -> str:
    if isinstance(data, str):
        return data
    return data.model_dump_json() if isinstance(data, BaseModel) else json.dumps(data, default=str)
