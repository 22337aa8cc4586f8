"""The stream of a run: server-sent events as the events of the library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from cairn.client.calls import read_answer, read_passage
from cairn.client.problems import error_of
from cairn.domain.event import Answered, Cancelled, Event, Progress, RunStarted, SourcesFound, Token


class EventReader:
    """Bytes of a stream in, events out. Lines end with a line feed alone: other separators may stand in texts."""

    def __init__(self) -> None:
        self._buffer = b""
        self._name = ""
        self._data: list[str] = []
        self.ended = False

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that are complete now. Raises the CairnError of an `error` event."""
        *lines, self._buffer = (self._buffer + piece).split(b"\n")
        for line in lines:
            yield from self._line(line.rstrip(b"\r").decode("utf-8", "replace"))

    def _line(self, line: str) -> Iterator[Event]:
        field, _, value = line.partition(":")
        if field == "event":
            self._name = value.removeprefix(" ")
        elif field == "data":
            self._data.append(value.removeprefix(" "))
        elif not line and self._data:
            name, data = self._name, json.loads("\n".join(self._data))
            self._name, self._data = "", []
            event = read_event(name, data)
            self.ended = isinstance(event, Answered | Cancelled)
            if event is not None:
                yield event


def read_event(name: str, data: dict[str, Any]) -> Event | None:
    """None for a kind that this release does not know. Raises the error that ended the run."""
    match name:
        case "run":
            return RunStarted(UUID(data["run_id"]), data["strategy"])
        case "progress":
            told = {key: data[key] for key in ("message", "numbers", "detail") if key in data}
            return Progress(data["step"], data["percent"], **told)
        case "sources":
            return SourcesFound(tuple(map(read_passage, data["sources"])))
        case "token":
            return Token(data["text"])
        case "answer":
            return Answered(read_answer(data), replaced=data["replaced"])
        case "cancelled":
            return Cancelled(UUID(data["run_id"]))
        case "error":
            raise error_of(data)
    return None
