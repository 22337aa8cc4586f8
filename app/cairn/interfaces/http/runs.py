"""Runs: how they are doing, their events once more, their end before its time; and what users think of answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from datetime import datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID

import structlog
from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import HTTPConnection, Request
from starlette.websockets import WebSocket, WebSocketDisconnect

from cairn.domain.event import TERMINAL, Numbered, Progress, Surface
from cairn.errors import CairnError, InputError, NotFoundError
from cairn.interfaces.http import problems
from cairn.interfaces.http.asking import FramesOf, render
from cairn.interfaces.http.authenticate import SUBPROTOCOL
from cairn.interfaces.http.authorize import check_scope
from cairn.interfaces.http.chat_frames import CHAT_EVENTS, chat_frames
from cairn.interfaces.http.models import ID_EXAMPLE, Body, example
from cairn.interfaces.http.policy import policy_of
from cairn.interfaces.http.query import EVENTS, STREAM_EXAMPLE, Include, left_out, query_frames
from cairn.interfaces.http.rate_limits import take_permit
from cairn.interfaces.http.running import ServicesDep, TypedRoute, permits_of, services_of
from cairn.interfaces.http.sse import Frame, describe, error_frame, event_stream
from cairn.service import runs as run_service
from cairn.service.runs import RunView, ViewedStatus
from cairn.wiring import Services

router = APIRouter(tags=["runs"], route_class=TypedRoute)

_SHOWN = (*EVENTS, *(name for name in CHAT_EVENTS if name not in EVENTS))
"""Events of a run are shown as the request that asked shows them."""

RunId = Annotated[UUID, Path(description="Id of the run; its trace has the same.", examples=[ID_EXAMPLE])]


class RunOut(BaseModel):
    model_config = example(
        {
            "id": ID_EXAMPLE, "status": "running", "resumable": True, "started_at": "2026-11-22T10:00:00Z",
            "finished_at": None, "step": "generate", "percent": 85, "cancel_requested": False, "last_event_id": 7,
            "events_url": f"/runs/{ID_EXAMPLE}/events", "source_changed": False,
        }
    )  # fmt: skip

    id: UUID
    status: ViewedStatus
    resumable: bool
    started_at: datetime | None = Field(description="Null for one that is not resumable, while it runs.")
    finished_at: datetime | None = Field(description="Of a resumable run that has ended.")
    step: str | None = Field(description="What it does, or did last.")
    percent: int | None
    cancel_requested: bool
    last_event_id: int | None = Field(description="Events stored so far; null for a run that is not resumable.")
    events_url: str | None = Field(description="Where to read its events; null for a run that is not resumable.")
    source_changed: bool = Field(description="The answer cites a document that has other content by now.")


def _out(run: RunView) -> RunOut:
    return RunOut(
        id=run.id, status=run.status, resumable=run.resumable, started_at=run.started_at, finished_at=run.ended_at,
        step=run.progress.step if run.progress else None, percent=run.progress.percent if run.progress else None,
        cancel_requested=run.cancel_requested, last_event_id=run.last_seq,
        events_url=f"/runs/{run.id}/events" if run.resumable else None, source_changed=run.source_changed,
    )  # fmt: skip


@router.get("/runs/{run_id}", summary="Look at a run")
async def get_run(run_id: RunId, services: ServicesDep) -> RunOut:
    """A resumable run, wherever it runs; another one while this process runs it, and once it is traced."""
    return _out(await run_service.get_run(services, run_id))


@router.post("/runs/{run_id}/cancel", summary="Cancel a run")
async def cancel_run(run_id: RunId, services: ServicesDep) -> RunOut:
    """It ends with `cancelled` within about a second; one that has ended stays as it is. A run that is not resumable can be
    cancelled in the process that runs it."""
    return _out(await run_service.cancel_run(services, run_id))


@router.get(
    "/runs/{run_id}/events",
    summary="Follow a resumable run, or go on reading it",
    response_class=Response,  # FastAPI takes functions under EventSourceResponse for generators
    responses={
        200: {"content": describe(_SHOWN, STREAM_EXAMPLE)},
        204: {
            "description": "There is nothing after that event: the run has ended, and EventSource need not come back."
        },
        **problems.declare(409),
    },
)
async def follow_run(
    run_id: RunId,
    services: ServicesDep,
    request: Request,
    last_event_id: Annotated[
        str | None,
        Header(description="`id` of the last event that was read.", json_schema_extra={"pattern": "^[0-9]{0,9}$"}),
    ] = None,
    after: Annotated[
        int, Query(ge=0, le=2**31 - 1, description="The same; the header counts where both are given.")
    ] = 0,
    include: Include = None,
) -> Response:
    """The events after that one: stored ones, then as they come, in the shape of the request that asked (`/query`, with the parts
    that `include` names here, or `/chat`). On any process; ends with the terminal event. Leaving changes nothing."""
    without = left_out(include)
    run, events = await run_service.follow_run(services, run_id, _place(last_event_id, after))
    if run.status != "running" and run.last_seq == _place(last_event_id, after):
        await events.aclose()
        return Response(status_code=204)
    frames = partial(render, _frames_of(run.surface, request, without), numbered=True)
    return event_stream(request, events, frames, own_ids=True)


def _place(header: str | None, after: int) -> int:
    if header is None or not header.strip():
        return after
    if not (header.isascii() and header.isdigit() and len(header) < 10):
        raise InputError(f"Last-Event-ID is the id of an event of this run, a number, and not {header[:40]!r}")
    return int(header)


def _frames_of(surface: Surface, request: HTTPConnection, without: frozenset[str]) -> FramesOf:
    return partial(chat_frames, request) if surface == "chat" else partial(query_frames, request, without=without)


_SOCKET = "/ws/runs/{run_id}"
_SOCKET_POLICY = policy_of("WS", _SOCKET)


@router.websocket(_SOCKET)
async def socket(socket: WebSocket, run_id: str) -> None:
    try:
        check_scope(socket, _SOCKET_POLICY)
        await take_permit(socket, _SOCKET_POLICY, permits_of(socket))
    except CairnError as error:
        await refuse_socket(socket, error)
    else:
        await watch(socket, run_id)


# --- feedback -------------------------------------------------------------------------------------------------------------


class FeedbackBody(Body):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"run_id": ID_EXAMPLE, "rating": 1, "comment": "Spot on."}]}
    )

    run_id: UUID = Field(description="The run that is judged; `run_id` of an answer, `trace_id` of a search.")
    rating: int = Field(ge=-1, le=1, description="-1 bad, 0 neither, 1 good.")
    comment: str | None = Field(None, max_length=run_service.MAX_COMMENT, description="In the user's own words.")


class FeedbackOut(BaseModel):
    model_config = example(
        {
            "run_id": ID_EXAMPLE, "session_id": None, "rating": 1, "comment": "Spot on.",
            "created_at": "2026-11-22T10:00:00Z", "updated_at": "2026-11-22T10:00:00Z",
        }
    )  # fmt: skip

    run_id: UUID
    session_id: str | None
    rating: int
    comment: str | None
    created_at: datetime
    updated_at: datetime


@router.post("/feedback", summary="Judge an answer")
async def judge_answer(body: FeedbackBody, services: ServicesDep) -> FeedbackOut:
    """One judgement per run: another one replaces it. `cairn eval replay` compares settings by them; analysts read
    `analyst.feedback`."""
    judged = await run_service.rate_run(services, body.run_id, body.rating, body.comment)
    return FeedbackOut(**{name: getattr(judged, name) for name in FeedbackOut.model_fields})


# --- progress over a WebSocket ----------------------------------------------------------------------------------------

log = structlog.get_logger(__name__)

APPEAR_SECONDS = 5.0
"""Clients open the socket before they ask; a run may begin so long after it was looked for."""
LOOK_SECONDS = 0.1
CLOSE_NORMAL, CLOSE_REFUSED, CLOSE_ERROR = 1000, 1008, 1011


async def watch(socket: WebSocket, run_id: str) -> None:
    """Frames `{"event": "progress", "step", "percent"}`, then one `{"event", "data"}` with the last event, as /query has it with
    the same `include`. Watching, and leaving, change nothing."""
    await socket.accept(SUBPROTOCOL if SUBPROTOCOL in socket.scope["subprotocols"] else None)
    sending, leaving = asyncio.create_task(_send(socket, run_id)), asyncio.create_task(_left(socket))
    try:
        await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, leaving):
            task.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)


async def refuse_socket(socket: WebSocket, error: CairnError) -> None:
    """Before it is accepted: with the problem where the server can answer by HTTP, else by its code."""
    if "websocket.http.response" in socket.scope.get("extensions", {}):
        await socket.send_denial_response(problems.response_of(socket.scope, error))
    else:
        await socket.close(CLOSE_REFUSED, error.detail[:100])


async def _left(socket: WebSocket) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _send(socket: WebSocket, run_id: str) -> None:
    code = CLOSE_NORMAL
    with suppress(WebSocketDisconnect, RuntimeError):  # who leaves in the middle is no error
        try:
            without = left_out(socket.query_params.get("include"))
            async with aclosing(await _watch(services_of(socket), run_id)) as events:
                async for item in events:
                    if isinstance(item.event, (Progress, *TERMINAL)):
                        await socket.send_text(_text(query_frames(socket, item.event, without=without)[0]))
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
    data: Any = frame.data.model_dump(mode="json") if isinstance(frame.data, BaseModel) else frame.data
    said = {"event": frame.event, "data": data} if frame.terminal else {"event": frame.event, **data}
    return json.dumps(said, default=str)
