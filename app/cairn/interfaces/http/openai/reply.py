"""What the two ways to ask that OpenAI has do alike: a run is begun, and told in one piece or as a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fastapi import Response
from pydantic import BaseModel
from starlette.requests import HTTPConnection, Request

from cairn.domain.event import Event
from cairn.interfaces.http.asking import RUN_HEADER, begin, finish, stream
from cairn.interfaces.http.browser import scheme_of
from cairn.interfaces.http.openai import dialogue, transcript
from cairn.interfaces.http.running import Running, running_of
from cairn.interfaces.http.sse import Frame
from cairn.service.ask import at_temperature
from cairn.settings import Settings
from cairn.wiring import Services


class HowToAnswer(Protocol):
    """What both bodies say of how to answer."""

    stream: bool | None
    temperature: float | None


async def reply(
    request: Request,
    running: Running,
    services: Services,
    settings: Settings,
    body: HowToAnswer,
    asked: dialogue.DialogueQuestion,
    *,
    frames: Callable[[Event], list[Frame]],
    whole: Callable[[transcript.SentText], BaseModel],
) -> Response:
    """The answer: `frames` of each event where a stream is wanted, else `whole`. Leaving cancels the run. Raises CairnError."""
    task = await begin(running, services, asked.question, settings=at_temperature(settings, body.temperature))
    if body.stream:
        response = stream(request, task, frames, counted=False)
    else:
        answered = await finish(request, task)
        content = whole(transcript.Transcript().end(answered)).model_dump_json()
        response = Response(content, media_type="application/json")
    response.headers[RUN_HEADER] = str(asked.question.run_id)
    return response


def links_of(request: HTTPConnection) -> transcript.Links:
    """By the scheme and host under which the client knows this server."""
    running = running_of(request)
    scheme = scheme_of(request.scope, request.headers, running.settings.current.api.trust_proxy)
    return transcript.Links(f"{scheme}://{request.headers.get('host', '')}", running.page)
