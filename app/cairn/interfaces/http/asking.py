"""Runs as the edges begin and read them: in one piece, or event by event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from cairn.domain.event import Answered, Event, Numbered, Surface
from cairn.domain.question import Question
from cairn.interfaces.http.running import Running, until_gone
from cairn.interfaces.http.sse import Frame, event_stream
from cairn.service.ask import Task, final, start
from cairn.settings import Settings
from cairn.wiring import Services

FramesOf = Callable[[Event], list[Frame]]
"""What a surface shows of an event; nothing of some."""

RUN_HEADER = "X-Run-ID"


async def begin(
    running: Running,
    services: Services,
    question: Question,
    surface: Surface = "query",
    *,
    resumable: bool = False,
    named: bool = False,
    settings: Settings | None = None,
) -> Task:
    """A run, measured. `named`: the client chose the run id. `settings`: of this run alone.

    Raises ConflictError where that is in use."""
    return await start(
        services, question, surface=surface, resumable=resumable, named=named, settings=settings,
        on_end=partial(measure, running),
    )  # fmt: skip


def measure(running: Running, end: Event) -> None:
    """Count what the stages of a run took, once it has ended."""
    if isinstance(end, Answered):
        running.metrics.stages(end.answer.timings_ms)


async def finish(request: Request, task: Task, each: Callable[[Event], None] = lambda event: None) -> Answered:
    """The answer in one piece; `each` sees all events on the way. A client that leaves cancels a run that is not resumable.
    Raises what the run failed with."""
    answered: Answered = await until_gone(request, final(task, each))
    return answered


def stream(request: Request, task: Task, frames_of: FramesOf, *, counted: bool = True) -> Response:
    """The run event by event. A client that leaves cancels a run that is not resumable. `counted`: its events have ids."""
    frames = partial(render, frames_of, numbered=task.resumable)
    on_close = None if task.resumable else task.stop
    return event_stream(request, task.events(), frames, own_ids=task.resumable or not counted, on_close=on_close)


def render(frames_of: FramesOf, item: Numbered, *, numbered: bool) -> list[Frame]:
    """The frames of an event. `numbered`: with its place as id, to go on from; of several frames of one event only the last
    has its place, so that none is lost between them."""
    frames = frames_of(item.event)
    if not numbered:
        return frames
    return [replace(frame, id=item.seq - (n < len(frames))) for n, frame in enumerate(frames, 1)]
