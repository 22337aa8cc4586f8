"""Spans of what a request or a job does, for OpenTelemetry; where tracing is off, nothing.

    with span("search.vector") as noted:
        ...
        noted.add({"cairn.passages": 12})

Off is one look at a global. Spans have names, times, counts, ids and terms of ours, never words of questions, documents or
errors: they leave the house. Spans of HTTP requests are FastAPI's; where they are sent is cairn/interfaces/http/otel.py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

Attributes = Mapping[str, str | bool | int | float | None]
"""By their names in OpenTelemetry; None is left out."""
_NONE: Final[Attributes] = {}

_tracer: Tracer | None = None


class OpenSpan(Protocol):
    """A span under way."""

    def add(self, attributes: Attributes) -> None:
        """What became known of it."""


def switch_on(tracer: Tracer) -> None:
    """From now on spans are made with it, in the whole process."""
    global _tracer
    _tracer = tracer


def switch_off() -> None:
    """No more spans are made."""
    global _tracer
    _tracer = None


def is_on() -> bool:
    return _tracer is not None


def span(name: str, attributes: Attributes = _NONE) -> AbstractContextManager[OpenSpan]:
    """Around a piece of work, within the span that is current. What escapes it marks it as failed, by its kind."""
    return _OFF if _tracer is None else _Recorded(_tracer, name, attributes)


def record(name: str, seconds: float, attributes: Attributes = _NONE, *, error: BaseException | None = None) -> None:
    """Of work that took so long and has just ended, within the span that is current; nothing where there is none."""
    if _tracer is None:
        return
    from opentelemetry import trace

    if not trace.get_current_span().is_recording():
        return
    ended = time.time_ns()
    made = _tracer.start_span(name, start_time=ended - int(seconds * 1e9), attributes=_known(attributes))
    if error is not None:
        _fail(made, error)
    made.end(ended)


def current_trace_id() -> str | None:
    """Of the trace that the current span belongs to, 32 hexadecimal digits; None where nothing is recorded."""
    if _tracer is None:
        return None
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None


class _Off:
    def __enter__(self) -> _Off:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def add(self, attributes: Attributes) -> None:
        return None


_OFF: Final = _Off()


class _Recorded:
    def __init__(self, tracer: Tracer, name: str, attributes: Attributes) -> None:
        self._span = tracer.start_span(name, attributes=_known(attributes))

    def __enter__(self) -> _Recorded:
        from opentelemetry import context, trace

        self._token = context.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from opentelemetry import context

        if error is not None:
            _fail(self._span, error)
        context.detach(self._token)
        self._span.end()

    def add(self, attributes: Attributes) -> None:
        self._span.set_attributes(_known(attributes))


def _known(attributes: Attributes) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _fail(made: Span, error: BaseException) -> None:
    """By the kind of the error alone: what it says may quote a document."""
    from opentelemetry.trace import StatusCode

    made.set_attribute("error.type", type(error).__name__)
    if not isinstance(error, asyncio.CancelledError | GeneratorExit):
        made.set_status(StatusCode.ERROR)
