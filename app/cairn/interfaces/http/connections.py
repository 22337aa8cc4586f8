"""Connections: one that does not send the head of a request in time is closed, so that silent ones do not pile up; and what is
refused whatever it says is answered in the turn of the event loop in which it came.

Uvicorn has no such deadline (its own begins when the first answer was given). It has two parsers: httptools, in C, is taken
where it is installed (it comes with the page), and h11 elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    from uvicorn.protocols.http import httptools_impl
except ImportError:  # httptools is not installed
    httptools_impl = None  # type: ignore[assignment]

MAX_HEAD_BYTES: Final = 1 << 14
"""Of a head that has not come to its end. h11 has this limit itself."""
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: application/problem+json\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%b"
)
_BODY = (
    b'{"type": "/problems/request-timeout", "title": "Request timeout", "status": 408, "code": "request-timeout", '
    b'"detail": "the head of the request did not arrive in time"}'
)

_Uvicorns: Any = H11Protocol if TYPE_CHECKING else object


class _Punctual(_Uvicorns):  # type: ignore[misc]
    """The deadline, for either protocol of uvicorn."""

    head_seconds: ClassVar[Callable[[], float]]
    refuses: ClassVar[Callable[[Mapping[str, Any]], bool]]

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

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _is_in_head(self) -> bool:
        """Whether a request has begun whose head is not whole, and none before it waits for its answer."""
        raise NotImplementedError

    def _look(self) -> None:
        if self.transport.get_protocol() is not self or not self._is_in_head():
            self._forget()  # the head is whole, or the connection is a WebSocket by now
        elif self._awaiting is None:
            self._await_head()

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


class PunctualH11(_Punctual, H11Protocol):
    def _is_in_head(self) -> bool:
        return self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])


if httptools_impl is not None:

    class PunctualHttpTools(_Punctual, httptools_impl.HttpToolsProtocol):
        _head: int | None = None
        """Bytes of the head that is coming; None: none is."""
        _refusing = False

        def on_message_begin(self) -> None:
            self._head = 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._head = None
            super().on_headers_complete()

        def _start_asgi_task(self, cycle: Any, app: Any) -> None:
            """Uvicorn's makes a task, whose turn comes behind those of all that is served. A refusal waits for nothing where the
            connection takes it at once; of many that came together behind a slow request every other one has a task, so that
            they do not nest."""
            waits = self._refusing or self.transport.get_write_buffer_size()
            if waits or not type(self).refuses(cycle.scope):
                super()._start_asgi_task(cycle, app)
                return
            self._refusing = True
            try:
                cycle.run_asgi(app).send(None)
            except StopIteration:
                pass
            else:  # it waits for something after all, and nothing would go on with it
                self.transport.close()
            finally:
                self._refusing = False

        def _is_in_head(self) -> bool:
            return self._head is not None and (self.cycle is None or self.cycle.response_complete)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._head is not None:
                self._head += len(data)
                if self._head > MAX_HEAD_BYTES and not self.transport.is_closing():
                    self.send_400_response("Invalid HTTP request received.")


def parser_name() -> str:
    """What reads requests here: httptools or h11."""
    return "h11" if httptools_impl is None else "httptools"


def punctual(
    head_seconds: Callable[[], float], refuses: Callable[[Mapping[str, Any]], bool] = lambda _: False
) -> type[asyncio.Protocol]:
    """The protocol class with its deadline, which is asked for each time, for uvicorn. `refuses`: whether the application answers
    a request, of this scope, at once and without waiting for anything (httptools alone asks)."""
    base: type[asyncio.Protocol] = PunctualH11 if httptools_impl is None else PunctualHttpTools
    own = {"head_seconds": staticmethod(head_seconds), "refuses": staticmethod(refuses)}
    return type(base.__name__, (base,), own)
