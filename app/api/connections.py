"""Connections: one that does not send the head of a request in time is closed, so that silent ones do not pile up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: application/problem+json\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%b"
)
_BODY = (
    b'{"type": "/problems/request-timeout", "title": "Request timeout", "status": 408, "code": "request-timeout", '
    b'"detail": "the head of the request did not arrive in time"}'
)


class PunctualProtocol(H11Protocol):
    """Uvicorn's, which has no such deadline: its own begins when the first answer was given."""

    head_seconds: ClassVar[Callable[[], float]]

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._awaiting: asyncio.TimerHandle | None = None
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()  # the next request may have begun behind the last one

    def _look(self) -> None:
        begun = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if self.transport.get_protocol() is not self or not begun:
            self._forget()  # the head is whole, or the connection is a WebSocket by now
        elif self._awaiting is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._awaiting = self.loop.call_later(type(self).head_seconds(), self._give_up)

    def _forget(self) -> None:
        if self._awaiting is not None:
            self._awaiting.cancel()
            self._awaiting = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(_LATE % (len(_BODY), _BODY))
            self.transport.close()


def punctual(head_seconds: Callable[[], float]) -> type[PunctualProtocol]:
    """The protocol class with its deadline, which is asked for each time, for uvicorn."""
    return type("PunctualProtocol", (PunctualProtocol,), {"head_seconds": staticmethod(head_seconds)})
