"""Runs as the edges read them: to the last event, or rendered one by one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from app.api.running import Running
from app.api.sse import Frame
from app.domain.event import Answered, Cancelled, Event, Failed, Numbered, Surface
from app.domain.question import Question
from app.errors import CairnError, ConflictError
from app.service import runs as run_actions
from app.wiring import Services

Render = Callable[[Event], list[Frame]]
"""What a surface shows of an event; nothing of some."""


async def asked(
    running: Running, services: Services, question: Question, surface: Surface, *, resumable: bool, named: bool
) -> AsyncGenerator[Numbered]:
    """The events of a question, measured. `named`: the client chose the run id. Raises ConflictError where it is in use."""
    events = await run_actions.begin(services, question, resumable=resumable, surface=surface, named=named)
    return _measured(running, events)


async def _measured(running: Running, events: AsyncGenerator[Numbered]) -> AsyncGenerator[Numbered]:
    async with aclosing(events) as run:
        async for item in run:
            if isinstance(item.event, Answered):
                running.metrics.stages(item.event.answer.timings_ms)
            yield item


async def finished(events: AsyncGenerator[Numbered]) -> Answered:
    """The last event. Raises what a failed run failed with."""
    async with aclosing(events) as run:
        async for item in run:
            match item.event:
                case Answered():
                    return item.event
                case Failed(error):
                    raise error
                case Cancelled():
                    raise ConflictError("the run was cancelled")
    raise CairnError("the run ended without a result; report this with the request id")


async def rendered(events: AsyncGenerator[Numbered], render: Render, *, numbered: bool) -> AsyncGenerator[Frame]:
    """Frames of a run. `numbered`: with the places of the events as ids, to go on from; of several frames of one event
    only the last has its place, so that none is lost between them."""
    async with aclosing(events) as run:
        async for item in run:
            frames = render(item.event)
            for left, frame in zip(reversed(range(len(frames))), frames, strict=True):
                yield replace(frame, id=item.seq - (left > 0)) if numbered else frame
