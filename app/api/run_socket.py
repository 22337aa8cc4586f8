"""Progress of a run over a WebSocket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any
from uuid import UUID

import structlog
from pydantic import BaseModel
from starlette.websockets import WebSocket, WebSocketDisconnect

from app.api.query import query_frames
from app.api.running import services_of
from app.api.sse import Frame, error_frame
from app.domain.event import TERMINAL, Numbered, Progress
from app.errors import CairnError, InputError, NotFoundError
from app.service import runs as run_service
from app.wiring import Services

log = structlog.get_logger(__name__)

APPEAR_SECONDS = 5.0
"""Clients open the socket before they ask; a run may begin so long after it was looked for."""
LOOK_SECONDS = 0.1
CLOSE_NORMAL, CLOSE_ERROR = 1000, 1011


async def watch(socket: WebSocket, run_id: str) -> None:
    """Frames `{"event": "progress", "step", "percent"}`, then one `{"event", "data"}` with the last event, as /query has it.
    Watching, and leaving, change nothing."""
    await socket.accept()
    sending, leaving = asyncio.create_task(_send(socket, run_id)), asyncio.create_task(_left(socket))
    try:
        await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, leaving):
            task.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)


async def _left(socket: WebSocket) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _send(socket: WebSocket, run_id: str) -> None:
    code = CLOSE_NORMAL
    with suppress(WebSocketDisconnect, RuntimeError):  # who leaves in the middle is no error
        try:
            async with aclosing(await _watch(services_of(socket), run_id)) as events:
                async for item in events:
                    if isinstance(item.event, (Progress, *TERMINAL)):
                        await socket.send_text(_text(query_frames(socket, item.event)[0]))
        except CairnError as error:
            await socket.send_text(_text(error_frame(socket, error)))
        except (WebSocketDisconnect, RuntimeError):
            raise
        except Exception:
            log.exception("socket.bug", run_id=run_id[:100])
            code = CLOSE_ERROR
        await socket.close(code)


async def _watch(services: Services, text: str) -> AsyncGenerator[Numbered]:
    try:
        run_id = UUID(text)
    except ValueError:
        raise InputError(f"{text[:100]!r} is not the id of a run") from None
    await _appeared(services, run_id)
    return await run_service.watch_run(services, run_id)


async def _appeared(services: Services, run_id: UUID) -> None:
    """Raises NotFoundError."""
    until = asyncio.get_running_loop().time() + APPEAR_SECONDS
    while True:
        try:
            await run_service.get_run(services, run_id)
            return
        except NotFoundError:
            if asyncio.get_running_loop().time() > until:
                raise
        await asyncio.sleep(LOOK_SECONDS)


def _text(frame: Frame) -> str:
    data: dict[str, Any] = frame.data.model_dump(mode="json") if isinstance(frame.data, BaseModel) else frame.data
    said = {"event": frame.event, "data": data} if frame.terminal else {"event": frame.event, **data}
    return json.dumps(said, default=str)
