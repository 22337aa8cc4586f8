"""Events as text and back. Kinds are the names of the classes in app/domain/event.py, so a new event needs no line here."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, get_args
from uuid import UUID

from pydantic import TypeAdapter

from app.domain.event import Answered, Event, Failed, Progress, SourcesFound
from app.errors import CairnError, TextDeletedError

KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}
GONE = "a document that this run quotes, or its conversation, was deleted since, and its text with it; ask again"


def written(event: Event) -> tuple[str, str]:
    """Kind and fields. Plain ASCII, so that NUL and lone surrogates of a model's reply can be stored."""
    if isinstance(event, Failed):
        error = event.error
        return "Failed", json.dumps({"code": error.code, "detail": error.detail, "extra": error.extra}, default=str)
    kind = type(event).__name__
    return kind, json.dumps(_adapter(kind).dump_python(event, mode="json"))


def read(kind: str, data: str | None, *, terminal: bool) -> Event | None:
    """The event; None where its text is gone, unless it ends the run: that it does is never lost."""
    if data is None:
        return Failed(TextDeletedError(GONE)) if terminal else None
    fields = json.loads(data)
    if kind == "Failed":
        return Failed(_error(**fields))
    event: Event = _adapter(kind).validate_python(fields)
    return event


def documents_of(event: Event) -> set[UUID]:
    """Documents that an event shows or quotes."""
    match event:
        case SourcesFound(passages):
            return {passage.document_id for passage in passages}
        case Answered(answer):
            return {source.document_id for source in answer.sources} | {cited.document_id for cited in answer.citations}
        case Progress(documents=documents):
            return set(documents)
    return set()


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(KINDS[kind])


def _error(code: str, detail: str, extra: dict[str, Any]) -> CairnError:
    """An error of the class that has the code."""
    waiting = [CairnError]
    while waiting:
        kind = waiting.pop()
        if kind.code == code:
            return kind(detail, **extra)
        waiting.extend(kind.__subclasses__())
    return CairnError(detail, **extra)
